"""Initial values of the compose form: empty, the example, or what the address names, with a suggested fix applied."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from dashboard.access import Request
from dashboard.access.form_start import start_for
from dashboard.forms.compose.example import example
from dashboard.forms.compose.initial import initial_values
from dashboard.pages.parts.advice import Advice, quoted, quoted_parts
from dashboard.queries.jobs import get_last_team
from jobs.clock import database_now
from jobs.diagnosis import Diagnosis
from jobs.diagnosis.diagnosis import Suggestion
from jobs.explain import explain, explain_in_list
from jobs.models import Job, Team
from jobs.requests.allowed_resources import kept_project
from jobs.requests.fixes import apply_fix
from jobs.spec import Finding, Submission, folder_of, with_own_folder
from jobs.strategies import conflicts

OPEN_REPLICAS = re.compile(r"workerPoolSpecs\[([0-3])\]\.replicaCount\Z")


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
    cause: Advice | None = None
    """Why the job failed of which the form holds a copy."""
    folder: str = ""
    """The last output folder, from which the job may continue instead of writing to its new one."""
    fields: tuple[str, ...] = ()
    """Paths of the fields that the diagnosis names, as it writes them."""


def beginning(request: Request, teams: list[Team]) -> Beginning:
    """Return the initial values. `teams` are those in which the user may request jobs."""
    start = start_for(request)
    if start is None:
        return Beginning(_empty(request, teams), is_empty="example" not in request.GET)
    submission, words = start.submission, start.words
    known = _diagnosis(start.cloned_from, request.GET.get("fix", ""))
    suggestion = _suggestion(known, request.GET.get("fix", ""))
    if suggestion is not None:
        submission, change = apply_fix(submission, suggestion)
        words = f"{words} {change}".strip()
    last_folder = folder_of(submission) if start.is_repeated else ""
    if last_folder:
        submission, words = _in_folder(submission, words, continues="continue" in request.GET)
    initial = initial_values(submission, expected=start.expected)
    team = start.team if start.team in teams else teams[0]
    project = {"project": kept_project(team, submission.project)} if team == start.team else {}
    cap = {"cap": start.cap_usd} if start.cap_usd is not None else {}
    origin = cap | {"cloned_from": start.cloned_from.pk} if start.cloned_from is not None else cap
    opposed = conflicts(submission)
    choice = {"strategy": None} if opposed or _leave_open(initial, start.left_out) else {}
    initial |= {"team": str(team.pk), "left_out": " ".join(start.left_out)} | project | origin | choice
    cause = Advice(quoted(known.title), remedy=quoted_parts(known.remedy)) if known is not None else None
    fields = tuple(suggestion.get("fields", ())) if suggestion is not None else ()
    return Beginning(initial, words, opposed, cause=cause, folder=last_folder, fields=fields)


def _leave_open(initial: dict[str, Any], paths: Sequence[str]) -> bool:
    """Remove the default replicas where an imported text leaves them open; return whether the strategy is open too.

    Without a choice of the strategy, the job would be Standard unnoticed.
    """
    for path in paths:
        if (pool := OPEN_REPLICAS.search(path)) and int(pool[1]) < len(initial["pools"]):
            initial["pools"][int(pool[1])]["replicas"] = None
    return any(path.endswith("scheduling.strategy") for path in paths)


def _in_folder(submission: Submission, words: str, *, continues: bool) -> tuple[Submission, str]:
    """Return the submission with an output folder of its own, or the last one if it `continues`, and what is shown."""
    if continues:
        note = _("It continues from the last output, in %(folder)s.") % {"folder": folder_of(submission)}
        return submission, f"{words} {note}"
    return with_own_folder(submission, database_now()), f"{words} {_('Its output goes to a new folder.')}"


def _diagnosis(copied: Job | None, action: str) -> Diagnosis | None:
    """Return why the copied job failed. Without an `action`, that takes no query."""
    if copied is None:
        return None
    failure = explain(copied) if action else None
    return failure.diagnosis if failure is not None else explain_in_list(copied)


def _suggestion(known: Diagnosis | None, action: str) -> Suggestion | None:
    """Return the suggestion of a diagnosis that has this action, or None."""
    return next((each for each in known.suggestions if each["action"] == action), None) if known is not None else None


def _empty(request: Request, teams: list[Team]) -> dict[str, Any]:
    """Return the values of a new form: defaults of the user's last team, and the example if requested."""
    last = get_last_team(request.user)
    team = next((each for each in teams if each.pk == last), teams[0])
    initial: dict[str, Any] = {"team": str(team.pk), "region": team.default_region}
    return initial | (example(bucket=team.bucket) if request.GET.get("example") else {})
