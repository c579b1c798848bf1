"""The rows of the board: next event and its time, group, and available actions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Self, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from dashboard.access import teams_where
from dashboard.drawing.figures import duration, value_text
from dashboard.drawing.figures import percent as percent_text
from dashboard.drawing.marks import accelerators_of
from dashboard.drawing.scale import Scale
from dashboard.drawing.track import render_track, track_of
from dashboard.pages.parts.advice import fixes_of
from dashboard.pages.parts.fallback_part import attempt_words
from dashboard.pages.parts.job_figures import place_words
from dashboard.pages.parts.rows import Row, row_of
from dashboard.queries.approvals import decidable_jobs
from dashboard.queries.persistent_resources import Holdings
from dashboard.queries.search import STATE_WORDS
from jobs import timeline
from jobs.explain import explain_in_list, has_failed, times_out_at
from jobs.models import Job, JobEvent, Scope, ShownJob
from jobs.requests.fixes import FIXES
from jobs.states import FINISHED, RUNNING, WAITING, JobState
from jobs.timeline.waiting import gives_up_at

FAILED = STATE_WORDS["failed"]
NEEDS, APPROVAL, WAITS, RUNS, OTHER, ENDED = range(6)
HEADINGS = (
    _("Needs you"),
    _("Awaiting approval"),
    _("Waiting"),
    _("Running"),
    _("In another state"),
    _("Just ended"),
)
WORDS = {
    "asked": _("asked"),
    "failed": _("failed"),
    "ended": _("ended"),
    "ends": _("ends"),
    "since": _("since"),
    "times out": _("times out"),
    "gives up": _("gives up"),
    "gave up": _("gave up"),
}
"""The next event of a job, or its last one."""
USAGE_IS_NEWS = timedelta(minutes=5)
"""For how long a share of use is shown; it is only read while somebody looks at the job."""
GROUPINGS = {"state": _("By state"), "owner": _("By owner"), "strategy": _("By strategy")}
SORTS = frozenset({"when", "name", "waited", "cost"})


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user who views the board, and what depends on them."""

    pk: int
    sees: frozenset[int]
    """Teams whose jobs the user may see."""
    requests_in: frozenset[int]
    """Teams in which the user may request and cancel jobs."""
    decides: frozenset[UUID]
    """Jobs about which the user may decide."""
    now: datetime

    @classmethod
    def load(cls, user: User, jobs: Sequence[Job], now: datetime) -> Self:
        """Load what the user may do about these jobs now. One query if one of them waits."""
        sees, approves, asks = (
            frozenset(team.pk for team in teams_where(user, verb)) for verb in ("see", "approve", "request")
        )
        waiting = any(
            job.state == JobState.AWAITING_APPROVAL and job.team_id in approves and job.owner_id != user.pk
            for job in jobs
        )
        decides = decidable_jobs(user, now.date()) if waiting else frozenset()
        return cls(user.pk, sees, asks, decides, now)

    def may_decide(self, job: Job) -> bool:
        """Whether the user may approve or reject the job."""
        return job.state == JobState.AWAITING_APPROVAL and job.pk in self.decides


@dataclass(frozen=True, slots=True)
class Action:
    """A link in a row."""

    label: str
    page: str
    query: str = ""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """What the board shows of a job in addition to its `Row`. Templates only format it."""

    row: Row
    at: datetime
    at_word: str
    track: SafeString
    accelerators: str
    actions: tuple[Action, ...]
    may_decide: bool
    percent: int | None
    """Progress of the training according to its log, or None if no log shows it."""
    training: str
    """What a running job's log and machines show: step or epoch, metric, how busy the accelerators are, time left."""
    attempt: str
    """Which attempt of its request the job is, or "" if it is the only one."""
    warning: timeline.WasteWarning | None

    @property
    def job(self) -> Job:
        """The job of the row."""
        return self.row.job


def expected_end(job: Job, now: datetime) -> datetime | None:
    """Return when a running job is expected to end, by its log, else by its expected run time.

    Return None for a job that does not run or is to be cancelled, and if both times are over. The timeout is left out,
    because it is read from the spec, which is loaded only of the rows that are drawn.
    """
    if job.running_since is None or job.cancel_requested_at is not None:
        return None
    metrics = getattr(job, "metrics", None)
    if metrics is not None and metrics.ends_at is not None and metrics.ends_at > now:
        end = cast("datetime", metrics.ends_at)
    else:
        end = now + timedelta(seconds=job.expected_seconds) - timeline.running(job, now)
    return end if end > now else None


def next_event(job: Job, now: datetime) -> tuple[datetime, str]:
    """Return the time and kind of the next event of a job, or of its last one."""
    if job.state == JobState.AWAITING_APPROVAL:
        return job.state_since, "asked"
    if job.state in FINISHED:
        return job.ended_at or job.state_since, "failed" if job.state in FAILED else "ended"
    if (end := expected_end(job, now)) is not None:
        return end, "ends"
    return job.state_since, "since"


def reruns_of(jobs: Iterable[Job]) -> frozenset[UUID]:
    """Return the keys of the jobs that were cloned into one of these."""
    return frozenset(job.cloned_from_id for job in jobs if job.cloned_from_id)


