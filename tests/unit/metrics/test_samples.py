"""Tests that lines of frameworks give the readings in samples.py, and that other lines give none."""

import time

import pytest

from jobs.metrics import Reading, read_line
from tests.unit.metrics.samples import LINES, OTHERS

MEGABYTE = 2**20


@pytest.mark.parametrize(
    ("framework", "line", "expected"), LINES, ids=[f"{name}: {line[:40]}" for name, line, _ in LINES]
)
def test_a_line_of_a_framework_tells_its_metrics(framework: str, line: str, expected: Reading) -> None:
    assert read_line(line) == expected, framework


@pytest.mark.parametrize("line", OTHERS)
def test_lines_of_other_things_tell_nothing(line: str) -> None:
    assert read_line(line).is_empty


@pytest.mark.parametrize(
    "prefix",
    [
        "2024-01-01 10:00:00,123 - INFO - ", "[2024-01-01 10:00:00,123][__main__][INFO] - ", "INFO:root:", "[rank0]: ",
        "I0619 10:00:00.123456 140 train.py:22] ", "(RayTrainWorker pid=9064, ip=10.0.0.1) ", "\x1b[32mINFO\x1b[0m ",
        "2024-01-01T10:00:00.123Z stdout F ", "[default0]:", "[1,0]<stdout>:", "train.py:22 ",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("epoch 3/40 loss 0.31 acc 0.88", Reading(epoch=3, epochs=40, values={"loss": 0.31, "acc": 0.88})),
        ("step 100 | loss: 2.5 | lr: 1e-4", Reading(step=100, values={"loss": 2.5, "lr": 1e-4})),
        ("{'loss': 0.5, 'epoch': 0.25}", Reading(epoch=0.25, values={"loss": 0.5})),
    ],
)
def test_what_loggers_write_in_front_changes_nothing(prefix: str, line: str, expected: Reading) -> None:
    assert read_line(prefix + line) == expected


def test_of_a_long_line_that_is_written_over_the_last_is_read() -> None:
    line = "".join(f"{n}/50000 [==>...] - loss: {n}.5\r" for n in range(50_000))

    assert len(line) > MEGABYTE
    assert read_line(line) == Reading(step=49_999, steps=50_000, is_inner=True, values={"loss": 49_999.5})


@pytest.mark.parametrize(
    "text",
    [
        "a", "1", "a ", "1/", "a=", "{", "{'", "[1/", "-", "━", "|a", "1.", "a.b-", "step (", "epoch ", "val: ",
        "\t", " ", "loss 1 ", "1/2 [1<", "\x1b[", "\x1b]", "loss 1\b", "1/9 [==] - loss: 9.0\r", "total ", "train 1 ",
        "1,111", "{'a': f(", "'s ", "@[", "class  ", "Epoch  ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [4_000, pytest.param(MEGABYTE, marks=pytest.mark.heavy)])
def test_no_long_line_keeps_the_reader_busy(text: str, size: int) -> None:
    line = (text * (size // len(text) + 1))[: size - 1] + "1"
    since = time.process_time()

    read_line(line, columns=("epoch", "loss", "acc"))

    assert time.process_time() - since < 0.5


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "NaN", "Infinity", "1e999"])
def test_numbers_that_are_none_are_no_metrics(number: str) -> None:
    for line in (f"step 3 loss: {number}", f"{{'loss': {number}, 'step': 3}}", f'{{"loss": "{number}", "step": 3}}'):
        assert read_line(line).values == {}


def test_counts_without_end_are_none() -> None:
    huge = "9" * 400
    for line in (f"step {huge}/{huge} loss: 0.5", f"epoch {huge}/{huge} loss: 0.5", f"accuracy: 5/{huge} loss: 0.5"):
        reading = read_line(line)

        assert (reading.step, reading.epoch, reading.epochs) == (None, None, None), line
        assert reading.values == {"loss": 0.5}, line
