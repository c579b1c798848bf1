"""The schedule of a tuning job: its trials run a few at a time, and each that ends makes room for the next one."""

from collections.abc import Sequence
from datetime import timedelta


def rounds(trials: int, parallel: int) -> int:
    """Return how many trials run one after the other where `parallel` run at once: trials / parallel, rounded up."""
    return -(-max(trials, 0) // max(parallel, 1))


def time_left(under_way: Sequence[timedelta], to_come: int, parallel: int, *, trial: timedelta) -> timedelta:
    """Return when the last trial will end, from now, if every one runs for `trial` and none waits for machines.

    `under_way` holds how long each trial that was begun has run, zero for one that still waits; `to_come` are those
    that follow as soon as one of `parallel` places is free. More trials than places may be under way.
    """
    free_at = sorted(max(trial - each, timedelta()) for each in under_way)
    last = free_at[-1] if free_at else timedelta()
    if to_come <= 0:
        return last
    places = free_at[-max(parallel, 1) :]  # what is beyond them has to end first
    empty = max(parallel, 1) - len(places)
    whole, more = divmod(to_come, empty + len(places))
    # All trials take equally long, so the places become free in the same order again and again, empty ones first.
    follow = [each + trial * (whole + (empty + index < more)) for index, each in enumerate(places)]
    return max(last, *follow, trial * (whole + (more > 0)) if empty else last)


def machine_time_left(under_way: Sequence[timedelta], to_come: int, *, trial: timedelta) -> timedelta:
    """Return for how long the machines of all trials will still run, added up; the arguments as for `time_left`."""
    begun = sum((max(trial - each, timedelta()) for each in under_way), timedelta())
    return begun + trial * max(to_come, 0)
