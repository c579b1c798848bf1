"""Why a job waits, and for whom or what."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from jobs.models import Job
from jobs.spec.body import custom_job_spec
from jobs.spec.fields import parse_duration
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.strategies import STANDARD, STRATEGIES, is_on_resource
from jobs.timeline.resource_holdings import Holding, Key, resource_id_of
from jobs.translations import translated

MAX_NAMES = 3
"""Number of jobs that one line names."""


@dataclass(frozen=True, slots=True)
class WaitReason:
    """A reason for waiting: its owner (who or what has to act) and a sentence for people."""

    owner: str
    words: str


def wait_reason(job: Job, held: Mapping[Key, Holding] | None = None) -> WaitReason | None:
    """Return why a job is not running yet, or None if it runs or has ended.

    If Vertex AI reported an error in this wait, that is the reason. It reports nothing else about a job that is QUEUED,
    so otherwise the text follows its documentation (vertex-facts sections 5 and 7) and the job's strategy. `held` are
    the known persistent resources of at least this job's region, with the jobs on them. If it is None, they were not
    loaded and the text stays general. A job that must not be named has `is_shown = False`.
    """
    if job.cancel_requested_at is not None and not job.is_finished and job.state != JobState.CANCELLING:
        if job.cancel_sent_at is None:
            return WaitReason("Vertex AI", job.last_error or _("the cancellation is on its way"))
        return WaitReason("Vertex AI", _("Vertex AI accepted the cancellation; the job has not ended yet"))
    if job.wait_error:
        return WaitReason("Vertex AI", _("Vertex AI reports while it waits: %(text)s") % {"text": job.wait_error})
    if held is not None and is_on_resource(job.strategy) and (reason := _of_resource(job, held)) is not None:
        return reason
    match job.state:
        case JobState.AWAITING_APPROVAL:
            return WaitReason("approver", _("waits for an approver of the team"))
        case JobState.APPROVED:
            return WaitReason("Trainboard", job.last_error or _("waits for a worker to submit it"))
        case JobState.SUBMITTING:
            return WaitReason("Vertex AI", job.last_error or _("being sent to Vertex AI"))
        case JobState.PENDING if job.restarts and job.started_at is None:
            return WaitReason("Vertex AI", _("the region was out of capacity; Vertex AI tries again"))
        case JobState.QUEUED | JobState.PENDING:
            return WaitReason("Vertex AI", waiting_words(job.strategy, job.state, has_run=bool(job.restarts)))
        case JobState.RUNNING if job.custom_job_state in WAITING_AT_VERTEX:
            words = waiting_words(job.strategy, job.custom_job_state, has_run=bool(job.restarts))
            return WaitReason("Vertex AI", f"its custom job {words}")
        case JobState.CANCELLING:
            return WaitReason("Vertex AI", _("is being cancelled; it may still end by itself first"))
    return None


def waiting_words(strategy: str, state: str, *, has_run: bool) -> str:
    """Return why a job that is QUEUED or PENDING at Vertex AI does not run. Also used for the custom job of a trial."""
    known = STRATEGIES.get(strategy, STANDARD)
    if state == JobState.PENDING:
        if has_run:
            return _("gets machines again after a restart")
        return translated(known.pending)
    return translated(known.queued)


def _of_resource(job: Job, held: Mapping[Key, Holding]) -> WaitReason | None:
    """Return what a job waits for on its persistent resource, or None if that does not keep it waiting."""
    if job.state not in WAITING_AT_VERTEX:
        return None
    name = resource_id_of(job)
    found = held.get((job.project, job.region, name))
    if found is None:
        words = _("waits for the persistent resource %(name)s, which is unknown here")
        return WaitReason("persistent resource", words % {"name": name})
    if found.resource.gone_at is not None:
        words = _("waits for the persistent resource %(name)s, which is gone")
        return WaitReason("persistent resource", words % {"name": name})
    if found.resource.state != "RUNNING":
        words = _("waits for the persistent resource %(name)s: it is %(state)s")
        return WaitReason("persistent resource", words % {"name": name, "state": found.resource.state})
    wanted = found.wanted(job)
    short = next((at for at, count in wanted.items() if found.free(at) < count), None)
    if short is not None:
        return WaitReason("persistent resource", _full(name, found, short, wanted[short]))
    if job.state == JobState.QUEUED and wanted:
        at = next(iter(wanted))
        words = _("%(name)s has %(share)s; waits for Vertex AI to give them")
        return WaitReason("Vertex AI", words % {"name": name, "share": _share(found, at)})
    return None


def _full(name: str, found: Holding, at: int, wanted: int) -> str:
    """Name the jobs on the resource that the reader may see. The others are counted by their replicas."""
    holders = {job: counts[at] for job, counts in found.running.items() if counts.get(at)}
    shown = {job: count for job, count in holders.items() if getattr(job, "is_shown", True)}
    named = [f"{job.display_name} ({count})" for job, count in list(shown.items())[:MAX_NAMES]]
    others = found.used(at) - sum(list(shown.values())[:MAX_NAMES])
    named += [_("other jobs (%(number)s)") % {"number": others}] if others > 0 else []
    words = _("%(name)s is full: %(share)s, it needs %(wanted)s")
    if named:
        words = _("%(name)s is full: %(share)s, it needs %(wanted)s, held by %(holders)s")
    return words % {"name": name, "share": _share(found, at), "wanted": wanted, "holders": ", ".join(named)}


def _share(found: Holding, at: int) -> str:
    words = _("%(free)s of %(all)s replicas free")
    return words % {"free": found.free(at), "all": found.resource_pools[at].most_replicas}


def may_wait(job: Job) -> timedelta | None:
    """Return how long the job's strategy lets it wait for machines: None without a limit, zero for an endless wait.

    Reads only the stored spec, because lists show many jobs. A missing or unreadable value gives the default wait.
    """
    strategy = STRATEGIES.get(job.strategy)
    if strategy is None or strategy.default_wait is None:
        return None
    scheduling = custom_job_spec(job.spec).get("scheduling")
    try:
        return parse_duration(scheduling.get("maxWaitDuration") if isinstance(scheduling, dict) else None)
    except ValueError:
        return strategy.default_wait


def gives_up_at(job: Job) -> datetime | None:
    """Return when a job that waits for its first machines gives up; None if it does not wait or has no limit.

    Vertex AI counts from the creation of the job. A limit beyond the largest datetime counts as none.
    """
    limit = may_wait(job)
    is_waiting = job.state in WAITING_AT_VERTEX and job.started_at is None
    if not limit or limit < timedelta() or not is_waiting or job.submitted_at is None:
        return None
    try:
        return job.submitted_at + limit
    except OverflowError:
        return None
