"""External jobs. A worker discovers the jobs of a region, and Trainboard observes those that a user adopts."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Request, teams_by_own_project, teams_where
from dashboard.forms.adopt_form import PlaceForm
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.queries.jobs import filter_external_jobs, get_discovery, list_external_jobs
from jobs import observation, states, strategies, tasks
from jobs.bounds import parse_digits
from jobs.clock import database_now
from jobs.errors import NotPermitted
from jobs.models import ExternalJob, Team

PAGE_SIZE = 50
MAX_AT_ONCE = 200
MAX_NAMES = 3
NO_TEAM = gettext_lazy("You can’t adopt jobs: you are not an engineer, approver or lead of any team.")


@dataclass(frozen=True, slots=True)
class Row:
    """An external job as a row of the list."""

    external: ExternalJob
    state: str
    strategy: str
    machines: str
    hint: str


@require_safe
def adopt(request: Request) -> HttpResponse:
    """Show what the last discovery in a region found. The list reloads itself while a discovery is under way."""
    by_project = _by_project(request)
    form = _form(request, request.GET, by_project)
    context = {"form": form, "now": database_now(), **_results(request, form, by_project)}
    return page_or_fragment(request, "adopt.html", "results", context)


@require_POST
def discover(request: Request) -> HttpResponse:
    """Request a discovery in a region."""
    form = _form(request, request.POST, _by_project(request))
    if not form.is_valid():
        raise Http404
    project, region = form.cleaned_data["project"], form.cleaned_data["region"]
    discovery = observation.request_discovery(project=project, region=region, by=request.user, now=database_now())
    tasks.enqueue_discovery(discovery.pk)
    return _redirect(project, region)


@require_POST
def adopt_jobs(request: Request) -> HttpResponse:
    """Adopt the chosen jobs into a team."""
    by_project, project = _by_project(request), request.POST.get("project", "")
    team = next((team for team in by_project.get(project, ()) if str(team.pk) == request.POST.get("team")), None)
    if team is None:
        raise Http404
    given = map(parse_digits, request.POST.getlist("job")[:MAX_AT_ONCE])
    keys = [key for key in given if key is not None]
    names, now = [], database_now()
    for external in list_external_jobs([project], keys):
        try:
            names.append(observation.adopt(external, team=team, by=request.user, now=now).display_name)
        except NotPermitted as refusal:
            messages.warning(request, f"{external.display_name}: {refusal}")
    if names:
        messages.success(request, _summary(names, team))
    else:
        messages.warning(request, _("No job was adopted: choose one that is not adopted yet."))
    return _redirect(project, request.POST.get("region", ""))


def _by_project(request: Request) -> dict[str, list[Team]]:
    found = teams_by_own_project(request.user, "request")
    if not found:
        raise PermissionDenied(NO_TEAM)
    return found


def _form(request: Request, given: Any, by_project: dict[str, list[Team]]) -> PlaceForm:
    """Return the form with the given values, else with the default project and region of the user's first team."""
    first = next(iter(by_project.get(given.get("project", ""), ())), teams_where(request.user, "request")[0])
    defaults = {"project": first.project, "region": first.default_region}
    values = {name: given[name] for name in ("project", "region", "q") if given.get(name)}
    return PlaceForm(defaults | values, projects=list(by_project))


def _results(request: Request, form: PlaceForm, by_project: dict[str, list[Team]]) -> dict[str, Any]:
    """Return one page of the results of the last discovery in the form's region."""
    if not form.is_valid():
        return {"discovery": None}
    project, region = form.cleaned_data["project"], form.cleaned_data["region"]
    discovery = get_discovery(list(by_project), project, region)
    if discovery is None:
        return {"discovery": None}
    jobs = filter_external_jobs(discovery, form.cleaned_data["q"].strip())
    page = Paginator(jobs, PAGE_SIZE).get_page(request.GET.get("page"))
    return {
        "discovery": discovery,
        "is_looking": discovery.due_at is not None or discovery.claim is not None,
        "reaches_back": discovery.asked_at - discovery.reaches_back_to,
        "page": page,
        "rows": [_row(external) for external in page.object_list],
        "teams": by_project[project],
    }


def _row(external: ExternalJob) -> Row:
    submission, _ = observation.submission_in(external)
    return Row(
        external=external,
        state=states.from_vertex(external.state),
        strategy=strategies.strategy_of(submission).key,
        machines=submission.machines_summary,
        hint=observation.hint_of(external),
    )


def _summary(names: list[str], team: Team) -> str:
    known = {"team": team, "names": ", ".join(names[:MAX_NAMES]), "more": len(names) - MAX_NAMES}
    if len(names) > MAX_NAMES:
        return _("%(team)s adopted %(names)s and %(more)s more.") % known
    return _("%(team)s adopted %(names)s.") % known


def _redirect(project: str, region: str) -> HttpResponse:
    return redirect(f"{reverse('adopt')}?{urlencode({'project': project, 'region': region})}")
