"""Changes of persistent resources: forms, confirmations with their consequences, and decisions about what adds cost.

A worker sends the change.
"""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Request, teams_by_own_project, teams_where
from dashboard.access.confirmation import confirmed
from dashboard.access.loaders import resource_for
from dashboard.forms.resource_form import ExtendForm, ResizeForm, ResourceForm
from dashboard.queries.persistent_resources import find_change
from jobs import tasks, timeline
from jobs.clock import database_now
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import ResourceChange, Team
from jobs.requests.resource_figures import cost_of
from jobs.requests.resource_owners import OF_OTHER_TEAM, owner_of
from jobs.requests.resource_requests import approve_change, ask_for_change, reject_change
from jobs.submission import resize_body
from jobs.translations import translated

NO_TEAM = gettext_lazy("Only approvers and leads of a team change persistent resources.")
ACTIONS = {
    "resize": gettext_lazy("Resize"),
    "extend": gettext_lazy("Keep longer"),
    "reboot": gettext_lazy("Reboot"),
    "delete": gettext_lazy("Delete"),
}
HOURS_PER_MONTH = 730


class Place(NamedTuple):
    """The team that requests a change, and the resource."""

    team: Team
    project: str
    region: str
    resource_id: str


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: Request) -> HttpResponse:
    """Show the form for a new persistent resource, or its cost. On confirmation, queue the creation."""
    teams = teams_where(request.user, "approve")
    if not teams:
        raise PermissionDenied(NO_TEAM)
    by_project = teams_by_own_project(request.user, "approve")
    initial = {"project": teams[0].project, "region": teams[0].default_region}
    form = ResourceForm(request.POST or None, projects=list(by_project), initial=initial)
    lifetime = None
    if request.method == "POST" and form.is_valid():
        lifetime = timedelta(days=form.cleaned_data["lifetime_days"])
        if "create" in request.POST:
            project, region = form.cleaned_data["project"], form.cleaned_data["region"]
            place = Place(by_project[project][0], project, region, form.cleaned_data["resource_id"])
            return _ask(request, "create", place, form.body, lifetime=lifetime)
    context = {"form": form, "is_priced": lifetime is not None}
    if lifetime is not None:
        context |= _costs(form.body, form.cleaned_data["region"], lifetime)
    return render(request, "resource_create.html", context, status=422 if form.is_bound and lifetime is None else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: Request, pk: int, action: str) -> HttpResponse:
    """Show the consequences of a change of a persistent resource. On confirmation, queue the change."""
    resource = resource_for(request, pk)
    teams = teams_by_own_project(request.user, "approve").get(resource.project, ())
    if action not in ACTIONS:
        raise Http404
    if not teams:
        raise PermissionDenied(NO_TEAM)
    owner = owner_of(resource.project, resource.region, resource.resource_id)
    team = next((each for each in teams if owner in (None, each.pk)), None)
    if team is None:
        raise PermissionDenied(translated(OF_OTHER_TEAM))
    known = timeline.known_resource(resource)
    pools = known.resource.resource_pools if known else ()
    form = _form_of(action, request, pools)
    if request.method == "POST" and (form is None or form.is_valid()):
        body = resize_body(resource, form.sizes) if isinstance(form, ResizeForm) else {}
        days = form.cleaned_data["lifetime_days"] if isinstance(form, ExtendForm) else None
        lifetime = None if days is None else timedelta(days=days)
        place = Place(team, resource.project, resource.region, resource.resource_id)
        return _ask(request, action, place, body, lifetime=lifetime, before=resource.body)
    context = {"resource": resource, "action": action, "verb": ACTIONS[action], "form": form, "now": database_now()}
    context |= {"ends": ResourceChange.lifetime_ends(resource.project, resource.region, resource.resource_id)}
    context |= _costs(resource.body, resource.region, timedelta())
    return render(request, "resource_change.html", context, status=422 if request.method == "POST" else 200)


@require_POST
@confirmed(lambda request, **_: request.POST.get("do") == "approve")
def decide(request: Request, pk: int) -> HttpResponse:
    """Approve, reject or withdraw a change that waits for an approval."""
    found = find_change(request.user, pk)
    if found is None:
        raise Http404("no such change")
    act = {"approve": approve_change, "reject": reject_change}.get(request.POST.get("do", ""))
    if act is None:
        raise Http404("no such decision")
    try:
        done = act(found, by=request.user, now=database_now())
    except (NotAllowed, NotPermitted) as refusal:
        messages.error(request, translated(refusal.errors) if isinstance(refusal, NotAllowed) else str(refusal))
        return redirect("persistent-resources")
    if not done:
        messages.warning(request, _("It was already decided or withdrawn, or you have approved it."))
        return redirect("persistent-resources")
    found.refresh_from_db()
    if found.due_at is not None:
        tasks.enqueue_resource_change(found.pk)
        messages.success(request, _("Approved; it is sent now."))
    elif found.ended_at is None:
        messages.success(request, _("Your approval is recorded. It needs another one."))
    else:
        messages.success(request, _("It is not sent."))
    return redirect("persistent-resources")


def _form_of(action: str, request: Request, pools: Any) -> ResizeForm | ExtendForm | None:
    if action == "resize":
        return ResizeForm(request.POST or None, pools=pools)
    return ExtendForm(request.POST or None) if action == "extend" else None


def _ask(request: Request, action: str, place: Place, body: dict[str, Any], **more: Any) -> HttpResponse:
    """Request a change; `more` are further arguments of `ask_for_change`."""
    name = place.resource_id
    try:
        asked = ask_for_change(action, **place._asdict(), by=request.user, now=database_now(), body=body, **more)
    except NotAllowed as refusal:
        messages.error(request, translated(refusal.errors))
        return redirect("persistent-resources")
    if asked is None:
        words = _("Another change of %(name)s is open; wait until Vertex AI has answered it.")
        messages.warning(request, words % {"name": name})
    elif asked.awaits_approval:
        messages.success(request, _("Your request about %(name)s waits for an approval.") % {"name": name})
    else:
        tasks.enqueue_resource_change(asked.pk)
        words = {
            "resize": _("Vertex AI will be asked to resize %(name)s."),
            "reboot": _("Vertex AI will be asked to reboot %(name)s."),
            "delete": _("Vertex AI will be asked to delete %(name)s."),
        }[action]
        messages.success(request, words % {"name": name})
    return redirect("persistent-resources")


def _costs(body: Mapping[str, Any], region: str, lifetime: timedelta) -> dict[str, Any]:
    found = cost_of(body, region, lifetime)
    month: Decimal | None = None if found.usd_per_hour is None else found.usd_per_hour * HOURS_PER_MONTH
    return {"usd_per_hour": found.usd_per_hour, "usd_per_month": month, "most_usd": found.most_usd}
