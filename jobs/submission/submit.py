"""Create an approved job at Vertex AI, once.

The API has no request id, so a repeat could create a second job. One step of the algorithm:

1. Claim the job. Look it up by its label if an earlier create may have reached Vertex AI. That is so if one had no
   answer, and if the database may have been replaced by an older copy since the job was first requested. A job's id
   derives from its cause (`jobs.requests.request_keys`), so a request that is made again has the label of the first.
   If the job is found, follow it. If it may still appear, wait. Else it never arrived.
2. Assess the job again, before each try, and take a creation from the rate limit. What refuses it or asks about it ends
   the request or sends it back to its approvers: by now it is certain that Vertex AI has created nothing.
3. Record that a create is about to be sent (`attempted_at`, the database's time) and hold the claim for longer than the
   call may take. This needs an unexpired claim and the current row; a job to be cancelled ends here.
4. If recording took too long, send nothing. Else create the job with our label. One time limit for connecting, sending
   and reading ends `MAX_CALL` after `attempted_at`.
5. Follow a created job, whoever holds the claim by then. A refusal ends the request. A failure that certainly created
   nothing is tried again later. After any other, `attempted_at` stays and the next step begins with a look-up.

So a create leaves at most `MAX_CALL` after `attempted_at`, and a list begun `CONSISTENCY_WINDOW` after that shows what
it created. Both must have passed by the database's clock and by the monotonic clock of the process (`doubts`), because
the database's clock may step. A job that arrives even later is a duplicate: see `duplicates`.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from jobs import states, vertex
from jobs.clients import MAX_CALL
from jobs.clock import backoff
from jobs.models import Job, JobEvent
from jobs.observation.record import number
from jobs.queue.claims import JOB_LEASE
from jobs.queue.installation import Trust
from jobs.queue.rate_limit import OverRateLimit
from jobs.requests.request_keys import OTHER_REQUEST
from jobs.spec.sent import find_differences
from jobs.states import JobState
from jobs.submission import duplicates
from jobs.submission.found_spec import found_columns
from jobs.submission.ports import Change, Decide, Event, Ports, Written
from jobs.submission.retries import CHECK_AFTER, FIRST_PAUSE, next_step_at, pause_after

CONSISTENCY_WINDOW = timedelta(seconds=30)
"""How long a created job may be missing from a list. Google does not document it (vertex-facts 11.4)."""
LOOK_UP_INTERVAL = timedelta(seconds=10)
"""Time between two look-ups of a create that had no answer. Most lists lag far less than the window."""
MAX_START_SECONDS = 10.0
"""A create is not sent if recording it took longer, because too little time would be left for the call."""
DENIED = "Vertex AI does not let this account create the job"
MAX_DENIED, MAX_DENIED_PAUSE = 19, timedelta(minutes=1)
"""Tries after a 403 in a row: pauses of 2, 4, 8, 16 and 32 s, then of a minute, a quarter of an hour in all."""
MAX_NAMES = 5
"""Fields that an event names at most."""
UNSENT = frozenset({JobState.APPROVED, JobState.SUBMITTING})
WITHOUT_RESULT = frozenset({JobState.CANCELLED, JobState.CANCELLING, JobState.FAILED, JobState.EXPIRED})


def submit(job: Job, ports: Ports) -> None:
    """Take one step towards Vertex AI with a claimed job that is approved or being submitted."""
    # Called in every case: after a restore, this call records before which time requests are in doubt.
    trust = ports.store.trust()
    may_be_forgotten = job.requested_at < trust.since or (job.may_exist_already and not trust.is_complete)
    was_in_doubt = job.attempted_at is not None
    if (may_be_forgotten or was_in_doubt) and not _is_absent(job, trust, ports):
        return
    if objection := ports.store.reassess(job):
        ports.store.apply(job, objected(objection, was_in_doubt=was_in_doubt))
        return
    try:
        # Before the attempt is recorded, so that a job that waits for the rate limit is not in doubt.
        ports.remote.reserve_create(job)
    except OverRateLimit as error:
        ports.store.apply(job, failed(error))
        return
    begun = ports.store.apply(job, begin_create)
    if begun is not None and is_unsent(begun.job):  # else it has ended, or a list has shown it meanwhile
        _create(begun, ports)


def _is_absent(job: Job, trust: Trust, ports: Ports) -> bool:
    """Look the job up by its label. Return False if the step ends here: it was found, or may still appear."""
    began_at = ports.clock.monotonic()
    known_seconds = began_at - ports.doubts.note(job, began_at)
    try:
        found = ports.remote.find(job)
    except vertex.VertexError as error:  # the list is unknown, so the doubt stays
        ports.store.apply(job, failed(error))
        return False
    if found:
        follow(job, found, ports)
        return False
    # The database's time of the claim. The list was requested later, so it shows at least the jobs of that time.
    assert job.claimed_until is not None
    asked_at = job.claimed_until - JOB_LEASE
    written = ports.store.apply(job, absent(asked_at, trust.restored_at, known_seconds))
    return written is not None and written.job.claim is not None  # released if it must be looked up again


def _create(begun: Written, ports: Ports) -> None:
    ports.doubts.note(begun.job, begun.read_at)
    spent = ports.clock.monotonic() - begun.read_at
    if spent > MAX_START_SECONDS:
        ports.store.apply(begun.job, not_sent(begun.job, spent), needs_claim=False)
        return
    try:
        remote = ports.remote.create(begun.job, within=MAX_CALL.total_seconds() - spent)
    except vertex.VertexError as error:  # needs the claim, so that another worker's attempt stays as it is
        ports.store.apply(begun.job, create_failed(error))
        return
    # Without the claim: the job exists and may cost money, whoever holds the row by now.
    written = ports.store.apply(begun.job, created(remote), needs_claim=False)
    # If the row has ended or follows another job by now, the created job is a duplicate.
    if written is not None:
        duplicates.cancel_duplicates(written.job, [remote], ports)


def follow(job: Job, found: list[vertex.RemoteJob], ports: Ports) -> None:
    """Follow one of the jobs listed with our label, even before a create was answered, and cancel the others."""
    kept = choose(found)
    written = ports.store.apply(job, adopted(kept), needs_claim=False)
    if written is not None:
        duplicates.cancel_duplicates(written.job, found, ports)


def choose(found: list[vertex.RemoteJob]) -> vertex.RemoteJob:
    """Return the job to follow: the oldest that has not been cancelled or failed, else the oldest."""

    def rank(remote: vertex.RemoteJob) -> tuple[bool, str, str]:
        is_without_result = states.from_vertex(remote.state) in WITHOUT_RESULT
        return is_without_result, remote.raw.get("createTime", ""), remote.name

    return min(found, key=rank)


def is_unsent(job: Job) -> bool:
    """Return whether the job's submission is not settled: no answer about it has been recorded."""
    return job.state in UNSENT and not job.remote_name


