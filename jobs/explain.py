"""Why a job failed: one answer for its page, lists, messages, the API and the command line.

The answer is computed by the worker that sees new evidence (the end of the job, its error, lines of its log), and kept
with the job as codes and values: every language is made from them when they are shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from django.db.models import F

from jobs import storable, timeline
from jobs.catalog import machine
from jobs.diagnosis import Circumstances, Diagnosis, diagnose, diagnose_expiry, diagnose_output
from jobs.models import Job, JobEvent, ShownJob
from jobs.spec.body import custom_job_spec
from jobs.states import JobState
from jobs.strategies import STRATEGIES
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT
from jobs.texts import as_json, from_json, joined
from jobs.vertex.logs import SERVICE

ENDED_BADLY = frozenset({JobState.FAILED, JobState.EXPIRED, JobState.SUBMIT_FAILED})
EXPLAINED_BY_OUTPUT = frozenset({"user_code", "unknown", "retries_exhausted", "trials_failed", "distributed"})
"""Causes that the program's output may explain better than Vertex AI does."""
TEXTS = ("title", "explanation", "retried", "remedy")
"""Fields of a diagnosis that are translated when they are shown."""
MAX_ERRORS = 5
"""Maximum latest errors of the service. The last one often states only that the job failed."""
MAX_OUTPUT_LINES = 200
"""Maximum lines of programs that are searched for the reason of a failure."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job failed. `is_from_log` is set if the error has no reason and the service's log was used."""

    diagnosis: Diagnosis
    is_from_log: bool = False


def explain(
    job: Job, *, events: Sequence[JobEvent] | None = None, errors: Iterable[str] | None = None
) -> Explanation | None:
    """Return why the job failed, None if that is not known.

    No query, except for a job that ended before explanations were kept: then events and log are read. `events` and the
    `errors` of the service are passed if they were loaded already.
    """
    if not has_failed(job):
        return None
    kept = job.explanation
    if kept is None:
        kept = _compute(job, events, errors)
        kept = job.hide(kept) if isinstance(job, ShownJob) else kept
    return _load(kept)


def explain_in_list(job: Job) -> Diagnosis | None:
    """Return why the job failed as `explain` does, but without a query: for an older job from its error alone."""
    if not has_failed(job):
        return None
    if job.explanation is None:
        return diagnose_row(job)
    known = _load(job.explanation)
    return known.diagnosis if known is not None else None


def refresh(job: Job) -> None:
    """Compute the explanation of a failed job from everything that is known by now, and keep it if it is new.

    The revision of the job grows, because pages are drawn again when it does.
    """
    if not has_failed(job):
        return
    kept = storable.fit_columns(Job, {"explanation": _compute(job)})["explanation"]
    if kept != job.explanation:
        Job.objects.filter(pk=job.pk).update(explanation=kept, revision=F("revision") + 1)
        job.explanation = kept


def has_failed(job: Job) -> bool:
    """Return whether the job failed. A job that Vertex AI cancelled at its timeout counts as failed."""
    if job.state != JobState.CANCELLED:
        return job.state in ENDED_BADLY
    known = diagnose_row(job)
    return known is not None and known.cause == "timeout"


def diagnose_row(job: Job, circumstances: Circumstances | None = None) -> Diagnosis | None:
    """Return the diagnosis of the job's error alone, or None if it has no error or the cause is not known."""
    circumstances = circumstances or circumstances_of(job)
    code, message = error_of(job)
    if job.error:
        return diagnose(code, message, circumstances)
    return diagnose_expiry(circumstances) if job.state == JobState.EXPIRED else None


def error_of(job: Job) -> tuple[int | None, str]:
    """Return code and message of the job's google.rpc.Status, or (None, "") if there is none."""
    error: dict[str, Any] = job.error or {}
    code = error.get("code")
    return (code if isinstance(code, int) else None), str(error.get("message", ""))


