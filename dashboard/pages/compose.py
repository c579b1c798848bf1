"""The compose page: a form becomes a spec, is judged while it is typed, and is requested."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Request, Team, jobs_of, teams_where
from dashboard.forms.compose import Compose, as_text
from dashboard.forms.example import example
from dashboard.pages.offers import has_machines, offers_of
from jobs import lifecycle, strategies, tasks
from jobs.lifecycle import Preview
from jobs.spec import Submission

NO_TEAM = "You may request jobs in none of your teams; a lead or an administrator can make you an engineer."


@require_http_methods(["GET", "HEAD", "POST"])
def compose(request: Request) -> HttpResponse:
    """Show the form; on POST request the job, or show everything again with what was found."""
    teams = _teams(request)
    if request.method != "POST":
        return render(request, "compose.html", _judged(_begun(request, teams), teams)[0])
    form = _typed(teams, request.POST, is_final=request.POST.get("do") != "check")
    context, submission, preview = _judged(form, teams)
    refused = submission is None or preview is None or preview.decision.verdict == "refuse" or context["unreadable"]
    if refused or not form.job.is_final:
        return render(request, "compose.html", context, status=422 if form.job.is_final else 200)
    return _request(request, form, context, submission)


def _request(request: Request, form: Compose, context: dict[str, Any], submission: Submission | None) -> HttpResponse:
    assert submission is not None
    assert form.expected is not None
    try:
        job = lifecycle.request_job(
            submission=submission,
            team=context["team"],
            by=request.user,
            expected=form.expected,
            request_key=form.job.cleaned_data["request_key"],
            now=timezone.now(),
        )
    except lifecycle.NotAllowed as refusal:  # a limit changed since the page was judged a moment ago
        form.put(refusal.decision.findings)
        return render(request, "compose.html", context, status=422)
    tasks.nudge_job(job.pk)
    fate = "waits for an approval" if job.state == "awaiting_approval" else "is on its way"
    messages.success(request, f"{job.display_name} {fate}.")
    return redirect("job", job.pk)


@require_POST
def check(request: Request) -> HttpResponse:
    """Judge what is typed so far and return only the parts that tell; saves nothing."""
    teams = _teams(request)
    context, _, _ = _judged(_typed(teams, request.POST, is_final=False), teams)
    return render(request, "compose.html#told", context)


def _teams(request: Request) -> list[Team]:
    """Return the teams that the person may request jobs in, or refuse the page."""
    teams = list(teams_where(request.user, "request"))
    if not teams:
        raise PermissionDenied(NO_TEAM)
    return teams


def _begun(request: Request, teams: list[Team]) -> Compose:
    """Return a new form: empty but for what the team is used to, or the example."""
    team = teams[0]
    last = jobs_of(request.user).filter(owner=request.user).order_by("-requested_at", "pk").first()
    team = next((each for each in teams if last and each.pk == last.team_id), team)
    initial: dict[str, Any] = {"team": str(team.pk), "region": team.default_region}
    if request.GET.get("example"):
        initial |= example(bucket=team.bucket)
    form = Compose(teams=_choices(teams), initial=initial)
    return Compose(teams=_choices(teams), data=form.as_data(), initial=initial)


def _typed(teams: list[Team], data: QueryDict, *, is_final: bool) -> Compose:
    return Compose(teams=_choices(teams), data=data, is_final=is_final)


def _choices(teams: list[Team]) -> list[tuple[str, str]]:
    return [(str(team.pk), team.name) for team in teams]


def _judged(form: Compose, teams: list[Team]) -> tuple[dict[str, Any], Submission | None, Preview | None]:
    """Judge the form once: the context of the page and of its parts, what is submitted, and what policy says."""
    readable = form.is_readable()
    team = next((each for each in teams if str(each.pk) == form.job.cleaned_data.get("team")), teams[0])
    submission = form.submission(project=team.project)
    preview = None
    if submission is not None and form.expected is not None:
        preview = lifecycle.preview(submission=submission, team=team, expected=form.expected)
        form.put(preview.decision.findings)
    elif submission is not None:  # without a run time there is no cost to judge, but every rule still speaks
        form.put(strategies.check(submission))
    context = {
        "form": form,
        "job": form.job,
        "pools": form.pools,
        "team": team,
        "unreadable": not readable,
        "preview": preview,
        "has_machines": has_machines(submission),
        "offers": offers_of(submission, form.expected),
        "request_text": as_text(submission),
    }
    return context, submission, preview
