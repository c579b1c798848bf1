"""Bulk actions: cancel, approve or rerun several jobs, after a page that shows the effect on each."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from dashboard.access import Request, can, jobs_of
from dashboard.access.confirmation import confirmed
from dashboard.access.loaders import parse_uuid
from dashboard.pages.parts.cancelling import effect_of_cancelling, refusal_to_cancel
from dashboard.pages.parts.deciding import approves_much, may_decide
from dashboard.pages.parts.rows import Row, amount_of, row_of
from jobs import requests, steps, tasks
from jobs.clock import DatabaseClock, database_now
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Job, ShownJob
from jobs.spec import with_own_folder
from jobs.states import JobState
from jobs.translations import translated

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_JOBS = 100
MAX_KEY_LENGTH = 36


@dataclass(frozen=True, slots=True)
class Choice:
    """A selected job. `refusal` is why the action is not possible for it, or "" if it is.

    `effect` is what a cancellation does to it, "" for other actions.
    """

    job: Job
    row: Row
    refusal: str
    effect: str
    usd: Decimal | None
    """Maximum cost that the action permits, or None if no price is known."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action on several jobs."""

    title: "StrOrPromise"
    button: "StrOrPromise"
    done: Callable[[int], str]
    refusal: Callable[[Request, Job], str]
    act: Callable[[Request, Job, str, datetime], bool]
    is_paid: bool = False


def _may_not_cancel(request: Request, job: Job) -> str:
    if not can(request.user, "cancel", job.team):
        return _("your role does not cancel jobs")
    return refusal_to_cancel(job)


def _may_not_approve(request: Request, job: Job) -> str:
    if job.state != JobState.AWAITING_APPROVAL:
        return _("it is not awaiting an approval")
    if job.owner_id == request.user.pk:
        return _("you requested it")
    return "" if may_decide(request, job, database_now()) else _("you do not decide about it, or have voted on it")


def _may_not_rerun(request: Request, job: Job) -> str:
    if not can(request.user, "request", job.team):
        return _("your role does not request jobs")
    return "" if job.is_finished else _("it has not ended")


def _cancel(request: Request, job: Job, _key: str, _now: datetime) -> bool:
    return steps.cancel(job, by=request.user, clock=DatabaseClock())


def _approve(request: Request, job: Job, amount: str, now: datetime) -> bool:
    if amount != amount_of(job):  # the estimate changed since the page was shown
        return False
    digest = request.POST.get(f"digest-{job.pk}")
    try:
        return requests.approve(job, by=request.user, comment="", now=now, digest=digest)
    except requests.Changed:
        return False


def _rerun(request: Request, job: Job, key: str, now: datetime) -> bool:
    requests.request_job(
        submission=with_own_folder(requests.submission_of(job), now),
        team=job.team,
        by=request.user,
        expected=timedelta(seconds=job.expected_seconds),
        request_key=requests.given_key(f"{key}-{job.pk.hex[:24]}"),
        now=now,
        cloned_from=job,
        cap_usd=job.cap_usd,
    )
    return True


def _cancelled(number: int) -> str:
    return ngettext(
        "Requested the cancellation of %(number)s job: %(names)s.",
        "Requested the cancellation of %(number)s jobs: %(names)s.",
        number,
    )


def _approved(number: int) -> str:
    return ngettext("Approved %(number)s job: %(names)s.", "Approved %(number)s jobs: %(names)s.", number)


def _requested(number: int) -> str:
    return ngettext("Requested %(number)s job: %(names)s.", "Requested %(number)s jobs: %(names)s.", number)


ACTIONS = {
    "cancel": Action(
        gettext_lazy("Cancel these jobs?"), gettext_lazy("Cancel the jobs"), _cancelled, _may_not_cancel, _cancel
    ),
    "approve": Action(
        gettext_lazy("Approve these jobs?"),
        gettext_lazy("Approve"),
        _approved,
        _may_not_approve,
        _approve,
        is_paid=True,
    ),
    "rerun": Action(
        gettext_lazy("Run these jobs again?"),
        gettext_lazy("Run again"),
        _requested,
        _may_not_rerun,
        _rerun,
        is_paid=True,
    ),
}


def _approves_much(request: Request) -> bool:
    keys = [parse_uuid(key) for key in request.POST.getlist("job")[:MAX_JOBS]]
    return request.POST.get("action") == "approve" and approves_much(request, keys)


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(_approves_much)
def several(request: Request) -> HttpResponse:
    """Show the effect of `action` on each selected `job`. On POST, apply it."""
    query = request.POST if request.method == "POST" else request.GET
    action = ACTIONS.get(query.get("action", ""))
    if action is None:
        return HttpResponseBadRequest("action must be cancel, approve or rerun.")
    choices = _choices(request, action, query.getlist("job"), database_now())
    if request.method == "POST":
        _do(request, action, [choice.job for choice in choices if not choice.refusal])
        return redirect("board")
    possible = [choice for choice in choices if not choice.refusal]
    context = {
        "action": action,
        "name": query["action"],
        "choices": choices,
        "possible": possible,
        "usd": sum((choice.usd or Decimal(0) for choice in possible), Decimal(0)),
        "unpriced": sum(choice.usd is None for choice in possible),
        "key": uuid.uuid4().hex,
    }
    return render(request, "several.html", context)


def _choices(request: Request, action: Action, keys: Sequence[str], now: datetime) -> list[Choice]:
    """Return the selected jobs that the user may see, at most MAX_JOBS. Other keys are ignored."""
    wanted = [parse_uuid(key) for key in dict.fromkeys(keys[:MAX_JOBS])]
    jobs = jobs_of(request.user).select_related("approval__decided_by", "attempt__fallback").filter(pk__in=wanted)
    choices = []
    for job in jobs.order_by("display_name", "pk"):
        if isinstance(job, ShownJob):
            job.reveal_to(request.user)
        usd = job.approval.asked_usd if action is ACTIONS["approve"] and hasattr(job, "approval") else job.max_usd
        refusal = action.refusal(request, job)
        effect = effect_of_cancelling(job) if action is ACTIONS["cancel"] and not refusal else ""
        choices.append(Choice(job, row_of(job, now), refusal, effect, usd))
    return choices


def _do(request: Request, action: Action, jobs: Sequence[Job]) -> None:
    """Apply the action to each job. A failure does not stop the others, and the page names the jobs that failed."""
    key = request.POST.get("key", "")[:MAX_KEY_LENGTH]
    done: list[str] = []
    for job in jobs:
        argument = request.POST.get(f"amount-{job.pk}", "") if action is ACTIONS["approve"] else key
        try:
            is_done = action.act(request, job, argument, database_now())
        except NotPermitted as refusal:
            messages.error(request, f"{job.display_name}: {refusal}")
            continue
        except NotAllowed as refusal:
            messages.error(request, f"{job.display_name}: {translated(refusal.findings[0].message)}")
            continue
        if is_done:
            tasks.enqueue_job(job.pk)
            done.append(job.display_name)
        else:
            words = _("%(name)s has changed in the meantime; nothing was done.")
            messages.warning(request, words % {"name": job.display_name})
    if done:
        messages.success(request, action.done(len(done)) % {"number": len(done), "names": ", ".join(done)})
