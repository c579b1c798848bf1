"""The one axis of a job's page: what of the time is shown, and the curves below the lanes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.drawing.curves import Curve
from dashboard.drawing.figures import duration, money, percent, value_text
from dashboard.drawing.scale import Scale
from dashboard.queries.metrics import Measured
from jobs import timeline
from jobs.cost.actual import for_time
from jobs.metrics import Series
from jobs.models import Job, Trial

ZOOMS = {"all": gettext_lazy("All"), "attempt": gettext_lazy("This attempt"), "hour": gettext_lazy("Last hour")}
MAX_CURVES = 3
"""Metrics that are drawn at once; the others are in the table."""
HOUR = timedelta(hours=1)
MAX_SECONDS = 10 * 365 * 86_400
"""A longer running time of a trial, which an answer may hold, is drawn there: calendars end."""
QUIET = ("lr", "learning_rate", "rate", "epoch", "norm", "speed", "wps", "ups", "scale")
"""Names of what is drawn last: no result of the training, but how it goes on."""


@dataclass(frozen=True, slots=True)
class Times:
    """What the timeline draws: its scale, the zooms with their labels, curves, and when the job ends as expected."""

    scale: Scale
    zoom: str
    zooms: Sequence[tuple[str, str]]
    curves: Sequence[Curve]
    ends_at: datetime | None


def times_of(
    job: Job,
    story: timeline.JobTimeline,
    rows: Sequence[timeline.Row],
    measured: Measured,
    now: datetime,
    asked: Mapping[str, str],
    study: timeline.Study | None = None,
) -> Times:
    """Return the axis that the address asks for; an unknown zoom is all of the time."""
    ends_at = expected_end(job, measured, now)
    last = next((row for row in reversed(rows) if row.since is not None), None)
    starts = {"all": story.start, "hour": max(story.end - HOUR, story.start)}
    if last is not None and last.since is not None and len(rows) > 1:
        starts["attempt"] = last.since
    zooms = [
        (key, str(ZOOMS[key])) for key in ZOOMS if key in starts and (key != "hour" or story.end - story.start > HOUR)
    ]
    zoom = asked.get("zoom", "all") if asked.get("zoom") in starts else "all"
    until = max(story.end, ends_at) if ends_at is not None and zoom != "hour" else story.end
    return Times(
        scale=Scale(starts[zoom], until, story.end),
        zoom=zoom,
        zooms=zooms if len(zooms) > 1 else (),
        curves=[
            *(trial_curves(study, asked.get("metric", "")) if study is not None else ()),
            *metric_curves(measured, rows, asked.get("metric", ""), reported=_metric_ids(study)),
            *usage_curves(measured, rows),
            *cost_curve(job, rows, now, ends_at),
        ],
        ends_at=ends_at,
    )


def expected_end(job: Job, measured: Measured, now: datetime) -> datetime | None:
    """Return when a running job ends: at the pace that its log tells, else after the run time that was expected.

    None where the job does not run, or where that moment has passed.
    """
    if job.running_since is None or job.is_finished or job.trial_seconds is not None:
        return None
    known = measured.row.ends_at if measured.row is not None else None
    end = known or job.running_since + timedelta(seconds=max(job.expected_seconds - job.running_seconds, 0))
    return end if end > now else None


def rank(series: Series) -> tuple[bool, bool, str]:
    """Order metrics: those of validation and results before what only tells how the training goes on."""
    name = series.name.lower()
    return any(word in name for word in QUIET), "loss" not in name, name


def moves(series: Series) -> bool:
    """Tell whether a metric is worth a curve: a learning rate that stays the same is not."""
    is_quiet, *_ = rank(series)
    return not is_quiet or len({value for seconds, step, value in series.points}) > 1


def _metric_ids(study: timeline.Study | None) -> frozenset[str]:
    """Return the metrics that trials reported themselves, which need no line of a log."""
    if study is None or not any(trial.measurements for trial in study.trials):
        return frozenset()
    return frozenset(metric.id for metric in study.metrics)


def metric_curves(
    measured: Measured, rows: Sequence[timeline.Row], asked: str, reported: frozenset[str] = frozenset()
) -> list[Curve]:
    """Return the curves of the metrics that are drawn, the one that was asked for first; without those `reported`."""
    names = list(dict.fromkeys(series.name for series in sorted(measured.series, key=rank) if moves(series)))
    names = sorted((name for name in names if name not in reported), key=lambda name: name != asked)
    return [_curve(name, measured, rows) for name in names[:MAX_CURVES]]


def _curve(name: str, measured: Measured, rows: Sequence[timeline.Row]) -> Curve:
    """Return a metric as a curve; between two attempts, and for each trial, a new line begins."""
    series = [each for each in measured.series if each.name == name]
    begins = [row.since for row in rows[1:] if row.since is not None]
    lines = [line for each in series for line in _split(each, begins)]
    values = [value for line in lines for at, value in line]
    last = series[-1].last
    newest = value_text(last[2]) if last else "–"
    low, high = value_text(min(values)), value_text(max(values))
    known = {"name": name, "low": low, "high": high, "newest": newest, "trials": len(series)}
    if len(series) > 1:
        label = _("%(name)s: between %(low)s and %(high)s, at last %(newest)s, in %(trials)s trials") % known
    else:
        label = _("%(name)s: between %(low)s and %(high)s, at last %(newest)s") % known
    return Curve(name, label, "metric", lines, low=low, high=high)


def trial_curves(study: timeline.Study, asked: str) -> list[Curve]:
    """Return what trials reported of a metric at the times when they did, a line for each trial; [] before any did.

    It is the metric that was asked for, else the first; a measurement carries the time that its trial had run.
    """
    metric = next((each for each in study.metrics if each.id == asked), next(iter(study.metrics), None))
    if metric is None:
        return []
    lines = [line for trial in study.trials if (line := _reported(trial, metric.id))]
    values = [value for line in lines for at, value in line]
    if not values:
        return []
    low, high = value_text(min(values)), value_text(max(values))
    known = {"name": metric.id, "trials": len(lines), "low": low, "high": high}
    label = _("%(name)s as %(trials)s trials reported it: between %(low)s and %(high)s") % known
    return [Curve(metric.id, label, "metric", lines, low=low, high=high)]


def _reported(trial: Trial, metric_id: str) -> list[tuple[datetime, float]]:
    start = trial.started_at
    if start is None:
        return []
    rows = [(seconds, metrics.get(metric_id)) for step, seconds, metrics in trial.measurements or ()]
    known = [(seconds, value) for seconds, value in rows if seconds is not None and value is not None]
    return sorted((start + timedelta(seconds=min(seconds, MAX_SECONDS)), value) for seconds, value in known)


def usage_curves(measured: Measured, rows: Sequence[timeline.Row]) -> list[Curve]:
    """Return what the machines used of their processors and accelerators, as Cloud Monitoring tells it."""
    begins = [row.since for row in rows[1:] if row.since is not None]
    curves = []
    for series in measured.usage.series:
        last = series.last[2] if series.last else 0.0
        name = _("%(name)s use") % {"name": series.name}
        label = _("%(name)s use, all replicas: at last %(share)s") % {"name": series.name, "share": percent(last)}
        lines = _split(series, begins)
        curves.append(Curve(name, label, "use", lines, high=percent(last), floor=0.0, height=40))
    return curves


def _split(series: Series, begins: Sequence[datetime]) -> list[list[tuple[datetime, float]]]:
    lines: list[list[tuple[datetime, float]]] = [[]]
    before: datetime | None = None
    for seconds, _step, value in series.shown:
        at = datetime.fromtimestamp(seconds, UTC)
        if before is not None and any(before < begin <= at for begin in begins):
            lines.append([])
        lines[-1].append((at, value))
        before = at
    return [line for line in lines if line]


def cost_curve(job: Job, rows: Sequence[timeline.Row], now: datetime, ends_at: datetime | None) -> list[Curve]:
    """Return what the job had cost at each time, and what it will have at its expected end; [] without a price."""
    ran = [row for row in rows if row.since is not None and row.ran]
    if job.hourly_usd is None or job.trial_seconds is not None or not ran:
        return []
    total, points = timedelta(), []
    for row in ran:
        assert row.since is not None
        points.append((row.since, float(for_time(job.hourly_usd, total))))
        total += row.ran
        points.append((row.until or now, float(for_time(job.hourly_usd, total))))
    expected = None
    if ends_at is not None:
        expected = (ends_at, float(for_time(job.hourly_usd, total + (ends_at - now))))
    known = {"usd": money(points[-1][1]), "length": duration(total)}
    if expected:
        known["expected"] = money(expected[1])
        label = _("cost: %(usd)s after %(length)s of running, %(expected)s at the expected end") % known
    else:
        label = _("cost: %(usd)s after %(length)s of running") % known
    high = money(expected[1] if expected else points[-1][1])
    return [Curve(_("cost"), label, "cost", [points], high=high, expected=expected, floor=0.0, height=46)]
