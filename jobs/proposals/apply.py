"""Apply a change that a second person has accepted, in the transaction that records it."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from jobs import budgets
from jobs.budget import Passing
from jobs.models import Ceiling, Membership, Proposal, Role
from jobs.people.members import set_role
from jobs.policy_rules import RULES
from jobs.requests.policy_versions import Terms, save_policy


class NotApplied(ValueError):
    """What the proposal would change has changed since it was made."""


def apply(row: Proposal, by: User, now: datetime) -> None:
    """Apply an accepted proposal; `by` is the second person.

    Raise NotApplied, another ValueError or NotPermitted if it cannot be applied any more.
    """
    APPLY[Proposal.Kind(row.kind)](row, by, now)


def _policy(row: Proposal, _by: User, now: datetime) -> None:
    assert row.team is not None
    rules = RULES.validate_python(tuple(row.wanted["rules"]))
    terms = Terms(**row.wanted["terms"])
    save_policy(row.team, rules, terms, base=row.before["base"], by=row.proposed_by, note=row.reason, now=now)


def _budget(row: Proposal, _by: User, now: datetime) -> None:
    pk, version = int(row.subject), row.before["version"]
    if row.wanted.get("closed"):
        budgets.close_budget(pk, version=version, by=row.proposed_by, reason=row.reason, now=now)
        return
    values = budgets.BudgetValues(
        row.wanted["name"],
        Decimal(row.wanted["amount_usd"]),
        Passing(row.wanted["passing"]),
        tuple(row.wanted["thresholds"]),
    )
    budgets.change_budget(pk, values, version=version, by=row.proposed_by, reason=row.reason, now=now)


def _ceiling(row: Proposal, by: User, now: datetime) -> None:
    present = Ceiling.objects.filter(team=row.team, kind=row.subject).first()
    if present is None or str(present.amount) != row.before["amount"]:
        raise NotApplied(_("Somebody has changed this ceiling in the meantime. Decline it, and propose it anew."))
    wanted = row.wanted["amount"]
    amount = None if wanted is None else Decimal(wanted)
    budgets.set_ceiling(row.team, row.subject, amount, by=by, reason=row.reason, now=now)


def _role(row: Proposal, by: User, _now: datetime) -> None:
    assert row.team is not None
    member = Membership.objects.filter(team=row.team, user=int(row.subject)).first()
    if member is None:
        raise NotApplied(_("This person is no longer in the team."))
    set_role(row.team, member.pk, Role(row.wanted["role"]), by=by)


APPLY: dict[Proposal.Kind, Callable[[Proposal, User, datetime], None]] = {
    Proposal.Kind.POLICY: _policy,
    Proposal.Kind.BUDGET: _budget,
    Proposal.Kind.CEILING: _ceiling,
    Proposal.Kind.ROLE: _role,
}