def needs(job: Job, viewer: Viewer, reruns: frozenset[UUID]) -> bool:
    """Whether a job needs the viewer: it needs their decision, or it is theirs and failed or may waste money.

    A failed job that was rerun needs nobody. Theirs is also the decision about another strategy that an approver offers
    for a job of their own. Jobs come from `list_board`.
    """
    if job.owner_id != viewer.pk:
        return viewer.may_decide(job)
    is_failed = job.state in FAILED and job.pk not in reruns
    return has_offer(job) or is_failed or timeline.warning_of(job, viewer.now) is not None


def has_offer(job: Job) -> bool:
    """Whether an approver would run the job under another strategy, and its owner has not answered yet."""
    is_offered = getattr(job, "has_offer", None)
    if is_offered is None:  # loaded with its approval, to be drawn
        approval = getattr(job, "approval", None)
        is_offered = approval is not None and approval.requested_spec is not None
    return job.state == JobState.AWAITING_APPROVAL and bool(is_offered)


def group_of(job: Job, viewer: Viewer, reruns: frozenset[UUID]) -> int:
    """Return the position of the job's group in HEADINGS."""
    if needs(job, viewer, reruns):
        return NEEDS
    if job.state == JobState.AWAITING_APPROVAL:
        return APPROVAL
    if job.state in FINISHED:
        return ENDED
    return WAITS if job.state in WAITING else RUNS if job.state in RUNNING else OTHER


def sort_key(job: Job, sort: str, now: datetime) -> Any:
    """Return the sort key of a job within its group: next event first, latest end first, or by `sort`."""
    if sort == "name":
        return job.display_name.casefold()
    if sort == "waited":
        return -timeline.waited(job, now)
    if sort == "cost":
        return -(timeline.cost_so_far(job, now) or job.estimate_usd or Decimal(0))
    at, _ = next_event(job, now)
    return -at.timestamp() if job.state in FINISHED else at.timestamp()


def board_row(
    job: Job,
    viewer: Viewer,
    scale: Scale,
    events: Sequence[JobEvent],
    silent: Iterable[Scope] = (),
    held: Holdings | None = None,
) -> BoardRow:
    """Return the row of a fully loaded job. `events` are those since the start of the scale."""
    now, end = scale.now, expected_end(job, scale.now)
    at, word = next_event(job, now)
    if job.running_since is not None and word in ("ends", "since"):
        limit = times_out_at(job, now)
        if word == "since" or (limit is not None and limit < at):
            at, word = limit or now, "times out"
            end = end and at
    elif word == "since" and (until := gives_up_at(job)) is not None:
        at, word = until, "gives up" if until > now else "gave up"
    metrics = getattr(job, "metrics", None)
    percent = None
    if metrics is not None and metrics.fraction is not None and job.running_since is not None:
        percent = round(100 * metrics.fraction)
    return BoardRow(
        row=row_of(job, now, silent, held),
        at=at,
        at_word=str(WORDS[word]),
        track=render_track(track_of(job, events, scale, end), scale),
        accelerators=accelerators_of(job.machines),
        actions=_actions(job, viewer),
        may_decide=viewer.may_decide(job),
        percent=percent,
        training=_training_words(job, now, end) if job.running_since is not None else "",
        attempt=attempt_words(job),
        warning=timeline.warning_of(job, now),
    )


def _training_words(job: Job, now: datetime, end: datetime | None) -> str:
    metrics = getattr(job, "metrics", None)
    words = []
    if metrics is not None and metrics.newest:
        newest = metrics.newest
        words.append(place_words(*(newest[name] for name in ("epoch", "epochs", "step", "steps"))))
        if "metric" in newest:
            name = job.hide(newest["metric"]) if isinstance(job, ShownJob) else newest["metric"]
            words.append(f"{name} {value_text(newest['value'])}")
    if metrics is not None and metrics.accelerator_share is not None and now - metrics.usage_read_at < USAGE_IS_NEWS:
        words.append(str(_("%(share)s busy") % {"share": percent_text(metrics.accelerator_share)}))
    if end is not None:
        words.append(str(_("%(length)s left") % {"length": duration(end - now)}))
    return " · ".join(filter(None, words))


def _actions(job: Job, viewer: Viewer) -> tuple[Action, ...]:
    if job.team_id not in viewer.requests_in:
        return ()
    if viewer.may_decide(job):
        return (Action(str(_("Reject…")), "job"),)
    if job.owner_id == viewer.pk and has_offer(job):
        return (Action(str(_("Answer the offer")), "job"),)
    if not job.is_finished:
        is_ours = not job.is_adopted and job.cancel_requested_at is None
        return (Action(str(_("Cancel…")), "cancel"),) if is_ours else ()
    if not has_failed(job):
        return ()
    known = explain_in_list(job)
    fixes = fixes_of(known) if known else ()
    if not fixes:
        return (Action(str(_("Rerun")), "compose", f"?job={job.pk}"),)
    action, label = fixes[0]
    label = _("Rerun with fix") if action in FIXES else label
    return (Action(str(label), "compose", f"?job={job.pk}&fix={action}"),)
