"""Tests of the schedule of trials against a step-by-step simulation."""

import heapq
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.trials import billed_time_left, rounds, time_left

MINUTE = timedelta(minutes=1)


def played(under_way: list[timedelta], to_come: int, parallel: int, trial: timedelta) -> tuple[timedelta, timedelta]:
    """Play the schedule: return when the last trial ends, and for how long machines run."""
    ends = [max(trial - each, timedelta()) for each in under_way]
    busy, last = sum(ends, timedelta()), max(ends, default=timedelta())
    heapq.heapify(ends)
    now = timedelta()
    for _ in range(to_come):
        while len(ends) >= parallel:
            now = heapq.heappop(ends)
        heapq.heappush(ends, now + trial)
        busy, last = busy + trial, max(last, now + trial)
    return last, busy


@given(
    st.lists(st.integers(0, 90).map(lambda minutes: minutes * MINUTE), max_size=8),
    st.integers(0, 40),
    st.integers(1, 9),
    st.integers(1, 60).map(lambda minutes: minutes * MINUTE),
)
def test_time_and_cost_left_are_those_of_the_schedule_played(
    under_way: list[timedelta], to_come: int, parallel: int, trial: timedelta
) -> None:
    left, busy = played(under_way, to_come, parallel, trial)

    assert time_left(under_way, to_come, parallel, trial=trial) == left
    assert billed_time_left(under_way, to_come, trial=trial) == busy, "whole minutes, which billing does not round"


def test_the_time_of_each_trial_is_rounded_up_to_half_minutes() -> None:
    second = timedelta(seconds=1)

    assert billed_time_left([], 4, trial=14 * second) == 4 * 30 * second
    assert billed_time_left([10 * second, 40 * second], 0, trial=14 * second) == (20 + 20) * second


@given(st.integers(1, 60), st.integers(1, 60))
def test_a_schedule_from_nothing_takes_its_rounds(trials: int, parallel: int) -> None:
    assert time_left([], trials, parallel, trial=MINUTE) == rounds(trials, parallel) * MINUTE


def test_two_thousand_million_trials_take_no_time_to_plan() -> None:
    assert time_left([], 2**31 - 1, 2**30, trial=MINUTE) == 2 * MINUTE
