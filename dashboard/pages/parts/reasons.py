"""Why a job is where it is: the second line under its state in a list."""

from datetime import timedelta
from typing import Any

from dashboard.access import Job
from dashboard.access.pools import Holdings
from dashboard.pages.parts.stored_spec import spec_of
from jobs import timeline
from jobs.diagnosis import Diagnosis, diagnose
from jobs.states import JobState

FLEX_START_WAIT = timedelta(hours=24)
"""What Vertex AI uses where maxWaitDuration is absent (Scheduling reference, google-cloud-aiplatform 2.7.0)."""
ENDED_BADLY = frozenset({JobState.FAILED, JobState.EXPIRED, JobState.SUBMIT_FAILED})
SHORT = {"over_ask_limit": "may cost more than the team's limit", "cost_unknown": "nobody knows its cost"}
"""What a list says of the findings of `jobs.policy`: the amounts stand beside it, in the row's cost."""


def error_of(job: Job) -> tuple[int | None, str]:
    """Return code and message of the job's google.rpc.Status; (None, "") where there is none."""
    error: dict[str, Any] = job.error or {}
    code = error.get("code")
    return (code if isinstance(code, int) else None), str(error.get("message", ""))


def diagnosis_of(job: Job) -> Diagnosis | None:
    """Return what is known about the job's error, if it has one that is known."""
    code, message = error_of(job)
    return diagnose(code, message) if job.error else None


def obstacle_of(job: Job) -> Diagnosis | None:
    """Return what is known about the step that fails and is repeated, None where its trouble is unknown or none."""
    known = diagnose(None, job.trouble) if job.trouble else None
    return known if known is not None and known.cause != "unknown" else None


def why(job: Job, held: Holdings | None = None) -> str:
    """Return what a list says about the state, "" where there is nothing to say; `held` as for `wait_reason`."""
    if job.state in {JobState.AWAITING_APPROVAL, JobState.REJECTED}:
        return _approval_words(job)
    if job.state in ENDED_BADLY:
        known = diagnosis_of(job)
        return known.title if known else error_of(job)[1]
    if reason := timeline.wait_reason(job, held):
        known = obstacle_of(job) if reason.words == job.trouble else None
        return known.title if known else reason.words
    return ""


def _approval_words(job: Job) -> str:
    approval = getattr(job, "approval", None)
    if approval is None:
        return ""
    if approval.decision:
        return f"by {approval.decided_by}" + (f": {approval.comment}" if approval.comment else "")
    words = [SHORT.get(each.get("code", "")) or str(each.get("message", "")) for each in approval.findings]
    others = len(words) - 1
    return (words[0] if words else "") + (f" and {others} more reason{'s' * (others > 1)}" if others > 0 else "")


def may_wait(job: Job) -> timedelta | None:
    """Return how long Flex-start lets the job wait; None for other strategies, zero = without end."""
    if job.strategy != "flex_start":
        return None
    text = str(spec_of(job).get("scheduling", {}).get("maxWaitDuration", ""))
    if not text.endswith("s"):
        return FLEX_START_WAIT
    return timedelta(seconds=float(text[:-1]))
