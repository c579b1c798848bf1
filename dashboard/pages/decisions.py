"""Decisions about requests: approve, approve up to a cost, or reject."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Request, job_for
from dashboard.access.confirmation import confirmed
from dashboard.pages.parts.deciding import approves_much, approves_much_as, may_decide
from dashboard.pages.parts.rows import amount_of
from dashboard.pages.parts.ways import asks_requester, cheaper, load_submission, ways_of
from jobs import requests, tasks
from jobs.clock import database_now
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Job
from jobs.states import JobState
from jobs.translations import translated

THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
MAX_COMMENT_LENGTH = 2_000
DECISIONS = ("approve", "as", "reject", "accept", "keep")
"""Values of the buttons. "as:spot:12.50" approves under Spot, for which the page showed $12.50."""
RECORDED = {
    "approve": gettext_lazy("Your approval of %(name)s is recorded. It needs another one."),
    "as": gettext_lazy(
        "Your approval of %(name)s under the other strategy is recorded. "
        "The requester or another approver is asked next."
    ),
    "accept": gettext_lazy("You accepted the strategy of %(name)s. It needs another approval."),
    "keep": gettext_lazy("%(name)s is as you requested it, and waits for an approval."),
}
PAGES = {"job": "job", "board": "board"}
"""Pages that a decision may return to, besides the inbox."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as posted: the action, a comment, and for an approval an optional cap on the cost."""

    verb: str
    comment: str
    cap_usd: Decimal | None
    strategy: str = ""
    """The strategy of an approval "as"; `expected_usd` is the cost under it that the page showed."""
    expected_usd: Decimal | None = None


def _needs_password(request: Request, pk: UUID) -> bool:
    verb, _colon, choice = request.POST.get("decision", "").partition(":")
    if verb == "reject":
        return False
    return approves_much(request, [pk]) or (verb == "as" and approves_much_as(request, pk, choice.partition(":")[0]))


@require_POST
@confirmed(_needs_password)
def decide(request: Request, pk: UUID) -> HttpResponse:
    """Decide about a job by the button pressed. The amount that the user saw is in the form or the address."""
    job = job_for(request, pk, "decide")
    if request.POST.get("decision", "").partition(":")[0] not in DECISIONS:
        return HttpResponseBadRequest(f"decision must be one of {', '.join(DECISIONS)}.")
    seen = request.POST.get("amount", request.GET.get("amount"))
    if seen is not None and seen != amount_of(job):
        words = _("The estimate of %(name)s has changed. Check the new amount, then decide.")
        messages.warning(request, words % {"name": job.display_name})
        return redirect("job", job.pk)
    is_tap = request.POST.get("back") == "board" and request.POST["decision"] == "approve"
    if is_tap and "asked" not in request.POST and approves_much(request, [pk]):
        return _ask(request, job)
    try:
        done = _apply(request, job, read_decision(request))
    except (NotAllowed, NotPermitted) as refusal:
        messages.error(request, translated(refusal.errors) if isinstance(refusal, NotAllowed) else str(refusal))
        return redirect("job", job.pk)
    except (ValueError, requests.Changed) as refusal:
        return _show_again(request, job, str(refusal))
    _report(request, job, is_done=done)
    back = request.POST.get("back", "")
    return redirect("job", job.pk) if back == "job" else redirect(PAGES.get(back, "approvals"))


@require_safe
def offers(request: Request, pk: UUID) -> HttpResponse:
    """Return the buttons that approve the job under a cheaper strategy, empty if the user may not decide about it."""
    job, now = job_for(request, pk), database_now()
    loaded = load_submission(job, now) if may_decide(request, job, now) else None
    found = cheaper(ways_of(job, *loaded), job) if loaded is not None else []
    return render(request, "_/offers.html", {"job": job, "offers": found, "asks_requester": asks_requester(job)})


def read_decision(request: Request) -> Decision:
    """Parse the form. Raise ValueError if the cap or the cost under another strategy is not a valid amount."""
    comment = request.POST.get("comment", "").replace("\x00", "")[:MAX_COMMENT_LENGTH]
    text = request.POST.get("cap", "").strip().removeprefix("$")
    text = text.replace(",", "") if THOUSANDS.fullmatch(text) else text  # "12,50" is no $1,250
    verb, _colon, choice = request.POST["decision"].partition(":")
    strategy, _colon, amount = choice.partition(":")
    try:
        cap = Decimal(text) if text and verb in ("approve", "as") else None
        expected = Decimal(amount) if amount else None
    except InvalidOperation:
        raise ValueError(_("The cap is not an amount. Write it in dollars, such as 500 or 1250.50.")) from None
    if expected is not None and not expected.is_finite():
        raise ValueError(_("The cost under the strategy is not an amount."))
    if cap is not None and (not cap.is_finite() or round(cap, 2) != cap):
        raise ValueError(_("The cap is not an amount in dollars and cents."))
    return Decision(verb, comment, cap, strategy, expected)


def _apply(request: Request, job: Job, decision: Decision) -> bool:
    """Record the decision. Raise NotPermitted, ValueError and Changed as `jobs.requests` does."""
    answer: dict[str, Any] = {"by": request.user, "now": database_now(), "digest": request.POST.get("digest")}
    if decision.verb == "accept":
        return requests.accept_change(job, **answer)
    if decision.verb == "keep":
        return requests.keep_request(job, **answer)
    answer["comment"] = decision.comment
    if decision.verb == "as":
        answer["expected_usd"] = decision.expected_usd
        return requests.approve_as(job, decision.strategy, **answer, cap_usd=decision.cap_usd)
    if decision.verb == "approve":
        return requests.approve(job, **answer, cap_usd=decision.cap_usd)
    return requests.reject(job, **answer)


def _report(request: Request, job: Job, *, is_done: bool) -> None:
    if not is_done:
        words = _("%(name)s was already decided or withdrawn, or you have voted on it.")
        messages.warning(request, words % {"name": job.display_name})
    elif job.state == JobState.AWAITING_APPROVAL:
        words = str(RECORDED[request.POST["decision"].partition(":")[0]])
        messages.success(request, words % {"name": job.display_name})
    else:
        tasks.enqueue_job(job.pk)
        words = _("Approved %(name)s.") if job.state == JobState.APPROVED else _("Rejected %(name)s.")
        messages.success(request, words % {"name": job.display_name})


def _ask(request: Request, job: Job) -> HttpResponse:
    """Ask before an approval by one tap on the board that may cost much. The page posts the same decision again."""
    context = {"job": job, "approval": getattr(job, "approval", None), "amount": amount_of(job)}
    return render(request, "approvals/ask.html", context)


def _show_again(request: Request, job: Job, words: str) -> HttpResponse:
    """Show the form with the typed values and the error."""
    context = {
        "job": job,
        "approval": getattr(job, "approval", None),
        "words": words,
        "typed": request.POST,
        "back": request.POST.get("back", "inbox"),
    }
    return render(request, "approvals/again.html", context, status=422)
