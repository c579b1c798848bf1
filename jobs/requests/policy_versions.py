"""The policy of a team: load the current version and save a new one. Versions are only added."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Prefetch, prefetch_related_objects
from django.utils.translation import gettext as _

from jobs import budgets
from jobs.bounds import is_storable_json
from jobs.errors import NotPermitted
from jobs.models import Policy, PolicyVersion, Team
from jobs.permissions import is_lead
from jobs.policy_rules import RULES, PolicyRules, Recent, Rule, rules_of_limits, sums_requests
from jobs.requests.approver_groups import Roster, who_is_in

UNSET_REMIND_HOURS = 24
"""For teams whose policy was never saved as a version. Their requests do not expire."""


class SavedMeanwhile(Exception):
    """Somebody else has saved another version since the form was opened. `current` is that version."""

    def __init__(self, current: PolicyVersion | None) -> None:
        self.current = current
        name = current.saved_by.get_username() if current is not None else _("Somebody")
        words = _("%(person)s has saved another version in the meantime. Compare it with yours, then save again.")
        super().__init__(words % {"person": name})


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a version other than its rules. Hours are whole numbers; 0 turns a setting off."""

    drift_percent: int = 0
    remind_hours: int = UNSET_REMIND_HOURS
    expire_hours: int = 168
    cancel_over_approved: bool = False
    cancel_at_cap: bool = True
    approvers_choose_strategy: bool = False
    waste_hours: Mapping[str, int] = field(default_factory=dict)
    """{fault of a running job: hours after which an unanswered question cancels it, 0: its owner is only asked}."""


def load_policy(team: Team) -> PolicyRules:
    """Return the current policy of `team`. Without one, everything that costs money needs an approval.

    Makes one query, or none if the team was loaded with its policy.
    """
    prefetch_related_objects([team], Prefetch("policy", Policy.objects.select_related("current")))
    try:
        row = team.policy
    except Policy.DoesNotExist:
        return PolicyRules(rules_of_limits(Decimal(0)))
    if (version := row.current) is None:
        rules = rules_of_limits(row.ask_over_usd, row.refuse_over_usd, row.regions)
        return PolicyRules(rules, cancels_at_cap=row.cancel_at_cap)
    rules = RULES.validate_python(version.rules)
    return PolicyRules(rules, version.number, version.drift_percent, cancels_at_cap=row.cancel_at_cap)


def load_recent(policy: PolicyRules, team: Team, by: User | None, now: datetime | None) -> Recent | None:
    """Return what a person and a team use already, if a rule of the policy asks for it. Makes up to six queries."""
    if by is None or now is None or not sums_requests(policy.rules):
        return None
    person, whole = (budgets.spent(now, team_id=team.pk, person_id=person) for person in (by.pk, None))
    return Recent(person.usd, whole.usd)


def current_version(team: Team) -> PolicyVersion | None:
    """Return the current version of a team's policy, or None if none was saved."""
    rows = Policy.objects.filter(team=team).select_related("current__saved_by")
    return next((row.current for row in rows), None)


def terms_of(version: PolicyVersion | None) -> Terms:
    """Return the settings of a version other than its rules."""
    if version is None:
        return Terms(expire_hours=0)
    return Terms(**{each.name: getattr(version, each.name) for each in fields(Terms)})


def first_terms(team: Team) -> Terms:
    """Return the initial settings for the first version of a team.

    They keep the team's present cancellation settings.
    """
    before = Policy.objects.filter(team=team).first()
    if before is None:
        return Terms()
    return Terms(cancel_over_approved=before.cancel_over_approved, cancel_at_cap=before.cancel_at_cap)


def save_policy(
    team: Team, rules: Sequence[Rule], terms: Terms, *, base: int, by: User, note: str, now: datetime
) -> PolicyVersion:
    """Save and return a new version of a team's policy, which becomes the current one.

    `base` is the number of the version that the form began with, 0 for none. Raise NotPermitted unless `by` is a lead
    of the team. Raise ValueError for rules that cannot be saved. Raise SavedMeanwhile if `base` is not the current
    version.
    """
    stored = _check(team, rules, by=by, note=note)
    with transaction.atomic():
        Policy.objects.get_or_create(team=team)
        row = Policy.objects.select_for_update(of=("self",)).select_related("current__saved_by").get(team=team)
        number = row.current.number if row.current is not None else 0
        if number != base:
            raise SavedMeanwhile(row.current)
        row.current = PolicyVersion.objects.create(
            team=team,
            number=number + 1,
            rules=stored,
            **asdict(terms),
            saved_by=by,
            saved_at=now,
            note=note.strip()[:200],
        )
        row.cancel_over_approved, row.cancel_at_cap = terms.cancel_over_approved, terms.cancel_at_cap
        row.save(update_fields=["current", "cancel_over_approved", "cancel_at_cap"])
    return row.current


def check_policy(team: Team, rules: Sequence[Rule], *, base: int, by: User, note: str) -> None:
    """Raise what `save_policy` would raise now, and save nothing."""
    _check(team, rules, by=by, note=note)
    current = current_version(team)
    if base != (current.number if current is not None else 0):
        raise SavedMeanwhile(current)


def _check(team: Team, rules: Sequence[Rule], *, by: User, note: str) -> Any:
    """Return the rules as JSON. Raise NotPermitted or ValueError as `save_policy`."""
    if not is_lead(by, team_id=team.pk):
        raise NotPermitted(_("Only leads of %(team)s change its policy.") % {"team": team})
    stored = RULES.dump_python(RULES.validate_python(tuple(rules)), mode="json", exclude_defaults=True)
    if not is_storable_json([stored, note]):
        raise ValueError(_("The policy contains a character that cannot be stored."))
    _check_approvers(team, rules)
    return stored


def _check_approvers(team: Team, rules: Sequence[Rule]) -> None:
    """Raise ValueError for rules that cannot be met: a named person may not decide, or too few people can approve."""
    roster = Roster.load(team.pk)
    known = {person.get_username() for person in roster.people.values()}
    groups = [(number, group) for number, rule in enumerate(rules, 1) if rule.outcome == "ask" for group in rule.groups]
    for number, group in groups:
        if strange := sorted(set(group.approvers) - known):
            raise ValueError(
                _("Rule %(number)s: %(strange)s is not an approver or lead of %(team)s.")
                % {"number": number, "strange": ", ".join(strange), "team": team}
            )
        if (able := sum(roster.is_in(group, person, team.pk) for person in roster.people)) < group.approvals:
            known_of = {"number": number, "needed": group.approvals, "who": who_is_in(group), "able": able}
            words = _("Rule %(number)s: of %(who)s, %(needed)s must approve and only %(able)s can.")
            raise ValueError(words % known_of)
