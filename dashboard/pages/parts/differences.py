"""Differences between two jobs, for the compare and approvals pages."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.contrib.auth.models import User

from dashboard.drawing.differences import FieldRow, render_difference
from dashboard.drawing.figures import duration, estimated
from dashboard.queries.baselines import get_baseline
from jobs.models import Job
from jobs.spec.compare import OWN_LABELS, Change, Difference, side_by_side


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two jobs side by side. `why` is the reason for comparing these two, or "" if the user chose them."""

    before: Job
    after: Job
    changed: tuple[FieldRow, ...]
    same: tuple[FieldRow, ...]
    why: str = ""


def comparison(before: Job, after: Job, *, without: Iterable[str] = OWN_LABELS) -> Comparison:
    """Compare two jobs: first the values outside their bodies, then the bodies. `without` as for `side_by_side`."""
    rows = [*_around(before, after), *side_by_side(before.spec, after.spec, without=without)]
    drawn = [render_difference(row) for row in rows]
    return Comparison(
        before,
        after,
        changed=tuple(row for row in drawn if row.change is not Change.SAME),
        same=tuple(row for row in drawn if row.change is Change.SAME),
    )


def changes_of(user: User, job: Job) -> Comparison | None:
    """Return the changes of a job against its baseline, for its approvers; None if it has no baseline. One query."""
    baseline = get_baseline(user, job, approved_first=True)
    return None if baseline is None else replace(comparison(baseline.job, job), why=baseline.why)


def _around(before: Job, after: Job) -> list[Difference]:
    """Return the values outside the bodies, as text: kind, team, project, region, expected run time and cost."""
    sides = [
        {
            "kind": job.get_kind_display(),
            "team": job.team.name,
            "project": job.project,
            "region": job.region,
            "expected run time": duration(job.expected_seconds or None),
            "expected cost": estimated(job),
        }
        for job in (before, after)
    ]
    return [row for row in side_by_side(*sides) if row.field not in ("kind", "team") or row.change is not Change.SAME]