def circumstances_of(job: Job) -> Circumstances:
    """Return what the diagnosis needs from the job's row and spec."""
    specs = [pool.get("machineSpec") or {} for pool in custom_job_spec(job.spec).get("workerPoolSpecs") or [] if pool]
    strategy = STRATEGIES.get(job.strategy)
    return Circumstances(
        strategy=job.strategy,
        has_run=job.started_at is not None,
        has_ended=job.is_finished,
        restarts=job.restarts,
        restart_limit=strategy.restart_allowance if strategy else 0,
        has_accelerator=any(map(_has_accelerator, specs)) if specs else None,
        ran=job.ended_at - job.started_at if job.ended_at and job.started_at else None,
        timeout=timeout_of(job),
        is_cancel_requested=job.cancel_requested_at is not None,
    )


def timeout_of(job: Job) -> timedelta:
    """Return the timeout of the job, or seven days if it has none (Scheduling reference)."""
    text = str(custom_job_spec(job.spec).get("scheduling", {}).get("timeout", ""))
    try:
        return timedelta(seconds=float(text.removesuffix("s")))
    except (ValueError, OverflowError):
        return DEFAULT_TIMEOUT


def _has_accelerator(spec: dict[str, Any]) -> bool:
    name = str(spec.get("machineType", ""))
    known = machine(name)
    return bool(spec.get("acceleratorType") or (known and known.fixed_accelerator) or name.startswith(("ct", "tpu")))


def _compute(job: Job, events: Sequence[JobEvent] | None = None, errors: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the explanation as JSON, from the error, else the service's log, with the program's output."""
    rows = list(job.events.without_passing().order_by("id")) if events is None else events
    circumstances = _with_events(rows, job, circumstances_of(job))
    known, is_from_log = diagnose_row(job, circumstances), False
    if known is None:
        messages = _service_errors(job) if errors is None else errors
        logged = (diagnose(None, message, circumstances) for message in messages)
        known, is_from_log = next((each for each in logged if each is not None and each.cause != "unknown"), None), True
    if known is not None and known.cause in EXPLAINED_BY_OUTPUT:
        known = _with_output(job, known)
    if known is None:
        return {"diagnosis": None}
    texts = {name: as_json(getattr(known, name)) for name in TEXTS}
    return {"diagnosis": asdict(known) | texts, "is_from_log": is_from_log}


def _load(kept: dict[str, Any]) -> Explanation | None:
    values = kept.get("diagnosis")
    if values is None:
        return None
    texts = {name: from_json(values[name]) for name in TEXTS}
    lists = {name: tuple(values[name]) for name in ("suggestions", "replicas")}
    return Explanation(Diagnosis(**values | texts | lists), kept["is_from_log"])


def _with_events(events: Sequence[JobEvent], job: Job, circumstances: Circumstances) -> Circumstances:
    """Add the number of restarts by cause and how the job lost its last machine, from its events."""
    limits = timeline.restart_limits(job)
    return replace(
        circumstances,
        causes=timeline.restart_causes(events),
        limits={cause: limits[group] for cause, group in timeline.GROUPS.items()},
        last_loss=timeline.last_loss(events),
    )


def _with_output(job: Job, known: Diagnosis) -> Diagnosis:
    output = diagnose_output(_program_output(job), circumstances_of(job))
    if output is None or output.cause == known.cause:
        return known
    explanation = joined(output.explanation, known.explanation)
    return replace(output, explanation=explanation, retried=known.retried or output.retried, replicas=known.replicas)


def _service_errors(job: Job) -> list[str]:
    """Return the latest errors that the service itself logged, newest first. One query."""
    lines = job.log_lines.filter(replica=SERVICE, severity="ERROR").order_by("-timestamp", "-pk")
    return list(lines.values_list("message", flat=True)[:MAX_ERRORS])


def _program_output(job: Job) -> str:
    """Return the latest lines that the job's replicas wrote, oldest first, as one text. One query."""
    lines = job.log_lines.exclude(replica=SERVICE).order_by("-timestamp", "-pk")
    return "\n".join(list(lines.values_list("message", flat=True)[:MAX_OUTPUT_LINES])[::-1])
