"""Initial values of the compose form: empty, the example, or what the address names, with a suggested fix applied."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dashboard.access import Request
from dashboard.access.form_start import Start, start_for
from dashboard.forms.compose.example import example
from dashboard.forms.compose.initial import initial_values
from dashboard.queries.jobs import get_last_team
from jobs.diagnosis.fixes import apply_fix
from jobs.explain import explain
from jobs.models import Team
from jobs.requests.allowed_resources import kept_project
from jobs.spec import Finding
from jobs.strategies import conflicts


class Beginning(NamedTuple):
    """The initial values of the form, a sentence on their origin, and conflicts between them.

    If there are conflicts, no strategy is selected: the form writes only the fields of the selected strategy, so the
    fields of others would be lost unnoticed.
    """

    initial: dict[str, Any]
    words: str = ""
    conflicts: Sequence[Finding] = ()
    is_empty: bool = False
    """Whether the form starts empty."""


def beginning(request: Request, teams: list[Team]) -> Beginning:
    """Return the initial values. `teams` are those in which the user may request jobs."""
    start = start_for(request)
    if start is None:
        return Beginning(_empty(request, teams), is_empty="example" not in request.GET)
    submission, words = start.submission, start.words
    if start.cloned_from is not None and (suggestion := _suggestion(request, start)):
        submission, change = apply_fix(submission, suggestion)
        words = f"{words} {change}"
    initial = initial_values(submission, expected=start.expected)
    team = start.team if start.team in teams else teams[0]
    project = {"project": kept_project(team, submission.project)} if team == start.team else {}
    cap = {"cap": start.cap_usd} if start.cap_usd is not None else {}
    origin = cap | {"cloned_from": start.cloned_from.pk} if start.cloned_from is not None else cap
    opposed = conflicts(submission)
    choice = {"strategy": None} if opposed else {}
    return Beginning(initial | {"team": str(team.pk)} | project | origin | choice, words, opposed)


def _suggestion(request: Request, start: Start) -> Any:
    """Return the suggestion of the job's diagnosis whose action is `?fix=`, or None if there is none."""
    assert start.cloned_from is not None
    failure = explain(start.cloned_from)
    wanted = request.GET.get("fix")
    suggestions = failure.diagnosis.suggestions if failure else ()
    return next((each for each in suggestions if each["action"] == wanted), None)


def _empty(request: Request, teams: list[Team]) -> dict[str, Any]:
    """Return the values of a new form: defaults of the user's last team, and the example if requested."""
    last = get_last_team(request.user)
    team = next((each for each in teams if each.pk == last), teams[0])
    initial: dict[str, Any] = {"team": str(team.pk), "region": team.default_region}
    return initial | (example(bucket=team.bucket) if request.GET.get("example") else {})
