"""Tests that names which are no known words become metrics by how they come again, and what stays no metric.

The forms are those of published training logs (AlphaZero for Gobang, JDE, deeplearning4j, Paddle's hapi, an optimal
transport GAN; read 2026-11-27). The figures are examples.
"""

import json

import pytest

from jobs.metrics import Record, Totals, read_line

REPLICA = "workerpool0-0"


def read(*lines: str, stored: bool = False) -> Record:
    record = Record()
    for at, line in enumerate(lines):
        record.take(read_line(line, record.columns_of(REPLICA)), float(at), REPLICA, owner="")
        if stored:
            record = Record.load(json.loads(json.dumps(record.as_json())), Totals())
    return record


def last(*lines: str) -> dict[str, float]:
    return {each.name: each.last[2] for each in read(*lines).series if each.last}


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (["scores.ber:1.5", "scores.ber:1.4", "scores.ber:1.45"], {"scores.ber": 1.45}),
        (["batch i:1, episode_len:19", "batch i:2, episode_len:39", "batch i:3, episode_len:12"], {"episode_len": 12}),
        (["Episode 1/9 | Hits2go: 3", "Episode 2/9 | Hits2go: 9", "Episode 3/9 | Hits2go: 4"], {"Hits2go": 4}),
        (["epoch 1 P 0.3 F1 0.5", "epoch 2 P 0.2 F1 0.6", "epoch 3 P 0.4 F1 0.7"], {"F1": 0.7, "P": 0.4}),
        (["better corrcoef: 0.5 in batch: 10, saved", "better corrcoef: 0.6 in batch: 20, saved"] * 2,
         {"better corrcoef": 0.6}),
        (["Score at iteration 100 is 1.6", "Score at iteration 200 is 1.4"], {"Score": 1.4}),
        (["epoch 2 | D^2=+0.0019 | IS=1.90 | 13.5s"], {"D^2": 0.0019, "IS": 1.9}),
        ([f"[epoch: 17/200, iter: 4{n}5/489] total: 1.{n}" for n in (2, 5, 7)], {"total": 1.7}),
        (["Epoch 2 - Dev BLEU: BLEU-1 63.8, BLEU-2 59.4"], {"dev BLEU-1": 63.8, "dev BLEU-2": 59.4}),
    ],
)  # fmt: skip
def test_a_value_that_comes_again_and_changes_is_a_metric(lines: list[str], values: dict[str, float]) -> None:
    assert last(*lines) == values


@pytest.mark.parametrize(
    "line",
    [
        "epoch {0} | cycle: {0}",  # a count
        "epoch {0} | chunk_hint: 12",  # a setting
        "I0509 19:45:41 20669 solver.cpp:{0}] Iteration {0}",
        "2021-11-11 00:02:43.857 | INFO | __main__:train:4{0} - saved",
        "    Time spent on data: 0.{0} sec",
        "[[caltech, {0}], [cityp, {0}]]",
    ],
)
def test_counts_settings_and_places_in_code_are_no_metrics(line: str) -> None:
    assert last(*(line.format(number) for number in (1, 2, 3, 5))) == {}


def test_what_stands_beside_repeated_metrics_is_a_metric_without_any_step() -> None:
    line = "train Loss: 0.4{0} Reg: 0.0000 Acc: 0.0{0}"

    assert last(*(line.format(number) for number in range(6))) == {"train loss": 0.45, "train Acc": 0.05, "Reg": 0.0}
    assert "Reg" not in last(line.format(1))


def test_what_lines_without_a_step_summarize_is_a_series_of_its_own_once_it_is_certain() -> None:
    lines = [f"epoch {e} step {s}/9 loss: {e}.{s}" for e in range(4) for s in (1, 9)]
    summed = [line for e in range(4) for line in (*lines[2 * e : 2 * e + 2], f"epoch {e} done, loss: {e}.5")]

    assert last(*summed[:3]) == {"loss": 0.5}
    assert last(*summed) == {"loss": 3.9, "loss (summary)": 3.5}
    (steps, summary) = read(*summed, stored=True).series
    assert [point[2] for point in steps.points] == [0.1, 0.9, 1.1, 1.9, 2.1, 2.9, 3.1, 3.9]
    assert (steps.count, summary.count) == (8, 4)
    assert read(*summed, stored=True).series == read(*summed).series


def test_fewer_steps_after_the_heading_of_an_evaluation_are_of_it() -> None:
    lines = [
        "Epoch 1/2",
        "step 614/614 - loss: 0.3",
        "Eval begin...",
        "step 44/88 - loss: 0.6",
        "step 88/88 - loss: 0.5",
    ]

    assert last(*lines) == {"loss": 0.3, "eval loss": 0.5}
    assert last(*lines, "Epoch 2/2", "step 10/614 - loss: 0.2") == {"loss": 0.2, "eval loss": 0.5}


def test_a_table_may_stand_behind_what_a_logger_writes() -> None:
    prefix = "2021-01-25 07:42:01 [INFO]:"

    assert last(
        f"{prefix}    Epoch       Batch       box      conf        id     total      time",
        f"{prefix}     2/29       0/165    0.0281    0.0586      14.3     -6.55      13.9",
    ) == {"box": 0.0281, "conf": 0.0586, "id": 14.3, "total": -6.55}


def test_figures_of_one_class_are_not_those_of_the_whole() -> None:
    whole = "accuracy:  98.1%; precision:  64.0%; recall:  65.0%; FB1:  64.5"

    assert last(whole, "  LOC: precision: 1.0%; recall: 2.0%; FB1: 1.3  903")["FB1"] == 64.5


@pytest.mark.parametrize(
    "line",
    [
        "time (ms) | forward-compute: 44{0}.1 | backward-compute: 71{0}.9 | optimizer: 2{0}.1",
        "Memory usage: alloc: 4.{0}1 peak: 7.{0}3",
        "io: 1.{0} cpu: 9.{0}",
        "min=-2.{0}, max=1{0}.6, mean=1.{0}",
    ],
)
def test_pairs_about_what_the_work_took_are_no_metrics(line: str) -> None:
    rows = [
        row for number in (3, 1, 4, 2) for row in (f"iteration {number} | lm loss: {number}.5", line.format(number))
    ]

    assert last(*rows) == {"lm loss": 2.5}


def test_pairs_of_any_name_below_a_step_are_metrics_once_they_change() -> None:
    rows = [row for n in (3, 1, 4, 2) for row in (f"step {n} | loss: {n}.5", f"won_mean: 0.{n}\tgrad_norm: 1.{n}")]

    assert last(*rows) == {"loss": 2.5, "won_mean": 0.2, "grad_norm": 1.2}
