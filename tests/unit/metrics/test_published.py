"""Tests that whole logs of frameworks give their series and their progress.

The forms in published.json are those of published logs (issues, documentation and logs kept in repositories of each
project, read 2026-11-26 to 2026-11-28, with their `source` where it is one page). The figures are examples.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.metrics import Record, importance, read_line, totals_of

LOGS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "published.json").read_text())
REPLICA = "workerpool0-0"


def read(text: str, args: list[str]) -> Record:
    record = Record.load({}, totals_of({"workerPoolSpecs": [{"containerSpec": {"args": args}}]}))
    for at, line in enumerate(text.split("\n")):
        record.take(read_line(line, record.columns_of(REPLICA)), float(at), REPLICA, owner="")
    return record


@pytest.mark.parametrize("case", LOGS, ids=[each["framework"] for each in LOGS])
def test_a_published_log_gives_its_series_and_progress(case: dict[str, Any]) -> None:
    record = read("\n".join(case["log"]), case["args"])

    assert sorted((each.name.lower(), each.last[2]) for each in record.series if each.last) == sorted(
        (name.lower(), value) for name, value in case["values"].items()
    )
    if case["share"] is not None:
        assert record.runs[-1].reached == pytest.approx(case["share"], abs=0.01)


def test_processes_of_one_replica_are_not_one_series() -> None:
    record = read("[rank1]: step 1 loss: 3.0\n[rank0]: step 1 loss: 2.0\n[rank1]: step 2 loss: 2.9", ["--steps=4"])

    (series,) = record.series
    assert [point[2] for point in series.points] == [3.0, 2.9]
    assert Record.load(record.as_json(), record.totals).series == record.series


def test_a_bar_without_words_counts_inside_an_epoch_that_a_line_began() -> None:
    record = read("50%|███ | 5/10 [00:01<00:01, 3it/s]\nEpoch 1/4\n50%|███ | 5/10 [00:01<00:01, 3it/s]", [])

    assert record.runs[-1].reached == 0.125


BAR = "100%|████| {0}/{0} [00:00<00:00, 176.09it/s]"


def test_a_bar_without_words_after_the_heading_of_an_evaluation_is_no_progress() -> None:
    began = ["50%|██ | 50/100 [00:01<00:01, 3it/s]", "Test metrics:"]

    assert read("\n".join(["Epoch 30[16/5011]: loss:0.018", "Test on Epoch 30", BAR.format(20)]), []).runs == []
    assert read("\n".join([*began, BAR.format(20)]), []).runs[-1].reached == 0.5
    assert read("\n".join([*began, BAR.format(100)]), []).runs[-1].reached == 1


def test_a_count_beyond_a_total_is_none_of_it() -> None:
    assert read("[1/200], loss: 0.5\nglobal_step: 13599, loss: 0.4", []).runs[-1].reached < 0.01


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("epoch 3 | val-acc: 0.7, mAP: 0.8 | mAP: 0.6", {"val-acc": 0.7, "val mAP": 0.8, "mAP": 0.6}),
        ("step 3 rewards: [18.0, 20.0] loss: [0.5]", {"loss": 0.5}),
        ("step 3 loss: 0.5 speed: 12.5 samples/sec", {"loss": 0.5}),
        ("TEST wer: 8.50% TEST sub 2.25", {"test wer": 8.5, "test sub": 2.25}),
        ("Training finished. Best accuracy: 0.91", {"best accuracy": 0.91}),
    ],
)
def test_names_have_the_words_that_are_theirs(line: str, values: dict[str, float]) -> None:
    assert {name.lower(): value for name, value in read_line(line).values.items()} == {
        name.lower(): value for name, value in values.items()
    }


@pytest.mark.parametrize(
    "text",
    ["Estimated time to finish: 1 hour and 2 seconds, epoch 3", "epoch 3 left: 12 minutes", "epoch 3 clock: 12.5"],
)
def test_words_of_a_clock_are_no_metrics(text: str) -> None:
    assert read_line(text).values == {}


def test_validation_and_results_come_before_losses_and_losses_before_settings() -> None:
    names = [
        "lr",
        "loss",
        "grad_norm",
        "val_loss",
        "accuracy",
        "valMeanAccuracy",
        "entropy",
        "episode_reward_mean",
        "mAP50",
    ]

    assert sorted(names, key=importance) == [
        "valMeanAccuracy", "val_loss", "accuracy", "episode_reward_mean", "mAP50", "loss", "entropy", "grad_norm", "lr",
    ]  # fmt: skip


def test_a_bar_of_the_training_alone_counts_inside_an_epoch_and_ends_an_evaluation() -> None:
    bars = ["Epoch: {0}", "train: 50%|███ | 5/10 [00:01<00:01, 3it/s]", "valid: 100%|███| 2/2 [00:00<00:00, 3it/s]"]

    record = read("\n".join(bar.format(epoch) for epoch in (0, 1) for bar in bars[: 3 - epoch]), ["--epochs=4"])

    assert record.runs[-1].reached == 0.375
