"""An approved job is created at Vertex AI, once.

The API has no request id, so a repeat could create a second job. The algorithm:

1. Claim the row; write down, before the call, that a create is about to be tried (`attempted_at`).
2. If an earlier try may have reached Vertex AI, look the job up by its label first. Found: adopt it. Not found, but the
   try is younger than the list may lag behind: wait. Not found and old enough: it never arrived.
3. Create it, labelled with our id, if its rules still allow it.
   Only when our budget of calls has room: else the job waits, in the state it is in.
4. An answer that says no ends the job; a failure that surely created nothing is tried again later; after any other
   failure `attempted_at` stays, so that the next step begins at 2.
"""

import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from jobs import spec, vertex
from jobs.lifecycle import budget, claims, door
from jobs.lifecycle.asking.again import ask_again
from jobs.lifecycle.asking.pools import known_pools, waits_for_resource
from jobs.lifecycle.asking.request import preview, submission_of
from jobs.lifecycle.connection import INSTANCE_LABEL, JOB_LABEL, LONGEST_CALL, client
from jobs.lifecycle.watching.record import number, record
from jobs.models import Job, JobEvent
from jobs.states import JobState

CONSISTENCY_WINDOW = timedelta(seconds=30)
"""How long a created job may be missing from a list; Google does not document it (vertex-facts 11.4)."""
LOOK_AGAIN = timedelta(seconds=10)
"""Between two looks for the job of a try that had no answer: most lists lag far less than the window."""
FIRST_PAUSE = timedelta(seconds=2)
LONGEST_PAUSE = timedelta(minutes=5)
RESOURCE_PAUSE = timedelta(seconds=30)
"""Until a job is tried again whose persistent resource is on the way to RUNNING."""


def submit(job_id: uuid.UUID | str, *, now: datetime) -> None:
    """Take an approved job one step towards Vertex AI; does nothing when another worker holds it."""
    job = claims.claim_job(job_id, now)
    if job is None:
        return
    if job.state not in {JobState.APPROVED, JobState.SUBMITTING}:
        claims.release_job(job, due_at=None)
        return
    if job.attempted_at is not None and not _is_certainly_absent(job, now):
        return
    if job.cancel_requested_at is not None:
        _withdraw(job, now)
        return
    if job.state == JobState.APPROVED and not _may_still_be_sent(job, now):
        return
    try:
        budget.spend(budget.creates(job.project, job.region), now=now)
    except budget.OverBudget as error:
        claims.release_job(job, due_at=now + _pause(job, error), trouble=str(error))
        return
    begins = "A worker began to submit the job."
    if job.state == JobState.APPROVED and not door.move(job, JobState.SUBMITTING, now=now, sentence=begins):
        claims.release_job(job, due_at=now)
        return
    _create(job, now)


def _may_still_be_sent(job: Job, now: datetime) -> bool:
    """Judge once more, since limits and resources may have changed since the request.

    This comes before a call is taken from the budget, so that a job which waits for its resource takes none.
    """
    submission, expected = submission_of(job), timedelta(seconds=job.expected_seconds)
    pools = known_pools(submission, apart_from=job.pk)
    judged = preview(submission=submission, team=job.team, expected=expected, pools=pools)
    refused = [finding for finding in judged.decision.findings if finding.severity == spec.Severity.REFUSE]
    if waits_for_resource(submission, pools, refused):
        claims.release_job(job, due_at=now + RESOURCE_PAUSE, trouble=refused[0].message)
        return False
    if refused:
        words = "; ".join(finding.message for finding in refused)
        door.move(
            job,
            JobState.SUBMIT_FAILED,
            now=now,
            reason="policy",
            sentence=f"Judged again before it was sent, it is refused now: {words}",
            detail={"findings": [finding.as_dict() for finding in refused]},
        )
        claims.release_job(job, due_at=None)
        return False
    return not ask_again(job, judged, now=now)


def _is_certainly_absent(job: Job, now: datetime) -> bool:
    """Look for the result of an earlier try: adopt it, or wait until its absence is certain."""
    try:
        budget.spend(budget.reads(job.project, job.region), now=now)
        found = client().list(job.kind, project=job.project, region=job.region, filter=f'labels.{JOB_LABEL}="{job.pk}"')
    except vertex.VertexError as error:  # nothing is learned, so the doubt stays
        claims.release_job(job, due_at=now + _pause(job, error), trouble=str(error))
        return False
    if found:
        _adopt(job, found, now)
        return False
    assert job.attempted_at is not None
    certain_at = job.attempted_at + LONGEST_CALL + CONSISTENCY_WINDOW
    if now < certain_at:
        trouble = "An earlier try had no answer; looking for its job before another try."
        claims.release_job(job, due_at=min(certain_at, now + LOOK_AGAIN), trouble=trouble)
        return False
    return True