# ---------------------------------------------------------------- decisions: pure, from the locked row and the time
def objected(objection: Change, *, was_in_doubt: bool) -> Decide:
    """Write an objection to sending the job. What an earlier try may have created all the same is looked up later.

    A poll may have listed the job while it was assessed. It is then followed, and the objection comes too late.
    """

    def decide(job: Job, now: datetime) -> Change:
        if not is_unsent(job):
            return Change(releases=True)
        if job.cancel_requested_at is not None:
            return begin_create(job, now)  # which withdraws it
        columns = dict(objection.columns)
        ends = {event.to_state for event in objection.events}
        if was_in_doubt and ends:
            columns["attempted_at"] = now
        if JobState.SUBMIT_FAILED in ends and (was_in_doubt or job.may_have_duplicates):
            columns["due_at"] = now + CHECK_AFTER
        return replace(objection, columns=columns)

    return decide


def begin_create(job: Job, now: datetime) -> Change:
    """Record that a create is about to be sent, or withdraw a job that is to be cancelled."""
    if not is_unsent(job):
        return Change(releases=True)
    if job.cancel_requested_at is not None:
        message = "The job was cancelled before Vertex AI created it."
        event = Event(JobEvent.Kind.STATE, message, to_state=JobState.WITHDRAWN, reason="cancelled")
        due_at = now + CHECK_AFTER if job.submit_attempts else None  # an earlier try may still arrive
        return Change((event,), {"due_at": due_at, "attempted_at": None}, releases=True)
    attempt = job.submit_attempts + 1
    begins = Event(JobEvent.Kind.STATE, "A worker started to submit the job.", to_state=JobState.SUBMITTING)
    message = f"Sent to Vertex AI in {job.region}" + ("." if attempt == 1 else f", try {attempt}.")
    sent = Event(JobEvent.Kind.SUBMIT_ATTEMPTED, message, key=f"submit:{attempt}")
    columns = {"submit_attempts": attempt, "attempted_at": now, "claimed_until": now + JOB_LEASE}
    columns |= {"duplicates_checked_at": None}
    return Change((begins, sent) if job.state == JobState.APPROVED else (sent,), columns)


