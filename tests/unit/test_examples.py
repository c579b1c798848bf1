"""Tests that run the penguins example: it trains, resumes after an interruption, and gives the same model."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PENGUINS = Path(__file__).parents[2] / "examples" / "penguins"
FAST = ("--seconds-per-epoch", "0", "--epochs", "12")


def start(folder: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Start the training with its checkpoints and model under `folder`."""
    return subprocess.Popen(
        [sys.executable, str(PENGUINS / "train.py"), *options],
        env={
            "PATH": os.environ["PATH"],
            "AIP_CHECKPOINT_DIR": str(folder / "checkpoints"),
            "AIP_MODEL_DIR": str(folder / "model"),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        pipesize=4096,  # a run of 300 epochs prints more, so it cannot end before somebody reads
    )


def train(folder: Path, *options: str, **environment: str) -> tuple[int, list[str]]:
    """Run the training to its end; return (exit code, printed lines)."""
    process = start(folder, *options, **environment)
    printed, _ = process.communicate(timeout=60)
    return process.returncode, printed.splitlines()


def train_until(folder: Path, line_start: str, *options: str) -> tuple[int, list[str]]:
    """Run the training, send SIGTERM once a line begins with `line_start`; return (exit code, printed lines)."""
    process = start(folder, *options)
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line.rstrip("\n"))
        if line.startswith(line_start):
            process.send_signal(signal.SIGTERM)
    process.stdout.close()
    return process.wait(timeout=60), printed


def model(folder: Path) -> bytes:
    return (folder / "model" / "model.json").read_bytes()


def test_data_is_the_palmer_penguins_table() -> None:
    with (PENGUINS / "penguins.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert Counter(row["species"] for row in rows) == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    assert {row["year"] for row in rows} == {"2007", "2008", "2009"}
    assert sum(row["body_mass_g"] == "NA" for row in rows) == 2


class TestTraining:
    def test_learns_the_species(self, tmp_path: Path) -> None:
        code, printed = train(tmp_path, "--seconds-per-epoch", "0")

        metrics = json.loads((tmp_path / "model" / "metrics.json").read_text())
        assert code == 0
        assert metrics["accuracy"] > 0.95
        assert metrics["penguins"] == 68
        assert len([line for line in printed if line.startswith("epoch ")]) == 40
        assert float(printed[1].split()[-1]) < 0.8 < float(printed[-2].split()[-1])

    def test_model_file_alone_recognises_penguins(self, tmp_path: Path) -> None:
        train(tmp_path, "--seconds-per-epoch", "0")

        learned = json.loads(model(tmp_path))

        assert learned["species"] == ["Adelie", "Chinstrap", "Gentoo"]
        assert [len(learned[key]) for key in ("measurements", "scale")] == [4, 4]
        assert [len(row) for row in learned["weights"]["output"]] == [9, 9, 9]

    def test_keeps_the_last_three_checkpoints_and_no_unfinished_file(self, tmp_path: Path) -> None:
        train(tmp_path, *FAST)

        names = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
        assert names == ["checkpoint-00010.json", "checkpoint-00011.json", "checkpoint-00012.json"]

    def test_reports_its_metric_to_a_tuning_job(self, tmp_path: Path) -> None:
        metric_file = tmp_path / "hypertune" / "output.metrics"

        train(tmp_path, *FAST, "--report", "acc", CLOUD_ML_HP_METRIC_FILE=str(metric_file), CLOUD_ML_TRIAL_ID="7")

        lines = [json.loads(line) for line in metric_file.read_text().splitlines()]
        assert [line["global_step"] for line in lines] == [str(epoch) for epoch in range(1, 13)]
        assert {line["trial"] for line in lines} == {"7"}
        assert float(lines[-1]["acc"]) > 0.8

    def test_trains_without_any_folder_and_says_what_that_means(self, tmp_path: Path) -> None:
        code, printed = train(tmp_path, *FAST, AIP_CHECKPOINT_DIR="", AIP_MODEL_DIR="")

        assert code == 0
        assert "AIP_CHECKPOINT_DIR is not set: a restart begins again at epoch 1" in printed
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "options",
        [("--epochs", "0"), ("--hidden", "0"), ("--learning-rate", "nan"), ("--seconds-per-epoch", "-1")],
    )
    def test_refuses_options_that_make_no_sense(self, tmp_path: Path, options: tuple[str, str]) -> None:
        code, printed = train(tmp_path, *options)

        assert code == 2
        assert options[0] in printed[-1]


class TestInterruption:
    def test_ends_with_143_on_sigterm_after_saving(self, tmp_path: Path) -> None:
        code, printed = train_until(tmp_path, "epoch 1/", "--seconds-per-epoch", "30")

        assert code == 143
        assert printed[-1] == "SIGTERM: saved after epoch 1"
        assert (tmp_path / "checkpoints" / "checkpoint-00001.json").exists()
        assert not (tmp_path / "model").exists()

    def test_twice_interrupted_run_ends_with_the_same_model(self, tmp_path: Path) -> None:
        train(tmp_path / "undisturbed", *FAST)

        train_until(tmp_path, "epoch 1/", "--seconds-per-epoch", "30", "--epochs", "12")
        _, second = train_until(tmp_path, "epoch 2/", "--seconds-per-epoch", "30", "--epochs", "12")
        code, third = train(tmp_path, *FAST)

        assert "resuming from epoch 1" in second
        assert "resuming from epoch 2" in third
        assert code == 0
        assert model(tmp_path) == model(tmp_path / "undisturbed")

    def test_sigterm_in_the_middle_of_an_epoch_changes_nothing_either(self, tmp_path: Path) -> None:
        long = ("--seconds-per-epoch", "0", "--epochs", "300", "--hidden", "2")
        train(tmp_path / "undisturbed", *long)

        code, printed = train_until(tmp_path, "epoch 2/", *long)
        train(tmp_path, *long)

        assert code == 143
        assert printed[-1].startswith("SIGTERM: saved after epoch ")
        assert model(tmp_path) == model(tmp_path / "undisturbed")

    def test_kill_without_warning_loses_at_most_the_epoch_under_way(self, tmp_path: Path) -> None:
        process = start(tmp_path, "--seconds-per-epoch", "30")
        assert process.stdout is not None
        next(line for line in process.stdout if line.startswith("epoch 1/"))
        process.kill()
        process.communicate(timeout=60)

        _, printed = train(tmp_path, *FAST)

        assert "resuming from epoch 1" in printed

    def test_finished_run_started_again_writes_the_same_model(self, tmp_path: Path) -> None:
        train(tmp_path, *FAST)
        before = model(tmp_path)

        code, printed = train(tmp_path, *FAST)

        assert code == 0
        assert "resuming from epoch 12" in printed
        assert model(tmp_path) == before

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"null", b'{"epoch": "x"}'])
    def test_unreadable_checkpoint_is_passed_over(self, tmp_path: Path, content: bytes) -> None:
        train(tmp_path, *FAST)
        (tmp_path / "checkpoints" / "checkpoint-00012.json").write_bytes(content)

        code, printed = train(tmp_path, *FAST)

        assert code == 0
        assert any(line.startswith("passing over checkpoint-00012.json: it cannot be read") for line in printed)
        assert "resuming from epoch 11" in printed

    def test_checkpoint_of_other_settings_is_not_continued(self, tmp_path: Path) -> None:
        train(tmp_path, *FAST, "--hidden", "3")

        code, printed = train(tmp_path, *FAST)

        assert code == 0
        assert "passing over checkpoint-00012.json: it was made with other settings" in printed
        assert any(line.startswith("epoch 1/12") for line in printed)
