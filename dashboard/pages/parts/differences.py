"""Differences between jobs, for the compare and approvals pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User

from dashboard.drawing.differences import FieldRow, Piece, render_difference, render_value
from dashboard.drawing.figures import duration, estimated
from dashboard.queries.baselines import get_baseline
from jobs.models import Job
from jobs.spec.compare import OWN_LABELS, Change, side_by_side


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two jobs side by side. `why` is the reason for comparing these two, or "" if the user chose them."""

    before: Job
    after: Job
    changed: tuple[FieldRow, ...]
    same: tuple[FieldRow, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class ComparedField:
    """One field of several jobs: its value in each, in the order of the jobs. A job without the field has no pieces."""

    field: str
    values: tuple[tuple[Piece, ...], ...]
    differs: bool


def compare_fields(jobs: Sequence[Job], *, without: Iterable[str] = OWN_LABELS) -> list[ComparedField]:
    """Return every field of the jobs, those that differ first. `without` as for `side_by_side`."""
    left_out = tuple(without)
    around = [{row.field: row.before for row in side_by_side(side, side)} for side in map(_around, jobs)]
    found = [
        outside | {row.field: row.before for row in side_by_side(job.spec, job.spec, without=left_out)}
        for outside, job in zip(around, jobs, strict=True)
    ]
    names = dict.fromkeys(name for fields in found for name in fields)
    rows = []
    for name in names:
        values = [fields.get(name) for fields in found]
        differs = any(value != values[0] for value in values)
        rows.append(ComparedField(name, tuple(map(render_value, values)), differs))
    return sorted(rows, key=lambda row: not row.differs)


def comparison(before: Job, after: Job, *, without: Iterable[str] = OWN_LABELS) -> Comparison:
    """Compare two jobs: first the values outside their bodies, then the bodies. `without` as for `side_by_side`."""
    outside = side_by_side(_around(before), _around(after))
    rows = [row for row in outside if row.field not in ("kind", "team") or row.change is not Change.SAME]
    rows += side_by_side(before.spec, after.spec, without=without)
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


def _around(job: Job) -> dict[str, Any]:
    """Return the values outside the body, as text: kind, team, project, region, expected run time and cost."""
    return {
        "kind": job.get_kind_display(),
        "team": job.team.name,
        "project": job.project,
        "region": job.region,
        "expected run time": duration(job.expected_seconds or None),
        "expected cost": estimated(job),
    }
