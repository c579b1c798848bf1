"""Why a job failed: one answer for its page, lists, messages, the API and the command line.

The answer is computed by the worker that sees new evidence (the end of the job, its error, lines of its log), and kept
with the job as codes and values: every language is made from them when they are shown.
"""

import uuid
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from jobs import storable, timeline
from jobs.catalog import machine
from jobs.diagnosis import (
    Circumstances,
    Diagnosis,
    FailureRecord,
    Output,
    diagnose,
    diagnose_expiry,
    diagnose_output,
    read_exits,
    rules,
)
from jobs.isolation import take_each
from jobs.models import Job, JobEvent, ShownJob
from jobs.spec.body import custom_job_spec
from jobs.states import SUCCESSFUL, JobState
from jobs.strategies import STRATEGIES
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT
from jobs.texts import as_json, from_json, joined, quotation
from jobs.texts import translatable as _
from jobs.vertex.logs import SERVICE

ENDED_BADLY = frozenset({JobState.FAILED, JobState.EXPIRED, JobState.SUBMIT_FAILED})
EXPLAINED_BY_OUTPUT = frozenset({"user_code", "unknown", "retries_exhausted", "trials_failed", "distributed"})
"""Causes that the program's output may explain better than Vertex AI does."""
TEXTS = ("title", "explanation", "retried", "remedy")
"""Fields of a diagnosis that are translated when they are shown."""
MAX_ERRORS = 5
"""Maximum latest errors of the service. The last one often states only that the job failed."""
MAX_OUTPUT_LINES = 2_000
"""Maximum lines of programs in which the failure is searched; as many are kept of a job."""
MAX_AT_ONCE = 50
"""Jobs that one sweep explains afterwards."""
RULES = zlib.crc32(f"4 {rules()}".encode())
"""Version of the rules: kept explanations of another one are computed again. The number is for changes of code."""
MAX_WORDS = 300
"""Characters of an exception that an explanation quotes."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job failed. `is_from_log` is set if the error has no reason and the service's log was used.

    `failure` is the failure of the program, if that ended the job and its output shows it.
    """

    diagnosis: Diagnosis
    is_from_log: bool = False
    failure: FailureRecord | None = None


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


def has_unknown_run(job: Job) -> bool:
    """Return whether a job that has ended ran although neither polls nor the service's log showed when.

    It ran if it has a result, if its error names how its program exited, or if its program wrote to the log.
    """
    if job.started_at is not None or not job.is_finished:
        return False
    has_output = bool(job.explanation and job.explanation.get("has_output"))
    return job.state in SUCCESSFUL or has_output or bool(read_exits(error_of(job)[1])[1])


