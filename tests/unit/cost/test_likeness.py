"""Tests of what makes jobs alike: the program, the machine, and the magnitude of the expected run time."""

import math
from typing import Any

import pytest

from jobs.cost.learned import MAX_RUN_LOG, MIN_JOBS, Learned, Sums
from jobs.cost.likeness import magnitude_of, program_of
from tests.unit.cost.builders import custom_job, pool

IMAGE = "us-docker.pkg.dev/vision/train/resnet"


def program(*words: str, image: str = f"{IMAGE}:v1", args: tuple[str, ...] = ()) -> str:
    return program_of(custom_job(_pool({"imageUri": image, "command": list(words), "args": list(args)})))


def _pool(container: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in pool().items() if name != "containerSpec"} | {"containerSpec": container}


class TestPrograms:
    def test_are_the_same_with_another_tag_or_other_values(self) -> None:
        one = program("python", "train.py", args=("--epochs", "30", "--data=gs://a"))

        assert one == program("python", "train.py", args=("--epochs", "60", "--data=gs://b"))
        assert one == program("python", "train.py", args=("--data", "gs://b", "--epochs=3"))
        assert one == program("python", "train.py", args=("--epochs", "30", "--data=gs://a"), image=f"{IMAGE}:v2")
        assert one == program(
            "python", "train.py", args=("--epochs", "30", "--data=gs://a"), image=f"{IMAGE}@sha256:{'0' * 64}"
        )

    def test_differ_by_script_module_image_or_option(self) -> None:
        programs = [
            program("python", "train.py"),
            program("python", "evaluate.py"),
            program("python", "-m", "vision.train"),
            program("python", "-m", "vision.evaluate"),
            program("python", "train.py", image="us-docker.pkg.dev/vision/train/unet:v1"),
            program("python", "train.py", args=("--resume", "last")),
            program("bash", "-c", "python train.py && python report.py"),
        ]

        assert len(set(programs)) == len(programs)

    def test_given_to_a_shell_differ_by_words_and_not_by_numbers(self) -> None:
        assert program("sh", "-c", "sleep 60") == program("sh", "-c", "sleep 3600")
        assert program("sh", "-c", "sleep 60") != program("sh", "-c", "train 60")

    def test_with_a_port_in_the_image_keep_its_path(self) -> None:
        assert program(image="localhost:5000/train") == program(image="localhost:5000/train:v2")
        assert program(image="localhost:5000/train") != program(image="localhost:5000/evaluate")


class TestMagnitude:
    @pytest.mark.parametrize(("seconds", "magnitude"), [(60, 0), (110, 1), (7200, 7), (43200, 9), (1, -6), (1e300, 40)])
    def test_is_one_more_for_each_doubling(self, seconds: float, magnitude: int) -> None:
        assert magnitude_of(seconds) == magnitude

    @pytest.mark.parametrize("seconds", [0, -60, math.nan])
    def test_of_no_time_is_refused(self, seconds: float) -> None:
        with pytest.raises(ValueError, match="above zero"):
            magnitude_of(seconds)


def runs(count: int, log: int) -> Sums:
    return Sums(runs=count, run_logs=count * log, run_squares=count * log**2)


class TestFactor:
    @pytest.mark.parametrize("log", [-MAX_RUN_LOG, MAX_RUN_LOG])
    def test_of_other_machines_and_other_magnitudes_moves_by_less_than_a_fifth(self, log: int) -> None:
        elsewhere, near = runs(2000, log), runs(1000, log)

        for learned in (Learned(program=elsewhere), Learned(program=elsewhere, same_machine=near)):
            assert 1 / 1.2 < math.exp(learned.run_factor().centre) < 1.2

    def test_of_jobs_alike_outweighs_the_person_the_more_there_are(self) -> None:
        shares = []
        for count in (0, 1, 5, 14, 100):
            seen = runs(count, round(math.log(0.38) * 1000))
            learned = Learned(program=seen, same_machine=seen, alike=seen)
            shares.append(math.exp(learned.run_factor().centre))
            assert learned.contradicts == (count >= MIN_JOBS)

        assert shares == sorted(shares, reverse=True)
        assert shares[0] == 1
        assert shares[3] == pytest.approx(0.43, abs=0.01)
        assert shares[4] == pytest.approx(0.38, abs=0.01)
