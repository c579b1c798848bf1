"""How much slower a run was than the one before it, and in which part, in words."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from dashboard.drawing.figures import duration, percent
from dashboard.queries.families import get_prepared
from dashboard.queries.jobs import get_measured
from jobs.models import Job
from jobs.states import SUCCESSFUL
from jobs.timeline.losses import lost_seconds
from jobs.timeline.slower import Part, Times, compare_times, pace_of

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

WORDS: dict[Part, "StrOrPromise"] = {
    Part.WAIT: _("wait for machines"),
    Part.IMAGE: _("preparation of machines and image"),
    Part.RESTARTS: _("restarts"),
    Part.PACE: _("seconds a step"),
    Part.STEPS: _("more steps"),
    Part.UNKNOWN: _("cause not known"),
}


@dataclass(frozen=True, slots=True)
class SlowerWords:
    """The share by which a run was slower, the time, and the part that grew most."""

    share: str
    time: str
    part: "StrOrPromise"
    job: Job
    before: Job


def slower_part(before: Job, after: Job) -> SlowerWords | None:
    """Return how much slower `after` was, None unless both succeeded and it was slower.

    Both are loaded with their metrics. Makes one query if it was slower.
    """
    if not (before.state in SUCCESSFUL and after.state in SUCCESSFUL):
        return None
    was, now = (_times(job, None) for job in (before, after))
    if was is None or now is None or compare_times(was, now) is None:
        return None
    prepared = get_prepared([before, after])
    was, now = (_times(job, prepared.get(job.pk)) for job in (before, after))
    found = compare_times(was, now) if was is not None and now is not None else None
    if found is None:
        return None
    return SlowerWords(percent(found.share), duration(found.seconds), WORDS[found.part], after, before)


def _times(job: Job, prepared_at: datetime | None) -> Times | None:
    begin, start, end = job.submitted_at, job.started_at, job.ended_at
    if begin is None or end is None or start is None:
        return None
    runs, series = get_measured(job).record.runs, get_measured(job).series
    lost = sum(lost_seconds(runs, run.until) or 0.0 for run in runs[:-1])
    longest = max(series, key=lambda each: (each.has_step, len(each.points)), default=None)
    points = longest.shown if longest is not None else []
    steps = [step for _at, step, _value in points if step is not None]
    is_prepared = prepared_at is not None and begin <= prepared_at <= start
    return Times(
        whole=(end - begin).total_seconds(),
        wait=(prepared_at - begin).total_seconds() if is_prepared and prepared_at else None,
        image=(start - prepared_at).total_seconds() if is_prepared and prepared_at else None,
        restarts=job.waited_again_seconds + lost,
        pace=pace_of(points),
        steps=max(steps, default=None),
    )