def has_run(job: Job) -> bool:
    """Return whether the program of the job ran, as far as anybody knows."""
    return job.started_at is not None or has_unknown_run(job)


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

    Of a job that ended without a known start, it shows at least whether its program wrote to the log. The revision of
    the job grows, because pages are drawn again when it does.
    """
    if not has_failed(job) and not (job.is_finished and job.is_remote and job.started_at is None):
        return
    kept = storable.fit_columns(Job, {"explanation": _compute(job)})["explanation"]
    if kept != job.explanation:
        Job.objects.filter(pk=job.pk).update(explanation=kept, explained_by=RULES, revision=F("revision") + 1)
        job.explanation = kept
    else:
        Job.objects.filter(pk=job.pk).exclude(explained_by=RULES).update(explained_by=RULES)


def explained_otherwise() -> list[QuerySet[Job]]:
    """Return selections of the failed jobs that other rules explained, or none: each a range of their index."""
    failed = Job.objects.filter(state__in=sorted(ENDED_BADLY)).order_by("explained_by", "-ended_at", "pk")
    others = (Q(explained_by__isnull=True), Q(explained_by__lt=RULES), Q(explained_by__gt=RULES))
    return [failed.filter(other) for other in others]


def explain_ended(_now: datetime) -> int:
    """Explain up to MAX_AT_ONCE jobs that other rules explained, or none, newest first. Return their number."""
    keys = [key for rows in explained_otherwise() for key in rows.values_list("pk", flat=True)[:MAX_AT_ONCE]]
    if not keys:
        return 0
    jobs = Job.objects.filter(pk__in=keys[:MAX_AT_ONCE]).order_by("-ended_at", "pk")
    return take_each(list(jobs), _explain_again, what="explanations of jobs")


def _explain_again(job: Job) -> bool:
    """Explain a job by the present rules. Of a failure whose log is removed, what was found stays."""
    has_log = not (job.explanation or {}).get("failure") or job.log_lines.exclude(replica=SERVICE).exists()
    if has_log:
        refresh(job)
    else:
        Job.objects.filter(pk=job.pk).update(explained_by=RULES)
    return True


def forget_lines(jobs: Collection[uuid.UUID]) -> None:
    """Remove the lines of the failures of these jobs, because their log is removed. What was found stays."""
    for job in Job.objects.filter(pk__in=jobs, explanation__isnull=False).only("explanation"):
        kept = job.explanation or {}
        if kept.get("failure"):
            failure = kept["failure"] | {"lines": [], "key": 0}
            storable.update_row(job, {"explanation": kept | {"failure": failure}})


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


def obstacle_of(job: Job) -> Diagnosis | None:
    """Return the diagnosis of the step that fails and is retried; None if there is none or it is not known."""
    known = diagnose(None, job.last_error) if job.last_error else None
    return known if known is not None and known.cause != "unknown" else None


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
        has_run=has_run(job),
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


def times_out_at(job: Job, now: datetime) -> datetime | None:
    """Return when the timeout ends a running job, counted over all its attempts; None if it does not run.

    Whether Vertex AI counts the attempts together is not documented, so None too if that time is over. The trials of a
    study have a timeout each.
    """
    if job.running_since is None or job.is_finished or job.trial_seconds is not None:
        return None
    left = timeout_of(job) - timeline.running(job, now)
    return now + left if left > timedelta() else None


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
    failure = None
    if known is not None and (known.cause in EXPLAINED_BY_OUTPUT or read_exits(error_of(job)[1])[1]):
        known, failure = _with_output(job, known, rows)
    if known is None:
        return {"diagnosis": None} | _output_of_unknown_run(job)
    texts = {name: as_json(getattr(known, name)) for name in TEXTS}
    shown = {"diagnosis": asdict(known) | texts, "is_from_log": is_from_log}
    shown |= {"failure": asdict(failure) if failure is not None else None}
    return shown | _output_of_unknown_run(job)


def _output_of_unknown_run(job: Job) -> dict[str, bool]:
    """Return whether the program wrote to the log, for a job without a known start. One query."""
    if job.started_at is not None:
        return {}
    return {"has_output": job.log_lines.exclude(replica__endswith=SERVICE).exists()}


def _load(kept: dict[str, Any]) -> Explanation | None:
    values = kept.get("diagnosis")
    if values is None:
        return None
    texts = {name: from_json(values[name]) for name in TEXTS}
    lists = {name: tuple(values[name]) for name in ("suggestions", "replicas")}
    failure = kept.get("failure")
    shown = {name: tuple(failure.get(name, ())) for name in ("lines", "others")} if failure is not None else {}
    record = FailureRecord(**failure | shown) if failure is not None else None
    return Explanation(Diagnosis(**values | texts | lists), kept["is_from_log"], record)


def _with_events(events: Sequence[JobEvent], job: Job, circumstances: Circumstances) -> Circumstances:
    """Add the number of restarts by cause and how the job lost its last machine, from its events."""
    limits, causes = timeline.restart_limits(job), timeline.restart_causes(events)
    if job.is_finished and causes["job_retry"]:  # restarts whose cause is not known were of the kind that ended it
        causes["job_retry"] += max(job.restarts - sum(causes[cause] for cause in timeline.GROUPS), 0)
    return replace(
        circumstances,
        causes=causes,
        limits={cause: limits[group] for cause, group in timeline.GROUPS.items()},
        last_loss=timeline.last_loss(events),
    )


def _with_output(job: Job, known: Diagnosis, events: Sequence[JobEvent]) -> tuple[Diagnosis, FailureRecord | None]:
    """Return the diagnosis with what the program's output shows, and the failure in it."""
    failure, output = diagnose_output(_program_output(job, events), circumstances_of(job))
    if failure is None:
        quoted = [Output(end.replica, end.output) for end in read_exits(error_of(job)[1])[1]]
        failure, output = diagnose_output(quoted, circumstances_of(job))
    if failure is None:
        return known, None
    words = _failure_words(failure)
    if output is None or output.cause == known.cause or known.cause not in EXPLAINED_BY_OUTPUT:
        title = _title(failure, "" if known.cause == "user_code" else known.title) if failure.exception else ""
        return replace(known, title=title or known.title, explanation=joined(words, known.explanation)), failure
    explanation = joined(words, output.explanation, known.explanation)
    output = replace(output, title=_title(failure, output.title), explanation=explanation, replicas=known.replicas)
    return replace(output, retried=known.retried or output.retried), failure


def _title(failure: FailureRecord, label: str) -> str:
    """Return the exception with its place and replica, then the label of its cause; the label alone without one."""
    if not failure.exception:
        return label if failure.is_certain else _("Likely: %(label)s", label=label)
    name, place, where = failure.exception.rpartition(".")[2], failure.place, _where(failure)
    title = _("%(exception)s in %(replica)s", exception=name, replica=where)
    if place:
        title = _("%(exception)s at %(place)s in %(replica)s", exception=name, place=place, replica=where)
    if not label:
        return title
    if failure.is_certain:
        return _("%(failure)s: %(label)s", failure=title, label=label)
    return _("%(failure)s, likely: %(label)s", failure=title, label=label)


def _where(failure: FailureRecord) -> str:
    if failure.rank is None:
        return failure.replica
    return _("%(replica)s (rank %(rank)s)", replica=failure.replica, rank=failure.rank)


def _failure_words(failure: FailureRecord) -> str:
    """Return a sentence that names the exception, its place, and the replica that failed first."""
    where, words = _where(failure), quotation(failure.words[:MAX_WORDS])
    if not failure.exception:
        return _("The last words of %(where)s: %(words)s.", where=where, words=words)
    if not failure.place:
        return _("%(where)s ended with %(words)s.", where=where, words=words)
    return _("%(where)s ended at %(place)s with %(words)s.", where=where, place=failure.place, words=words)


def _service_errors(job: Job) -> list[str]:
    """Return the latest errors that the service itself logged, newest first. One query."""
    lines = job.log_lines.filter(replica=SERVICE, severity="ERROR").order_by("-timestamp", "-pk")
    return list(lines.values_list("message", flat=True)[:MAX_ERRORS])


def _program_output(job: Job, events: Sequence[JobEvent]) -> list[Output]:
    """Return the latest lines that the job's replicas wrote in its last attempt, oldest first. One query."""
    lines = job.log_lines.exclude(replica=SERVICE).order_by("-timestamp", "-pk")
    began = [row.occurred_at for row in events if row.kind == row.Kind.RESTARTED and not row.detail.get("replica")]
    if began:
        lines = lines.filter(timestamp__gte=max(began))
    found = list(lines.values_list("replica", "message", "pk")[:MAX_OUTPUT_LINES])
    return [Output(*line) for line in reversed(found)]
