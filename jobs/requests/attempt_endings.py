"""Decide why an attempt of a request has ended, and whether another attempt can follow."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs import fallback
from jobs.explain import diagnose_row, explain_in_list, has_run
from jobs.fallback import REASON_WORDS, Reason
from jobs.models import Fallback, Job, UnmatchedJob
from jobs.states import SUCCESSFUL, JobState
from jobs.texts import translatable as _

WAIT_OVER = "fallback"
"""Reason of the event that cancels an attempt because it has waited too long."""
ERROR_WITHIN = timedelta(minutes=6)
"""Vertex AI may report the cause of a failure after the failure itself. The cause is polled for five minutes."""
Outcome = Fallback.Outcome


@dataclass(frozen=True, slots=True)
class AttemptEnding:
    """Why an attempt has ended: `reason` if another one can follow, else `outcome`. `words` is part of a sentence."""

    words: str
    reason: Reason | None = None
    outcome: Fallback.Outcome = Outcome.OTHER_END


def find_ending(job: Job, now: datetime) -> AttemptEnding | None:
    """Return why an attempt has ended, or None if it has not ended or a part of it may still be running."""
    if not job.is_finished or job.may_have_duplicates:
        return None
    if UnmatchedJob.objects.filter(job=job, ended_at=None).exists():
        return None
    if job.state in SUCCESSFUL:
        return AttemptEnding(_("it succeeded"), outcome=Outcome.SUCCEEDED)
    if job.state == JobState.LOST:
        return AttemptEnding(_("nobody saw how it ended"))
    if job.state in {JobState.CANCELLED, JobState.WITHDRAWN} and job.events.filter(reason=WAIT_OVER).exists():
        return AttemptEnding(_("it waited as long as the request allows"), Reason.CAPACITY)
    if job.state in {JobState.REJECTED, JobState.WITHDRAWN}:
        was_asked = job.events.filter(from_state=JobState.AWAITING_APPROVAL, to_state=job.state).exists()
        words = _("it was not approved") if was_asked else _("it was withdrawn")
        return AttemptEnding(words, outcome=Outcome.NOT_APPROVED if was_asked else Outcome.CANCELLED)
    return _failure(job, now)


def _failure(job: Job, now: datetime) -> AttemptEnding | None:
    known = diagnose_row(job)
    if job.state == JobState.CANCELLED and (known is None or known.cause == "cancelled"):
        return AttemptEnding(_("it was cancelled"), outcome=Outcome.CANCELLED)
    if known is None:
        if job.state == JobState.SUBMIT_FAILED:
            return AttemptEnding(_("it was refused before it was sent"))
        is_new = job.ended_at is not None and now - job.ended_at < ERROR_WITHIN
        return None if is_new and job.state == JobState.FAILED else AttemptEnding(_("nobody knows why it ended"))
    reason = fallback.reason_of(known.cause, has_run=has_run(job))
    ended = _("it ended with “%(title)s”", title=(explain_in_list(job) or known).title)
    return AttemptEnding(REASON_WORDS[reason] if reason is not None else ended, reason)
