"""Jobs that were made outside Trainboard: looked for in a region by a worker, chosen here, followed from then on."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Request, Team
from dashboard.access.foreign import ForeignJob, adopting_teams, found_by, found_of, survey_of
from dashboard.forms.adopt_form import PlaceForm
from dashboard.pages.parts.fragments import page_or_fragment
from jobs import lifecycle, states, strategies, tasks
from jobs.lifecycle import database_now

PAGE_SIZE = 50
MOST_AT_ONCE = 200
NAMED = 3
NO_TEAM = "Only engineers, approvers and leads of a team adopt jobs; you are none in any team."


@dataclass(frozen=True, slots=True)
class Row:
    """What the list shows of a found job."""

    foreign: ForeignJob
    state: str
    strategy: str
    machines: str
    hint: str


@require_safe
def adopt(request: Request) -> HttpResponse:
    """Show what the last survey of a place found; while one is under way the list asks again."""
    teams = _teams(request)
    form = _form(request.GET, teams)
    context = {"form": form, "now": database_now(), **_found(request, form, teams)}
    return page_or_fragment(request, "adopt.html", "found", context)


@require_POST
def look(request: Request) -> HttpResponse:
    """Ask for a survey of a place."""
    form = _form(request.POST, _teams(request))
    if not form.is_valid():
        raise Http404
    project, region = form.cleaned_data["project"], form.cleaned_data["region"]
    survey = lifecycle.ask_survey(project=project, region=region, by=request.user, now=database_now())
    tasks.nudge_survey(survey.pk)
    return _back(project, region)


@require_POST
def take(request: Request) -> HttpResponse:
    """Adopt the chosen jobs into a team."""
    team = next((team for team in _teams(request) if str(team.pk) == request.POST.get("team")), None)
    if team is None:
        raise Http404
    keys = [int(key) for key in request.POST.getlist("job")[:MOST_AT_ONCE] if key.isdecimal() and len(key) < 19]
    names, now = [], database_now()
    for foreign in found_of(team, keys):
        try:
            names.append(lifecycle.adopt(foreign, team=team, by=request.user, now=now).display_name)
        except lifecycle.NotPermitted as refusal:
            messages.warning(request, f"{foreign.display_name}: {refusal}")
    if names:
        messages.success(request, _told(names, team))
    else:
        messages.warning(request, "No job was chosen that is still to be adopted.")
    return _back(team.project, request.POST.get("region", ""))


def _teams(request: Request) -> list[Team]:
    if not (teams := adopting_teams(request.user)):
        raise PermissionDenied(NO_TEAM)
    return teams


def _form(given: Any, teams: list[Team]) -> PlaceForm:
    """Return the form with what was given, the person's first project and its region where nothing was."""
    first = next((team for team in teams if team.project == given.get("project")), teams[0])
    place = {"project": first.project, "region": first.default_region}
    said = {name: given[name] for name in ("project", "region", "q") if given.get(name)}
    return PlaceForm(place | said, projects=sorted({team.project for team in teams}))


def _found(request: Request, form: PlaceForm, teams: list[Team]) -> dict[str, Any]:
    """Return what the last survey of the form's place found, one page of it."""
    if not form.is_valid():
        return {"survey": None}
    project, region = form.cleaned_data["project"], form.cleaned_data["region"]
    survey = survey_of(teams, project, region)
    if survey is None:
        return {"survey": None}
    page = Paginator(found_by(survey, form.cleaned_data["q"].strip()), PAGE_SIZE).get_page(request.GET.get("page"))
    return {
        "survey": survey,
        "is_looking": survey.due_at is not None or survey.claim is not None,
        "reaches_back": survey.asked_at - survey.reaches_back_to,
        "page": page,
        "rows": [_row(foreign) for foreign in page.object_list],
        "teams": [team for team in teams if team.project == project],
    }


def _row(foreign: ForeignJob) -> Row:
    submission, _ = lifecycle.submission_in(foreign)
    return Row(
        foreign=foreign,
        state=states.from_vertex(foreign.state),
        strategy=strategies.strategy_of(submission).label,
        machines=submission.machines_summary,
        hint=lifecycle.hint_of(foreign),
    )


def _told(names: list[str], team: Team) -> str:
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return f"{team} follows {shown} from now on."


def _back(project: str, region: str) -> HttpResponse:
    return redirect(f"{reverse('adopt')}?{urlencode({'project': project, 'region': region})}")
