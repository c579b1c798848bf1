"""One job: its story, what to do now, its log, spec, cost and restarts; and the verbs that change it."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Job, Request, can, events_of, failing_scopes, job_for
from dashboard.access.pools import holdings_for
from dashboard.pages.job_log import log_context
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.pages.parts.rows import row_of
from dashboard.pages.parts.stored_spec import replica_names
from dashboard.pages.parts.what_now import what_now
from dashboard.pages.study import study_part
from jobs import lifecycle, tasks, timeline
from jobs.lifecycle import database_now
from jobs.states import JobState

COLLECTIONS = {
    "custom_job": "customJobs",
    "hyperparameter_tuning_job": "hyperparameterTuningJobs",
    "training_pipeline": "trainingPipelines",
}
"""From our kinds to the collections of the REST API."""

NOTHING_TO_DELETE = "not ended at Vertex AI, or its deletion was asked for"


@require_safe
def job(request: Request, pk: UUID) -> HttpResponse:
    """Show the whole page of a job."""
    now = database_now()
    found = job_for(request, pk)
    context = job_context(request, found, now) | request_context(found)
    context |= log_context(request, found, now, context["story"].events)
    return page_or_fragment(request, "job.html", "live", context)


@require_safe
def live(request: Request, pk: UUID) -> HttpResponse:
    """Return the part that changes while the job lives; the context is the page's own."""
    return render(request, "job.html#live", job_context(request, job_for(request, pk), database_now()))


def job_context(request: Request, job: Job, now: datetime) -> dict[str, Any]:
    """Return everything that the page tells about the job but its log."""
    approval = getattr(job, "approval", None)
    silent = failing_scopes([job])
    story = timeline.story(job, events_of(job), now, replicas=replica_names(job))
    asks = job.state == JobState.AWAITING_APPROVAL
    may_approve = asks and job.owner_id != request.user.pk and can(request.user, "approve", job.team)
    return {
        "now": now,
        "job": job,
        "row": row_of(job, now, silent, holdings_for(request.user, [job])),
        "story": story,
        "as_table": request.GET.get("as") == "table",
        "seen_state": request.GET.get("state", ""),
        "advice": what_now(job, now),
        "approval": approval,
        "may_approve": may_approve,
        "may_cancel": may_cancel(request, job),
        "may_delete": lifecycle.may_delete(job, by=request.user),
        "silent": silent,
        "grants": timeline.ledger(job, story.events) if job.remote_name else (),
    } | study_part(job, now)


def may_cancel(request: Request, job: Job) -> bool:
    """Tell whether the page offers to cancel the job, or to ask again after a request that had no effect yet."""
    is_on_its_way = job.cancel_requested_at is not None and job.cancel_sent_at is None
    is_open = not job.is_finished and not is_on_its_way and not job.is_adopted
    return is_open and can(request.user, "cancel", job.team)


def request_context(job: Job) -> dict[str, Any]:
    """Return what never changes: the body that was requested and where it is sent."""
    text = json.dumps(job.spec, indent=2, ensure_ascii=False)
    return {"spec_text": text, "collection": COLLECTIONS.get(job.kind, job.kind)}


@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: Request, pk: UUID) -> HttpResponse:
    """Ask whether to cancel, then cancel."""
    found = _ours(job_for(request, pk, "cancel"))
    now = database_now()
    if request.method != "POST":
        return render(request, "cancel.html", {"job": found, "row": row_of(found, now), "now": now})
    if lifecycle.cancel(found, by=request.user, clock=lifecycle.DatabaseClock()):
        tasks.nudge_job(found.pk)
        messages.success(request, f"Cancellation of {found.display_name} asked for.")
    else:
        messages.warning(request, f"{found.display_name} had ended or was being cancelled already.")
    return redirect("job", found.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: Request, pk: UUID) -> HttpResponse:
    """Ask whether Vertex AI is to delete its record of an ended job, then ask for that."""
    found = _ours(job_for(request, pk))
    now = database_now()
    if request.method != "POST":
        if lifecycle.may_delete(found, by=request.user):
            return render(request, "job_delete.html", {"job": found, "now": now})
        messages.warning(request, f"{found.display_name} has {NOTHING_TO_DELETE}, or it is not yours to delete.")
        return redirect("job", found.pk)
    try:
        asked = lifecycle.delete(found, by=request.user, now=now)
    except lifecycle.NotPermitted as refusal:
        raise PermissionDenied(str(refusal)) from None
    if asked:
        tasks.nudge_job(found.pk)
        messages.success(request, f"Vertex AI is asked to delete its record of {found.display_name}.")
    else:
        messages.warning(request, f"{found.display_name} has {NOTHING_TO_DELETE}.")
    return redirect("job", found.pk)


def _ours(job: Job) -> Job:
    """Return the job, or answer 403 with words where it is only watched here."""
    try:
        lifecycle.check_is_ours(job)
    except lifecycle.NotPermitted as refusal:
        raise PermissionDenied(str(refusal)) from None
    return job


@require_safe
def events_json(request: Request, pk: UUID) -> JsonResponse:
    """Return the timeline for machines: every event with its actor and both of its times."""
    found = job_for(request, pk)
    events = [
        {
            "kind": event.kind,
            "from_state": event.from_state,
            "to_state": event.to_state,
            "actor": event.actor.get_username() if event.actor else None,
            "occurred_at": event.occurred_at,
            "recorded_at": event.recorded_at,
            "reason": event.reason,
            "sentence": event.sentence,
            "detail": event.detail,
        }
        for event in events_of(found)
    ]
    return JsonResponse({"job": str(found.pk), "name": found.display_name, "state": found.state, "events": events})


@require_safe
def spec_json(request: Request, pk: UUID) -> JsonResponse:
    """Return the REST body that was requested, without the labels that Trainboard adds."""
    return JsonResponse(job_for(request, pk).spec, json_dumps_params={"indent": 2})
