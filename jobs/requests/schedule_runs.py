"""Run a schedule that is due, or that a person runs now: request one job, or record why not.

Everything about one due time is one transaction with the schedule's row locked, and the database allows one run for
each time. So however many workers there are, and wherever one is killed, each time leads to at most one request.
"""

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from jobs import cron
from jobs.budgets import lock_teams
from jobs.errors import NotAllowed, NotPermitted
from jobs.fallback import plan_of
from jobs.models import Approval, Job, Schedule, ScheduleRun
from jobs.models.kept_message import message_columns
from jobs.requests.context import RequestOptions
from jobs.requests.request import request_jobs
from jobs.requests.request_keys import find_requested, schedule_key
from jobs.requests.schedules import NotUsable, check_may_change, next_of, pause, submission_of, tell_owner
from jobs.states import JobState
from jobs.texts import Text, joined
from jobs.texts import translatable as _
from jobs.transitions import transition
from jobs.translations import translated

MISSED_AFTER = timedelta(minutes=10)
"""A run that is later than this is missed: a nightly job should not start at noon because the site was down."""
MAX_COUNTED = 1000
Outcome = ScheduleRun.Outcome


def run_due(pk: UUID, *, now: datetime) -> bool:
    """Request the job of a schedule that is due, or record why not. Return False if it is not due any more."""
    with transaction.atomic():
        row = Schedule.objects.select_for_update(of=("self",)).select_related("team", "owner").filter(pk=pk).first()
        if row is None or row.next_at is None or row.next_at > now:  # a paused one has no next time
            return False
        due = _due_moments(row, row.next_at, now)
        Schedule.objects.filter(pk=pk).update(next_at=next_of(row, now))
        is_in_time = now - due[-1] <= MISSED_AFTER
        if missed := due[:-1] if is_in_time else due:
            _record_missed(row, missed, now)
        if is_in_time and not row.runs.filter(moment=due[-1]).exists():
            _run(row, due[-1], now)
    return True


def run_now(row: Schedule, *, by: User, now: datetime, request_key: str) -> Job:
    """Request the job of a schedule now, in the name of `by`. Return the earlier job if the key was used before.

    The due times stay the same, and the schedule may be paused. Raise NotPermitted if `by` may not change the schedule.
    Raise NotUsable if the previous run has not ended and runs may not overlap. Raise NotAllowed if the job is refused.
    """
    check_may_change(row, by)
    with transaction.atomic():
        fresh = (
            Schedule.objects.select_for_update(of=("self",)).select_related("team", "owner").filter(pk=row.pk).first()
        )
        if fresh is None:
            raise NotUsable("", gettext("It was deleted meanwhile."))
        if (earlier := find_requested(by, request_key)) is not None:
            return earlier
        if not fresh.allows_overlap and (running := unfinished_run(fresh)) is not None:
            raise NotUsable("", translated(_unfinished(running)))
        (job,) = request_jobs([submission_of(fresh, now)], _options(fresh, by, now), request_key=request_key)
        words = _("%(person)s ran it now.", person=by.get_username())
        moment = now
        while fresh.runs.filter(moment=moment).exists():  # the database allows one run for each time
            moment += timedelta(microseconds=1)
        _write(fresh, moment, Outcome.REQUESTED, words, now, job=job)
    return job


def _options(row: Schedule, by: User, now: datetime) -> RequestOptions:
    expected, plan = timedelta(seconds=row.expected_seconds), plan_of(row.plan) if row.plan else None
    author = row.author or row.owner
    return RequestOptions(row.team, by, expected, now, cap_usd=row.cap_usd, plan=plan, author=author)


def _due_moments(row: Schedule, first: datetime, now: datetime) -> list[datetime]:
    """Return the due times from `first` to `now`, at most the last MAX_COUNTED."""
    found = [first]
    for moment in cron.moments(row.cron, row.time_zone, first):
        if moment > now or next_of(row, moment - timedelta(seconds=1)) is None:
            break
        found.append(moment)
        del found[:-MAX_COUNTED]
    return found


