"""Texts of messages about a job: what happened, why, the cost so far, and what to do next."""

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import timeline
from jobs.cost import CENT, format_usd
from jobs.cost.notes import longest_of
from jobs.diagnosis import Diagnosis
from jobs.explain import explain, explain_in_list
from jobs.messages.parts import Parts
from jobs.models import Approval, Job, JobEvent, Message, ShownJob
from jobs.spec.findings import kept_message
from jobs.state_words import STATE_WORDS
from jobs.states import JobState
from jobs.strategies import strategy_label
from jobs.translations import translated

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

Kind = Message.Kind
ASKS = frozenset({Kind.APPROVAL_NEEDED, Kind.APPROVAL_REMINDER})
TITLES: "dict[str, StrPromise]" = {
    Kind.APPROVAL_NEEDED: gettext_lazy("Approval needed"),
    Kind.APPROVAL_REMINDER: gettext_lazy("Approval still needed"),
    Kind.APPROVAL_EXPIRED: gettext_lazy("Approval expired"),
    Kind.APPROVED: gettext_lazy("Approved"),
    Kind.CHANGE_PROPOSED: gettext_lazy("Accept another strategy?"),
    Kind.REJECTED: gettext_lazy("Rejected"),
    Kind.STARTED: gettext_lazy("Started"),
    Kind.RESTARTED: gettext_lazy("Restarted"),
    Kind.WAITING_LONG: gettext_lazy("Still waiting"),
    Kind.FAILED: gettext_lazy("Failed"),
    Kind.DONE: gettext_lazy("Succeeded"),
    Kind.CANCELLED: gettext_lazy("Cancelled"),
    Kind.OVER_APPROVED: gettext_lazy("Costs more than approved"),
    Kind.CAP: gettext_lazy("Near its cap"),
    Kind.WASTE: gettext_lazy("May waste money"),
    Kind.FALLBACK: gettext_lazy("Further attempts"),
}
NEXT: "dict[str, StrPromise]" = {
    Kind.APPROVAL_NEEDED: gettext_lazy("Approve or reject it on the approvals page; you sign in there first."),
    Kind.APPROVAL_REMINDER: gettext_lazy("Approve or reject it on the approvals page; you sign in there first."),
    Kind.APPROVAL_EXPIRED: gettext_lazy("Submit it again if it is still needed."),
    Kind.APPROVED: gettext_lazy("Nothing is left to do: Trainboard submits it."),
    Kind.CHANGE_PROPOSED: gettext_lazy("Accept the strategy on the job's page, or keep your request as it was."),
    Kind.REJECTED: gettext_lazy("Change the job and submit it again, or ask the approver."),
    Kind.STARTED: gettext_lazy("Watch its log and cost on its page."),
    Kind.RESTARTED: gettext_lazy("It goes on by itself, from its last checkpoint if it has one."),
    Kind.WAITING_LONG: gettext_lazy("Wait, or cancel it and submit it in another region or under another strategy."),
    Kind.OVER_APPROVED: gettext_lazy("Cancel it, or let it go on."),
    Kind.WASTE: gettext_lazy("Look at its log; then cancel it, or declare on its page that it is fine."),
    Kind.FALLBACK: gettext_lazy("Its page lists all attempts and what each cost."),
    Kind.CAP: gettext_lazy(
        "Cancel it, or let it go on; at its cap it is cancelled unless the team's policy says otherwise."
    ),
}


def parts_of(message: Message, now: datetime) -> Parts:
    """Return the texts of a message about a job, with secrets masked; at most two queries."""
    assert message.job is not None
    job = ShownJob.of(message.job)
    name, cost = job.display_name, timeline.cost_so_far(job, now)
    explanation = explain(job) if message.kind == Kind.FAILED else None
    known = explanation.diagnosis if explanation is not None else None
    following = "" if message.detail.get("cancelled") else str(NEXT.get(message.kind, ""))
    why = known.explanation if known is not None else _why(message, job)
    remedy = known.remedy if known is not None else message.words("next") or following
    return Parts(
        _subject(message, job, known),
        (job.hide(translated(why)), job.hide(translated(remedy))),
        _facts(job, cost),
        _links(message, job, name),
        _data(job, cost, known),
    )


def headline(message: Message) -> str:
    """Return the subject of a message about a job, without a query."""
    assert message.job is not None
    return _subject(
        message, message.job, explain_in_list(ShownJob.of(message.job)) if message.kind == Kind.FAILED else None
    )


