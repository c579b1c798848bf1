"""The curves below the lanes of a job's page: metrics of its log or trials, machine utilization and cost.

Each curve contains only the visible part of the axis, so that the values at its bottom and top are those drawn.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _

from dashboard.drawing.curves import Curve, Line, clipped
from dashboard.drawing.figures import duration, money, percent, value_text
from dashboard.drawing.scale import Scale
from dashboard.queries.jobs import Measured
from jobs import timeline
from jobs.cost.actual import billable, for_time
from jobs.metrics import Series, importance
from jobs.models import Job, Trial

MAX_CURVES = 3
"""Maximum metrics drawn at once. The table shows the others."""
MAX_SECONDS = 10 * 365 * 86_400
"""Upper bound for the elapsed time of a trial's measurement, because a datetime has one."""


def rank(series: Series) -> tuple[bool, int, str]:
    """Return the sort key of a metric: validation and results first, metrics of progress only last."""
    return importance(series.name)


def moves(series: Series) -> bool:
    """Return whether a metric is worth a curve. A constant learning rate is not."""
    is_quiet, *_ = rank(series)
    return not is_quiet or len({value for seconds, step, value in series.points}) > 1


def metric_ids(study: timeline.Study | None) -> frozenset[str]:
    """Return the metrics that trials report themselves, without the log."""
    if study is None or not any(trial.measurements for trial in study.trials):
        return frozenset()
    return frozenset(metric.id for metric in study.metrics)


def metric_curves(
    measured: Measured,
    tries: timeline.Attempts | None,
    scale: Scale,
    asked: str,
    reported: frozenset[str] = frozenset(),
) -> list[Curve]:
    """Return the curves of the drawn metrics, the requested one first, without the metrics in `reported`."""
    names = list(dict.fromkeys(series.name for series in sorted(measured.series, key=rank) if moves(series)))
    names = sorted((name for name in names if name not in reported), key=lambda name: name != asked)
    return [curve for name in names[:MAX_CURVES] if (curve := _curve(name, measured, tries, scale)) is not None]


def _curve(name: str, measured: Measured, tries: timeline.Attempts | None, scale: Scale) -> Curve | None:
    """Return a metric as a curve with a line for each attempt and trial, or None if no point is on the axis."""
    series = [each for each in measured.series if each.name == name]
    lines = clipped([line for each in series for line in _split(each, tries)], scale)
    values = [value for line in lines for at, value in line]
    if not values:
        return None
    last = series[-1].last
    newest = value_text(last[2]) if last else "–"
    low, high = value_text(min(values)), value_text(max(values))
    known = {"name": name, "low": low, "high": high, "newest": newest, "trials": len(series)}
    if len(series) > 1:
        label = _("%(name)s: between %(low)s and %(high)s, at last %(newest)s, in %(trials)s trials") % known
    else:
        label = _("%(name)s: between %(low)s and %(high)s, at last %(newest)s") % known
    return Curve(name, label, "metric", lines, low=low, high=high)


def trial_curves(study: timeline.Study, scale: Scale, asked: str) -> list[Curve]:
    """Return the reported values of a metric over time, with a line for each trial; [] before the first report.

    The metric is the requested one, else the first. A measurement has the time that its trial had run.
    """
    metric = next((each for each in study.metrics if each.id == asked), next(iter(study.metrics), None))
    if metric is None:
        return []
    lines = clipped([line for trial in study.trials if (line := _reported(trial, metric.id, scale.end))], scale)
    values = [value for line in lines for at, value in line]
    if not values:
        return []
    low, high = value_text(min(values)), value_text(max(values))
    known = {"name": metric.id, "trials": len(lines), "low": low, "high": high}
    label = _("%(name)s as %(trials)s trials reported it: between %(low)s and %(high)s") % known
    return [Curve(metric.id, label, "metric", lines, low=low, high=high)]


def _reported(trial: Trial, metric_id: str, end: datetime) -> list[tuple[datetime, float]]:
    """Return (time, value) of each measurement. Times are at most `end`, because Vertex AI's clock may be ahead."""
    start = trial.started_at
    if start is None:
        return []
    rows = [(seconds, metrics.get(metric_id)) for step, seconds, metrics in trial.measurements or ()]
    known = [(seconds, value) for seconds, value in rows if seconds is not None and value is not None]
    return sorted((min(start + timedelta(seconds=min(seconds, MAX_SECONDS)), end), value) for seconds, value in known)


def usage_curves(measured: Measured, tries: timeline.Attempts | None, scale: Scale) -> list[Curve]:
    """Return the utilization of processors and accelerators from Cloud Monitoring."""
    curves = []
    for series in measured.usage.series:
        last = series.last[2] if series.last else 0.0
        name = _("%(name)s use") % {"name": series.name}
        label = _("%(name)s use, all replicas: at last %(share)s") % {"name": series.name, "share": percent(last)}
        lines = clipped(_split(series, tries), scale)
        if not lines:
            continue
        curves.append(Curve(name, label, "use", lines, high=percent(1), floor=0.0, ceiling=1.0, height=40))
    return curves


def _split(series: Series, tries: timeline.Attempts | None) -> list[Line]:
    """Return the points of a series, with a line for each attempt and each replica restart within one.

    A program may log before Vertex AI calls the job RUNNING, so an attempt begins where it begins to wait.
    """
    begins = _begins(series.source, tries) if tries is not None else []
    lines: list[list[tuple[datetime, float]]] = [[]]
    before: datetime | None = None
    for seconds, _step, value in series.shown:
        at = datetime.fromtimestamp(seconds, UTC)
        if before is not None and any(before < begin <= at for begin in begins):
            lines.append([])
        lines[-1].append((at, value))
        before = at
    return [line for line in lines if line]


def _begins(replica: str, tries: timeline.Attempts) -> list[datetime]:
    """Return the times at which the job, or this replica of it, was restarted."""
    starts = [start.start for each in tries.whole for start in tries.starts(replica, each.number)]
    return [at for at in (*(each.start for each in tries.whole), *starts) if at is not None]


def cost_curve(
    job: Job, rows: Sequence[timeline.Row], now: datetime, ends_at: datetime | None, scale: Scale
) -> list[Curve]:
    """Return the cost of the job over time, up to the cost at its expected end; [] without a price."""
    ran = [row for row in rows if row.since is not None and row.ran]
    if job.hourly_usd is None or job.trial_seconds is not None or not ran:
        return []
    price, total, points = job.hourly_usd, timedelta(), []
    for row in ran:
        assert row.since is not None
        points.append((row.since, float(for_time(price, billable(total)))))
        total += row.ran
        points.append((row.until or now, float(for_time(price, billable(total)))))
    expected, until = None, min(ends_at, scale.end) if ends_at is not None else now
    if until > now:
        expected = (until, float(for_time(price, billable(total + (until - now)))))
    known = {"usd": money(points[-1][1]), "length": duration(total)}
    if ends_at is not None:
        known["expected"] = money(for_time(price, billable(total + (ends_at - now))))
        label = _("cost: %(usd)s after %(length)s of running, %(expected)s at the expected end") % known
    else:
        label = _("cost: %(usd)s after %(length)s of running") % known
    high = money(expected[1] if expected else points[-1][1])
    lines = clipped([points], scale)
    return [Curve(_("cost"), label, "cost", lines, high=high, expected=expected, floor=0.0, height=46)]
