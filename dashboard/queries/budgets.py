"""The data of the budget pages: the budgets of a team and their history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.forms.budget_form import PASSING
from dashboard.queries.spend import BudgetLine, list_budgets
from jobs.bounds import parse_digits
from jobs.budget import Passing
from jobs.models import Budget, BudgetChange, BudgetNotice, Dimension, Team

MAX_CHANGES = 100
MAX_NOTICES = 50
MAX_PEOPLE = 500
FIELDS = {
    "name": gettext_lazy("name"),
    "amount_usd": gettext_lazy("amount"),
    "passing": gettext_lazy("when passed"),
    "thresholds": gettext_lazy("told at"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a budget with its fields in words."""

    row: BudgetChange
    words: str


def list_team_budgets(teams: Sequence[Team], now: datetime) -> list[tuple[BudgetLine, str]]:
    """Return the open budgets by team and name, each with a description of the jobs that it covers; three queries."""
    lines = sorted(list_budgets(teams, now), key=lambda line: (line.budget.team.name, line.budget.name))
    return [(line, applies_to(line.budget)) for line in lines]


def applies_to(row: Budget) -> str:
    """Return a description of the jobs that a budget covers. One query for a person's, none if it has `person`."""
    if row.dimension == Dimension.PERSON:
        name = row.person if hasattr(row, "person") else _name_of(row.value)
        return _("jobs of %(name)s") % {"name": name or _("somebody who left")}
    if row.dimension == Dimension.LABEL:
        return _("jobs with the label %(label)s") % {"label": row.value}
    return _("all jobs of the team")


def _name_of(value: str) -> str | None:
    return User.objects.filter(pk=parse_digits(value) or 0).values_list("username", flat=True).first()


def list_changes(row: Budget) -> list[Change]:
    """Return the latest changes of a budget. One query."""
    rows = BudgetChange.objects.filter(budget=row).select_related("by").order_by("-id")[:MAX_CHANGES]
    return [Change(each, "; ".join(_words(name, *pair) for name, pair in each.fields.items())) for each in rows]


def _words(name: str, before: Any, after: Any) -> str:
    if name == "closed":
        return _("closed")
    old, new = (_value(name, each) for each in (before, after))
    return f"{FIELDS.get(name, name)} {new}" if before is None else f"{FIELDS.get(name, name)} {old} → {new}"


def _value(name: str, value: Any) -> str:
    if name == "amount_usd" and value is not None:
        return f"${float(value):,.2f}"
    if name == "passing" and value is not None:
        return str(dict(PASSING)[Passing(value)])
    return ", ".join(f"{each} %" for each in value) if isinstance(value, list) else str(value)


def list_notices(row: Budget) -> list[BudgetNotice]:
    """Return the latest notices of a budget. One query."""
    return list(BudgetNotice.objects.filter(budget=row).order_by("-at", "-pk")[:MAX_NOTICES])


def list_people(team: Team) -> list[tuple[str, str]]:
    """Return the keys and names of a team's members, by name. One query."""
    people = team.members.order_by("username").values_list("pk", "username")[:MAX_PEOPLE]
    return [(str(pk), name) for pk, name in people]
