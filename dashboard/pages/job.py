"""One job: its timeline, advice, log, spec, cost and restarts, and the actions that change it."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Request, can, job_for, role_in
from dashboard.pages.parts.advice import what_now
from dashboard.pages.parts.cancelling import effect_of_cancelling, may_cancel, refusal_to_cancel
from dashboard.pages.parts.deciding import may_decide
from dashboard.pages.parts.fallback_part import fallback_part
from dashboard.pages.parts.forbidding import forbidding
from dashboard.pages.parts.fragments import SHOWN, is_shown, page_or_fragment, page_query, version_of
from dashboard.pages.parts.job_known import Known, known_of
from dashboard.pages.parts.job_links import links_of
from dashboard.pages.parts.job_training import loss_if_cancelled, training_part
from dashboard.pages.parts.log_page import log_context
from dashboard.pages.parts.rows import row_of
from dashboard.pages.parts.study_summary import study_part
from dashboard.queries.board import list_silent
from dashboard.queries.jobs import entries_of, get_last_event, list_newest_events
from dashboard.queries.persistent_resources import get_holdings_for
from jobs import requests, steps, tasks, timeline
from jobs.clock import DatabaseClock, database_now, display_now
from jobs.models import Job
from jobs.requests.declared_fine import may_declare_fine
from jobs.spec import COLLECTIONS
from jobs.states import JobState
from jobs.submission import delete_job, may_delete

JOINED = ("metrics", "health", "attempt__fallback", "figures")
"""Related rows that are loaded with the job."""
LIVE_SECONDS = 15
"""Seconds for which the page shows the same durations and costs if nothing else changes."""


@require_safe
def job(request: Request, pk: UUID) -> HttpResponse:
    """Show the page of a job."""
    now = display_now()
    job = job_for(request, pk, joined=JOINED)
    known = known_of(job, now)
    context = job_context(request, known, now) | request_context(job)
    context |= log_context(request, job, now, known.story.events, known.tries, known.replicas)
    context["version"] = version_of_page(request, job, now, known.newest.last)
    return page_or_fragment(request, "job.html", "live", context)


@require_safe
def live(request: Request, pk: UUID) -> HttpResponse:
    """Return the live part of the page, or 204 if it is unchanged. It uses the same context as the page."""
    job, now = job_for(request, pk, joined=JOINED), display_now()
    version = version_of_page(request, job, now, get_last_event(job))
    if is_shown(request, version):
        return HttpResponse(status=204)
    # Links in the live part keep the log filters of the page.
    request.GET = page_query(request)  # type: ignore[assignment]  # the stubs want an immutable one
    return render(request, "job.html#live", job_context(request, known_of(job, now), now) | {"version": version})


def version_of_page(request: Request, job: Job, now: datetime, last_event: int | None) -> str:
    """Return a version that changes when the live part changes. Durations and costs change every LIVE_SECONDS."""
    row = (
        job.state,
        job.restarts,
        job.last_error,
        job.cancel_requested_at,
        job.cancel_sent_at,
        job.deletion_requested_at,
        job.deleted_at,
        job.seen_at is None,
    )
    shown = tuple(request.GET.get(name, "") for name in SHOWN)
    tick = int(now.timestamp()) // LIVE_SECONDS
    return version_of(row, shown, tick, last_event)


def job_context(request: Request, known: Known, now: datetime) -> dict[str, Any]:
    """Return the context of the page except the log."""
    job, story, study = known.job, known.story, known.study
    silent = list_silent([job], now)
    budgets = timeline.retry_budget(job, story.events) if job.remote_name else ()
    row = row_of(job, now, silent, get_holdings_for(request.user, [job]))
    return (
        {
            "now": now,
            "job": job,
            "row": row,
            "story": story,
            "event_page": entries_of(known.newest),
            "advice": what_now(job, now, budgets, study, events=story.events, errors=known.errors),
            "approval": getattr(job, "approval", None),
            "silent": silent,
            "budgets": budgets,
        }
        | action_part(request, job, now)
        | health_part(known, now)
        | address_part(request)
        | fallback_part(job, now)
        | study_part(job, study, now)
        | training_part(job, story, known.tries, study, row, now, request.GET.dict())
    )


def health_part(known: Known, now: datetime) -> dict[str, Any]:
    """Return the warning about a running job, or what its cancellation because of one has saved."""
    return {
        "warning": timeline.warning_of(known.job, now),
        "saved": timeline.saved_by(known.job, known.story.events),
    }


def address_part(request: Request) -> dict[str, Any]:
    """Return what the address selects in the live part, and the state that the browser shows."""
    return {
        "as_table": request.GET.get("as") == "table",
        "shown_query": urlencode({name: request.GET[name] for name in SHOWN if name in request.GET}),
        "seen_state": request.GET.get("state", ""),
    }


def action_part(request: Request, job: Job, now: datetime) -> dict[str, Any]:
    """Return the actions open to the user, and links to other places that show the job."""
    return {
        "may_approve": may_decide(request, job, now),
        "may_cancel": may_cancel(request, job),
        "may_declare_fine": may_declare_fine(job, by=request.user, role=role_in(request.user, job.team)),
        "may_delete": may_delete(job, by=request.user, role=role_in(request.user, job.team)),
        "may_save": can(request.user, "request", job.team),
        "links": links_of(job, may_enter=can(request.user, "cancel", job.team)),
    }


def request_context(job: Job) -> dict[str, Any]:
    """Return the parts that never change: the requested body and where it is sent."""
    text = json.dumps(job.spec, indent=2, ensure_ascii=False)
    return {"spec_text": text, "collection": COLLECTIONS.get(job.kind, job.kind)}


@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: Request, pk: UUID) -> HttpResponse:
    """Show a confirmation. On POST, cancel the job."""
    job = _check_ours(job_for(request, pk, "cancel", joined=JOINED))
    now = display_now()
    if request.method != "POST" and not may_cancel(request, job):
        return _not_cancelled(request, job)
    if request.method != "POST":
        context = {"job": job, "row": row_of(job, now), "now": now, "loss": loss_if_cancelled(job, now)}
        context["effect"] = effect_of_cancelling(job)
        context["has_further_attempts"] = getattr(job, "attempt", None) is not None
        return render(request, "cancel.html", context)
    if steps.cancel(job, by=request.user, clock=DatabaseClock()):
        tasks.enqueue_job(job.pk)
        job.refresh_from_db(fields=["state"])
        words = _("Cancellation of %(name)s requested.")
        if job.state == JobState.WITHDRAWN:
            words = _("Cancelled %(name)s before it was submitted.")
        messages.success(request, words % {"name": job.display_name})
        return redirect("job", job.pk)
    job.refresh_from_db(fields=["state", "cancel_requested_at", "cancel_sent_at"])
    return _not_cancelled(request, job)


def _not_cancelled(request: Request, job: Job) -> HttpResponse:
    """Redirect to a job that cannot be cancelled now, with the reason."""
    words = _("%(name)s was not cancelled: %(reason)s.")
    messages.warning(request, words % {"name": job.display_name, "reason": refusal_to_cancel(job)})
    return redirect("job", job.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: Request, pk: UUID) -> HttpResponse:
    """Show a confirmation. On POST, request that Vertex AI deletes its record of an ended job."""
    job = _check_ours(job_for(request, pk))
    if request.method != "POST":
        if may_delete(job, by=request.user, role=role_in(request.user, job.team)):
            return render(request, "job_delete.html", {"job": job, "now": display_now()})
        words = _("%(name)s has not ended at Vertex AI, or you may not delete it.")
        messages.warning(request, words % {"name": job.display_name})
        return redirect("job", job.pk)
    with forbidding():
        is_requested = delete_job(job, by=request.user, now=database_now())
    if is_requested:
        tasks.enqueue_job(job.pk)
        words = _("Deletion of %(name)s at Vertex AI requested.")
        messages.success(request, words % {"name": job.display_name})
    else:
        words = _("%(name)s has not ended at Vertex AI, or its deletion was already requested.")
        messages.warning(request, words % {"name": job.display_name})
    return redirect("job", job.pk)


def _check_ours(job: Job) -> Job:
    """Return the job. Raise PermissionDenied if it was adopted and is therefore only observed."""
    with forbidding():
        requests.check_is_ours(job)
    return job


@require_safe
def events(request: Request, pk: UUID) -> HttpResponse:
    """Show a page of the job's events: the newest, or those before the cursor in the address."""
    job = job_for(request, pk)
    page = entries_of(list_newest_events(job, request.GET.get("before", "")))
    return render(request, "job_events.html", {"job": job, "now": display_now(), "event_page": page})


@require_safe
def events_json(request: Request, pk: UUID) -> JsonResponse:
    """Return up to 500 events as JSON, oldest first, each with its actor and both of its times.

    The events are the newest, or the newest before `?before=`. `older` is the cursor of the preceding page, or null.
    """
    job = job_for(request, pk)
    page = list_newest_events(job, request.GET.get("before", ""))
    events = [
        {
            "kind": event.kind,
            "from_state": event.from_state,
            "to_state": event.to_state,
            "actor": event.actor.get_username() if event.actor else None,
            "occurred_at": event.occurred_at,
            "recorded_at": event.recorded_at,
            "reason": event.reason,
            "message": event.message,
            "detail": event.detail,
        }
        for event in page.events
    ]
    facts = {"job": str(job.pk), "name": job.display_name, "state": job.state}
    return JsonResponse(facts | {"events": events, "older": page.older or None})


@require_safe
def spec_json(request: Request, pk: UUID) -> JsonResponse:
    """Return the REST body that was requested, without the labels that Trainboard adds."""
    return JsonResponse(job_for(request, pk).spec, json_dumps_params={"indent": 2})
