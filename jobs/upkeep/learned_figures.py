"""Figures that estimates learn from ended jobs: what each job adds to the sums of its team (`jobs.cost.learned`)."""

from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import F

from jobs import spec, timeline
from jobs.cost.learned import run_log, wait_log
from jobs.cost.likeness import machine_of, magnitude_of, program_of
from jobs.models import Job, JobFigures, LearnedFigures, MonthFigures
from jobs.models.figures import BY_LIKENESS
from jobs.states import SUCCESSFUL
from jobs.strategies import STRATEGIES
from jobs.upkeep.restart_losses import Lost

PREEMPTIBLE = frozenset(key for key, each in STRATEGIES.items() if each.preemptible)
Kept = TypeVar("Kept", LearnedFigures, MonthFigures)
Columns = dict[str, Any]
"""The columns of a kept sum that are not summed, with their values."""
EVERY = {"program": "", "region": "", "machine": "", "magnitude": 0, "strategy": "", "hour": BY_LIKENESS}
"""The group of all jobs."""


def is_inside(job: Job, usd: Decimal | None) -> bool | None:
    """Return whether a job's cost was inside the range of its estimate.

    Return None for a job that did not succeed, has no price, costs nothing by itself, or had no range of percentiles.
    """
    low, high = (job.estimate.get(name) for name in ("low_usd", "high_usd"))
    is_known = (
        job.state in SUCCESSFUL
        and job.started_at is not None
        and not job.is_adopted
        and "basis" in job.estimate
        and low
        and high
    )
    if not is_known or usd is None or not job.hourly_usd:
        return None
    return Decimal(low) <= usd <= Decimal(high)


def learned_from(
    job: Job,
    submission: spec.Submission | None,
    lost: Lost,
    preemptions: int,
    *,
    inside: bool | None,
    start_up: int | None = None,
) -> dict[str, Any]:
    """Return what an ended job adds to the sums, as JSON: what makes it like others, and every sum that is not 0.

    `start_up` are its seconds from RUNNING to its first step, which only `usual_start_up` reads.
    """
    if submission is None or job.started_at is None or job.ended_at is None:
        return {}
    sums = _runs(job, submission, lost) | {"estimated": int(inside is not None), "inside": int(inside is True)}
    sums |= _preemptions(job, submission, lost, preemptions)
    if submission.tuning is None and not job.is_adopted:
        logarithm = wait_log(timeline.first_wait(job, job.ended_at).total_seconds())
        sums |= {"waits": 1, "wait_logs": logarithm, "wait_squares": logarithm**2}
    return {
        "program": program_of(submission),
        "machine": machine_of(submission),
        "magnitude": magnitude_of(job.expected_seconds) if job.expected_seconds > 0 else 0,
        "tunes": submission.tuning is not None,
        "sums": {name: value for name, value in sums.items() if value},
    } | ({} if start_up is None else {"start_up": start_up})


def _runs(job: Job, submission: spec.Submission, lost: Lost) -> dict[str, int]:
    """Return sums of the ratio of actual to expected run time, without lost time. {} for a job that did not succeed."""
    assert job.ended_at is not None
    if job.state not in SUCCESSFUL or job.is_adopted:
        return {}
    useful = (timeline.running(job, job.ended_at) - lost.time).total_seconds()
    if submission.tuning is not None:
        useful = (job.trial_seconds or 0) / max(submission.trials, 1)
    if not (useful > 0 and job.expected_seconds > 0):
        return {}
    logarithm = run_log(useful, job.expected_seconds)
    return {"runs": 1, "run_logs": logarithm, "run_squares": logarithm**2}


def _preemptions(job: Job, submission: spec.Submission, lost: Lost, preemptions: int) -> dict[str, int]:
    assert job.ended_at is not None
    if job.strategy not in PREEMPTIBLE:
        return {}
    machines = sum(max(0, pool.replicas) for _, pool in submission.pools)
    ran = timeline.running(job, job.ended_at).total_seconds() if submission.tuning is None else job.trial_seconds or 0
    return {
        "machine_seconds": min(round(ran) * machines, MAX_SECONDS),
        "preemptions": preemptions,
        "lost_seconds": round(lost.preempted.total_seconds()),
    }


MAX_SECONDS = 10**12
"""Limit of what one job adds, so that sums fit their columns whatever was requested."""


def add_to_sums(
    model: type[Kept],
    before: Iterable[JobFigures],
    after: Iterable[JobFigures],
    parts_of: Callable[[JobFigures], Iterable[tuple[Columns, dict[str, int]]]],
) -> list[Columns]:
    """Add to the kept sums of a model by how much what jobs add to them has changed; return the groups of which it has.

    `parts_of` returns the groups that the figures of a job add to, each with the sums. Rows are written in one order to
    avoid deadlocks.
    """
    changes: dict[tuple[tuple[str, Any], ...], Counter[str]] = {}
    for sign, rows in ((-1, before), (1, after)):
        for row in rows:
            for group, sums in parts_of(row):
                changed = changes.setdefault(tuple(group.items()), Counter())
                for name, value in sums.items():
                    changed[name] += sign * value
    groups = [(dict(group), changed) for group, changed in sorted(changes.items()) if any(changed.values())]
    kept = model._default_manager
    kept.bulk_create([model(**group) for group, _ in groups], ignore_conflicts=True)
    for group, changed in groups:
        kept.filter(**group).update(**{name: F(name) + value for name, value in changed.items() if value})
    return [group for group, _ in groups]


def parts_of(row: JobFigures) -> list[tuple[Columns, dict[str, int]]]:
    """Return the sums that a job adds to: those of its program, of its machine, and of its strategy."""
    if not row.teaches:
        return []
    every = {"team_id": row.team_id, "month": row.ended_on.replace(day=1), "tunes": row.teaches["tunes"]} | EVERY
    alike = {name: row.teaches[name] for name in ("program", "machine", "magnitude")}
    of_strategy = {"strategy": row.strategy}
    of_machine = of_strategy | {"machine": row.teaches["machine"], "region": row.region}
    return [(every | group, row.teaches["sums"]) for group in (alike, of_machine, of_strategy)]
