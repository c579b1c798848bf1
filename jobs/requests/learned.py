"""What the ended jobs of a team tell of the next one, read from sums that are kept (`jobs.upkeep.learning`)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Min, Q, Sum

from jobs.cost.learned import NAMES, Learned, Sums, machine_of
from jobs.models import LearnedFigures, Team
from jobs.models.figures import LEARNED
from jobs.recent import Recent
from jobs.spec import Submission
from jobs.strategies import STRATEGIES

LOOK_BACK = timedelta(days=365)
"""Months that began longer ago are not learned from: machines, prices and code have changed since."""
OF_RUNS = frozenset({"runs", "run_logs", "run_squares", "estimated", "inside"})
"""What is learned for tuning jobs and others apart; waits are those of jobs that do not tune."""
OF_MACHINES = frozenset({"machine_seconds", "preemptions", "lost_seconds"})
"""What is learned of machines, whether a job or a trial of a tuning job runs on them."""


Wanted = tuple[int, str, str, bool, int]
"""A team, a machine, a region, whether the job tunes, and the hour of the day at which it is sent."""


def load_learned(team: Team, submission: Submission, now: datetime) -> Mapping[str, Learned]:
    """Return {key of a strategy: what the team's ended jobs tell of it} for a job sent at `now`; one query.

    Reads the sums of at most 13 months for one machine and region, and those of the team as a whole.
    """
    return _load(_wanted(team, submission, now), now)


def recent_learned(team: Team, submission: Submission, now: datetime) -> Mapping[str, Learned]:
    """Return `load_learned` as it was ten seconds ago at most: for previews, which are drawn again with every key."""
    return _recent.get(_wanted(team, submission, now), now)


def _wanted(team: Team, submission: Submission, now: datetime) -> Wanted:
    return team.pk, machine_of(submission), submission.region, submission.tuning is not None, now.hour


def _load(wanted: Wanted, now: datetime) -> Mapping[str, Learned]:
    team, machine, region, tunes, hour = wanted
    if "\x00" in machine + region:  # as somebody may type it; no column holds one
        return {}
    near = [(hour + shift) % 24 for shift in (-1, 0, 1)]
    own = Q(region=region, machine=machine) | Q(region="", machine="")
    rows = LearnedFigures.objects.filter(own, team=team, month__gte=(now - LOOK_BACK).date())
    is_near = ExpressionWrapper(Q(hour__in=near), output_field=BooleanField())
    grouped = rows.annotate(is_near=is_near).order_by().values("strategy", "tunes", "machine", "is_near")
    sums = grouped.annotate(since=Min("month"), **{f"sum_{name}": Sum(name) for name in LEARNED})
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sums:
        found.setdefault(row["strategy"], []).append(dict(row))
    return {key: _learned(each, machine, region, tunes=tunes) for key, each in found.items() if key in STRATEGIES}


_recent: Recent[Wanted, Mapping[str, Learned]] = Recent(_load)


def _learned(rows: list[dict[str, Any]], machine: str, region: str, *, tunes: bool) -> Learned:
    alike = [row for row in rows if row["machine"]]
    own = alike if _sum(alike, tunes=tunes).runs else rows
    return Learned(
        team=_sum([row for row in rows if not row["machine"]], tunes=tunes),
        alike=_sum(alike, tunes=tunes),
        hour=_sum([row for row in alike if row["is_near"]], tunes=tunes),
        machine=machine,
        region=region,
        since=min((row["since"] for row in own), default=None),
    )


def _sum(rows: list[dict[str, Any]], *, tunes: bool) -> Sums:
    return Sums(*(_total(rows, name, tunes=tunes and name in OF_RUNS) for name in NAMES))


def _total(rows: list[dict[str, Any]], name: str, *, tunes: bool) -> int:
    return sum(row[f"sum_{name}"] for row in rows if row["tunes"] is tunes or name in OF_MACHINES)
