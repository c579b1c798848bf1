"""Why a job is where it is: the second line under its state in a list."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from dashboard.access import Job, program_output, service_errors
from dashboard.access.pools import Holdings
from dashboard.pages.parts.stored_spec import spec_of
from jobs import timeline
from jobs.catalog import machine
from jobs.diagnosis import Circumstances, Diagnosis, diagnose, diagnose_expiry, diagnose_output
from jobs.states import JobState
from jobs.strategies import STRATEGIES

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
    if job.error:
        return diagnose(code, message, circumstances_of(job))
    return diagnose_expiry(circumstances_of(job)) if job.state == JobState.EXPIRED else None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job failed; `is_from_log`: its error says nothing, so that the service's log has to."""

    diagnosis: Diagnosis
    is_from_log: bool


def failure_of(job: Job) -> Failure | None:
    """Return why the job failed, from its error or else its log, with what its program printed; None if not known.

    Reads the log, so it is for one job and not for lists.
    """
    known, is_from_log = diagnosis_of(job), False
    if known is None:
        logged = (diagnose(None, message, circumstances_of(job)) for message in service_errors(job))
        known, is_from_log = next((each for each in logged if each is not None and each.cause != "unknown"), None), True
    if known is not None and known.cause in TOLD_BY_PROGRAM:
        known = _with_output(job, known)
    return Failure(known, is_from_log) if known is not None else None


TOLD_BY_PROGRAM = frozenset({"user_code", "unknown", "retries_exhausted", "trials_failed", "distributed"})
"""Causes of which the program's own output may tell more than Vertex AI does."""


def _with_output(job: Job, known: Diagnosis) -> Diagnosis:
    told = diagnose_output(program_output(job), circumstances_of(job))
    if told is None or told.cause == known.cause:
        return known
    words = " ".join(filter(None, (told.explanation, known.explanation)))
    return replace(told, explanation=words, retried=known.retried or told.retried, replicas=known.replicas)


def circumstances_of(job: Job) -> Circumstances:
    """Return what the job's row and spec tell its diagnosis."""
    specs = [pool.get("machineSpec") or {} for pool in spec_of(job).get("workerPoolSpecs") or [] if pool]
    strategy = STRATEGIES.get(job.strategy)
    return Circumstances(
        strategy=job.strategy,
        has_run=job.started_at is not None,
        restarts=job.restarts,
        restart_limit=strategy.restart_allowance if strategy else 0,
        has_accelerator=any(map(_has_accelerator, specs)) if specs else None,
    )


def _has_accelerator(spec: dict[str, Any]) -> bool:
    name = str(spec.get("machineType", ""))
    known = machine(name)
    return bool(spec.get("acceleratorType") or (known and known.fixed_accelerator) or name.startswith(("ct", "tpu")))


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
