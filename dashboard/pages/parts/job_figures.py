"""The figures of a job's page: progress, main metric, savings and losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _

from dashboard.drawing.figures import duration, money, value_text
from dashboard.pages.parts.job_curves import rank
from dashboard.queries.jobs import Measured
from jobs import timeline
from jobs.cost import from_micros
from jobs.cost.actual import accrued, for_time
from jobs.explain import times_out_at
from jobs.models import Job, JobFigures
from jobs.prices import recent_book
from jobs.strategies import STANDARD, is_on_resource
from jobs.timeline.resource_holdings import find_submission
from jobs.upkeep import standard_price

MAX_OF_TREND = 5
LEVEL = 0.002
"""A metric is level if its relative change is below this."""
LESS_IS_BETTER = ("loss", "err", "perplexity", "ppl", "rmse", "mae", "mse", "wer", "cer", "fid")


@dataclass(frozen=True, slots=True)
class Done:
    """Progress of the job: `share` from 0 to 1, a text, and the basis of the figure.

    If progress is not known, `share` is the share of the expected run time, which can exceed 1.
    """

    share: float
    text: str
    basis: str
    is_measured: bool = True


@dataclass(frozen=True, slots=True)
class MainMetric:
    """The main metric: its newest and best value as text, and its trend."""

    name: str
    last: str
    best: str
    trend: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cost of the same work on Standard, the savings against it, and the cost of work lost to restarts; USD."""

    standard: Decimal | None
    saved: Decimal | None
    lost: Decimal | None
    lost_time: timedelta
    over_estimate: Decimal | None
    """Cost minus estimate, negative if the job cost less; None before its end or without a price."""
    share: Decimal | None = None
    """The job's share of its persistent resource's bill; None under other strategies."""

    @property
    def over_estimate_text(self) -> str:
        """Return the difference to the estimate with its sign, or "" if it is not known."""
        over = self.over_estimate
        return "" if over is None else f"+{money(over)}" if over > 0 else money(over)

    @property
    def saved_percent(self) -> int | None:
        """Return the savings in percent, or None if they are not known."""
        if self.saved is None or not self.standard:
            return None
        return round(self.saved / self.standard * 100)


def done_of(job: Job, study: timeline.Study | None, measured: Measured, now: datetime) -> Done | None:
    """Return the progress: by trials for a study, else by the log, else by the expected run time."""
    if study is not None:
        ended = study.succeeded + study.failed
        words = _("%(ended)s of %(most)s trials") % {"ended": ended, "most": study.most}
        outlook = timeline.outlook(job, study, now) if ended else None
        basis = _("%(length)s left") % {"length": duration(outlook.left)} if outlook else _("trials that ended")
        return Done(ended / study.most, words, basis) if study.most else None
    row = measured.row
    if row is not None and row.fraction is not None:
        if row.ends_at is None or row.ends_at <= now or job.running_since is None:  # no news since it should have ended
            return Done(row.fraction, _place_of(measured), _("from its log"))
        limit = times_out_at(job, now)
        left = _("%(length)s left") % {"length": duration(row.ends_at - now)}
        if limit is not None and limit < row.ends_at:
            left = _("times out in %(length)s") % {"length": duration(limit - now)}
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
    return place_words(place.epoch, place.epochs, place.overall, place.overall_of)


def place_words(epoch: float | None, epochs: int | None, step: int | None, steps: int | None) -> str:
    """Return a step, else an epoch, with its total if that is known: "step 1,200 of 9,000"."""
    if step is not None and steps:
        return _("step %(step)s of %(all)s") % {"step": f"{step:,}", "all": f"{steps:,}"}
    if epoch is None:
        return _("step %(step)s") % {"step": f"{step:,}"} if step is not None else ""
    if epochs:
        return _("epoch %(epoch)s of %(all)s") % {"epoch": f"{epoch:g}", "all": f"{epochs:,}"}
    return _("epoch %(epoch)s") % {"epoch": f"{epoch:g}"}


def main_metric(measured: Measured) -> MainMetric | None:
    """Return the most important metric, judged by its name; None if the log has none."""
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
    """Compare the cost with the cost on Standard: its price for the run time without work lost to restarts.

    Of a job that has ended, the amounts are those that the history counts.
    """
    losses = [row.loss for row in rows if row.loss is not None]
    lost_time = sum((loss.time for loss in losses), timedelta())
    lost = None if job.hourly_usd is None else for_time(job.hourly_usd, lost_time)
    price = _standard_price(job, now) if job.strategy != STANDARD.key and job.trial_seconds is None else None
    if is_on_resource(job.strategy):
        share = None if price is None or not job.started_at else for_time(price, timeline.running(job, now))
        return Comparison(None, None, None, lost_time, None, share)
    standard = accrued(price, timeline.running(job, now) - lost_time)
    saved = None if standard is None or cost is None or not job.started_at else standard - cost
    has_ended = job.is_finished and job.started_at is not None
    kept: JobFigures | None = getattr(job, "figures", None) if job.is_counted else None
    if kept is not None and saved is not None and cost is not None:
        saved, lost = from_micros(kept.saved_micros), from_micros(kept.lost_micros)
        standard = cost + saved
    over = cost - job.estimate_usd if has_ended and cost is not None and job.estimate_usd is not None else None
    return Comparison(standard if job.started_at else None, saved, lost, lost_time, over)


def _standard_price(job: Job, now: datetime) -> Decimal | None:
    """Return the hourly cost of the job on Standard, or None without a price or a readable body."""
    submission = find_submission(job)
    return None if submission is None else standard_price(job, submission, recent_book(now))
