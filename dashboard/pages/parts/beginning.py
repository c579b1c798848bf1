"""What the compose form begins with: nothing, the example, or what the address names, with a fix of what failed."""

from typing import Any

from dashboard.access import Request, Team, jobs_of
from dashboard.access.starts import Start, start_for
from dashboard.forms.compose.example import example
from dashboard.forms.compose.filled import filled
from dashboard.forms.compose.fixes import fixed
from dashboard.pages.parts.reasons import failure_of


def beginning(request: Request, teams: list[Team]) -> tuple[dict[str, Any], str]:
    """Return the form's initial values and a sentence about where they come from; `teams` are those to request in."""
    start = start_for(request)
    if start is None:
        return _empty(request, teams), ""
    submission, words = start.submission, start.words
    if start.cloned_from is not None and (suggestion := _suggestion(request, start)):
        submission, change = fixed(submission, suggestion)
        words = f"{words} {change}"
    initial = filled(submission, expected=start.expected)
    team = start.team if start.team in teams else teams[0]
    origin = {"cloned_from": start.cloned_from.pk} if start.cloned_from is not None else {}
    return initial | {"team": str(team.pk)} | origin, words


def _suggestion(request: Request, start: Start) -> Any:
    """Return what the job's diagnosis suggests under the name `?fix=`; None where it suggests no such thing."""
    assert start.cloned_from is not None
    failure = failure_of(start.cloned_from)
    wanted = request.GET.get("fix")
    suggestions = failure.diagnosis.suggestions if failure else ()
    return next((each for each in suggestions if each["action"] == wanted), None)


def _empty(request: Request, teams: list[Team]) -> dict[str, Any]:
    """Return what a new form holds: what the person's team is used to, and the example where it is asked for."""
    last = jobs_of(request.user).filter(owner=request.user).order_by("-requested_at", "pk").first()
    team = next((each for each in teams if last and each.pk == last.team_id), teams[0])
    initial: dict[str, Any] = {"team": str(team.pk), "region": team.default_region}
    return initial | (example(bucket=team.bucket) if request.GET.get("example") else {})