def _create(job: Job, now: datetime) -> None:
    attempt = job.submit_attempts + 1
    with transaction.atomic():
        if not claims.still_mine(job):
            return
        door.note(
            job,
            JobEvent.Kind.SUBMIT_ATTEMPTED,
            now=now,
            sentence=f"Sent to Vertex AI in {job.region}" + ("." if attempt == 1 else f", try {attempt}."),
            once_key=f"submit:{attempt}",
            submit_attempts=attempt,
            attempted_at=now,
        )
    body = job.spec | {
        "labels": job.spec.get("labels", {}) | {JOB_LABEL: str(job.pk), INSTANCE_LABEL: settings.INSTANCE}
    }
    try:
        remote = client().create(job.kind, project=job.project, region=job.region, body=body)
    except vertex.VertexError as error:
        _after_failure(job, error, now)
    else:
        _enter(job, remote, now)


def _adopt(job: Job, found: list[vertex.RemoteJob], now: datetime) -> None:
    """Take the oldest job that carries our label; if there are ever two, cancel the younger ones."""
    oldest, *others = sorted(found, key=lambda remote: (remote.create_time or now, remote.name))
    for other in others:
        try:
            budget.spend(budget.reads(job.project, job.region), now=now)
            client().cancel(job.kind, other.name)
        except vertex.VertexError as error:  # a double costs money: stay in doubt and come back
            claims.release_job(job, due_at=now + _pause(job, error), trouble=str(error))
            return
    with transaction.atomic():
        if not claims.still_mine(job):
            return
        door.note(
            job,
            JobEvent.Kind.SUBMIT_ADOPTED,
            now=now,
            sentence=f"An earlier try had reached Vertex AI as {number(oldest)}; adopted instead of sent again.",
            once_key=f"adopted:{oldest.name}",
            detail={"remote_name": oldest.name, "cancelled": [other.name for other in others]},
        )
        _enter(job, oldest, now)


def _enter(job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    """Leave `submitting` for whatever Vertex AI says; from here on the observer takes over."""
    with transaction.atomic():
        if not claims.still_mine(job):
            return
        record(job, remote, now=now, remote_name=remote.name, submitted_at=remote.create_time or now, attempted_at=None)
        claims.release_job(job, due_at=now if job.cancel_requested_at and not job.is_finished else None)
        claims.wake_feed(job.project, due_at=now + settings.POLL_INTERVAL)
        claims.wake_scope(project=job.project, region=job.region, kind=job.kind, due_at=now + settings.POLL_INTERVAL)


def _withdraw(job: Job, now: datetime) -> None:
    door.move(
        job,
        JobState.WITHDRAWN,
        now=now,
        reason="cancelled",
        sentence="Cancelled before Vertex AI had it.",
    )
    claims.release_job(job, due_at=None)


def _after_failure(job: Job, error: vertex.VertexError, now: datetime) -> None:
    """Decide what a failed create means: the end of the job, or another try later."""
    with transaction.atomic():
        if not claims.still_mine(job):
            return
        if isinstance(error, vertex.Refused | vertex.NotFound | vertex.PermissionDenied):
            door.move(
                job,
                JobState.SUBMIT_FAILED,
                now=now,
                reason=type(error).__name__.lower(),
                sentence=f"Vertex AI refused it: {error}",
                detail={"violations": [list(item) for item in getattr(error, "violations", ())]},
                error={"message": str(error)},
                attempted_at=None,
            )
            claims.release_job(job, due_at=None)
            return
        in_doubt = isinstance(error, vertex.Unavailable) and error.may_have_happened
        if not in_doubt:
            Job.objects.filter(pk=job.pk).update(attempted_at=None)
        claims.release_job(job, due_at=now + _pause(job, error), trouble=str(error))


def _pause(job: Job, error: vertex.VertexError) -> timedelta:
    """How long to wait before the next step: what Vertex AI asked for, else doubling up to five minutes."""
    return error.retry_after or min(FIRST_PAUSE * 2 ** min(job.submit_attempts, 10), LONGEST_PAUSE)
