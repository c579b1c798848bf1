"""The figures of a job's page: progress, its main metric, and what it saved and lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _

from dashboard.drawing.figures import duration, money, value_text
from dashboard.pages.parts.job_curves import rank
from dashboard.queries.metrics import Measured
from jobs import timeline
from jobs.cost.actual import for_time
from jobs.models import Job
from jobs.prices import recent_book
from jobs.timeline.resource_holdings import find_submission
from jobs.upkeep import standard_price

PERSISTENT = "persistent"
MAX_OF_TREND = 5
LEVEL = 0.002
"""A metric that changed by less than this share of itself is level."""
LESS_IS_BETTER = ("loss", "err", "perplexity", "ppl", "rmse", "mae", "mse", "wer", "cer", "fid")


@dataclass(frozen=True, slots=True)
class Done:
    """How much of the job is done: `share` 0 to 1, what that is, and on what it rests.

    Where it is not known, it is the share of the run time that was expected, above 1 for a job that runs longer.
    """

    share: float
    text: str
    basis: str
    is_measured: bool = True


@dataclass(frozen=True, slots=True)
class MainMetric:
    """The metric of the strip: its newest and best value as text, and whether it rises."""

    name: str
    last: str
    best: str
    trend: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the work would have cost on Standard, what was saved against that, and what restarts lost; USD."""

    standard: Decimal | None
    saved: Decimal | None
    lost: Decimal | None
    lost_time: timedelta
    over_estimate: Decimal | None
    """What the job cost beyond its estimate, below zero where it cost less; None before its end or without a price."""
    share: Decimal | None = None
    """What its machines account for on the bill of its persistent resource; None under other strategies."""

    @property
    def over_estimate_text(self) -> str:
        """Return how much more or less than its estimate the job cost, with its sign; "" where that is not known."""
        over = self.over_estimate
        return "" if over is None else f"+{money(over)}" if over > 0 else money(over)

    @property
    def saved_percent(self) -> int | None:
        """Return the share that was saved; None where it is not known."""
        if self.saved is None or not self.standard:
            return None
        return round(self.saved / self.standard * 100)


def done_of(job: Job, study: timeline.Study | None, measured: Measured, now: datetime) -> Done | None:
    """Return how much is done: of a study its trials, else by the log, else the run time that was expected."""
    if study is not None:
        ended = study.succeeded + study.failed
        words = _("%(ended)s of %(most)s trials") % {"ended": ended, "most": study.most}
        outlook = timeline.outlook(job, study, now) if ended else None
        basis = _("%(length)s left") % {"length": duration(outlook.left)} if outlook else _("trials that ended")
        return Done(ended / study.most, words, basis) if study.most else None
    row = measured.row
    if row is not None and row.fraction is not None:
        if row.ends_at is None or job.running_since is None:
            return Done(row.fraction, _place_of(measured), _("from its log"))
        left = _("%(length)s left") % {"length": duration(row.ends_at - now)}
        return Done(row.fraction, _place_of(measured), left)
    if job.started_at is None or not job.expected_seconds:
        return None
    ran = timeline.running(job, now)
    share = ran / timedelta(seconds=job.expected_seconds)
    words = _("%(ran)s of %(expected)s") % {"ran": duration(ran), "expected": duration(job.expected_seconds)}
    return Done(share, words, _("of the expected run time"), is_measured=False)


def _place_of(measured: Measured) -> str:
    """Return the last step or epoch in the log."""
    place = next(iter(measured.record.places.values()))
    if place.overall is not None and place.overall_of:
        return _("step %(step)s of %(all)s") % {"step": f"{place.overall:,}", "all": f"{place.overall_of:,}"}
    if place.epoch is None:
        return _("step %(step)s") % {"step": f"{place.overall:,}"} if place.overall is not None else ""
    if place.epochs:
        return _("epoch %(epoch)s of %(all)s") % {"epoch": f"{place.epoch:g}", "all": f"{place.epochs:,}"}
    return _("epoch %(epoch)s") % {"epoch": f"{place.epoch:g}"}


def main_metric(measured: Measured) -> MainMetric | None:
    """Return the metric that matters most by its name; None where the log has none."""
    series = min(measured.series, key=rank, default=None)
    if series is None or series.last is None:
        return None
    values = [value for _, _, value in series.shown]
    last, before = values[-1], values[-MAX_OF_TREND:][0]
    change = last - before
    is_level = abs(change) <= LEVEL * max(abs(last), abs(before))
    trend = _("level") if is_level else _("rising") if change > 0 else _("falling")
    best = min(values) if any(word in series.name.lower() for word in LESS_IS_BETTER) else max(values)
    return MainMetric(series.name, value_text(last), value_text(best), trend)


def compare_cost(job: Job, rows: Sequence[timeline.Row], cost: Decimal | None, now: datetime) -> Comparison:
    """Return what Standard would have cost for the same work: its price for the time that was not lost to restarts."""
    losses = [row.loss for row in rows if row.loss is not None]
    lost_time = sum((loss.time for loss in losses), timedelta())
    lost = None if job.hourly_usd is None else for_time(job.hourly_usd, lost_time)
    price = _standard_price(job, now) if job.strategy != "standard" and job.trial_seconds is None else None
    if job.strategy == PERSISTENT:
        share = None if price is None or not job.started_at else for_time(price, timeline.running(job, now))
        return Comparison(None, None, None, lost_time, None, share)
    standard = None if price is None else for_time(price, max(timeline.running(job, now) - lost_time, timedelta()))
    saved = None if standard is None or cost is None or not job.started_at else standard - cost
    has_ended = job.is_finished and job.started_at is not None
    over = cost - job.estimate_usd if has_ended and cost is not None and job.estimate_usd is not None else None
    return Comparison(standard if job.started_at else None, saved, lost, lost_time, over)


def _standard_price(job: Job, now: datetime) -> Decimal | None:
    """Return what an hour of the job costs on Standard; None where its body cannot be read or no price is known."""
    submission = find_submission(job)
    return None if submission is None else standard_price(job, submission, recent_book(now))
