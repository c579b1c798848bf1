"""Versions of a team's policy, and changes that wait for a second person or were decided, with their differences."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.access import in_teams_of
from dashboard.drawing.marks import role_word
from jobs.bounds import parse_digits
from jobs.budget import Passing
from jobs.gate import format_amount
from jobs.models import Ceiling, PolicyVersion, Proposal, Team
from jobs.policy_rules import RULES, Rule
from jobs.policy_words import describe, describe_waste
from jobs.proposals import may_decide
from jobs.texts import joined, translatable
from jobs.translations import translated

MAX_VERSIONS = 50


def list_versions(team: Team) -> list[PolicyVersion]:
    """Return the latest versions of a team's policy with the people who saved them. One query."""
    rows = PolicyVersion.objects.filter(team=team).select_related("saved_by").defer("rules")
    return list(rows.order_by("-number")[:MAX_VERSIONS])


def get_version(team: Team, number: str) -> PolicyVersion:
    """Return the version with this number. Raise Http404 if there is none."""
    found = PolicyVersion.objects.filter(team=team, number=parse_digits(number) or 0).select_related("saved_by").first()
    if found is None:
        raise Http404("no such version")
    return found


def rules_in(version: PolicyVersion) -> tuple[Rule, ...]:
    """Return the rules of a version."""
    return RULES.validate_python(version.rules)


def sentences(rules: tuple[Rule, ...]) -> list[str]:
    """Return each rule as a sentence, with its message for the requester."""
    return [joined(translatable("%(rule)s.", rule=describe(rule)), rule.words) for rule in rules]


MAX_DECIDED = 50
TERMS = {
    "drift_percent": gettext_lazy("percent by which an approved cost may rise"),
    "remind_hours": gettext_lazy("hours between reminders"),
    "expire_hours": gettext_lazy("hours until a request expires"),
    "cancel_over_approved": gettext_lazy("cancels a job that costs more than was approved"),
    "cancel_at_cap": gettext_lazy("cancels a job at its cap"),
    "approvers_choose_strategy": gettext_lazy("approvers may change the strategy"),
    "waste_hours": gettext_lazy("while jobs run"),
}
BUDGET = {
    "name": gettext_lazy("name"),
    "amount_usd": gettext_lazy("US dollars a month"),
    "passing": gettext_lazy("a job that may exceed it"),
    "thresholds": gettext_lazy("told at, percent"),
    "closed": gettext_lazy("closed"),
}
PASSING: dict[Any, Any] = {
    Passing.WARN: gettext_lazy("is allowed, with a warning"),
    Passing.ASK: gettext_lazy("needs an approval"),
    Passing.STOP: gettext_lazy("is refused"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A proposal with its title, its difference as (name, before, after), and whether the user may accept it."""

    row: Proposal
    title: str
    differences: tuple[tuple[str, str, str], ...]
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    may_decide: bool = False


def list_proposals(user: User) -> tuple[list[Shown], list[Shown]]:
    """Return the open changes of the user's teams, and the latest decided ones. Those of the site for its admins."""
    rows = Proposal.objects.filter(in_teams_of(user)).exclude(kind=Proposal.Kind.ACCOUNT)
    rows = rows.select_related("team", "proposed_by", "decided_by").order_by("-pk")
    return [_shown(row) for row in rows.filter(decision="")], [
        _shown(row) for row in rows.exclude(decision="")[:MAX_DECIDED]
    ]


def get_proposal(user: User, pk: int) -> Shown:
    """Return a change of the user's teams, or of the site for its admins. Raise Http404 for everybody else."""
    rows = Proposal.objects.filter(in_teams_of(user)).exclude(kind=Proposal.Kind.ACCOUNT)
    row = rows.select_related("team", "proposed_by", "decided_by").filter(pk=pk).first()
    if row is None:
        raise Http404("no such proposal")
    return _shown(row, may_decide=not row.decision and may_decide(user, row))


def _shown(row: Proposal, *, may_decide: bool = False) -> Shown:
    if row.kind == Proposal.Kind.POLICY:
        old, new = (sentences(RULES.validate_python(tuple(each["rules"]))) for each in (row.before, row.wanted))
        removed = tuple(each for each in old if each not in new)
        added = tuple(each for each in new if each not in old)
        terms = tuple(_differences(row.before["terms"], row.wanted["terms"], TERMS))
        return Shown(row, _("Policy of %(team)s") % {"team": row.team}, terms, removed, added, may_decide)
    if row.kind == Proposal.Kind.CEILING:
        pair = [_amount(row.subject, each["amount"]) for each in (row.before, row.wanted)]
        name = str(Ceiling.Kind(row.subject).label)
        whose = {"name": name, "whose": row.team.name if row.team is not None else _("the site")}
        title = _("Ceiling of %(whose)s: %(name)s") % whose
        return Shown(row, title, ((name, pair[0], pair[1]),), may_decide=may_decide)
    if row.kind == Proposal.Kind.BUDGET:
        title = _("Budget %(name)s of %(team)s") % {"name": row.before.get("name", ""), "team": row.team}
        return Shown(row, title, tuple(_differences(row.before, row.wanted, BUDGET)), may_decide=may_decide)
    person = {"person": row.before.get("user", ""), "team": row.team}
    pair = [role_word(each["role"]) if each.get("role") else "" for each in (row.before, row.wanted)]
    title = _("Role of %(person)s in %(team)s") % person
    return Shown(row, title, ((_("role"), pair[0], pair[1]),), may_decide=may_decide)


def _differences(
    before: dict[str, Any], after: dict[str, Any], names: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    for name, label in names.items():
        if name in after and before.get(name) != after[name]:
            yield str(label), _value(before.get(name, ""), name), _value(after[name], name)


def _value(value: Any, name: str) -> str:
    if name == "passing":
        return str(PASSING[value])
    if name == "waste_hours":
        sentences = (describe_waste(fault, hours) for fault, hours in sorted((value or {}).items()))
        return translated(joined(*sentences, between="; "))
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _amount(kind: str, amount: str | None) -> str:
    return _("none") if amount is None else format_amount(kind, Decimal(amount))
