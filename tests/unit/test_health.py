"""Tests of the health of running jobs: stories of waste that are reported, and healthy jobs that are not."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.metrics import Run
from jobs.observation.health import has_finite_loss
from jobs.timeline.health import (
    DIVERGED,
    FAULTS,
    FINE,
    HOPELESS,
    IDLE,
    LOST_PEER,
    STUCK,
    UNKNOWN,
    Evidence,
    Health,
    ReplicaLines,
    health_of,
)

BEGAN = datetime(2026, 3, 2, tzinfo=UTC)
Shares = list[tuple[datetime, float]]


def at(minutes: float) -> datetime:
    """Return a time in minutes after the start of the attempt."""
    return BEGAN + timedelta(minutes=minutes)


def every(minutes: float, until: float, since: float = 5) -> list[datetime]:
    """Return times at equal distances, the last at most at `until`."""
    return [at(since + minutes * place) for place in range(int((until - since) / minutes) + 1)]


def shares(*spans: tuple[float, float, float]) -> Shares:
    """Return utilization each minute, from spans (first minute, last minute, share)."""
    return [(at(minute), share) for first, last, share in spans for minute in range(int(first), int(last) + 1)]


def lines(last: float, name: str = "workerpool0-0", *, count: int = 500, first: float = 1) -> ReplicaLines:
    return ReplicaLines(name, at(first), at(last), count)


def evidence(now: float, **known: object) -> Evidence:
    """Return what is known at a minute, of a job with accelerators whose log was just read."""
    return replace(Evidence(BEGAN, log_read_at=at(now), has_accelerators=True), **known)


def run(minutes: float, reached: float, *, since: float = 5) -> Run:
    """Return the progress of an attempt with an even pace."""
    begin, end = at(since).timestamp(), at(since + minutes).timestamp()
    return Run(begin, 0.0, end, reached, begin + (end - begin) / 2, reached / 2)


def assessed(now: float, **known: object) -> Health:
    return health_of(evidence(now, **known), at(now))


def test_a_job_whose_accelerators_do_nothing_is_idle() -> None:
    busy = shares((1, 60, 0.9), (61, 190, 0.01))
    found = assessed(195, steps=every(1, 190), lines=[lines(190)], busy=busy, cpu=shares((1, 190, 0.01)))

    assert (found.code, found.since, found.is_certain) == (IDLE, at(61), True)
    assert found.facts == {"of": "accelerators", "share": 0.01}


def test_a_start_up_of_ten_times_the_usual_is_idle_too() -> None:
    assert assessed(210, busy=shares((1, 205, 0.0)), lines=[lines(205)]).code == IDLE


@pytest.mark.parametrize(("usual", "code"), [(2, IDLE), (19, IDLE), (22, UNKNOWN), (60, UNKNOWN)])
def test_a_start_up_is_long_by_what_jobs_like_it_took(usual: int, code: str) -> None:
    found = assessed(210, busy=shares((1, 205, 0.0)), lines=[lines(205)], usual_start_up=timedelta(minutes=usual))
    assert found.code == code
    assert assessed(55, busy=shares((1, 54, 0.0)), usual_start_up=timedelta(seconds=1)).code == UNKNOWN


def test_a_machine_without_accelerators_is_idle_by_its_cpus() -> None:
    cpu = shares((1, 60, 0.4), (61, 190, 0.001))
    assert assessed(195, has_accelerators=False, cpu=cpu, steps=every(1, 190), lines=[lines(190)]).code == IDLE


@pytest.mark.parametrize(("busy", "minutes", "is_certain"), [((), 91, False), ((0.0,), 48, True), ((1.0,), 91, False)])
def test_a_job_that_writes_and_steps_no_more_is_stuck(busy: tuple[float], minutes: int, *, is_certain: bool) -> None:
    """Utilization of 100 % does not help: replicas that wait for each other in NCCL show it."""
    steps, now = every(0.5, 100), 100 + minutes
    known = {"busy": shares((1, 100, 0.9), *((101, now - 1, share) for share in busy))}
    found = assessed(now, steps=steps, lines=[lines(100)], **known)

    assert (found.code, found.since, found.is_certain) == (STUCK, at(100), is_certain)
    assert found.facts == {"usual": 30.0}
    assert assessed(now - 4, steps=steps, lines=[lines(100)], **known).code == FINE


def test_a_loss_that_is_no_number_has_diverged() -> None:
    losses = [(at(minute), minute < 50) for minute in range(10, 70)]
    found = assessed(71, losses=losses, steps=every(1, 70), lines=[lines(70)])

    assert (found.code, found.since, found.is_certain) == (DIVERGED, at(50), True)
    assert assessed(53, losses=losses[:42], steps=every(1, 51)).code == FINE, "mixed precision skips such steps"


def test_a_pace_that_the_timeout_ends_is_hopeless() -> None:
    found = assessed(125, run=run(120, 0.1), steps=every(1, 125), lines=[lines(125)], times_out_at=at(600))

    assert (found.code, found.since, found.is_certain) == (HOPELESS, at(5), True)
    assert found.facts == {"needed": 64_800, "left": 28_500, "reached": 0.1}
    assert assessed(125, run=run(120, 0.1), steps=every(1, 125), times_out_at=at(1_300)).code == FINE


@pytest.mark.parametrize(
    ("last", "facts"),
    [
        ([200, 100], {"talking": "workerpool0-0"}),
        ([200, 100, 100, 100], {"talking": "workerpool0-0"}),
        ([200, 200, 100, 200], {"silent": "workerpool2-0"}),
    ],
)
def test_replicas_that_wait_for_one_that_is_gone_are_told(last: list[int], facts: dict[str, str]) -> None:
    replicas = [lines(minute, f"workerpool{place}-0") for place, minute in enumerate(last)]
    found = assessed(200, steps=every(0.5, 100), lines=replicas)

    assert (found.code, found.since, dict(found.facts)) == (LOST_PEER, at(100), {"usual": 30.0} | facts)
    assert assessed(200, steps=every(0.5, 200), lines=replicas).code == FINE, "only some replicas write"


HEALTHY: dict[str, Callable[[], tuple[float, Evidence]]] = {
    "three hours of start-up": lambda: (190, evidence(190, busy=shares((1, 188, 0.0)), lines=[lines(1)])),
    "a log once an hour": lambda: (
        1_000,
        evidence(1_000, steps=every(60, 766, since=46), lines=[lines(766, count=13)], busy=shares((700, 998, 0.9))),
    ),
    "a log once an hour after a few quick lines": lambda: (
        89,
        evidence(89, steps=every(0.1, 6), lines=[lines(6)], busy=shares((1, 87, 0.9))),
    ),
    "less and less lines": lambda: (
        600,
        evidence(600, steps=[at(5 * 2**place) for place in range(7)], lines=[lines(320)], busy=shares((300, 598, 0.9))),
    ),
    "an evaluation without accelerators": lambda: (
        175,
        evidence(
            175,
            steps=every(1, 120),
            lines=[lines(170)],
            busy=shares((1, 120, 0.9), (121, 174, 0.0)),
            cpu=shares((1, 174, 0.5)),
        ),
    ),
    "an hour and a half of evaluation on the CPU": lambda: (
        215,
        evidence(
            215,
            steps=every(1, 214),
            lines=[lines(214)],
            busy=shares((1, 120, 0.9), (121, 214, 0.0)),
            cpu=shares((1, 214, 0.5)),
        ),
    ),
    "long phases without accelerators, as before": lambda: (
        500,
        evidence(
            500,
            steps=every(1, 498),
            lines=[lines(498)],
            busy=shares((1, 60, 0.9), (61, 110, 0.0), (111, 360, 0.9), (361, 498, 0.0)),
        ),
    ),
    "a checkpoint of 20 minutes": lambda: (
        121,
        evidence(121, steps=every(0.1, 100), lines=[lines(100)], busy=shares((1, 100, 0.9), (101, 119, 0.0))),
    ),
    "too few lines to know the usual": lambda: (300, evidence(300, steps=every(1, 8), lines=[lines(8)])),
    "a pause after which it went on before": lambda: (
        500,
        evidence(500, steps=[*every(1, 100), *every(1, 300, since=220)], lines=[lines(300)]),
    ),
    "an upload after the last step": lambda: (
        300,
        evidence(
            300,
            steps=every(1, 120),
            lines=[lines(121)],
            run=run(115, 1.0),
            busy=shares((1, 121, 0.9), (122, 298, 0.0)),
            times_out_at=at(400),
        ),
    ),
    "utilization that lags": lambda: (
        300,
        evidence(300, steps=every(1, 299), lines=[lines(299)], busy=shares((1, 60, 0.9), (61, 200, 0.0))),
    ),
    "utilization with a hole": lambda: (
        300,
        evidence(300, steps=every(1, 299), busy=shares((1, 60, 0.9), (61, 70, 0.0), (290, 299, 0.0))),
    ),
    "a log that cannot be read": lambda: (
        500,
        replace(evidence(500, steps=every(0.5, 100), lines=[lines(100)]), log_read_at=at(102)),
    ),
    "one busy thread on 96 cores": lambda: (
        300,
        evidence(300, has_accelerators=False, steps=every(1, 299), cpu=shares((1, 299, 0.0105))),
    ),
    "accelerators of which nothing is known": lambda: (
        300,
        evidence(300, has_accelerators=None, steps=every(1, 299), cpu=shares((1, 299, 0.0))),
    ),
    "a clock that is ahead": lambda: (200, evidence(200, steps=every(0.5, 100), lines=[lines(300)])),
    "slow first steps": lambda: (30, evidence(30, steps=every(1, 29), run=run(20, 0.001), times_out_at=at(300))),
    "a run that gets faster": lambda: (
        125,
        evidence(125, steps=every(1, 125), times_out_at=at(600), run=replace(run(120, 0.3), middle=0.05)),
    ),
    "a replica that never wrote much": lambda: (
        200,
        evidence(200, steps=every(0.5, 100), lines=[lines(199), lines(3, "workerpool1-0", count=3)]),
    ),
    "a best loss of infinity": lambda: (
        30,
        evidence(30, steps=every(1, 29), losses=[(at(5), False), (at(6), False), (at(7), False), (at(8), True)]),
    ),
}


@pytest.mark.parametrize("story", HEALTHY)
def test_nothing_is_told_about_a_healthy_job(story: str) -> None:
    now, known = HEALTHY[story]()
    assert health_of(known, at(now)).code in {FINE, UNKNOWN}


def test_evidence_of_an_earlier_attempt_does_not_count() -> None:
    """Each story of waste ends when the attempt begins anew behind it."""
    losses = [(at(minute), False) for minute in range(10, 70)]
    stories = [
        evidence(200, steps=every(0.5, 100), lines=[lines(100)]),
        evidence(200, steps=every(0.5, 100), lines=[lines(200), lines(100, "workerpool1-0")]),
        evidence(200, steps=every(1, 190), busy=shares((1, 199, 0.0))),
        evidence(200, losses=losses),
        evidence(200, run=run(120, 0.1), times_out_at=at(600)),
    ]
    for story in stories:
        assert health_of(story, at(200)).code in FAULTS
        assert health_of(replace(story, began=at(195)), at(200)).code in {FINE, UNKNOWN}
        assert health_of(story, BEGAN - timedelta(hours=1)).code == UNKNOWN, "the clock went back"


moments = st.integers(-600, 6_000).map(at)


@given(now=st.integers(-600, 60_000), read=st.none() | moments, limit=st.none() | moments, known=st.booleans())
def test_without_evidence_nothing_is_assumed(
    now: int, read: datetime | None, limit: datetime | None, *, known: bool
) -> None:
    nothing = Evidence(BEGAN, log_read_at=read, times_out_at=limit, has_accelerators=known)
    assert health_of(nothing, at(now)) == Health(UNKNOWN)


points = st.lists(st.tuples(moments, st.floats(0, 1)), max_size=30).map(sorted)
replicas = st.lists(st.builds(ReplicaLines, st.sampled_from("abc"), moments, moments, st.integers(1, 99)), max_size=4)


@given(
    now=st.integers(-600, 6_000), steps=st.lists(moments, max_size=30), busy=points, cpu=points, lines=replicas,
    losses=st.lists(st.tuples(moments, st.booleans()), max_size=20).map(sorted), every=st.integers(1, 64),
    reached=st.floats(0, 1),
)  # fmt: skip
def test_a_fault_begins_in_its_attempt_and_not_later_than_now(
    now: int, steps: list[datetime], busy: Shares, cpu: Shares, lines: list[ReplicaLines],
    losses: list[tuple[datetime, bool]], every: int, reached: float,
) -> None:  # fmt: skip
    known = evidence(now, steps=steps, busy=busy, cpu=cpu, lines=lines, losses=losses, every=every)
    found = health_of(replace(known, run=run(300, reached), times_out_at=at(now + 60)), at(now))
    assert found.code not in FAULTS or (found.since is not None and BEGAN <= found.since <= at(now))


@pytest.mark.parametrize(
    ("line", "is_finite"),
    [
        ("step 5 loss: nan", False),
        ('{"step": 5, "loss": NaN}', False),
        ("{'train_loss': tensor(inf, device='cuda:0')}", False),
        ("Loss is nan, stopping training", False),
        ("epoch 3 train loss=-inf val_loss=nan", False),
        ("loss: nan val_loss: 0.4", True),
        ("epoch 3 loss .5", True),
        ("best_loss: inf", None),
        ("initial loss inf", None),
        ("no gloss: nan", None),
        ("loss scale: nan", None),
        ("step 5", None),
    ],
)
def test_a_line_tells_whether_its_loss_is_a_number(line: str, *, is_finite: bool | None) -> None:
    assert has_finite_loss(line) is is_finite