def not_sent(begun: Job, spent: float) -> Decide:
    """Record that nothing was sent because recording the attempt took too long. The claim may have expired by now."""

    def decide(job: Job, now: datetime) -> Change | None:
        if job.claim != begun.claim:  # another worker has begun, and its attempt stays as it is
            return None
        message = f"The database took {spent:.0f} s to record the attempt, so Trainboard did not send the job."
        return _try_again(job, now, message, reason="database_slow", in_doubt=False)

    return decide


def absent(asked_at: datetime, restored_at: datetime | None, known_seconds: float) -> Decide:
    """Decide about a job missing from a list that was requested at `asked_at` or later: wait, or go on to create it.

    A create that the database has forgotten was sent before `restored_at`. `known_seconds` is how long this process had
    known of the recorded attempt by then. The database's clock may have stepped forward since the attempt, so the
    window must have passed on both clocks.
    """

    def decide(job: Job, now: datetime) -> Change:
        if not is_unsent(job):
            return Change(releases=True)
        window = MAX_CALL + CONSISTENCY_WINDOW
        # An attempt in the future was recorded before the clock was set back. It was made before now.
        attempted_at = min(job.attempted_at, now) if job.attempted_at else None
        sent_until = attempted_at or restored_at
        certain_at = sent_until + window if sent_until else asked_at
        unknown = max(window - timedelta(seconds=known_seconds), timedelta()) if attempted_at else timedelta()
        # The window may have passed by now, but only a list requested after it counts.
        if asked_at < certain_at or unknown:
            message = "An earlier try had no answer. Trainboard looks for its job before it tries again."
            if attempted_at is None:
                message = "The database was restored or restarted. Trainboard looks for the job before it sends it."
            wanted_at = max(certain_at, now + unknown)
            due_at = max(min(wanted_at, now + LOOK_UP_INTERVAL), now + timedelta(seconds=1))
            waits = {"due_at": due_at, "attempted_at": attempted_at, "last_error": message, "failures": 0}
            return Change(columns=waits, releases=True)
        columns = {"attempted_at": None, "claimed_until": now + JOB_LEASE}
        if not job.submit_attempts:
            columns["duplicates_checked_at"] = asked_at  # the next step, after a pause, needs no look-up
        return Change(columns=columns)

    return decide


def created(remote: vertex.RemoteJob, *events: Event) -> Callable[[Job, datetime], Change]:
    """Follow the job that Vertex AI has created, unless the row follows another one or has ended meanwhile.

    The job enters the state that Vertex AI reports. The observer takes over from here.
    """

    def decide(job: Job, now: datetime) -> Change:
        if not is_unsent(job):
            return Change(releases=True)
        before: tuple[Event, ...] = ()
        if job.state == JobState.APPROVED:  # an older copy of the database does not record that the job was sent
            message = "The job had been submitted before, but this database has no record of it."
            before = (Event(JobEvent.Kind.STATE, message, to_state=JobState.SUBMITTING),)
        columns = {"attempted_at": None, "failures": 0, "last_error": "", "due_at": next_step_at(job, now)}
        return Change((*before, *events), columns, remote=remote, releases=True, wakes=True)

    return decide


