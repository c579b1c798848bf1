"""The schedule of a tuning job, which runs a few trials at a time and starts the next one when a trial ends."""

from collections.abc import Sequence
from datetime import timedelta

from jobs.cost.actual import billable


def rounds(trials: int, parallel: int) -> int:
    """Return the number of trials in sequence if `parallel` run at once: trials / parallel, rounded up."""
    return -(-max(trials, 0) // max(parallel, 1))


def time_left(under_way: Sequence[timedelta], to_come: int, parallel: int, *, trial: timedelta) -> timedelta:
    """Return the time until the last trial ends, if each runs for `trial` and none waits for machines.

    `under_way` is the run time of each trial that has begun, zero for one that still waits. `to_come` trials follow,
    each as soon as one of `parallel` places is free. More trials than places may be under way.
    """
    free_at = sorted(max(trial - each, timedelta()) for each in under_way)
    last = free_at[-1] if free_at else timedelta()
    if to_come <= 0:
        return last
    places = free_at[-max(parallel, 1) :]  # more trials than places are under way, so the others end first
    empty = max(parallel, 1) - len(places)
    whole, more = divmod(to_come, empty + len(places))
    # All trials take equally long, so the places become free in the same order repeatedly, empty ones first.
    follow = [each + trial * (whole + (empty + index < more)) for index, each in enumerate(places)]
    return max(last, *follow, trial * (whole + (more > 0)) if empty else last)


def billed_time_left(under_way: Sequence[timedelta], to_come: int, *, trial: timedelta) -> timedelta:
    """Return the machine time of all trials that remains to be billed; the arguments are those of `time_left`.

    The time of each trial is rounded up separately, as in billing.
    """
    begun = sum((billable(max(trial, each)) - each for each in under_way), timedelta())
    return begun + billable(trial) * max(to_come, 0)
