"""Changes of persistent resources: forms and confirmations with their consequences. A worker sends the change."""

from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from dashboard.access import Request, teams_by_own_project, teams_where
from dashboard.access.loaders import resource_for
from dashboard.forms.resource_form import ResizeForm, ResourceForm
from jobs import cost, spec, tasks, timeline
from jobs.clock import database_now
from jobs.models import Team
from jobs.prices import current_book
from jobs.submission import ask_for_change, resize_body

NO_TEAM = gettext_lazy("Only approvers and leads of a team change persistent resources.")
ACTIONS = {"resize": gettext_lazy("Resize"), "reboot": gettext_lazy("Reboot"), "delete": gettext_lazy("Delete")}
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
    if request.method == "POST" and form.is_valid() and "create" in request.POST:
        project, region = form.cleaned_data["project"], form.cleaned_data["region"]
        place = Place(by_project[project][0], project, region, form.cleaned_data["resource_id"])
        return _ask(request, "create", place, form.body)
    is_priced = form.is_bound and form.is_valid()
    hourly = _hourly(form.body, form.cleaned_data["region"]) if is_priced else None
    context = {"form": form, "is_priced": is_priced} | _costs(hourly)
    return render(request, "resource_create.html", context, status=422 if form.is_bound and not is_priced else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: Request, pk: int, action: str) -> HttpResponse:
    """Show the consequences of a change of a persistent resource. On confirmation, queue the change."""
    resource = resource_for(request, pk)
    team = next(iter(teams_by_own_project(request.user, "approve").get(resource.project, ())), None)
    if action not in ACTIONS:
        raise Http404
    if team is None:
        raise PermissionDenied(NO_TEAM)
    known = timeline.known_resource(resource)
    pools = known.resource.resource_pools if known else ()
    form = ResizeForm(request.POST or None, pools=pools) if action == "resize" else None
    if request.method == "POST" and (form is None or form.is_valid()):
        body = resize_body(resource, form.sizes) if form is not None else {}
        return _ask(request, action, Place(team, resource.project, resource.region, resource.resource_id), body)
    context = {"resource": resource, "action": action, "verb": ACTIONS[action], "form": form, "now": database_now()}
    context |= _costs(_hourly(resource.body, resource.region))
    return render(request, "resource_change.html", context, status=422 if request.method == "POST" else 200)


def _ask(request: Request, action: str, place: Place, body: dict[str, Any]) -> HttpResponse:
    name = place.resource_id
    asked = ask_for_change(action, **place._asdict(), by=request.user, now=database_now(), body=body)
    if asked is None:
        words = _("Another change of %(name)s is open; wait until Vertex AI has answered it.")
        messages.warning(request, words % {"name": name})
    else:
        tasks.enqueue_resource_change(asked.pk)
        words = {
            "create": _("Vertex AI will be asked to create %(name)s."),
            "resize": _("Vertex AI will be asked to resize %(name)s."),
            "reboot": _("Vertex AI will be asked to reboot %(name)s."),
            "delete": _("Vertex AI will be asked to delete %(name)s."),
        }[action]
        messages.success(request, words % {"name": name})
    return redirect("persistent-resources")


def _hourly(body: dict[str, Any], region: str) -> Decimal | None:
    """Return the hourly cost of the replicas in the body, or None if no price is known."""
    known, _ = spec.read("persistent_resource", body)
    if known is None:
        return None
    total, book = Decimal(0), current_book()
    for pool in known.resource_pools:
        shape = cost.shape_of(pool.machine_spec, pool.disk_spec)
        rate = cost.hourly(book, shape, region=region, price_key="standard").usd_per_hour
        if rate is None:
            return None
        total += rate * (pool.replica_count or 0)
    return total


def _costs(hourly: Decimal | None) -> dict[str, Any]:
    return {"usd_per_hour": hourly, "usd_per_month": None if hourly is None else hourly * HOURS_PER_MONTH}
