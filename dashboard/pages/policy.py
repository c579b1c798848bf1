"""The policy of a team. Members read it; leads edit it, test it on past jobs and save versions."""

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Request, can, teams_of
from dashboard.access.confirmation import by_admin, confirmed
from dashboard.forms.policy_form import Rules, TermsForm
from dashboard.queries.proposals import get_version, list_versions, rules_in, sentences
from jobs.bounds import parse_digits
from jobs.clock import database_now
from jobs.errors import NotPermitted
from jobs.models import PolicyVersion, Proposal, Team
from jobs.policy_rules import MAX_GROUPS, MAX_RULES, Rule
from jobs.policy_words import describe_waste
from jobs.proposals import propose_policy
from jobs.requests.policy_test import MAX_JOBS, effects_of, try_policy
from jobs.requests.policy_versions import (
    SavedMeanwhile,
    Terms,
    current_version,
    first_terms,
    load_policy,
    terms_of,
)

MAX_SHOWN = 50
"""Maximum jobs in the results of a test."""


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(lambda request: by_admin(request) and request.POST.get("action") == "save")
def policy(request: Request) -> HttpResponse:
    """Show the policy of a team. On POST, add a rule to the form, test the draft, or save it."""
    team = _team(request)
    if request.method == "POST":
        if not can(request.user, "set_policy", team):
            raise PermissionDenied(_("Only leads of the team change its policy."))
        return _posted(request, team)
    if "version" in request.GET:
        return _version(request, team)
    version = current_version(team)
    return _page(request, team, version, *_forms(load_policy(team).rules, version, first_terms(team)))


@require_safe
def effects(request: Request) -> HttpResponse:
    """Show what each rule of a team's policy did with its past jobs, beside the rules; two queries for the jobs.

    It reads up to 200 specs, so the page loads it when it is shown.
    """
    tried, found = effects_of(_team(request))
    return render(request, "policy/effects.html", {"tried": tried, "effects": found})


def _team(request: Request) -> Team:
    """Return the team in the address, else the user's first one. Raise Http404 if the user is not a member."""
    teams = teams_of(request.user)
    wanted = request.POST.get("team") or request.GET.get("team", "")
    team = next((each for each in teams if str(each.pk) == wanted), None) if wanted else next(iter(teams), None)
    if team is None:
        raise Http404("no such team")
    return team


def _forms(rules: tuple[Rule, ...], version: PolicyVersion | None, first: Terms) -> tuple[Any, TermsForm]:
    """Return the initial forms, filled with the rules in force."""
    initial = [rule.model_dump() | {"ORDER": number} for number, rule in enumerate(rules, 1)]
    terms = asdict(terms_of(version) if version is not None else first)
    return Rules(initial=initial, prefix="rule"), TermsForm(
        initial=terms | {"base": version.number if version is not None else 0}
    )


def _posted(request: Request, team: Team) -> HttpResponse:
    version, action = current_version(team), request.POST.get("action", "test")
    if action == "add" or action.startswith("approvers-"):
        data = _with_row(request.POST) if action == "add" else _with_approvers(request.POST, action)
        opened = _count(request.POST, "rule") if action == "add" else action.removeprefix("approvers-")
        form = TermsForm(request.POST)
        return _page(request, team, version, Rules(data, prefix="rule"), form, opened=f"rule-{opened}")
    rows: Any = Rules(request.POST, prefix="rule")
    form = TermsForm(request.POST)
    if not (rows.is_valid() and form.is_valid()):
        return _page(request, team, version, rows, form, status=422)
    rules = rows.rules()
    if action == "save":
        return _save(request, team, rules, rows, form)
    changes = _changes(load_policy(team).rules, rules)
    return _page(request, team, version, rows, form, test=try_policy(team, rules), changes=changes)


def _save(request: Request, team: Team, rules: tuple[Rule, ...], rows: Any, form: TermsForm) -> HttpResponse:
    terms, now = dict(form.cleaned_data), database_now()
    base, note = terms.pop("base"), terms.pop("note")
    try:
        saved = propose_policy(team, rules, Terms(**terms), base=base, by=request.user, note=note, now=now)
    except NotPermitted as refusal:
        raise PermissionDenied(str(refusal)) from None
    except SavedMeanwhile as conflict:
        again = request.POST.copy()
        again["base"] = str(conflict.current.number if conflict.current is not None else 0)
        changes = _changes(rules_in(conflict.current) if conflict.current is not None else (), rules)
        form = TermsForm(again)
        return _page(request, team, conflict.current, rows, form, status=409, refusal=str(conflict), changes=changes)
    except ValueError as refusal:
        return _page(request, team, current_version(team), rows, form, status=422, refusal=str(refusal))
    if isinstance(saved, Proposal):
        return redirect("proposal", saved.pk)
    messages.success(request, _("Policy %(number)s of %(team)s now applies.") % {"number": saved.number, "team": team})
    return redirect(f"{reverse('policy')}?team={team.pk}&version={saved.number}")


def _with_row(posted: QueryDict) -> QueryDict:
    """Return the posted data with an empty rule appended, unless the maximum is reached."""
    data = posted.copy()
    number = _count(data, "rule")
    if number < MAX_RULES:
        data["rule-TOTAL_FORMS"] = str(number + 1)
        data[f"rule-{number}-outcome"], data[f"rule-{number}-ORDER"] = "ask", str(number + 1)
    return data


def _with_approvers(posted: QueryDict, action: str) -> QueryDict:
    """Return the posted data with another group of approvers in the rule whose number ends `action`."""
    data, prefix = posted.copy(), f"rule-{action.removeprefix('approvers-')}-further"
    number = _count(data, prefix)
    if number < MAX_GROUPS - 1:
        data[f"{prefix}-TOTAL_FORMS"] = str(number + 1)
    return data


def _count(data: QueryDict, prefix: str) -> int:
    """Return the number of rows that the posted form declares, or 0 if it is not a number."""
    return parse_digits(data.get(f"{prefix}-TOTAL_FORMS", ""), 3) or 0


def _version(request: Request, team: Team) -> HttpResponse:
    """Show a version as it was saved, and its changes."""
    version = get_version(team, request.GET["version"])
    before = get_version(team, str(version.number - 1)) if version.number > 1 else None
    changes = _changes(rules_in(before) if before is not None else (), rules_in(version))
    context = {"rules": sentences(rules_in(version)), "changes": changes, "version": version, "before": before}
    terms = terms_of(version)
    waste = [describe_waste(fault, hours) for fault, hours in terms.waste_hours.items()]
    shown = {"team": team, "versions": list_versions(team), "now": database_now(), "terms": terms, "waste": waste}
    return render(request, "policy/version.html", context | shown)


def _changes(before: tuple[Rule, ...], after: tuple[Rule, ...]) -> dict[str, list[str]]:
    """Return the removed and the added rules as text."""
    old, new = sentences(before), sentences(after)
    return {"removed": [each for each in old if each not in new], "added": [each for each in new if each not in old]}


def _page(
    request: Request,
    team: Team,
    version: PolicyVersion | None,
    rows: Any,
    form: TermsForm,
    *,
    status: int = 200,
    **extra: Any,
) -> HttpResponse:
    context = {
        "team": team,
        "teams": teams_of(request.user),
        "version": version,
        "versions": list_versions(team),
        "rules": sentences(rules_in(version) if version is not None else load_policy(team).rules),
        "may_edit": can(request.user, "set_policy", team),
        "rows": rows,
        "form": form,
        "max_jobs": MAX_JOBS,
        "max_shown": MAX_SHOWN,
        "now": database_now(),
    }
    return render(request, "policy.html", context | extra, status=status)
