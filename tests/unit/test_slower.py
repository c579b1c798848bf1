"""Tests of what made a run slower than the one before it."""

import pytest

from jobs.timeline.slower import Part, Slower, Times, compare_times, pace_of

BEFORE = Times(1000, wait=100, image=50, restarts=0, pace=1.0, steps=800)


@pytest.mark.parametrize(
    ("after", "part"),
    [
        (Times(1300, wait=400, image=50, restarts=0, pace=1.0, steps=800), Part.WAIT),
        (Times(1300, wait=100, image=350, restarts=0, pace=1.0, steps=800), Part.IMAGE),
        (Times(1300, wait=120, image=50, restarts=250, pace=1.0, steps=800), Part.RESTARTS),
        (Times(1300, wait=100, image=50, restarts=0, pace=1.375, steps=800), Part.PACE),
        (Times(1300, wait=100, image=50, restarts=0, pace=1.0, steps=1100), Part.STEPS),
        (Times(1300, wait=190, image=140, restarts=90, pace=1.0, steps=800), Part.UNKNOWN),
        (Times(1300), Part.UNKNOWN),
    ],
)
def test_the_part_that_explains_most_is_named(after: Times, part: Part) -> None:
    assert compare_times(BEFORE, after) == Slower(0.3, 300, part)


@pytest.mark.parametrize("whole", [500, 1000, 1099])
def test_a_run_that_took_about_as_long_is_not_slower(whole: float) -> None:
    assert compare_times(BEFORE, Times(whole)) is None


def test_seconds_of_short_runs_do_not_count() -> None:
    assert compare_times(Times(30), Times(80)) is None


def test_the_pace_leaves_out_pauses_and_steps_that_are_repeated() -> None:
    points = [(at * 2.0, at, 0.5) for at in range(10)]
    paused = [*points, *((500 + at * 2.0, 5 + at, 0.5) for at in range(10))]

    assert pace_of(points) == pace_of(paused) == 2.0


@pytest.mark.parametrize("points", [[], [(1.0, None, 0.5)] * 9, [(float(at), at, 0.1) for at in range(5)]])
def test_too_few_steps_have_no_pace(points: list[tuple[float, int | None, float]]) -> None:
    assert pace_of(points) is None