def _record_missed(row: Schedule, missed: list[datetime], now: datetime) -> None:
    words = _("A run was missed, because the site did not run then. What was missed is not made up.")
    if (count := len(missed)) > 1:
        words = _(
            "%(n)s runs were missed, because the site did not run then. What was missed is not made up.", n=f"{count:,}"
        )
    _write(row, missed[0], Outcome.MISSED, words, now, is_announced=True)


def _run(row: Schedule, moment: datetime, now: datetime) -> None:
    options, key = _options(row, row.owner, now), schedule_key(row.pk, moment)
    words, is_announced = "", False
    try:
        with transaction.atomic():  # if the new job is refused, the one before goes on waiting
            if not row.allows_overlap and (running := unfinished_run(row)) is not None:
                if not _withdraw_unapproved(running, now):
                    _write(row, moment, Outcome.SKIPPED, _unfinished(running), now)
                    return
                words = _(
                    "%(job)s, the run before, still waited for an approval. It is withdrawn: this run asks instead.",
                    job=running.job.display_name if running.job is not None else "",
                )
                is_announced = not running.message  # one message to the owner, not one for every run
            (job,) = request_jobs([submission_of(row, moment)], options, request_key=key)
            _write(row, moment, Outcome.REQUESTED, words, now, job=job, is_announced=is_announced)
    except NotAllowed as refusal:
        _write(row, moment, Outcome.REFUSED, refusal.errors, now, is_announced=True)
    except NotPermitted as refusal:
        words = _(
            "%(person)s may request no more jobs for %(team)s, so the schedule is paused.",
            person=row.owner.get_username(),
            team=row.team,
        )
        pause(row, words, now)
        _write(row, moment, Outcome.NOT_PERMITTED, joined(words, str(refusal)), now, is_announced=True)


def _withdraw_unapproved(run: ScheduleRun, now: datetime) -> bool:
    """Withdraw the job of a run if it waits for an approval and was never sent. Return whether it was withdrawn.

    Otherwise a schedule whose runs nobody approves would skip every later run for good.
    """
    assert run.job is not None
    lock_teams([run.job.team_id])  # before the job, as everywhere
    job = Job.objects.select_related("team").get(pk=run.job.pk)
    if job.state != JobState.AWAITING_APPROVAL or job.submit_attempts or job.attempted_at is not None:
        return False
    Approval.objects.filter(job=job).update(expires_at=None, remind_at=None)
    return transition(
        job, JobState.WITHDRAWN, now=now, reason="replaced", due_at=None,
        message="Nobody had decided when the next run of its schedule was due. That run asks instead.",
    )  # fmt: skip


def unfinished_run(row: Schedule) -> ScheduleRun | None:
    """Return the newest run whose job or further attempts have not ended."""
    runs = row.runs.filter(job__isnull=False).select_related("job")
    by_attempts = runs.filter(job__attempt__fallback__ended_at=None, job__attempt__isnull=False)
    return (runs.filter(job__ended_at=None) | by_attempts).order_by("-moment").first()


def _unfinished(run: ScheduleRun) -> Text:
    assert run.job is not None
    return _("%(job)s, the run before, has not ended.", job=run.job.display_name)


def _write(
    row: Schedule,
    moment: datetime,
    outcome: ScheduleRun.Outcome,
    words: str,
    now: datetime,
    *,
    job: Job | None = None,
    is_announced: bool = False,
) -> None:
    """Save the outcome of one due time.

    With `is_announced` the owner gets a message, or the leads of the team if the owner has left.
    """
    kept = {"made_at": now, "outcome": outcome, "job": job, **message_columns(words)}
    ScheduleRun.objects.get_or_create(schedule=row, moment=moment, defaults=kept)
    if is_announced:
        tell_owner(row, joined(f"{row.name}:", words), key=moment.isoformat(), now=now)