def path_of(message: Message) -> str:
    """Return the path of the page that a message links to."""
    if message.kind in ASKS:
        return f"/approvals/?job={message.job_id}"
    return f"/jobs/{message.job_id}/fine/" if message.detail.get("asks") else f"/jobs/{message.job_id}/"


def _subject(message: Message, job: Job, known: Diagnosis | None) -> str:
    title = TITLES.get(message.kind, message.get_kind_display())
    if message.kind == Kind.WASTE and message.detail.keys() & {"asks", "cancelled"}:
        title = _("Still working?") if message.detail.get("asks") else _("Cancelled without an answer")
    if message.kind == Kind.RESTARTED and message.event is not None and message.event.reason == "preempted":
        title = _("Preempted")
    if message.kind == Kind.CAP and message.event is not None and message.event.kind == JobEvent.Kind.CAP_REACHED:
        title = _("Cap reached")
    if message.kind == Kind.DONE and job.state == JobState.PARTIALLY_SUCCEEDED:
        title = _("Succeeded in part")
    if message.kind in ASKS and job.max_usd is not None:
        values = {"what": title, "name": job.display_name, "cost": format_usd(job.max_usd)}
        return _("%(what)s: %(name)s may cost up to %(cost)s") % values
    if message.kind == Kind.FAILED and known is not None:
        return f"{title}: {job.display_name} – {translated(known.title)}"
    return f"{title}: {job.display_name}"


def _why(message: Message, job: Job) -> str:
    if message.kind in ASKS:
        approval = Approval.objects.filter(job=job.pk).first()
        found = [translated(kept_message(finding)) for finding in approval.findings] if approval is not None else []
        if message.kind == Kind.APPROVAL_REMINDER and message.event is not None:
            found = [message.event.message, *found]  # how long it has waited, and for whom
        if found:
            return " ".join(dict.fromkeys(found))
    return message.words("text") or (message.event.message if message.event is not None else "")


def _most(job: Job) -> str:
    """Return the most that a job can cost, with the runs that Google may make; "" if it has ended or is not priced."""
    if job.max_usd is None or job.ended_at is not None:
        return ""
    runs = translated(longest_of(job.estimate)) if job.max_usd else ""
    return f"{format_usd(job.max_usd)} ({runs})" if runs else format_usd(job.max_usd)


def _facts(job: Job, cost: Decimal | None) -> tuple[tuple[str, str], ...]:
    together = Job.objects.filter(sweep=job.sweep).count() if job.sweep is not None else 1
    label = strategy_label(job.strategy)
    spent = format_usd(cost.quantize(CENT)) if cost is not None and job.started_at is not None else ""
    return (
        (_("Job"), job.display_name),
        (_("Jobs of the sweep"), str(together) if together > 1 else ""),
        (_("Team"), job.team.name),
        (_("Requested by"), job.owner.get_username()),
        (_("State"), str(STATE_WORDS.get(job.state, job.state))),
        (_("Cost so far"), spent),
        (_("May cost up to"), _most(job)),
        (_("Strategy"), label),
        (_("Machines"), job.machines),
        (_("Region"), job.region),
    )


def _links(message: Message, job: Job, name: str) -> tuple[tuple[str, str], ...]:
    page = (_("Open %(name)s") % {"name": name}, f"/jobs/{job.pk}/")
    if message.kind in ASKS:
        return ((_("Review and approve"), f"/approvals/?job={job.pk}"), page)
    if message.detail.get("asks"):
        return ((_("Still working?"), f"/jobs/{job.pk}/fine/"), page)
    if message.kind == Kind.FAILED:
        return (page, (_("Submit it again, changed"), f"/jobs/new/?job={job.pk}"))
    return (page,)


def _data(job: Job, cost: Decimal | None, known: Diagnosis | None) -> dict[str, Any]:
    return {
        "job": {
            "id": str(job.pk),
            "name": job.display_name,
            "team": job.team.name,
            "requested_by": job.owner.get_username(),
            "state": job.state,
            "strategy": job.strategy,
            "region": job.region,
            "remote_name": job.remote_name,
        },
        "cost_so_far": _amount(cost),
        "max_cost": _amount(job.max_usd),
        **({"diagnosis": {"cause": known.cause, "title": translated(known.title)}} if known is not None else {}),
    }


def _amount(usd: Decimal | None) -> dict[str, str] | None:
    return None if usd is None else {"amount": f"{usd.quantize(CENT)}", "currency": "USD"}
