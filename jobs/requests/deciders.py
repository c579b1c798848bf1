"""Who may decide about a job: approvers and leads of its team, those whom policy names, and their deputies."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import F, Q
from django.utils.translation import gettext as _

from jobs.errors import NotPermitted
from jobs.models import Approval, Job, Membership, Role, Vote

DECIDING: dict[str, frozenset[str]] = {
    "approver": frozenset({Role.APPROVER, Role.LEAD}),
    "lead": frozenset({Role.LEAD}),
}
"""From the role that is needed to the roles that have it."""


@dataclass(frozen=True, slots=True)
class Decider:
    """A person who may decide: in their own name, or for somebody away whose deputy they are today.

    `people` begins with the person, unless the account is deactivated; `roles` are {(person, team): role} and `votes`
    those for the questions that were loaded.
    """

    by: User
    people: Sequence[User]
    roles: dict[tuple[int, int], str]
    votes: Sequence[Vote]

    @classmethod
    def load(cls, by: User, jobs: Iterable[Job], *, now: datetime) -> "Decider":
        """Load what decides about these jobs; two queries for any number."""
        day = now.date()
        away = Q(
            deputies__deputy=by,
            deputies__first_day__lte=day,
            deputies__last_day__gte=day,
            deputies__ended_at=None,
        )
        keys = User.objects.filter(Q(pk=by.pk) | away, is_active=True).values("pk")
        found = User.objects.filter(pk__in=keys).annotate(team=F("memberships__team"), role=F("memberships__role"))
        members = [(each, each.team, each.role) for each in found.order_by("pk")]
        people = sorted({each for each, *rest in members}, key=lambda each: (each.pk != by.pk, each.pk))
        votes = Vote.objects.filter(job__in=[job.pk for job in jobs]).select_related("voter", "counts_for")
        roles = {(user.pk, team): role for user, team, role in members if team is not None}
        return cls(by, people, roles, list(votes.order_by("pk")))

    def votes_for(self, question: Approval) -> list[Vote]:
        """Return the votes for the question that is open now, oldest first."""
        return [each for each in self.votes if (each.job_id, each.asked_at) == (question.job_id, question.asked_at)]

    def voter_for(self, job: Job, question: Approval) -> User:
        """Return the person for whom a vote would count; raise NotPermitted, with words for people, where none would.

        Nobody decides about an own job, neither as a deputy nor through one.
        """
        if job.owner_id == self.by.pk:
            raise NotPermitted(_("You requested this job, so another approver of the team has to decide."))
        voted = {vote.counts_for_id for vote in self.votes_for(question)}
        for person in self.people if self._may_stand_in(job) else ():
            is_free = person.pk == self.by.pk or person.pk not in voted
            if is_free and person.pk != job.owner_id and self._is_eligible(person, job, question):
                return person
        raise NotPermitted(
            _("Only %(who)s of %(team)s decide about its jobs.") % {"who": who_decides(question), "team": job.team}
        )

    def _may_stand_in(self, job: Job) -> bool:
        if not self.people or self.people[0].pk != self.by.pk:
            return False
        return self.people[0].is_superuser or self.roles.get((self.by.pk, job.team_id)) not in (None, Role.VIEWER)

    def _is_eligible(self, person: User, job: Job, question: Approval) -> bool:
        names = names_of(question)
        if names and person.get_username() not in names:
            return False
        return person.is_superuser or self.roles.get((person.pk, job.team_id)) in DECIDING[question.role_needed]


def count_eligible(people: Iterable[User], job: Job, question: Approval) -> int:
    """Return how many of these may decide about the job now, in their own name."""
    ids = {each.pk for each in people}
    members = Membership.objects.filter(team=job.team_id, user__in=ids, role__in=DECIDING[question.role_needed])
    allowed = Q(pk__in=members.values("user")) | Q(pk__in=ids, is_superuser=True)
    found = User.objects.filter(allowed, is_active=True).exclude(pk=job.owner_id)
    names = names_of(question)
    return sum(not names or user.get_username() in names for user in found)


def names_of(question: Approval) -> Collection[str]:
    """Return the names of those who alone may decide; empty: everybody with the role."""
    return [name for name in question.approver_names.split(",") if name]


def who_decides(question: Approval) -> str:
    """Return who may decide, as words for people."""
    if names := list(names_of(question)):
        some = {"names": ", ".join(names[:-1]), "last": names[-1]}
        return _("%(names)s and %(last)s") % some if len(names) > 1 else names[0]
    return _("leads") if question.role_needed == "lead" else _("approvers and leads")
