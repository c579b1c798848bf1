"""The compose page: a form becomes a spec, is judged while it is typed, and is requested."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Job, Request, Team, jobs_of, teams_to_request
from dashboard.forms.compose import rows
from dashboard.forms.compose.whole import Compose
from dashboard.pages.parts.beginning import beginning
from dashboard.pages.parts.judging import Judged, judged
from jobs import lifecycle, tasks
from jobs.lifecycle import database_now

NO_TEAM = "You may request jobs in none of your teams; a lead or an administrator can make you an engineer."


@require_http_methods(["GET", "HEAD", "POST"])
def compose(request: Request) -> HttpResponse:
    """Show the form; on POST request the job, add or remove a row, or show everything again with what was found."""
    teams = _teams(request)
    if request.method != "POST":
        initial, words = beginning(request, teams)
        typed = Compose(teams=_choices(teams), initial=initial).as_data()
        found = judged(Compose(teams=_choices(teams), data=typed), teams)
        return render(request, "compose.html", found.context | {"start_words": words})
    do = request.POST.get("do") or "submit"
    data, focus = rows.changed(request.POST, do)
    form = Compose(teams=_choices(teams), data=data, is_final=do == "submit")
    found = judged(form, teams)
    if do == "submit" and found.may_be_requested:
        return _request(request, form, found)
    form.focus(focus)
    return render(request, "compose.html", found.context, status=422 if do == "submit" else 200)


def _request(request: Request, form: Compose, found: Judged) -> HttpResponse:
    assert found.submission is not None
    assert form.expected is not None
    try:
        job = lifecycle.request_job(
            submission=found.submission,
            team=found.team,
            by=request.user,
            expected=form.expected,
            request_key=form.job.cleaned_data["request_key"],
            now=database_now(),
            cloned_from=_origin(request, form),
        )
    except lifecycle.NotAllowed as refusal:  # a limit changed since the page was judged a moment ago
        form.put(refusal.decision.findings)
        return render(request, "compose.html", found.context, status=422)
    tasks.nudge_job(job.pk)
    fate = "waits for an approval" if job.state == "awaiting_approval" else "is on its way"
    messages.success(request, f"{job.display_name} {fate}.")
    return redirect("job", job.pk)


@require_POST
def check(request: Request) -> HttpResponse:
    """Judge what is typed so far and return only the parts that tell; saves nothing."""
    teams = _teams(request)
    found = judged(Compose(teams=_choices(teams), data=request.POST), teams)
    return HttpResponse(render_to_string("compose/told.html", found.context))  # nothing in it is about the request


def _teams(request: Request) -> list[Team]:
    """Return the teams that the person may request jobs in, or refuse the page."""
    teams = teams_to_request(request.user)
    if not teams:
        raise PermissionDenied(NO_TEAM)
    return teams


def _choices(teams: list[Team]) -> list[tuple[str, str]]:
    return [(str(team.pk), team.name) for team in teams]


def _origin(request: Request, form: Compose) -> Job | None:
    """Return the job that the form was filled from, if the person may still see it."""
    origin = form.job.cleaned_data.get("cloned_from")
    return jobs_of(request.user).filter(pk=origin).first() if origin else None
