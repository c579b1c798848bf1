"""Propose a change, and accept, decline or withdraw it.

Whoever proposes a change does not accept it, nor does an account that counts as theirs, and nobody accepts their own
role. A change of a team waits for a site admin or another lead of the team, a ceiling for another site admin. The only
site admin of a site acts alone.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs import outbox
from jobs.errors import NotPermitted
from jobs.models import Invitation, Message, Proposal, Team
from jobs.permissions import check_is_lead, is_lead
from jobs.proposals.apply import NotApplied, apply
from jobs.requests.one_person import count_as_one
from jobs.texts import translatable

Decision, Kind = Proposal.Decision, Proposal.Kind
PROPOSED = {
    Kind.POLICY: translatable("the policy"),
    Kind.BUDGET: translatable("a budget"),
    Kind.CEILING: translatable("a ceiling"),
    Kind.ROLE: translatable("a role"),
    Kind.ACCOUNT: translatable("an account"),
}


class AlreadyProposed(ValueError):
    """Another change of the same thing waits already."""


def acts_alone(by: User) -> bool:
    """Return whether a person is the only site admin, for whom there is no second person."""
    admins = User.objects.filter(is_superuser=True, is_active=True)
    return by.is_superuser and by.is_active and not admins.exclude(pk=by.pk).exists()


def propose(
    kind: str,
    team: Team | None,
    subject: str,
    *,
    before: Mapping[str, Any],
    wanted: Mapping[str, Any],
    by: User,
    reason: str,
    now: datetime,
    lets_pass: Sequence[Mapping[str, Any]] = (),
) -> Proposal:
    """Record a change that waits for a second person. The only site admin's takes effect at once.

    The caller has checked that `by` may propose it and that the values are valid. Raise AlreadyProposed if a change of
    the same thing waits.
    """
    try:
        with transaction.atomic():
            row = Proposal.objects.create(
                team=team, kind=kind, subject=subject, before=dict(before), wanted=dict(wanted), reason=reason[:200],
                lets_pass=list(lets_pass), proposed_by=by, proposed_at=now,
            )  # fmt: skip
            if acts_alone(by):
                _finish(row, Decision.ACCEPTED, by, "", now)
            elif team is not None:
                _announce(row, team, now)
    except IntegrityError:
        raise AlreadyProposed(_("Another change of this waits for a second person. Withdraw it first.")) from None
    return row


def _announce(row: Proposal, team: Team, now: datetime) -> None:
    """Write a message to those who may accept a change. One of the whole site is only shown to its admins."""
    words = {"person": row.proposed_by.get_username(), "kind": PROPOSED[Kind(row.kind)], "team": team.name}
    detail = {
        "text": translatable("%(person)s proposes to change %(kind)s of %(team)s.", **words),
        "next": translatable("It applies when a second person accepts it. Read what changes first."),
        "path": f"/proposals/{row.pk}/",
        "only": "admins" if row.kind == Kind.CEILING else "leads",
    }
    kind, key = Message.Kind.CHANGE_WAITS, f"proposal:{row.pk}"
    outbox.announce(kind, team=team, once_key=key, now=now, actor=row.proposed_by, detail=detail)


def may_decide(by: User, row: Proposal) -> bool:
    """Return whether a person may accept or decline a change that waits."""
    if not by.is_active or _is_about(row, by) or count_as_one(by.pk, row.proposed_by_id):
        return False
    if by.is_superuser:
        return True
    return row.kind != Kind.CEILING and row.team_id is not None and is_lead(by, team_id=row.team_id)


def _is_about(row: Proposal, by: User) -> bool:
    return row.kind in (Kind.ROLE, Kind.ACCOUNT) and row.subject == str(by.pk)


def decide(pk: int, decision: str, *, by: User, comment: str, now: datetime) -> Proposal | None:
    """Accept, decline or withdraw a change. Return None if it was decided before.

    Raise NotPermitted unless `by` may. Raise ValueError, and leave it open, if what it would change has changed
    meanwhile.
    """
    with transaction.atomic():
        row = Proposal.objects.select_for_update(of=("self",)).select_related("team", "proposed_by").get(pk=pk)
        is_withdrawal = decision == Decision.WITHDRAWN
        if (by.pk != row.proposed_by_id) if is_withdrawal else not may_decide(by, row):
            raise NotPermitted(_("A second person decides: a site admin, or a lead who did not propose it."))
        if row.decision:
            return None
        _finish(row, decision, by, comment, now)
    return row


def _finish(row: Proposal, decision: str, by: User, comment: str, now: datetime) -> None:
    if decision == Decision.ACCEPTED:
        apply(row, by, now)
    row.decision, row.decided_by, row.decided_at, row.comment = decision, by, now, comment.strip()[:200]
    row.save(update_fields=["decision", "decided_by", "decided_at", "comment"])


def confirm_account(team: Team, user: User, *, by: User, now: datetime) -> Proposal:
    """Record that a second person knows who an invited person is.

    Until then, whoever was invited by a requester does not approve the requester's jobs. Raise NotPermitted for the
    person, for whoever invited them, and for people who are neither site admin nor lead of the team.
    """
    check_is_lead(by, team)
    inviters = set(Invitation.objects.filter(accepted_by=user).values_list("invited_by", flat=True))
    if count_as_one(by.pk, user.pk, *inviters):
        raise NotPermitted(_("Somebody else than the person and whoever invited them confirms the account."))
    first = User.objects.filter(pk__in=inviters).order_by("pk").first() or by
    return Proposal.objects.create(
        team=team, kind=Kind.ACCOUNT, subject=str(user.pk), before={}, wanted={"user": user.get_username()},
        proposed_by=first, proposed_at=now, decision=Decision.ACCEPTED, decided_by=by, decided_at=now,
    )  # fmt: skip


__all__ = ["AlreadyProposed", "NotApplied", "acts_alone", "confirm_account", "decide", "may_decide", "propose"]
