"""The reason for a job's state, shown below the state in a list."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.queries.persistent_resources import Holdings
from jobs import timeline
from jobs.diagnosis import Diagnosis, diagnose
from jobs.explain import error_of, explain_in_list, has_failed
from jobs.models import Job
from jobs.spec.body import custom_job_spec
from jobs.spec.fields import parse_duration
from jobs.spec.findings import kept_message
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.strategies import STRATEGIES
from jobs.texts import is_translatable
from jobs.translations import translated

SHORT = {
    "over_ask_limit": gettext_lazy("may exceed the team's limit"),
    "cost_unknown": gettext_lazy("cost not known"),
}
"""Short texts for findings of `jobs.policy` in a list. The row's cost column has the amounts."""


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
        known = explain_in_list(job)
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
