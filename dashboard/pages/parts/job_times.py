"""The time axis of a job's page: the visible period and the expected end of the job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.utils.translation import gettext_lazy

from dashboard.drawing.curves import Curve
from dashboard.drawing.scale import Scale
from dashboard.drawing.timeline_key import Key, keys_of
from dashboard.pages.parts.job_curves import cost_curve, metric_curves, metric_ids, trial_curves, usage_curves
from dashboard.queries.jobs import Measured
from jobs import timeline
from jobs.explain import times_out_at
from jobs.metrics import Run
from jobs.models import Job

ZOOMS = {
    "all": gettext_lazy("All"),
    "past": gettext_lazy("So far"),
    "attempt": gettext_lazy("This attempt"),
    "hour": gettext_lazy("Last hour"),
}
HOUR = timedelta(hours=1)
MIN_SHARE = 0.15
"""If the past takes a smaller share of the axis than this, the page starts with the zoom on the past."""
AHEAD = 1 / 4
"""Room for the future on the axis of the past, relative to the time that has passed."""
MIN_RANGE = timedelta(minutes=1)
MIN_RUN = timedelta(seconds=10)
"""A shorter period of progress is too short to measure a pace."""


@dataclass(frozen=True, slots=True)
class End:
    """The expected end of the job, and the bounds of its 90 % range, None if they are not known."""

    at: datetime
    earliest: datetime | None = None
    latest: datetime | None = None
    is_timeout: bool = False
    """Whether the timeout ends the job before it can finish."""

    @property
    def is_range(self) -> bool:
        """Whether the bounds are far enough apart to be shown."""
        return self.earliest is not None and self.latest is not None and self.latest - self.earliest >= MIN_RANGE


@dataclass(frozen=True, slots=True)
class Times:
    """What the timeline draws: scale, zooms with their labels, curves, legend and expected end."""

    scale: Scale
    zoom: str
    zooms: Sequence[tuple[str, str]]
    curves: Sequence[Curve]
    end: End | None
    keys: Sequence[Key]

    @property
    def ends_at(self) -> datetime | None:
        """The expected end of the job."""
        return self.end.at if self.end is not None else None


def times_of(
    job: Job,
    story: timeline.JobTimeline,
    rows: Sequence[timeline.Row],
    measured: Measured,
    now: datetime,
    asked: Mapping[str, str],
    tries: timeline.Attempts | None = None,
    study: timeline.Study | None = None,
) -> Times:
    """Return the axis that the address asks for. An unknown zoom gives the initial one."""
    end = expected_end(job, measured, now)
    ends_at = end.at if end is not None else None
    axes = _axes(story, rows, ends_at)
    begin = "past" if "past" in axes else "all"
    zoom = asked.get("zoom", begin) if asked.get("zoom") in axes else begin
    scale, metric = Scale(*axes[zoom], story.end), asked.get("metric", "")
    return Times(
        scale=scale,
        zoom=zoom,
        zooms=[(key, str(ZOOMS[key])) for key in ZOOMS if key in axes] if len(axes) > 1 else (),
        curves=[
            *(trial_curves(study, scale, metric) if study is not None else ()),
            *metric_curves(measured, tries, scale, metric, reported=metric_ids(study)),
            *usage_curves(measured, tries, scale),
            *cost_curve(job, rows, now, ends_at, scale),
        ],
        end=end,
        keys=keys_of(story, scale, ends_at),
    )


def _axes(
    story: timeline.JobTimeline, rows: Sequence[timeline.Row], ends_at: datetime | None
) -> dict[str, tuple[datetime, datetime]]:
    """Return the start and end of the axis for each zoom that applies to the job."""
    until, past = max(story.end, ends_at or story.end), story.end - story.start
    axes = {"all": (story.start, until)}
    if past < MIN_SHARE * (until - story.start):
        axes["past"] = story.start, min(story.end + AHEAD * max(past, MIN_RUN), until)
    last = rows[-1] if rows else None
    begun = (last.begun or last.since) if last is not None and len(rows) > 1 else None
    if begun is not None:
        axes["attempt"] = begun, until
    if past > HOUR:
        axes["hour"] = story.end - HOUR, story.end
    return axes


def expected_end(job: Job, measured: Measured, now: datetime) -> End | None:
    """Return the expected end of a running job: by the pace in its log, else by its expected run time.

    The timeout ends it at the latest. Return None if the job does not run or is to be cancelled, or if the expected end
    has passed.
    """
    if job.running_since is None or job.is_finished or job.cancel_requested_at or job.trial_seconds is not None:
        return None
    known = measured.row.ends_at if measured.row is not None else None
    begun = job.running_since - timedelta(seconds=job.running_seconds)
    end = known or begun + timedelta(seconds=max(job.expected_seconds, job.running_seconds))
    ends = _ends_by_pace(measured.record.runs) if known else _ends_by_estimate(job, begun)
    if end <= now:
        return None
    limit = times_out_at(job, now) or end
    if limit < end:
        return End(limit, is_timeout=True)
    return End(end, max(min(*ends, end), now), min(max(*ends, end), limit)) if ends else End(end)


def _ends_by_pace(runs: Sequence[Run]) -> list[datetime]:
    """Return the ends by the recent pace and by the pace of the whole attempt; [] if one is not known."""
    run = runs[-1] if runs else None
    begins = ((run.middle_at, run.middle), (run.since, run.began)) if run is not None else ()
    paces = [
        (run.reached - began) / (run.until - since)
        for since, began in begins
        if run is not None and since and run.until - since >= MIN_RUN.total_seconds() and run.reached > began
    ]
    if run is None or len(paces) < len(begins):
        return []
    return [datetime.fromtimestamp(run.until + (1 - run.reached) / pace, UTC) for pace in paces]


def _ends_by_estimate(job: Job, begun: datetime) -> list[datetime]:
    """Return the ends at which the cost reaches the low and the high bound of the estimate; [] without a price."""
    estimate = job.estimate or {}
    price, low, high = (Decimal(estimate.get(name) or 0) for name in ("usd_per_hour", "low_usd", "high_usd"))
    return [begun + timedelta(hours=float(usd / price)) for usd in (low, high)] if price and low and high else []
