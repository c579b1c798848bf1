"""Create, change and close the budgets of a team. Only its leads may, and every change is recorded with its reason."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.bounds import is_storable, parse_digits
from jobs.budget import Passing
from jobs.errors import NotPermitted
from jobs.models import Budget, BudgetChange, Dimension, Membership, Team
from jobs.models.ledger import MAX_VALUE_LENGTH
from jobs.permissions import is_lead

MAX_USD = Decimal(10) ** 11
MAX_BUDGETS = 50
"""Open budgets of one team; each request is checked against all that apply to it."""
MAX_PERCENT = 500
CHANGED = gettext_lazy("Somebody else has changed this budget in the meantime. Check it, then repeat your change.")


@dataclass(frozen=True, slots=True)
class BudgetValues:
    """The values of a budget: US dollars per calendar month (UTC), and what happens to a job that would exceed them.

    `thresholds` are the percentages at which people get a message.
    """

    name: str
    amount_usd: Decimal
    passing: Passing
    thresholds: tuple[int, ...] = (50, 80, 100)

    def as_columns(self) -> dict[str, Any]:
        """Return the columns of a row."""
        return {
            "name": self.name.strip(),
            "amount_usd": self.amount_usd,
            "passing": str(self.passing),
            "thresholds": sorted(set(self.thresholds)),
        }


def create_budget(
    team: Team, values: BudgetValues, *, dimension: str = "", value: str = "", by: User, reason: str, now: datetime
) -> Budget:
    """Create a budget for all jobs of the team, those of one person, or those with one label.

    Raise NotPermitted unless `by` is a lead of the team. Raise ValueError with a message for people if the budget is
    invalid.
    """
    _check_leads(by, team.pk)
    _check(values, reason)
    _check_group(team, dimension, value)
    if Budget.objects.filter(team=team, closed_at=None).count() >= MAX_BUDGETS:
        raise ValueError(_("A team has at most %(limit)s budgets.") % {"limit": MAX_BUDGETS})
    columns = values.as_columns()
    try:
        with transaction.atomic():
            row = Budget.objects.create(team=team, dimension=dimension, value=value, created_at=now, **columns)
            _record(row, dict.fromkeys(columns), columns, by=by, reason=reason, now=now)
    except IntegrityError:
        raise ValueError(_("There is already a budget for these jobs. Change that one.")) from None
    return row


def change_budget(pk: int, values: BudgetValues, *, version: int, by: User, reason: str, now: datetime) -> None:
    """Change an open budget; `version` is the one that the person has seen. Raise the errors of `create_budget`."""
    _check(values, reason)
    columns = values.as_columns()
    with transaction.atomic():
        row = _locked(pk, version, by)
        before = {name: getattr(row, name) for name in columns}
        Budget.objects.filter(pk=pk).update(**columns, version=version + 1)
        _record(row, before, columns, by=by, reason=reason, now=now)


def close_budget(pk: int, *, version: int, by: User, reason: str, now: datetime) -> None:
    """Close a budget, which stays in the history. Raise the errors of `create_budget`."""
    _check_reason(reason)
    with transaction.atomic():
        row = _locked(pk, version, by)
        Budget.objects.filter(pk=pk).update(closed_at=now, version=version + 1)
        _record(row, {"closed": False}, {"closed": True}, by=by, reason=reason, now=now)


def check_change(row: Budget, values: BudgetValues | None, *, version: int, by: User, reason: str) -> None:
    """Raise what `change_budget`, or `close_budget` without values, would raise now, and change nothing."""
    _check_leads(by, row.team_id)
    _check_reason(reason) if values is None else _check(values, reason)
    if row.closed_at is not None or row.version != version:
        raise ValueError(CHANGED)


def _locked(pk: int, version: int, by: User) -> Budget:
    row = Budget.objects.select_for_update().get(pk=pk)
    _check_leads(by, row.team_id)
    if row.closed_at is not None or row.version != version:
        raise ValueError(CHANGED)
    return row


def _record(
    row: Budget, before: dict[str, Any], after: dict[str, Any], *, by: User, reason: str, now: datetime
) -> None:
    fields = {name: [_json(before[name]), _json(after[name])] for name in after if before[name] != after[name]}
    BudgetChange.objects.create(budget=row, by=by, at=now, fields=fields, reason=reason.strip()[:200])


def _json(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def _check_leads(by: User, team_id: int) -> None:
    if not is_lead(by, team_id=team_id):
        raise NotPermitted(_("Only leads of the team set its budgets."))


def _check(values: BudgetValues, reason: str) -> None:
    if not values.name.strip() or not is_storable(values.name):
        raise ValueError(_("A budget needs a name."))
    if not values.amount_usd.is_finite() or not 0 <= values.amount_usd < MAX_USD:
        raise ValueError(_("A budget is an amount from $0.00 up to $99,999,999,999.99."))
    if values.amount_usd != round(values.amount_usd, 2):
        raise ValueError(_("A budget is an amount in whole cents."))
    if not all(0 < percent <= MAX_PERCENT for percent in values.thresholds):
        raise ValueError(_("A share of the budget is 1 to %(limit)s percent.") % {"limit": MAX_PERCENT})
    _check_reason(reason)


def _check_reason(reason: str) -> None:
    if not reason.strip() or not is_storable(reason):
        raise ValueError(_("A change of a budget needs a reason."))


def _check_group(team: Team, dimension: str, value: str) -> None:
    if dimension == Dimension.ALL:
        is_known = value == ""
    elif dimension == Dimension.PERSON:
        person = parse_digits(value)
        is_known = person is not None and Membership.objects.filter(team=team, user=person).exists()
    else:
        key, sign, _value = value.partition("=")
        is_known = dimension == Dimension.LABEL and bool(key and sign) and len(value) <= MAX_VALUE_LENGTH
    if not is_known or not is_storable(value):
        raise ValueError(_("A budget is for all jobs of the team, for a member of it, or for one label as key=value."))
