"""Beside every state: what it means, whether it repairs itself, and what to do."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.access import Job
from dashboard.drawing.figures import duration
from dashboard.pages.parts.reasons import ENDED_BADLY, Failure, error_of, failure_of, may_wait, obstacle_of
from dashboard.pages.parts.stored_spec import spec_of
from jobs import lifecycle, timeline
from jobs.diagnosis import Diagnosis
from jobs.states import WAITING_AT_VERTEX, JobState


@dataclass(frozen=True, slots=True)
class Advice:
    """One paragraph of explanation, one of what to do, and where the knowledge comes from."""

    title: str
    text: str
    remedy: str = ""
    source: str = ""
    fixes: tuple[tuple[str, str], ...] = ()
    """Copies of the job that the compose page prefills: (action, what it does in words)."""


NOT_BILLED = "Nothing is billed before it runs."
SIMPLE: dict[str, Advice] = {
    JobState.APPROVED: Advice("Next in our queue", "A worker sends it to Vertex AI within seconds."),
    JobState.SUBMITTING: Advice(
        "Being sent to Vertex AI",
        "Should the answer get lost, Trainboard looks for the job before it sends anything again.",
    ),
    JobState.QUEUED: Advice(
        "Waiting for quota or capacity",
        "Vertex AI keeps it QUEUED while quota or capacity is short; it starts by itself.",
        NOT_BILLED,
    ),
    JobState.PENDING: Advice(
        "Machines are being prepared", "Vertex AI brings them up and pulls the image.", NOT_BILLED
    ),
    JobState.CANCELLING: Advice("Vertex AI is cancelling it", "The job may still end as succeeded or failed."),
    JobState.UPDATING: Advice("Vertex AI is updating it", "It goes back to running by itself."),
    JobState.PAUSED: Advice("Paused at Vertex AI", "Trainboard has no call that resumes it."),
    JobState.WITHDRAWN: Advice("Cancelled before it was submitted", "Nothing was sent to Vertex AI or billed."),
    JobState.REJECTED: Advice("Rejected", "Nothing was sent to Vertex AI or billed."),
    JobState.CANCELLED: Advice("Cancelled", "Vertex AI stopped its replicas; the time that they ran is billed."),
    JobState.LOST: Advice(
        "Vertex AI no longer knows this job",
        "It was deleted there before its end was seen, so how it ended is not known.",
        "Look into its output folder before you run it again.",
    ),
}


FIX_WORDS: dict[str, str] = {
    "next_machine_size": "with more memory",
    "more_disk": "with a larger disk",
    "bigger_gpu": "with a larger GPU",
    "other_accelerator": "with another GPU",
    "other_region": "in another region",
    "flex_start": "under Flex-start",
    "spot": "on Spot machines",
    "standard": "on demand",
    "own_machines": "on machines of its own",
    "longer_wait": "with a longer wait",
    "endless_wait": "that waits without end",
    "longer_timeout": "with a longer timeout",
    "resubmit": "as it was",
    "edit_field": "to edit",
    "other_machine": "to edit",
}
"""What follows "Run a copy" on the link of each action."""


def what_now(job: Job, now: datetime) -> Advice | None:
    """Return the advice for the job as it is; None while an approver has to act."""
    if job.state == JobState.AWAITING_APPROVAL:
        return None
    if job.trouble and not job.is_finished:
        return _repeating(job)
    if job.state in ENDED_BADLY:
        return _failure(job, now)
    if job.cancel_requested_at and not job.is_finished:
        text = "Vertex AI stops the job when it can; it may end by itself first."
        return Advice("Cancellation asked for", text, "Trainboard asks again until the job has ended.")
    if job.restarts and job.state in WAITING_AT_VERTEX:
        return _restarting(job)
    if (limit := may_wait(job)) is not None and job.state in WAITING_AT_VERTEX:
        return _waiting_for_all(job, limit)
    if job.state == JobState.RUNNING:
        return _running(job, now)
    if job.state in {JobState.SUCCEEDED, JobState.PARTIALLY_SUCCEEDED}:
        return _succeeded(job, now)
    return SIMPLE.get(job.state, UNKNOWN)


UNKNOWN = Advice(
    "Vertex AI reports a state that Trainboard does not know",
    "It is shown as it was sent, and looked at again until the job ends.",
)


def _repeating(job: Job) -> Advice:
    title = "A step failed and is repeated"
    if (known := obstacle_of(job)) is None:
        return Advice(title, job.trouble, "Nothing is lost; no click is needed.")
    text = f"{known.title}. {known.explanation} Trainboard tries again by itself until it goes through."
    return Advice(title, text, known.remedy, known.source)


def _succeeded(job: Job, now: datetime) -> Advice:
    ran = duration(timeline.running(job, now))
    folder = spec_of(job).get("baseOutputDirectory", {}).get("outputUriPrefix", "")
    where = f"Its output is in {folder}." if folder else "It named no output folder."
    title = "Succeeded" if job.state == JobState.SUCCEEDED else "Succeeded in part: some results are missing"
    return Advice(title, f"It ran {ran}. {where}")


def _failure(job: Job, now: datetime) -> Advice:
    known = failure_of(job)
    is_new = job.ended_at is not None and now - job.ended_at < lifecycle.ERROR_WINDOW
    if known is not None:
        return _explained(known, is_new=is_new)
    if is_new:
        text = "The reason usually follows within a minute, and Trainboard goes on asking for it."
        return Advice("It failed; Vertex AI has not said why yet", text, "The log may tell already.")
    words = error_of(job)[1] or "Vertex AI gave no reason."
    return Advice("It failed, for a reason that Trainboard does not know", words, "The log may tell more.")


def _explained(failure: Failure, *, is_new: bool) -> Advice:
    known, whose = failure.diagnosis, ""
    if failure.is_from_log:
        silence = "Vertex AI has not given its reason yet" if is_new else "Vertex AI gave no reason"
        whose = f"{silence}; this is what its log says."
    text = " ".join(filter(None, (known.explanation, known.retried, whose)))
    return Advice(known.title, text, known.remedy, known.source, fixes_of(known))


def fixes_of(known: Diagnosis) -> tuple[tuple[str, str], ...]:
    """Return the changes that a diagnosis suggests and that the compose page can make, best first."""
    actions = dict.fromkeys(str(each["action"]) for each in known.suggestions)
    return tuple((action, FIX_WORDS[action]) for action in actions if action in FIX_WORDS)


def _restarting(job: Job) -> Advice:
    allowed = timeline.allowance(job)
    if allowed is None:
        return Advice("Getting a new machine", "Vertex AI restarts the job by itself.", NOT_BILLED)
    left = max(allowed.of - allowed.used, 0)
    return Advice(
        "Getting a new machine",
        f"Vertex AI restarts the job by itself. {allowed.rule}",
        f"{left} of {allowed.of} restarts are left. Nothing is billed while it waits.",
    )


def _waiting_for_all(job: Job, limit: timedelta) -> Advice:
    until = f"at most {duration(limit)}" if limit else "without end"
    text = f"Flex-start lets it wait {until}."
    if job.state == JobState.PENDING:
        text += " Vertex AI calls it PENDING as well while it brings the machines up."
    return Advice("Waiting until all machines are free at once", text, NOT_BILLED)


def _running(job: Job, now: datetime) -> Advice:
    if not job.expected_seconds:
        return Advice("Running", "It was made outside Trainboard, so nobody said here how long it takes.")
    left = timedelta(seconds=job.expected_seconds) - timeline.running(job, now)
    if left < timedelta():
        return Advice("Running longer than expected", f"It was expected to run {duration(job.expected_seconds)}.")
    return Advice("Running", f"About {duration(left)} are left if it takes as long as expected.")
