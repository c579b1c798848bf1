"""What people ask for: each change is applied at once if it gives nobody more power, else it waits as a proposal."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from jobs import budgets
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.models import Budget, Ceiling, Membership, PolicyVersion, Proposal, Role, Team
from jobs.people import invitations
from jobs.people.members import POWERFUL
from jobs.permissions import check_is_admin, check_is_lead
from jobs.policy_rules import RULES, Rule
from jobs.proposals.decide import acts_alone, propose
from jobs.proposals.looser import STRICTNESS, is_looser
from jobs.requests.policy_test import try_policy
from jobs.requests.policy_versions import (
    Terms,
    check_policy,
    current_version,
    first_terms,
    load_policy,
    save_policy,
    terms_of,
)

Kind = Proposal.Kind
RANK = {role: rank for rank, role in enumerate(Role.values)}
MAX_JOBS = 50
"""Past jobs stored with a proposal."""
EASE = {"allowed": 0, "asked": 1, "refused": 2}


def propose_policy(
    team: Team, rules: Sequence[Rule], terms: Terms, *, base: int, by: User, note: str, now: datetime
) -> PolicyVersion | Proposal:
    """Save a policy that is certainly no looser and return it, else propose it. Raises as `save_policy`."""
    before = load_policy(team)
    version = current_version(team)
    old = terms_of(version) if version is not None else first_terms(team)
    if not is_looser(before.rules, rules, old, terms) or acts_alone(by):
        return save_policy(team, rules, terms, base=base, by=by, note=note, now=now)
    check_policy(team, rules, by=by, note=note, base=base)
    looser = [each for each in try_policy(team, rules).tried if EASE[each.after] < EASE[each.before]]
    return propose(
        Kind.POLICY, team, "",
        before={"base": base, "rules": _dump(before.rules), "terms": asdict(old)},
        wanted={"rules": _dump(rules), "terms": asdict(terms)},
        by=by, reason=note, now=now,
        lets_pass=[
            {"id": str(each.job.pk), "name": each.job.display_name, "before": each.before, "after": each.after}
            for each in looser[:MAX_JOBS]
        ],
    )  # fmt: skip


def _dump(rules: Sequence[Rule]) -> Any:
    return RULES.dump_python(RULES.validate_python(tuple(rules)), mode="json", exclude_defaults=True)


def propose_budget(
    row: Budget, values: BudgetValues, *, version: int, by: User, reason: str, now: datetime
) -> Proposal | None:
    """Change a budget at once if it limits no less than before, else propose the change. Raises as `change_budget`."""
    is_looser = values.amount_usd > row.amount_usd or STRICTNESS[values.passing] < STRICTNESS[Passing(row.passing)]
    if not is_looser or acts_alone(by):
        budgets.change_budget(row.pk, values, version=version, by=by, reason=reason, now=now)
        return None
    budgets.check_change(row, values, version=version, by=by, reason=reason)
    columns = values.as_columns()
    before = {name: _json(getattr(row, name)) for name in columns} | {"version": version}
    wanted = {name: _json(value) for name, value in columns.items()}
    return propose(
        Kind.BUDGET, row.team, str(row.pk), before=before, wanted=wanted, by=by, reason=reason, now=now
    )  # fmt: skip


def propose_closing(row: Budget, *, version: int, by: User, reason: str, now: datetime) -> Proposal | None:
    """Close a budget if `by` acts alone, else propose it. Raises as `close_budget`."""
    if acts_alone(by):
        budgets.close_budget(row.pk, version=version, by=by, reason=reason, now=now)
        return None
    budgets.check_change(row, None, version=version, by=by, reason=reason)
    before = {"name": row.name, "amount_usd": str(row.amount_usd), "version": version}
    return propose(
        Kind.BUDGET, row.team, str(row.pk), before=before, wanted={"closed": True}, by=by, reason=reason, now=now
    )  # fmt: skip


def _json(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def propose_ceiling(
    team: Team | None, kind: str, amount: Decimal | None, *, by: User, reason: str, now: datetime
) -> Proposal | None:
    """Set or lower a ceiling at once; propose to raise or remove one. Raises as `set_ceiling`."""
    check_is_admin(by)
    budgets.check_ceiling(kind, amount, reason)
    present = Ceiling.objects.filter(team=team, kind=kind).first()
    is_looser = present is not None and (amount is None or amount > present.amount)
    if not is_looser or present is None or acts_alone(by):
        budgets.set_ceiling(team, kind, amount, by=by, reason=reason, now=now)
        return None
    wanted = {"amount": None if amount is None else str(amount)}
    before = {"amount": str(present.amount)}
    return propose(Kind.CEILING, team, kind, before=before, wanted=wanted, by=by, reason=reason, now=now)


def propose_role(team: Team, member: Membership, role: str, *, by: User, now: datetime) -> Proposal | None:
    """Propose that a member becomes an approver or lead. Return None if the role gives no more power.

    The caller then sets it. Raise NotPermitted unless `by` is a lead of the team.
    """
    check_is_lead(by, team)
    if role not in POWERFUL or RANK[role] <= RANK[member.role]:
        return None
    return propose(
        Kind.ROLE, team, str(member.user_id),
        before={"role": member.role, "user": member.user.get_username()}, wanted={"role": role},
        by=by, reason="", now=now,
    )  # fmt: skip


@transaction.atomic
def accept_invitation(secret: str, *, by: User, now: datetime) -> Proposal | None:
    """Let a person join a team, and propose the role of an approver or lead in the inviter's name.

    Raise NotChanged as `invitations.accept`.
    """
    row = invitations.find_invitation(secret, now=now)
    member = invitations.accept(secret, by=by, now=now)
    if row is None or row.role not in POWERFUL or RANK[row.role] <= RANK[member.role]:
        return None
    open_ones = Proposal.objects.filter(team=row.team, kind=Kind.ROLE, subject=str(by.pk), decision="")
    return open_ones.first() or propose_role(row.team, member, row.role, by=row.invited_by, now=now)


@transaction.atomic
def accept_invitation_as(secret: str, name: str, password: str, *, now: datetime) -> User:
    """Create an account and let it join a team as `accept_invitation`. Raise NotChanged as `invitations.accept_as`."""
    row = invitations.find_invitation(secret, now=now)
    user = invitations.accept_as(secret, name, password, now=now)
    if row is not None and row.role in POWERFUL:
        propose_role(row.team, Membership.objects.get(team=row.team, user=user), row.role, by=row.invited_by, now=now)
    return user
