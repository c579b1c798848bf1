"""The approvals inbox: what asks, what it costs, why it asks, and the answer."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Approval, Job, Request, job_to_approve, questions, teams_where
from dashboard.pages.parts.differences import changes_of
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.pages.parts.rows import row_of
from jobs import lifecycle, tasks
from jobs.lifecycle import database_now

MOST = 50
LONGEST_COMMENT = 2_000


@require_safe
def approvals(request: Request) -> HttpResponse:
    """Show every open question of the person's teams, oldest first."""
    now = database_now()
    deciding = set(teams_where(request.user, "approve").values_list("pk", flat=True))
    found = questions(request.user, MOST + 1)
    changes = changes_of(request.user, [each.job for each in found[:MOST]])
    asked = [
        {
            "approval": each,
            "job": each.job,
            "row": row_of(each.job, now),
            "changes": changes.get(each.job.pk),
            "spec_text": json.dumps(each.job.spec, indent=2, ensure_ascii=False),
            "no_right": _no_right(request, each, deciding),
        }
        for each in found[:MOST]
    ]
    context: dict[str, Any] = {"now": now, "asked": asked, "has_more": len(found) > MOST}
    return page_or_fragment(request, "approvals.html", "inbox", context)


def _no_right(request: Request, approval: Approval, deciding: set[int]) -> str:
    """Return why this person cannot decide, or ""; `lifecycle` refuses in the same cases."""
    if approval.job.owner_id == request.user.pk:
        return "You requested this job, so another approver of the team decides."
    if approval.job.team_id not in deciding:
        return f"Approvers and leads of {approval.job.team} decide."
    return ""


def _amount(job: Job) -> str:
    """Return what is decided about, as the form sends it back."""
    return "" if job.judged_usd is None else str(job.judged_usd)


VERBS = {"approve": (lifecycle.approve, "Approved"), "reject": (lifecycle.reject, "Rejected")}


@require_POST
def decide(request: Request, pk: UUID) -> HttpResponse:
    """Approve or reject a job, as the pressed button says."""
    job = job_to_approve(request, pk)
    if request.POST.get("decision") not in VERBS:
        return HttpResponseBadRequest("Say decision=approve or decision=reject.")
    verb, word = VERBS[request.POST["decision"]]
    if request.POST.get("amount", _amount(job)) != _amount(job):
        messages.warning(request, f"{job.display_name} was judged again meanwhile; this is what it may cost now.")
        return redirect("job", job.pk)
    comment = request.POST.get("comment", "").replace("\x00", "")[:LONGEST_COMMENT]
    try:
        done = verb(job, by=request.user, comment=comment, now=database_now())
    except lifecycle.NotPermitted as refusal:
        messages.error(request, str(refusal))
        return redirect("job", job.pk)
    if done:
        tasks.nudge_job(job.pk)
        messages.success(request, f"{word} {job.display_name}.")
    else:
        messages.warning(request, f"{job.display_name} was answered or withdrawn before.")
    return redirect("job", job.pk) if request.POST.get("back") == "job" else redirect("approvals")
