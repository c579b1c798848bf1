"""The figures at the top of a job's page. The most important ones in the job's state come first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from dashboard.drawing.figures import between, duration, estimated, money, percent, time_and_day, value_text, zone
from dashboard.pages.parts.job_figures import Comparison, Done, MainMetric
from dashboard.pages.parts.rows import Row
from dashboard.queries.jobs import Measured
from dashboard.queries.waits import PastWaits, QueuePlace
from jobs import timeline
from jobs.explain import has_unknown_run
from jobs.states import JobState
from jobs.timeline.waiting import gives_up_at


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with a title and a note. `share`, from 0 to 1, is drawn as a bar below it."""

    value: str
    label: str
    note: str = ""
    share: float | None = None
    look: str = ""

    @property
    def width(self) -> str:
        """Return the share as the width attribute of a bar."""
        return f"{min(self.share or 0.0, 1.0) * 100:.1f}%"


@dataclass(frozen=True, slots=True)
class Known:
    """The data from which the figures are made."""

    row: Row
    now: datetime
    measured: Measured
    study: timeline.Study | None
    done: Done | None
    metric: MainMetric | None
    comparison: Comparison
    past_waits: PastWaits | None
    queue_place: QueuePlace | None


def strip_of(known: Known) -> list[Figure]:
    """Return the figures for the state of the job."""
    job = known.row.job
    if job.state == JobState.AWAITING_APPROVAL:
        return list(_before_approval(known))
    if job.is_finished:
        return list(_at_the_end(known))
    return list(_while_running(known) if job.started_at else _before_start(known))


def _before_approval(known: Known) -> Iterator[Figure]:
    job = known.row.job
    yield from _expected_cost(known)
    length = duration(known.now - job.requested_at)
    yield Figure(length, _("waits for approval"), _("an approver or lead of %(team)s decides") % {"team": job.team})
    if job.expected_seconds:
        yield Figure(duration(job.expected_seconds), _("expected run time"))


def _before_start(known: Known) -> Iterator[Figure]:
    job, waits, place = known.row.job, known.past_waits, known.queue_place
    if known.row.waited is not None:
        note = _("usually %(length)s") % {"length": duration(waits.median)} if waits else ""
        yield Figure(duration(known.row.waited), _("waited"), note)
    if (at := gives_up_at(job)) is not None and at > known.now:
        when = f"{time_and_day(at, known.now)} {zone(at)}"
        yield Figure(duration(at - known.now), _("until it gives up"), _("at %(time)s") % {"time": when})
    if place is not None:
        order = _("%(place)s of %(all)s") % {"place": place.place, "all": place.of_team}
        yield Figure(order, _("in Trainboard's queue"))
    yield from _expected_cost(known)


def _expected_cost(known: Known) -> Iterator[Figure]:
    job = known.row.job
    estimate = job.estimate or {}
    if job.estimate_usd is None:
        yield Figure("–", _("no price known"))
        return
    span = between(estimate.get("low_usd"), estimate.get("high_usd"))
    yield Figure(estimated(job), _("expected cost"), span)
    if job.hourly_usd is not None:
        yield Figure(money(job.hourly_usd), _("an hour of running"), _("nothing is billed before"))


def _while_running(known: Known) -> Iterator[Figure]:
    row, job, done = known.row, known.row.job, known.done
    is_waiting = job.waiting_again_since is not None
    if is_waiting:
        note = _("waited %(waited)s in all") % {"waited": duration(row.waited)}
        yield Figure(duration(timeline.waiting_again(job, known.now)), _("waits for machines again"), note)
    if done is not None:
        yield Figure(percent(done.share), done.text, done.basis, done.share)
    yield from _results(known)
    if known.study is None and not is_waiting:
        yield _ran(known)
    note = _("all replicas, %(machines)s") % {"machines": known.row.job.machines}
    for series in known.measured.usage.series:
        if series.last is not None:
            yield Figure(percent(series.last[2]), _("%(name)s use") % {"name": series.name}, note)
    rate = f"{money(job.hourly_usd)}/h" if job.hourly_usd is not None else ""
    yield _cost(known, rate)
    yield from _restarts(known)


def _at_the_end(known: Known) -> Iterator[Figure]:
    row, job, done, costs = known.row, known.row.job, known.done, known.comparison
    if has_unknown_run(job):
        yield Figure("–", _("run time not known"), _("Vertex AI gave no start time"))
    elif job.started_at is None:
        if row.waited is not None:
            yield Figure(duration(row.waited), _("waited"), _("never ran"))
    else:
        yield _ran(known)
    if done is not None and done.is_measured:
        note = _("when it ended") if job.log_complete else _("from its log")
        yield Figure(percent(done.share), done.text, note)
    yield from _results(known)
    over = costs.over_estimate_text
    yield _cost(known, _("%(usd)s against the estimate") % {"usd": over} if over else "")
    if costs.saved is not None and costs.saved > 0 and job.started_at is not None:
        share = f"{costs.saved_percent} %" if costs.saved_percent else ""
        yield Figure(money(costs.saved), _("saved against Standard"), share, look="ok")
    if costs.lost_time:
        usd = money(costs.lost) if costs.lost is not None else ""
        yield Figure(duration(costs.lost_time), _("lost to restarts"), usd, look="bad")
    yield from _restarts(known)


def _ran(known: Known) -> Figure:
    waited = known.row.waited
    note = _("waited %(waited)s") % {"waited": duration(waited)} if waited is not None else ""
    return Figure(duration(known.row.ran), _("ran"), note)


def _results(known: Known) -> Iterator[Figure]:
    """Yield the best result of a study, or the main metric of the log."""
    study, metric = known.study, known.metric
    if study is not None and len(study.objectives) == 1 and study.best:
        value, name = timeline.value_of(study.best[0], study.objectives[0]), study.objectives[0].id
        label, trial = _("best %(metric)s") % {"metric": name}, study.best[0].trial_id
        yield Figure(value_text(value), label, _("trial %(trial_id)s") % {"trial_id": trial})
    elif study is not None and study.best:
        yield Figure(str(len(study.best)), _("trials on the Pareto front"))
    elif study is None and metric is not None:
        label = f"{metric.name}, {metric.trend}"
        yield Figure(metric.last, label, _("best %(best)s") % {"best": metric.best})


def _cost(known: Known, note: str) -> Figure:
    job, cost = known.row.job, known.row.cost
    if cost is None:
        return Figure("–", _("no price known"))
    if has_unknown_run(job):
        return Figure("–", _("cost not known"), _("because its run time is not known"))
    if job.is_finished and job.started_at is None:
        return Figure(money(cost), _("nothing was billed"))
    words = _("of %(estimate_usd)s") % {"estimate_usd": estimated(job)}
    if job.estimate_usd is None:
        words = _("cost") if job.is_finished else _("so far")
    return Figure(money(cost), words, note)


def _restarts(known: Known) -> Iterator[Figure]:
    allowed = known.row.restarts_allowed
    if allowed:
        used = known.row.job.restarts
        counts = _("%(restarts)s of %(restarts_allowed)s") % {"restarts": used, "restarts_allowed": allowed}
        yield Figure(counts, _("restarts used"))
