"""Request, approve and reject changes of persistent resources.

Vertex AI never ends a persistent resource by itself, so each has a lifetime after which Trainboard deletes it. If
Trainboard is down just then, the machines run for up to OUTAGE longer: policy, approvers and budgets see the cost of
both. Whoever asks for machines does not approve them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs import allowed_resources, budget, budgets, gate, outbox
from jobs.assessment import storable_price, storable_usd
from jobs.budget import BudgetLeft
from jobs.budgets import MAX_LIFETIME, OUTAGE, groups_of_resource, left_for, load_ceilings
from jobs.errors import NotAllowed, NotPermitted
from jobs.gate import Charge
from jobs.models import Message, PersistentResource, ResourceChange, Team
from jobs.policy_rules import Approvers, Facts, deciding_rule, with_sums
from jobs.requests import resource_figures as figures
from jobs.requests.allowed_resources import allowed_of
from jobs.requests.approval_coverage import is_group_covered
from jobs.requests.approver_groups import Roster
from jobs.requests.one_person import APPROVED, why_one, with_inviters
from jobs.requests.policy_versions import load_policy, load_recent
from jobs.requests.resource_owners import check_may_change, check_still_may_change, may_change
from jobs.spec import Finding, Severity
from jobs.texts import translatable

Action, Outcome = ResourceChange.Action, ResourceChange.Outcome
SEEN_WITHIN = timedelta(hours=1)
"""How long a poll may take to show a resource that was just created."""
ONE_APPROVER = Approvers()


class Place(NamedTuple):
    """The team that pays for a persistent resource, and where it is."""

    team: Team
    project: str
    region: str
    resource_id: str


def ask_for_change(
    action: str,
    *,
    team: Team,
    project: str,
    region: str,
    resource_id: str,
    by: User,
    now: datetime,
    body: Mapping[str, Any] | None = None,
    lifetime: timedelta | None = None,
    before: Mapping[str, Any] | None = None,
) -> ResourceChange | None:
    """Record a change of a persistent resource in a project of the team. Return None if one is already open.

    `create` and `extend` need a `lifetime`. `body` is the REST body to send. `before` is that of the existing resource;
    for `extend` it is what stays. What adds cost waits for an approval.

    Raise NotPermitted for everybody but the team's approvers and leads, and for projects and resources of other teams.
    Raise NotAllowed and write nothing if policy refuses the machines or the region, if a ceiling would be exceeded, or
    if a budget that stops jobs has too little left.
    """
    check_may_change(by, team, project, region, resource_id, is_new=action == Action.CREATE)
    wanted, waits, place = dict(body or {}), False, Place(team, project, region, resource_id)
    columns: dict[str, Any] = {}
    try:
        with transaction.atomic():
            budgets.lock_teams([team.pk])
            if action == Action.CREATE:
                _check_is_new(place, now)
            if action in (Action.CREATE, Action.EXTEND):
                if lifetime is None or not timedelta(hours=1) <= lifetime <= MAX_LIFETIME:
                    raise NotAllowed([_lifetime_finding()])
                size = wanted or _dearest(place, before or {})
                columns = _assess(size, lifetime, place, by, now, adds_lifetime=True)
                columns["lifetime_hours"], waits = int(figures.hours_of(lifetime)), True
            elif action == Action.RESIZE:
                new = figures.hourly_of(wanted, region)
                bodies = (before or {}, *_last_bodies(place))
                sizes = [(figures.hourly_of(each, region), figures.gpus_of(each)[0]) for each in bodies]
                gpus, _types = figures.gpus_of(wanted)
                waits = new is None or any(usd is None or new > usd or gpus > held for usd, held in sizes)
                if waits:
                    columns = _assess(wanted, _lifetime_left(place, now), place, by, now, adds_lifetime=False)
                else:  # no additional cost: neither policy, nor a ceiling, nor a spent budget refuses it
                    columns = {"usd_per_hour": storable_price(new), "gpus": gpus}
            elif action == Action.REBOOT:
                _check_restart(place, by.pk, _dearest(place, before or {}), now)
            row = ResourceChange.objects.create(
                team=team, project=project, region=region, resource_id=resource_id, action=action, body=wanted,
                asked_by=by, asked_at=now, due_at=None if waits else now, allowed_at=None if waits else now, **columns,
            )  # fmt: skip
            if waits:
                _announce(row, by, now)
            return row
    except IntegrityError:
        return None


def _announce(row: ResourceChange, actor: User | None, now: datetime) -> None:
    """Write a message to those who may approve a change that waits."""
    words = {"person": row.asked_by.get_username(), "action": row.get_action_display(), "name": row.resource_id}
    detail = {
        "text": translatable("%(person)s asks to %(action)s the persistent resource %(name)s.", **words),
        "next": translatable("It is sent when somebody else approves it. Read what it may cost first."),
        "path": "/persistent-resources/",
    }
    key = f"resource:{row.pk}:{now.isoformat()}"
    outbox.announce(Message.Kind.CHANGE_WAITS, team=row.team, once_key=key, now=now, actor=actor, detail=detail)


def approve_change(change: ResourceChange, *, by: User, now: datetime) -> bool:
    """Approve a change that waits, and let it be sent once everybody needed has approved.

    Return False if it was decided or withdrawn before, or `by` has approved already. Raise NotPermitted for whoever
    asked for it, for accounts that count as one with them or with who has approved, and for people who may not decide.

    Raise NotAllowed if a ceiling would be exceeded, or if a budget that stops jobs has too little left.
    """
    with transaction.atomic():
        budgets.lock_teams([change.team_id])
        row = _lock(change)
        if row is None or by.pk in row.approved_by:
            return False
        groups, roster = _groups(row), Roster.load(row.team_id)
        _check_may_approve(row, by, groups, roster)
        row.approved_by = [*row.approved_by, by.pk]
        given = [sum(roster.is_in(group, person, row.team_id) for person in row.approved_by) for group in groups]
        if all(count >= group.approvals for count, group in zip(given, groups, strict=True)):
            place = Place(row.team, row.project, row.region, row.resource_id)
            left = left_for(row.team_id, groups_of_resource(row.asked_by_id), now)
            size = (row.usd_per_hour, row.gpus or 0, _lasts(place, row.lifetime_hours, now))
            _check_gate(place, row.asked_by_id, *size, now, adds_usd=row.most_usd, budgets_left=left)
            row.allowed_at = row.due_at = now
        row.save(update_fields=["approved_by", "allowed_at", "due_at"])
    return True


def may_approve(change: ResourceChange, by: User) -> bool:
    """Return whether a person may approve a change that waits, and has not done so. Makes two queries."""
    try:
        _check_may_approve(change, by, _groups(change), Roster.load(change.team_id))
    except NotPermitted:
        return False
    return by.pk not in change.approved_by


def _check_may_approve(row: ResourceChange, by: User, groups: Sequence[Approvers], roster: Roster) -> None:
    """Raise NotPermitted as `approve_change` does."""
    accounts = with_inviters(User.objects.all()).in_bulk([by.pk, row.asked_by_id, *row.approved_by])
    if why := why_one(accounts[by.pk], accounts[row.asked_by_id]):
        raise NotPermitted(str(why))
    if any(why_one(accounts[by.pk], accounts[each]) for each in row.approved_by if each in accounts):
        raise NotPermitted(str(APPROVED))
    if not any(roster.is_in(group, by.pk, row.team_id) for group in groups):
        raise NotPermitted(_("You may not approve this change."))


def reject_change(change: ResourceChange, *, by: User, now: datetime) -> bool:
    """End a change that waits for an approval, as an approver or as whoever asked for it.

    Return False if it does not wait. Raise NotPermitted for everybody else.
    """
    if not (by.pk == change.asked_by_id or may_change(by, change.team)):
        raise NotPermitted(_("You may not decide about this change."))
    with transaction.atomic():
        row = _lock(change)
        if row is None:
            return False
        verb = "withdrew" if by.pk == row.asked_by_id else "rejected"
        row.outcome, row.message = Outcome.REFUSED, f"{by.get_username()} {verb} it."
        row.ended_at, row.due_at = now, None
        row.save(update_fields=["outcome", "message", "ended_at", "due_at"])
    return True


def check_again(change: ResourceChange, now: datetime) -> bool:
    """Check an allowed change again before it is sent: policy, lists, prices and ceilings may have changed since.

    Return False if its approval no longer covers it, so that it waits for a new one. Raise NotAllowed if it is refused.
    Deletions and smaller sizes only end cost, so nothing stops them. A size counts as larger also if the resource has
    become smaller since it was asked for.
    """
    known = PersistentResource.objects.existing().filter(
        project=change.project, region=change.region, resource_id=change.resource_id
    )  # fmt: skip
    has: dict[str, Any] = next(iter(known.values_list("body", flat=True)), {})
    is_larger = change.action == Action.RESIZE and (bool(change.needs) or _is_larger(change, has))
    if not is_larger and change.action not in (Action.CREATE, Action.EXTEND, Action.REBOOT):
        return True
    team, place = change.team, Place(change.team, change.project, change.region, change.resource_id)
    check_still_may_change(change)
    body: dict[str, Any] = change.body or _dearest(place, has)
    with transaction.atomic():
        budgets.lock_teams([team.pk])
        if change.action == Action.REBOOT:
            _check_restart(place, change.asked_by_id, body, now)
            return True
        adds_lifetime = change.lifetime_hours is not None
        lifetime = timedelta(hours=change.lifetime_hours or 0) if adds_lifetime else _lifetime_left(place, now)
        columns = _assess(
            body, lifetime, place, change.asked_by, now, adds_lifetime=adds_lifetime, is_allowed=True
        )  # fmt: skip
        if _is_covered(change, columns, load_policy(team).drift_percent):
            return True
        if not ResourceChange.objects.select_for_update().filter(pk=change.pk, claim=change.claim).exists():
            return False  # another worker has it by now
        waits: dict[str, Any] = {
            "allowed_at": None,
            "due_at": None,
            "approved_by": [],
            "claim": None,
            "claimed_until": None,
        }
        for name, value in (columns | waits).items():
            setattr(change, name, value)
        change.save(update_fields=[*columns, *waits])
        _announce(change, None, now)
    return False


def _is_larger(change: ResourceChange, has: Mapping[str, Any]) -> bool:
    """Return whether a resize makes a resource with the body `has` dearer, or may do so."""
    if not has:
        return False
    old, new = figures.hourly_of(has, change.region), figures.hourly_of(change.body, change.region)
    return old is None or new is None or new > old


def _is_covered(change: ResourceChange, now: Mapping[str, Any], drift_percent: int) -> bool:
    """Return whether the approval of a change covers what it costs now, why it is asked and who has to approve it."""
    approved = _groups(change)
    if not all(is_group_covered(Approvers.model_validate(asked), approved) for asked in now["needs"]):
        return False
    asks = {str(found["code"]) for found in now["findings"] if found["severity"] == Severity.APPROVAL}
    if not asks <= {str(found["code"]) for found in change.findings}:
        return False
    if change.most_usd is None or now["most_usd"] is None:
        return change.most_usd is None and now["most_usd"] is None
    return bool(round(now["most_usd"], 2) <= change.most_usd * (100 + drift_percent) / 100)


def _lock(change: ResourceChange) -> ResourceChange | None:
    """Return the locked row of a change that waits for an approval, None if it does not."""
    rows = ResourceChange.objects.select_for_update(of=("self",)).select_related("team", "asked_by")
    return rows.filter(pk=change.pk, ended_at=None, allowed_at=None, due_at=None).first()


def _groups(change: ResourceChange) -> tuple[Approvers, ...]:
    return tuple(Approvers.model_validate(each) for each in change.needs) or (ONE_APPROVER,)


def _check_gate(
    place: Place,
    person_id: int,
    hourly: Decimal | None,
    gpus: int,
    lasts: timedelta,
    now: datetime,
    *,
    adds_usd: Decimal | None = Decimal(0),
    budgets_left: Sequence[BudgetLeft] = (),
) -> tuple[Finding, ...]:
    """Return the findings of budgets about a resource that costs `hourly` and lives for another `lasts`.

    Budgets count `adds_usd`, what the change adds; ceilings count all that the resource may cost from now on. Raise
    NotAllowed if a ceiling would be exceeded or a budget that stops jobs has too little left. The caller has locked
    the team.
    """
    most = None if hourly is None else hourly * figures.hours_of(lasts + OUTAGE)
    ceilings = load_ceilings(place.team, person_id, now, apart_from_resource=place[1:], is_locked=True)
    found = (*budget.check(adds_usd, budgets_left), *gate.check(Charge(most, hourly, gpus), (), ceilings))
    if any(finding.severity is Severity.ERROR for finding in found):
        raise NotAllowed(found)
    return found


def _check_restart(place: Place, person_id: int, body: Mapping[str, Any], now: datetime) -> None:
    """Raise NotAllowed if a ceiling has no place for the machines that a restart keeps."""
    lasts = _lifetime_left(place, now, without=timedelta())
    _check_gate(place, person_id, figures.hourly_of(body, place.region), figures.gpus_of(body)[0], lasts, now)


def _assess(
    body: Mapping[str, Any],
    lifetime: timedelta,
    place: Place,
    by: User,
    now: datetime,
    *,
    adds_lifetime: bool,
    is_allowed: bool = False,
) -> dict[str, Any]:
    """Return the columns of a change that adds cost: its amounts, who has to approve it, and why.

    `lifetime` is the time for which it adds cost; `adds_lifetime` is whether the resource's own grows by it. If the
    change was allowed before, budgets have its cost committed, and the sums of recent requests contain it: neither
    counts against it. Raise NotAllowed if policy, a list, a ceiling or a budget refuses it.
    """
    team, region = place.team, place.region
    if refused := allowed_resources.check_resource(body, allowed_of(team)):
        raise NotAllowed(refused)
    amount = figures.cost_of(body, region, lifetime)
    most = amount.most_usd
    left = left_for(
        team.pk, groups_of_resource(by.pk), now, apart_from_resource=place[1:] if is_allowed else None
    )  # fmt: skip
    least_left = None if most is None else min((each.left_usd - most for each in left), default=None)
    gpus, types = figures.gpus_of(body)
    facts = Facts(
        most, most, most, most, gpus, types, "persistent", "persistent_resource", region,
        float(figures.hours_of(lifetime)), {}, by.get_username(), least_left, bool(left),
    )  # fmt: skip
    policy = load_policy(team)
    recent = None if is_allowed else load_recent(policy, team, by, now)
    number, rule = deciding_rule(policy, with_sums(facts, most, recent))
    if rule is not None and rule.outcome == "refuse":
        message = translatable("The policy of the team refuses these machines (rule %(number)s).", number=number)
        raise NotAllowed([Finding("policy_refuses_resource", Severity.ERROR, "", message, rule.words)])
    lasts = _lasts(place, int(figures.hours_of(lifetime)) if adds_lifetime else None, now)
    found = _check_gate(place, by.pk, amount.usd_per_hour, gpus, lasts, now, adds_usd=most, budgets_left=left)
    groups: Sequence[Approvers] = rule.groups if rule is not None and rule.outcome == "ask" else (ONE_APPROVER,)
    needs = [{"approvals": each.approvals, "role": each.role, "approvers": list(each.approvers)} for each in groups]
    return {
        "usd_per_hour": storable_price(amount.usd_per_hour),
        "most_usd": storable_usd(most),
        "gpus": gpus,
        "needs": needs,
        "findings": [finding.as_kept() for finding in found],
    }


def _check_is_new(place: Place, now: datetime) -> None:
    """Raise NotAllowed if the resource exists: Vertex AI would keep its machines, and another size would be counted."""
    of = {"project": place.project, "region": place.region, "resource_id": place.resource_id}
    sent = ResourceChange.objects.filter(**of, asked_at__gte=now - SEEN_WITHIN).exclude(
        outcome__in=("", Outcome.REFUSED)
    )
    last = sent.filter(action__in=(Action.CREATE, Action.DELETE)).order_by("-asked_at", "-pk")
    is_new = not PersistentResource.objects.existing().filter(**of).exists()
    if is_new and last.values_list("action", flat=True).first() != Action.CREATE:
        return
    message = translatable("There is a persistent resource %(name)s in this region already.", name=place.resource_id)
    remedy = translatable("Choose another name, or resize that one.")
    raise NotAllowed([Finding("resource_exists", Severity.ERROR, "", message, remedy)])


def _lifetime_finding() -> Finding:
    days = MAX_LIFETIME.days
    message = translatable("A persistent resource has a lifetime of an hour to %(days)s days.", days=days)
    return Finding("lifetime_missing", Severity.ERROR, "", message)


def _last_bodies(place: Place) -> list[dict[str, Any]]:
    """Return the sizes that a resource may have by its changes here: the last one accepted, and what came after it.

    What was observed last may be older than these.
    """
    rows = ResourceChange.objects.filter(project=place.project, region=place.region, resource_id=place.resource_id)
    rows = rows.filter(action__in=(Action.CREATE, Action.RESIZE)).exclude(outcome__in=("", Outcome.REFUSED))
    bodies = []
    for body, outcome in rows.order_by("-asked_at", "-pk").values_list("body", "outcome"):
        bodies.append(body)
        if outcome == Outcome.ACCEPTED:
            break
    return bodies


def _dearest(place: Place, seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dearest size that a resource may have: the one that was `seen` last, or one of its last changes."""
    return dict(figures.dearest_of([seen, *_last_bodies(place)], place.region))


def _lifetime_left(place: Place, now: datetime, *, without: timedelta = MAX_LIFETIME) -> timedelta:
    """Return the rest of a resource's lifetime; `without` for one that was made elsewhere, which nobody ends."""
    ends = ResourceChange.lifetime_ends(place.project, place.region, place.resource_id)
    return without if ends is None else max(ends - now, timedelta())


def _lasts(place: Place, added_hours: int | None, now: datetime) -> timedelta:
    """Return for how long a resource lives after a change that adds to its lifetime, or leaves it as it is."""
    if added_hours is None:
        return _lifetime_left(place, now)
    return _lifetime_left(place, now, without=timedelta()) + timedelta(hours=added_hours)
