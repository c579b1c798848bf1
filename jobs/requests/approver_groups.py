"""Groups of approvers: who is in a group that a rule or question asks, and how many of each still have to approve."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import F, FilteredRelation, Q, QuerySet
from django.utils.translation import gettext as _

from jobs.models import Approval, Job, Role
from jobs.policy_rules import Approvers
from jobs.policy_words import who_decides

DECIDING: dict[str, frozenset[str]] = {
    "approver": frozenset({Role.APPROVER, Role.LEAD}),
    "lead": frozenset({Role.LEAD}),
}
"""From a required role to the roles that satisfy it."""
MAY_DECIDE = Q(is_superuser=True) | Q(role__in=DECIDING["approver"])
"""Selects from `with_roles` everybody who can be in a group."""


def groups_of(question: Approval) -> tuple[Approvers, ...]:
    """Return the groups that a question asks, at least one. All but the first come from the policy that asked."""
    names = [name for name in question.approver_names.split(",") if name]
    first = {"approvals": question.votes_needed, "role": question.role_needed, "approvers": names}
    needs = (question.policy or {}).get("needs") or {}
    return tuple(Approvers.model_construct(**each) for each in (first, *needs.get("further", ())))


def with_roles(teams: Collection[int], also: Collection[int] = ()) -> QuerySet[User]:
    """Return active people, and those of `also`, one row for each `team` of `teams` in which they have a `role`.

    Both are None without one.
    """
    own = FilteredRelation("memberships", condition=Q(memberships__team__in=teams))
    found = User.objects.filter(Q(is_active=True) | Q(pk__in=also)).annotate(own=own)
    return found.annotate(team=F("own__team"), role=F("own__role")).order_by("pk")


@dataclass(frozen=True, slots=True)
class Roster:
    """People by their primary key, and their roles as {(person, team): role}."""

    people: Mapping[int, User]
    roles: Mapping[tuple[int, int], str]

    @classmethod
    def of(cls, rows: Iterable[User]) -> "Roster":
        """Return the roster of rows of `with_roles`."""
        members = [(row, row.team, row.role) for row in rows]  # type: ignore[attr-defined]
        return cls({user.pk: user for user, *rest in members}, {(user.pk, team): role for user, team, role in members})

    @classmethod
    def load(cls, team: int) -> "Roster":
        """Return everybody who can be in a group of approvers of a team. Makes one query."""
        return cls.of(with_roles([team]).filter(MAY_DECIDE))

    def is_in(self, group: Approvers, person: int, team: int) -> bool:
        """Return whether a person is in a group of approvers of a team. A deactivated account is in none."""
        user = self.people.get(person)
        if user is None or (group.approvers and user.get_username() not in group.approvers):
            return False
        return user.is_superuser or self.roles.get((person, team)) in DECIDING[group.role]

    def count(self, group: Approvers, people: Iterable[int], job: Job) -> int:
        """Return how many of these people are in a group. The job's owner and author are not counted."""
        return sum(self.is_in(group, person, job.team_id) for person in set(people) - {job.owner_id, job.author_id})

    def missing(self, question: Approval, job: Job, approved: Collection[int]) -> list[Approvers]:
        """Return the groups that have not approved yet, each with the number of approvals it still needs.

        `approved` are the people who have approved. A person counts for every group they are in.
        """
        left = ((each, each.approvals - self.count(each, approved, job)) for each in groups_of(question))
        return [group.model_copy(update={"approvals": number}) for group, number in left if number > 0]


def describe_missing(question: Approval, missing: Sequence[Approvers]) -> str:
    """Return who still has to approve, in the English of events: "1 more of 2 needed", "1 lead still needed"."""
    if len(groups_of(question)) == 1:
        return f"{missing[0].approvals} more of {question.votes_needed} needed"
    return f"{who_decides(missing)} still needed"


def who_is_in(group: Approvers, names_of: Mapping[str, str] | None = None) -> str:
    """Return the members of a group in words for people. `names_of` are texts to show instead of user names."""
    if names := [(names_of or {}).get(name, name) for name in group.approvers]:
        some = {"names": ", ".join(names[:-1]), "last": names[-1]}
        return _("%(names)s and %(last)s") % some if len(names) > 1 else names[0]
    return _("leads") if group.role == "lead" else _("approvers and leads")
