"""Figures learned from a team's ended jobs for its next one, read from the sums of `jobs.upkeep.learned_figures`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Min, Q, Sum

from jobs.cache import Recent
from jobs.cost.learned import NAMES, Learned, Sums, machine_of
from jobs.models import LearnedFigures, Team
from jobs.models.figures import LEARNED
from jobs.spec import Submission
from jobs.strategies import STRATEGIES

LOOK_BACK = timedelta(days=365)
"""Earlier months are ignored, because machines, prices and code have changed since."""
OF_RUNS = frozenset({"runs", "run_logs", "run_squares", "estimated", "inside"})
"""Figures learned separately for tuning jobs and other jobs. Waits are those of jobs that do not tune."""
OF_MACHINES = frozenset({"machine_seconds", "preemptions", "lost_seconds"})
"""Figures learned for a machine, whether a job or a trial of a tuning job runs on it."""

_Row = dict[str, Any]
"""Sums over one strategy's months: `strategy`, `tunes`, `machine`, `is_near`, `since`, and `sum_` plus each name."""
Wanted = tuple[int, str, str, bool, int]
"""A team, a machine, a region, whether the job tunes, and the hour of the day at which it is sent."""


def load_learned(team: Team, submission: Submission, now: datetime) -> Mapping[str, Learned]:
    """Return {key of a strategy: figures learned from the team's ended jobs} for a job sent at `now`. Makes one query.

    It reads the sums of at most 13 months for one machine and region, and those of the whole team.
    """
    return _load(_wanted(team, submission, now), now)


def recent_learned(team: Team, submission: Submission, now: datetime) -> Mapping[str, Learned]:
    """Return `load_learned`, at most ten seconds old.

    Used for previews, which are rendered again on every keystroke.
    """
    return _recent.get(_wanted(team, submission, now), now)


def _wanted(team: Team, submission: Submission, now: datetime) -> Wanted:
    return team.pk, machine_of(submission), submission.region, submission.tuning is not None, now.hour


def _load(wanted: Wanted, now: datetime) -> Mapping[str, Learned]:
    team, machine, region, tunes, hour = wanted
    if "\x00" in machine + region:  # somebody may type it, but no column can store it
        return {}
    near = [(hour + shift) % 24 for shift in (-1, 0, 1)]
    own = Q(region=region, machine=machine) | Q(region="", machine="")
    rows = LearnedFigures.objects.filter(own, team=team, month__gte=(now - LOOK_BACK).date())
    is_near = ExpressionWrapper(Q(hour__in=near), output_field=BooleanField())
    grouped = rows.annotate(is_near=is_near).order_by().values("strategy", "tunes", "machine", "is_near")
    summed = grouped.annotate(since=Min("month"), **{f"sum_{name}": Sum(name) for name in LEARNED})
    sums: list[_Row] = [dict(row) for row in summed]
    alike, of_team = ([row for row in sums if bool(row["machine"]) is has_one] for has_one in (True, False))
    alike_runs = _sum(alike, tunes=tunes)
    first = min((row["since"] for row in (alike if alike_runs.runs else of_team)), default=None)
    runs = Learned(
        team_runs=_sum(of_team, tunes=tunes), alike_runs=alike_runs, machine=machine, region=region, since=first
    )
    return {key: _of_strategy(key, runs, alike, of_team, tunes=tunes) for key in STRATEGIES} if sums else {}


_recent: Recent[Wanted, Mapping[str, Learned]] = Recent(_load)


def _of_strategy(key: str, runs: Learned, alike: Sequence[_Row], of_team: Sequence[_Row], *, tunes: bool) -> Learned:
    """Return `runs` with the figures learned from the jobs of one strategy."""
    alike, of_team = ([row for row in rows if row["strategy"] == key] for rows in (alike, of_team))
    return replace(
        runs,
        team=_sum(of_team, tunes=tunes),
        alike=_sum(alike, tunes=tunes),
        hour=_sum([row for row in alike if row["is_near"]], tunes=tunes),
    )


def _sum(rows: Sequence[_Row], *, tunes: bool) -> Sums:
    return Sums(*(_total(rows, name, tunes=tunes and name in OF_RUNS) for name in NAMES))


def _total(rows: Sequence[_Row], name: str, *, tunes: bool) -> int:
    return sum(row[f"sum_{name}"] for row in rows if row["tunes"] is tunes or name in OF_MACHINES)
