"""Figures learned from a team's ended jobs for its next one, read from the sums of `jobs.upkeep.learned_figures`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Q, Sum

from jobs.bounds import is_storable
from jobs.cache import Recent
from jobs.cost.learned import NAMES, NOT_LEARNED, Learned, Sums, Wait, recent_since
from jobs.cost.likeness import machine_of, magnitude_of, program_of
from jobs.known_advice import preemption_rates
from jobs.models import Job, JobFigures, LearnedFigures, Team
from jobs.models.figures import BY_LIKENESS, LEARNED
from jobs.spec import Submission
from jobs.strategies import STRATEGIES

LOOK_BACK = timedelta(days=365)
"""Earlier months are ignored, because machines, prices and code have changed since."""
MAX_START_UPS, MIN_START_UPS = 500, 3
"""Ended jobs of the team among which those alike are looked for, and how many of them show what is usual."""
NEAR = 1
"""Magnitudes that differ by this much are alike: both expected run times are within a factor of two to four."""

_Row = dict[str, Any]
"""Sums over months: `strategy`, `tunes`, `program`, `machine`, `magnitude`, `month`, and `sum_` plus each name."""
Wanted = tuple[int, str, str, str, int | None, bool]
"""A team, a program, a machine, a region, the magnitude of the expected run time, and whether the job tunes."""


def load_learned(
    team: Team, submission: Submission, now: datetime, *, expected: timedelta | None
) -> Mapping[str, Learned]:
    """Return {key of a strategy: figures learned from the team's ended jobs like this one}. Makes up to two queries.

    One is for Compute Engine's preemption rates. The other reads the sums of at most 13 months for one program, for one
    machine and region, and for the whole team.
    """
    return _with_google(_load(_wanted(team, submission, expected), now), submission, now)


def recent_learned(
    team: Team, submission: Submission, now: datetime, *, expected: timedelta | None
) -> Mapping[str, Learned]:
    """Return `load_learned`, at most ten seconds old.

    Used for previews, which are rendered again on every keystroke.
    """
    return _with_google(_recent.get(_wanted(team, submission, expected), now), submission, now)


def _with_google(learned: Mapping[str, Learned], submission: Submission, now: datetime) -> Mapping[str, Learned]:
    """Return the figures with Compute Engine's preemption rates of such machines, if they are recent."""
    rates = preemption_rates(submission.project, submission, now=now)
    if rates is None:
        return learned
    changed = {
        key: replace(learned.get(key, NOT_LEARNED), google=rates)
        for key, strategy in STRATEGIES.items()
        if strategy.preemptible
    }
    return {**learned, **changed}


def usual_start_up(job: Job, submission: Submission, now: datetime) -> timedelta | None:
    """Return the median time from RUNNING to the first step of the team's jobs like this one; None if too few show it.

    Alike are jobs with the same program, on the same machine, with an expected run time of about the same magnitude.
    One query for the MAX_START_UPS newest figures of the team.
    """
    wanted = {"program": program_of(submission), "machine": machine_of(submission), "tunes": False}
    magnitude = magnitude_of(job.expected_seconds) if job.expected_seconds > 0 else 0
    rows = JobFigures.objects.filter(team=job.team_id, ended_on__gte=(now - LOOK_BACK).date()).order_by("-ended_on")
    taught = rows.values_list("teaches", flat=True)[:MAX_START_UPS]
    alike = [each for each in taught if "start_up" in each and wanted.items() <= each.items()]
    seconds = [each["start_up"] for each in alike if abs(each["magnitude"] - magnitude) <= NEAR]
    return timedelta(seconds=median(seconds)) if len(seconds) >= MIN_START_UPS else None


def _wanted(team: Team, submission: Submission, expected: timedelta | None) -> Wanted:
    magnitude = magnitude_of(expected.total_seconds()) if expected is not None and expected > timedelta() else None
    machine, tunes = machine_of(submission), submission.tuning is not None
    return team.pk, program_of(submission), machine, submission.region, magnitude, tunes


def _load(wanted: Wanted, now: datetime) -> Mapping[str, Learned]:
    team, program, machine, region, magnitude, tunes = wanted
    if "\x00" in machine + region:  # somebody may type it, but no column can store it
        return {}
    own = Q(program=program) | Q(program="", region=region, machine=machine) | Q(program="", region="", machine="")
    rows = LearnedFigures.objects.filter(own, team=team, hour=BY_LIKENESS, month__gte=(now - LOOK_BACK).date())
    grouped = rows.order_by().values("strategy", "tunes", "program", "machine", "magnitude", "month")
    sums: list[_Row] = [dict(row) for row in grouped.annotate(**{f"sum_{name}": Sum(name) for name in LEARNED})]
    runs = [row for row in sums if row["program"] and row["tunes"] is tunes]
    alike, by_month = [row for row in runs if _is_alike(row, machine, magnitude)], Counter[date]()
    for row in alike:
        by_month[row["month"]] += row["sum_runs"]
    since = recent_since(by_month)
    runs, alike = ([row for row in rows if row["month"] >= since] for rows in (runs, alike))
    program_sums, alike_sums = _sum(runs), _sum(alike)
    machine_sums = _sum([row for row in runs if row["machine"] == machine])
    return {
        key: Learned(
            program=program_sums,
            same_machine=machine_sums,
            alike=alike_sums,
            machines=_sum([row for row in sums if row["strategy"] == key and row["machine"] and not row["program"]]),
            team=_sum([row for row in sums if row["strategy"] == key and not row["machine"] and row["tunes"] is tunes]),
            machine=machine,
            region=region,
        )
        for key in (STRATEGIES if sums else ())
    }


def waits_by_region(team: Team, submission: Submission, strategy: str, now: datetime) -> Mapping[str, Wait]:
    """Return the waits of the team's jobs of a strategy on the same machine, by region. One query."""
    machine = machine_of(submission)
    if not is_storable(machine):
        return {}
    rows = LearnedFigures.objects.filter(
        team=team, hour=BY_LIKENESS, program="", machine=machine, strategy=strategy,
        month__gte=(now - LOOK_BACK).date(),
    ).exclude(region="")  # fmt: skip
    grouped = rows.order_by().values("region").annotate(**{f"sum_{name}": Sum(name) for name in LEARNED})
    waits = {row["region"]: Learned(machines=_sum([dict(row)])).wait() for row in grouped}
    return {region: wait for region, wait in waits.items() if wait is not None}


_recent: Recent[Wanted, Mapping[str, Learned]] = Recent(_load)


def _is_alike(row: _Row, machine: str, magnitude: int | None) -> bool:
    return row["machine"] == machine and magnitude is not None and abs(row["magnitude"] - magnitude) <= NEAR


def _sum(rows: Sequence[_Row]) -> Sums:
    return Sums(*(sum(row[f"sum_{name}"] for row in rows) for name in NAMES))
