"""Why a job waits and on whom."""

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.models import Job
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.timeline.holdings import Holding, Key, resource_id_of

PREPARED = "machines are being prepared"
MAX_NAMES = 3
"""Holders that one line names."""


@dataclass(frozen=True, slots=True)
class WaitReason:
    """One reason, its owner (who or what has to act) and a sentence for people."""

    owner: str
    words: str


def wait_reason(job: Job, held: Mapping[Key, Holding] | None = None) -> WaitReason | None:
    """Say why a job is not running yet; None when it runs or has ended.

    Vertex AI does not tell why a job is QUEUED, so the words follow its documents (vertex-facts sections 5 and 7) and
    the job's strategy. `held` are the persistent resources that are known and who holds them, of at least the place of
    this job; None: nobody has asked, and the words for such a job stay general. A job that may not be named carries
    `is_shown = False`.
    """
    if job.cancel_requested_at is not None and not job.is_finished and job.cancel_sent_at is None:
        return WaitReason("Vertex AI", job.last_error or "the cancellation is on its way")
    if held is not None and job.strategy == "persistent" and (reason := _of_resource(job, held)) is not None:
        return reason
    match job.state:
        case JobState.AWAITING_APPROVAL:
            return WaitReason("approver", "waits for an approver of the team")
        case JobState.APPROVED:
            return WaitReason("Trainboard", job.last_error or "waits for a worker to submit it")
        case JobState.SUBMITTING:
            return WaitReason("Vertex AI", job.last_error or "being sent to Vertex AI")
        case JobState.PENDING if job.restarts and job.started_at is None:
            return WaitReason("Vertex AI", "the region was out of capacity; Vertex AI tries again")
        case JobState.QUEUED | JobState.PENDING:
            return WaitReason("Vertex AI", waiting_words(job.strategy, job.state, has_run=bool(job.restarts)))
        case JobState.RUNNING if job.custom_job_state in WAITING_AT_VERTEX:
            words = waiting_words(job.strategy, job.custom_job_state, has_run=bool(job.restarts))
            return WaitReason("Vertex AI", f"its custom job {words}")
        case JobState.CANCELLING:
            return WaitReason("Vertex AI", "is being cancelled; it may still end by itself first")
    return None


def waiting_words(strategy: str, state: str, *, has_run: bool) -> str:
    """Return why a job that Vertex AI has QUEUED or PENDING does not run; the custom job of a trial likewise."""
    if state == JobState.PENDING:
        if has_run:
            return "gets machines again after a restart"
        return "waits for its machines, or they are being prepared" if strategy == "flex_start" else PREPARED
    words = {
        "flex_start": "waits until all its machines are free at once",
        "spot": "waits for Spot capacity or quota",
        "persistent": "waits for free replicas of its persistent resource",
        "reservation": "waits for its reservation",
    }
    return words.get(strategy, "waits for quota or to be processed")


def _of_resource(job: Job, held: Mapping[Key, Holding]) -> WaitReason | None:
    """Say what a job at Vertex AI waits for on its persistent resource; None where nothing there keeps it waiting."""
    if job.state not in WAITING_AT_VERTEX:
        return None
    name = resource_id_of(job)
    found = held.get((job.project, job.region, name))
    if found is None:
        return WaitReason("persistent resource", f"waits for the persistent resource {name}, which is unknown here")
    if found.resource.gone_at is not None:
        return WaitReason("persistent resource", f"waits for the persistent resource {name}, which is gone")
    if found.resource.state != "RUNNING":
        return WaitReason(
            "persistent resource", f"waits for the persistent resource {name}: it is {found.resource.state}"
        )
    wanted = found.wanted(job)
    short = next((at for at, count in wanted.items() if found.free(at) < count), None)
    if short is not None:
        return WaitReason("persistent resource", _full(name, found, short, wanted[short]))
    if job.state == JobState.QUEUED and wanted:
        at = next(iter(wanted))
        return WaitReason("Vertex AI", f"{name} has {_share(found, at)}; waits for Vertex AI to give them")
    return None


def _full(name: str, found: Holding, at: int, wanted: int) -> str:
    """Name the holders whom the reader may see; the others are counted by the replicas that they hold."""
    holders = {job: counts[at] for job, counts in found.running.items() if counts.get(at)}
    shown = {job: count for job, count in holders.items() if getattr(job, "is_shown", True)}
    named = [f"{job.display_name} ({count})" for job, count in list(shown.items())[:MAX_NAMES]]
    others = found.used(at) - sum(list(shown.values())[:MAX_NAMES])
    named += [f"other jobs ({others})"] if others > 0 else []
    by = f", held by {', '.join(named)}" if named else ""
    return f"{name} is full: {_share(found, at)}, it needs {wanted}{by}"


def _share(found: Holding, at: int) -> str:
    return f"{found.free(at)} of {found.resource_pools[at].most_replicas} replicas free"
