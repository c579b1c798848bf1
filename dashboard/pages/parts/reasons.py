"""The reason for a job's state, shown below the state in a list."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.queries.jobs import list_events
from dashboard.queries.logs import get_program_output, list_service_errors
from dashboard.queries.persistent_resources import Holdings
from jobs import timeline
from jobs.catalog import machine
from jobs.diagnosis import Circumstances, Diagnosis, diagnose, diagnose_expiry, diagnose_output
from jobs.models import Job, JobEvent
from jobs.spec.body import custom_job_spec
from jobs.spec.fields import parse_duration
from jobs.spec.findings import kept_message
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.strategies import STRATEGIES
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT
from jobs.texts import is_translatable, joined
from jobs.translations import translated

ENDED_BADLY = frozenset({JobState.FAILED, JobState.EXPIRED, JobState.SUBMIT_FAILED})
SHORT = {
    "over_ask_limit": gettext_lazy("may exceed the team's limit"),
    "cost_unknown": gettext_lazy("cost not known"),
}
"""Short texts for findings of `jobs.policy` in a list. The row's cost column has the amounts."""


def error_of(job: Job) -> tuple[int | None, str]:
    """Return code and message of the job's google.rpc.Status, or (None, "") if there is none."""
    error: dict[str, Any] = job.error or {}
    code = error.get("code")
    return (code if isinstance(code, int) else None), str(error.get("message", ""))


def diagnosis_of(job: Job) -> Diagnosis | None:
    """Return the diagnosis of the job's error, or None if it has no error or the cause is not known."""
    return _diagnosis(job, circumstances_of(job))


def _diagnosis(job: Job, circumstances: Circumstances) -> Diagnosis | None:
    code, message = error_of(job)
    if job.error:
        return diagnose(code, message, circumstances)
    return diagnose_expiry(circumstances) if job.state == JobState.EXPIRED else None


def has_failed(job: Job) -> bool:
    """Return whether the job failed. A job that Vertex AI cancelled at its timeout counts as failed."""
    if job.state != JobState.CANCELLED:
        return job.state in ENDED_BADLY
    known = diagnosis_of(job)
    return known is not None and known.cause == "timeout"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job failed. `is_from_log` is set if the error has no reason and the service's log was used."""

    diagnosis: Diagnosis
    is_from_log: bool


def failure_of(
    job: Job, events: Sequence[JobEvent] | None = None, errors: Iterable[str] | None = None
) -> Failure | None:
    """Return why the job failed, from its error, else its log, with its program's output; None if not known.

    Reads the log, so call it for single jobs, not for lists. `events` (from `list_events`) and `errors` of the service
    are passed if they were loaded already.
    """
    circumstances = _with_events(list_events(job) if events is None else events, job, circumstances_of(job))
    known, is_from_log = _diagnosis(job, circumstances), False
    if known is None:
        messages = list_service_errors(job) if errors is None else errors
        logged = (diagnose(None, message, circumstances) for message in messages)
        known, is_from_log = next((each for each in logged if each is not None and each.cause != "unknown"), None), True
    if known is not None and known.cause in EXPLAINED_BY_OUTPUT:
        known = _with_output(job, known)
    return Failure(known, is_from_log) if known is not None else None


EXPLAINED_BY_OUTPUT = frozenset({"user_code", "unknown", "retries_exhausted", "trials_failed", "distributed"})
"""Causes that the program's output may explain better than Vertex AI does."""


def _with_output(job: Job, known: Diagnosis) -> Diagnosis:
    output = diagnose_output(get_program_output(job), circumstances_of(job))
    if output is None or output.cause == known.cause:
        return known
    explanation = joined(output.explanation, known.explanation)
    return replace(output, explanation=explanation, retried=known.retried or output.retried, replicas=known.replicas)


def circumstances_of(job: Job) -> Circumstances:
    """Return what the diagnosis needs from the job's row and spec."""
    specs = [pool.get("machineSpec") or {} for pool in custom_job_spec(job.spec).get("workerPoolSpecs") or [] if pool]
    strategy = STRATEGIES.get(job.strategy)
    return Circumstances(
        strategy=job.strategy,
        has_run=job.started_at is not None,
        restarts=job.restarts,
        restart_limit=strategy.restart_allowance if strategy else 0,
        has_accelerator=any(map(_has_accelerator, specs)) if specs else None,
        ran=job.ended_at - job.started_at if job.ended_at and job.started_at else None,
        timeout=timeout_of(job),
        is_cancel_requested=job.cancel_requested_at is not None,
    )


def _with_events(events: Sequence[JobEvent], job: Job, circumstances: Circumstances) -> Circumstances:
    """Add the number of restarts by cause and how the job lost its last machine, from its events."""
    limits = timeline.restart_limits(job)
    lost = next((event.reason for event in events if event.kind == "machines_lost"), "")
    return replace(
        circumstances,
        causes=timeline.restart_causes(events),
        limits={cause: limits[group] for cause, group in timeline.GROUPS.items()},
        last_loss=lost,
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


def obstacle_of(job: Job) -> Diagnosis | None:
    """Return the diagnosis of the step that fails and is retried; None if there is none or it is not known."""
    known = diagnose(None, job.last_error) if job.last_error else None
    return known if known is not None and known.cause != "unknown" else None


class Why(NamedTuple):
    """The reason below a state in a list. `lang` is "en" if the text is not the site's own."""

    text: str = ""
    lang: str = ""


def why(job: Job, held: Holdings | None = None) -> Why:
    """Return the reason for the state, empty if there is none. `held` as for `wait_reason`."""
    if job.state in {JobState.AWAITING_APPROVAL, JobState.REJECTED}:
        return _approval_reason(job)
    if has_failed(job):
        known = diagnosis_of(job)
        title = known.title if known else error_of(job)[1]
        words = " · ".join(filter(None, (translated(title), job.trials_summary)))
        return Why(words) if is_translatable(title) else _quoted(words)
    if reason := timeline.wait_reason(job, held):
        if reason.words != job.last_error:
            return Why(reason.words)
        known = obstacle_of(job)
        return Why(translated(known.title)) if known else _quoted(reason.words)
    if job.state == JobState.RUNNING and job.trial_seconds is not None and not job.trials_running:
        return Why(_("no trial running · %(trials)s") % {"trials": job.trials_summary})
    return _quoted(job.trials_summary)


def _quoted(words: str) -> Why:
    return Why(words, "en") if words else Why()


def _approval_reason(job: Job) -> Why:
    approval = getattr(job, "approval", None)
    if approval is None:
        return Why()
    if approval.decision:
        by = _("by %(person)s") % {"person": approval.decided_by}
        return Why(f"{by}: {approval.comment}" if approval.comment else by)
    if not approval.findings:
        return Why()
    first, others = approval.findings[0], len(approval.findings) - 1
    short = SHORT.get(first.get("code", ""))
    message = kept_message(first)
    words = str(short or translated(message))
    if others:
        more = ngettext("%(reason)s and %(n)s more reason", "%(reason)s and %(n)s more reasons", others)
        words = more % {"reason": words, "n": others}
    return Why(words, "" if short or is_translatable(message) else "en")


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