def adopted(remote: vertex.RemoteJob) -> Decide:
    """Follow a listed job whose create was not answered, instead of creating it again. The row shows what it runs."""

    def decide(job: Job, now: datetime) -> Change:
        message = f"Vertex AI lists the job as {number(remote)}, although no create was answered. "
        message += "Trainboard follows it and did not send it again."
        names = [row.field for row in find_differences(job.kind, job.spec, remote.raw)]
        if names:
            more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
            message += " It was sent for another request with the same key, and Trainboard shows that one. "
            message += f"They differ in {', '.join(names[:MAX_NAMES])}{more}."
        event = Event(
            JobEvent.Kind.SUBMIT_ADOPTED,
            message,
            key=f"adopted:{number(remote)}",
            reason=OTHER_REQUEST if names else "",
            detail={"remote_name": remote.name},
        )
        change = created(remote, event)(job, now)
        if change.remote is None:
            return change
        return replace(change, columns={**change.columns, **found_columns(job, remote)})

    return decide


def create_failed(error: vertex.VertexError) -> Decide:
    """Decide what a failed create means: the job ends, or it is tried again later."""

    def decide(job: Job, now: datetime) -> Change:
        if not is_unsent(job):
            return Change(releases=True)
        if isinstance(error, vertex.PermissionDenied) and (change := _denied(job, now, error)) is not None:
            return change
        # 400, 403 and 404: nothing was created, and another try would not help (vertex-facts 11.3).
        if isinstance(error, vertex.Refused | vertex.NotFound | vertex.PermissionDenied):
            event = Event(
                JobEvent.Kind.STATE,
                f"Vertex AI refused the job: {error}",
                to_state=JobState.SUBMIT_FAILED,
                reason=type(error).__name__.lower(),
                detail={"violations": [list(item) for item in getattr(error, "violations", ())]},
            )
            due_at = now + CHECK_AFTER if job.may_have_duplicates else None
            columns = {"error": {"message": str(error)}, "attempted_at": None, "due_at": due_at}
            return Change((event,), columns, releases=True)
        in_doubt = isinstance(error, vertex.Unavailable) and error.may_have_happened
        return _try_again(job, now, str(error), reason=type(error).__name__.lower(), in_doubt=in_doubt, error=error)

    return decide


def _denied(job: Job, now: datetime, error: vertex.PermissionDenied) -> Change | None:
    """Return another try after a 403, or None after MAX_DENIED in a row.

    A permission or a billing account that was just repaired takes minutes to apply: "typically within 2 minutes",
    "potentially 7 minutes or longer" (docs: IAM, "Access change propagation", read 2026-11-26).
    """
    tries = job.failures + 1 if job.last_error.startswith(DENIED) else 1
    if tries > MAX_DENIED:
        return None
    message = (
        f"{DENIED}: {error} Trainboard tries again for a quarter of an hour, as permissions take minutes to apply."
    )
    change = _try_again(job, now, message, reason="permissiondenied", in_doubt=False)
    due_at = now + backoff(FIRST_PAUSE, tries - 1, MAX_DENIED_PAUSE)
    return replace(change, columns={**change.columns, "failures": tries, "due_at": due_at})


def failed(error: vertex.VertexError) -> Decide:
    """Schedule another try after a step before the create failed. If the job was in doubt, it stays in doubt."""

    def decide(job: Job, now: datetime) -> Change:
        reason = type(error).__name__.lower()
        return _try_again(job, now, str(error), reason=reason, in_doubt=job.attempted_at is not None, error=error)

    return decide


def _try_again(
    job: Job, now: datetime, message: str, *, reason: str, in_doubt: bool, error: vertex.VertexError | None = None
) -> Change:
    """Plan the next try. The reason is recorded as an event unless the last try failed for the same reason.

    A full rate limit of our own is not a failure: the next try is due when the limit allows it.
    """
    if not is_unsent(job):
        return Change(releases=True)
    columns = {
        "due_at": now + pause_after(error, job.failures),
        "failures": job.failures + (not isinstance(error, OverRateLimit)),
        "last_error": message,
        "attempted_at": job.attempted_at if in_doubt else None,
    }
    key = f"try:{job.submit_attempts}:{job.failures}:{now.isoformat()}"
    event = Event(JobEvent.Kind.STEP_FAILED, message, key=key, reason=reason)
    return Change(() if message == job.last_error else (event,), columns, releases=True)
