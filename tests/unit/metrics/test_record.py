"""Tests of stored metrics: thinned, in order of time, independent of how they are added; and of progress."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.metrics import MAX_POINTS, Record, Totals, progress, read_line, totals_of
from jobs.metrics.record import MAX_SERIES
from jobs.timeline.losses import lost_seconds

REPLICA = "workerpool0-0"


def folded(lines: list[tuple[float, str]], record: Record | None = None, totals: Totals | None = None) -> Record:
    """Take lines in as (seconds, text)."""
    record = record or Record(totals=totals or Totals())
    for at, line in lines:
        record.take(read_line(line), at, REPLICA, owner="")
    return record


def epochs(
    first: int, last: int, *, of: int = 10, since: float = 1_000.0, every: float = 60.0
) -> list[tuple[float, str]]:
    """Return lines of epochs, one every `every` seconds."""
    return [
        (since + every * n, f"epoch {epoch}/{of} loss {10 - epoch}") for n, epoch in enumerate(range(first, last + 1))
    ]


class TestSeries:
    def test_a_series_stays_small_and_keeps_its_first_and_newest_point(self) -> None:
        record = folded([(float(n), f"step {n} loss {n}") for n in range(10_000)])

        (series,) = record.series
        assert len(series.points) <= MAX_POINTS
        assert series.shown[0] == (0.0, 0, 0.0)
        assert series.shown[-1] == (9_999.0, 9_999, 9_999.0)

    def test_as_many_names_as_a_program_invents_are_bounded(self) -> None:
        assert len(folded([(float(n), f"step {n} loss_{n}=1") for n in range(500)]).series) == MAX_SERIES

    def test_a_line_that_comes_late_takes_its_place(self) -> None:
        (series,) = folded([(2.0, "step 2 loss 2"), (1.0, "step 1 loss 1")]).series

        assert [point[0] for point in series.points] == [1.0, 2.0]

    def test_of_replicas_that_write_the_same_the_first_counts(self) -> None:
        record = Record()
        for at, replica in enumerate(("workerpool1-0", "workerpool0-0", "workerpool1-0")):
            record.take(read_line("step 1 loss 2"), float(at), replica, owner="")

        (series,) = record.series
        assert (series.source, series.count) == ("workerpool1-0", 2)

    def test_each_trial_has_its_own(self) -> None:
        record = Record()
        for number in (1, 2):
            trial = f"trial {number}"
            record.take(read_line("step 1 loss 2"), 1.0, f"{trial} workerpool0-0", owner=trial)

        assert [series.source for series in record.series] == ["trial 1 workerpool0-0", "trial 2 workerpool0-0"]

    @given(st.lists(st.integers(0, 50), max_size=60), st.integers(0, 60))
    def test_folding_in_parts_gives_what_folding_at_once_gives(self, steps: list[int], cut: int) -> None:
        lines = [(float(n), f"step {step}/50 loss {step}") for n, step in enumerate(steps)]

        first = json.loads(json.dumps(folded(lines[:cut]).as_json()))

        assert folded(lines[cut:], Record.load(first, Totals())).as_json() == folded(lines).as_json()


class TestProgress:
    def test_epochs_tell_how_far_it_is_and_when_it_ends(self) -> None:
        found = progress(folded(epochs(1, 4)).runs)

        assert found is not None
        assert found.fraction == 0.4
        assert found.seconds_left == pytest.approx(360)

    def test_steps_inside_an_epoch_count(self) -> None:
        record = folded([(1.0, "Epoch 3/4"), (2.0, "50/100 [==>...] - loss: 1.0")])

        assert record.runs[-1].reached == 2.5 / 4

    def test_epochs_from_zero_count_from_zero(self) -> None:
        lines = [
            (1.0, "Epoch 0:  50%|█| 9/18 [00:17<01:02,  4.47s/it]"),
            (9.0, "Epoch 1:  50%|█| 9/18 [00:17<01:02,  4s/it]"),
        ]

        assert folded(lines, totals=Totals(epochs=2)).runs[-1].reached == 0.75

    @pytest.mark.parametrize(
        ("line", "totals", "fraction"),
        [
            ("Epoch {}/9 loss: 0.5", Totals(), 0.1),
            ("Epoch {}/9 loss: 0.5", Totals(epochs=10), 0.1),
            ("Epoch {}/10 loss: 0.5", Totals(epochs=10), 0.1),
            ("{}/9  3.2G  50%|█| 4/8 [00:04<00:04,  1.8it/s]", Totals(), 0.05),
        ],
    )
    def test_epochs_from_zero_are_complete_with_the_last_of_them(
        self, line: str, totals: Totals, fraction: float
    ) -> None:
        begun = folded([(1.0, line.format(0))], totals=totals)
        ended = folded([(1.0 + n, line.format(n)) for n in range(10)], totals=totals)

        assert begun.runs[-1].reached == pytest.approx(fraction)
        assert ended.runs[-1].reached == pytest.approx(0.9 + fraction)

    @pytest.mark.parametrize(
        "line",
        [
            "SIGTERM: saved after epoch 6",
            "resuming from epoch 6",
            "Epoch 6: val_loss improved, saving the model",
            "Epoch 6/10 finished",
            "Saved the checkpoint of epoch 2",
        ],
    )
    def test_a_line_about_an_epoch_that_was_reached_begins_nothing_anew(self, line: str) -> None:
        lines = [*epochs(1, 6), (1_301.0, line), *epochs(7, 8, since=1_400.0)]

        assert [(run.began, run.reached) for run in folded(lines).runs] == [(0.1, 0.8)]

    def test_an_evaluation_in_between_does_not_count(self) -> None:
        record = folded([
            (1.0, " 30%|█| 300/1000 [00:17<01:02,  4.47s/it]"),
            (2.0, "100%|█| 49/49 [00:17<00:00,  4.47s/it]"),
            (3.0, " 31%|█| 310/1000 [00:17<01:02,  4.47s/it]"),
        ])  # fmt: skip

        assert [run.reached for run in record.runs] == [0.31]

    def test_an_evaluation_inside_an_epoch_does_not_count(self) -> None:
        record = folded([
            (1.0, "Epoch 3/4"),
            (2.0, " 50/100 [==>...] - loss: 1.0"),
            (3.0, "20/20 [=====] - loss: 0.9"),
            (4.0, " 60/100 [===>..] - loss: 1.0"),
        ])  # fmt: skip

        assert [run.reached for run in record.runs] == [2.6 / 4]

    def test_steps_beside_an_epoch_count_inside_it_unless_they_go_on(self) -> None:
        inner = [(1.0, "epoch 1 - iter 90/100 - loss 1.0"), (2.0, "epoch 2 - iter 10/100 - loss 1.0")]
        through = [(1.0, "epoch: 1, iter: 90/500, loss: 1.0"), (2.0, "epoch: 2, iter: 100/500, loss: 1.0")]

        assert folded(inner, totals=Totals(epochs=4)).runs[-1].reached == 1.1 / 4
        assert folded(inner).runs == []
        assert folded(through).runs[-1].reached == 100 / 500

    def test_steps_that_only_seemed_to_go_on_count_inside_the_epoch_again(self) -> None:
        lines = [(float(epoch), f"epoch {epoch} - iter {step}/99 - loss 1") for epoch, step in ((1, 5), (2, 9), (3, 3))]

        assert folded(lines, totals=Totals(epochs=4)).runs[-1].reached == (2 + 3 / 99) / 4

    def test_a_program_tells_itself_how_much_there_is(self) -> None:
        by_epochs = folded([(1.0, "  Num Epochs = 4"), (2.0, "{'loss': 0.5, 'epoch': 1.0}")])
        by_steps = folded([(1.0, "  Total optimization steps = 200"), (2.0, "step 50 loss 0.5")])

        assert [record.runs[-1].reached for record in (by_epochs, by_steps)] == [0.25, 0.25]

    def test_a_figure_over_a_bar_has_the_step_of_the_bar(self) -> None:
        line = " 10%|█| 100/1000 [00:10<01:30, 10.0it/s]\r{'loss': 0.5, 'epoch': 0.3}\r"

        (series,) = folded([(1.0, line)]).series

        assert series.points == [(1.0, 100, 0.5)]

    @pytest.mark.parametrize(
        "remark", ["saved the weights of epoch 1", "Loading checkpoint, step 20", "eval step 0: loss 1"]
    )
    def test_a_remark_on_an_earlier_epoch_or_step_takes_nothing_back(self, remark: str) -> None:
        record = folded([(1.0, "epoch 3/4 loss 1"), (2.0, "step 300/400 loss 1"), (3.0, remark)])

        assert [run.reached for run in record.runs] == [0.75]

    def test_without_an_end_nothing_is_promised(self) -> None:
        assert progress(folded([(1.0, "step 5 loss 1"), (2.0, "epoch 2 loss 1")]).runs) is None

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            (["--epochs=40"], Totals(epochs=40)),
            (["--num_train_epochs", "3", "--max_steps=900"], Totals(epochs=3, steps=900)),
            (["-c", "python train.py --max-epochs 7"], Totals(epochs=7)),
            (["--total_timesteps=5000"], Totals(steps=5_000)),
            (["--save_steps=500", "--epochs=many"], Totals()),
            (["--epochs"], Totals()),
            ([], Totals()),
        ],
    )
    def test_arguments_tell_how_much_there_is(self, args: list[str], expected: Totals) -> None:
        assert totals_of({"jobSpec": {"workerPoolSpecs": [{"containerSpec": {"args": args}}]}}) == expected


class TestLoss:
    def test_what_was_made_twice_was_lost(self) -> None:
        record = folded(epochs(1, 6) + epochs(5, 7, since=2_000.0))

        assert len(record.runs) == 2
        assert lost_seconds(record.runs, 1_330.0) == pytest.approx(90)  # epoch 5 was reached at 1,240

    def test_without_a_second_run_nobody_knows(self) -> None:
        assert lost_seconds(folded(epochs(1, 6)).runs, 1_330.0) is None

    def test_runs_are_in_order_of_time(self) -> None:
        record = folded(epochs(1, 6) + epochs(2, 9, since=2_000.0) + [(1_500.0, "epoch 6/10 loss 4")])

        assert all(before.until <= after.since for before, after in pairwise(record.runs))
