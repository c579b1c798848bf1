"""Why a job waits and on whom, and how many restarts it may still use."""

from dataclasses import dataclass

from jobs.models import Job
from jobs.states import JobState
from jobs.strategies import STRATEGIES


@dataclass(frozen=True, slots=True)
class WaitReason:
    """One reason, its owner (who or what has to act) and a sentence for people."""

    owner: str
    words: str


@dataclass(frozen=True, slots=True)
class Allowance:
    """Restarts used of those that Vertex AI grants, and the rule that says so."""

    used: int
    of: int
    rule: str


def wait_reason(job: Job) -> WaitReason | None:
    """Say why a job is not running yet; None when it runs or has ended.

    Vertex AI does not tell why a job is QUEUED, so the words follow its documents (vertex-facts sections 5 and 7) and
    the job's strategy.
    """
    if job.cancel_requested_at is not None and not job.is_finished and job.cancel_sent_at is None:
        return WaitReason("Vertex AI", job.trouble or "the cancellation is on its way")
    match job.state:
        case JobState.AWAITING_APPROVAL:
            return WaitReason("approver", "waits for an approver of the team")
        case JobState.APPROVED:
            return WaitReason("Trainboard", "waits for a worker to submit it")
        case JobState.SUBMITTING:
            return WaitReason("Vertex AI", job.trouble or "being sent to Vertex AI")
        case JobState.QUEUED:
            return _queued(job)
        case JobState.PENDING if job.restarts:
            return WaitReason("Vertex AI", "gets machines again after a restart")
        case JobState.PENDING:
            return WaitReason("Vertex AI", "machines are being prepared")
        case JobState.CANCELLING:
            return WaitReason("Vertex AI", "is being cancelled; it may still end by itself first")
    return None


def allowance(job: Job) -> Allowance | None:
    """The restarts of a job's strategy; None when its strategy is unknown here."""
    strategy = STRATEGIES.get(job.strategy)
    if strategy is None:
        return None
    return Allowance(used=job.restarts, of=strategy.restart_allowance, rule=strategy.restart_rule)


def _queued(job: Job) -> WaitReason:
    words = {
        "flex_start": "waits until all its machines are free at once",
        "spot": "waits for Spot capacity or quota",
        "persistent": "waits for free replicas of its persistent resource",
        "reservation": "waits for its reservation",
    }
    return WaitReason("Vertex AI", words.get(job.strategy, "waits for quota or to be processed"))
