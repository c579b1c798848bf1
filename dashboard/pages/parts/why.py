"""The reason for the state of a job in one line, below the state in lists."""

from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.queries.persistent_resources import Holdings
from jobs import timeline
from jobs.explain import error_of, explain_in_list, has_failed, obstacle_of
from jobs.models import Job
from jobs.spec.findings import kept_message
from jobs.states import JobState
from jobs.texts import is_translatable
from jobs.translations import translated

SHORT = {
    "over_ask_limit": gettext_lazy("may exceed the team's limit"),
    "cost_unknown": gettext_lazy("cost not known"),
}
"""Short texts for findings of `jobs.policy` in a list. The row's cost column has the amounts."""


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
