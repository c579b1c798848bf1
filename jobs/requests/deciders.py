"""Who may decide about a job: approvers and leads of its team, people named by policy, and their deputies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import CharField, Exists, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Cast
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.errors import NotPermitted
from jobs.models import Approval, Deputy, Invitation, Job, Proposal, Role, Vote
from jobs.policy_rules import Approvers
from jobs.requests.approver_groups import MAY_DECIDE, Roster, groups_of, who_is_in, with_roles

INVITED = gettext_lazy(
    "The requester invited your account, and nobody else has confirmed it: another approver has to decide, or a site "
    "admin or another lead has to confirm your account."
)

INVITED_BOTH = gettext_lazy(
    "One person invited your account and the requester's, and nobody else has confirmed yours: another approver has to "
    "decide, or a site admin or another lead has to confirm your account."
)

INVITER = gettext_lazy(
    "You invited the requester's account, and nobody else has confirmed it: another approver has to decide, or a site "
    "admin or another lead has to confirm the account on the page of the team."
)


@dataclass(frozen=True, slots=True)
class Decider:
    """A person who may decide, in their own name or as today's deputy of somebody who is away.

    `people` begins with the person, unless the account is deactivated. `roster` contains `people` and everybody who may
    decide. `votes` are the votes for the loaded jobs.
    """

    by: User
    people: Sequence[User]
    roster: Roster
    votes: Sequence[Vote]
    invited: frozenset[tuple[int, int]] = frozenset()
    """Pairs of a person and whom they invited, if nobody else has confirmed that account. Both may be one person, so
    neither decides about what the other has requested. Site admins decide, as they may do everything."""

    @classmethod
    def load(cls, by: User, jobs: Sequence[Job], *, now: datetime) -> "Decider":
        """Load what is needed to decide about these jobs. Makes two queries for any number of jobs."""
        away = Deputy.objects.on(now.date()).filter(person=OuterRef("pk"), deputy=by)
        owners = {person for job in jobs for person in requesters(job)}
        rows = with_roles({job.team_id for job in jobs}).annotate(is_away=Exists(away), invited_by=inviter())
        found = list(rows.filter(MAY_DECIDE | Q(pk=by.pk) | Q(is_away=True) | Q(pk__in=owners)))
        own = {each.pk: each for each in found if each.pk == by.pk or each.is_away}
        people = sorted(own.values(), key=lambda each: (each.pk != by.pk, each.pk))
        able = [each for each in found if each.pk in own or each.pk in owners]
        invited = frozenset((each.invited_by, each.pk) for each in able if each.invited_by is not None)
        votes = Vote.objects.filter(job__in=[job.pk for job in jobs]).select_related("voter", "counts_for")
        return cls(by, people, Roster.of(found), list(votes.order_by("pk")), invited)

    def votes_for(self, question: Approval) -> list[Vote]:
        """Return the votes for the question that is open now, oldest first."""
        return [vote for vote in self.votes if (vote.job_id, vote.asked_at) == (question.job_id, question.asked_at)]

    def missing(self, job: Job, question: Approval) -> list[Approvers]:
        """Return the groups that have not approved yet, as `Roster.missing`."""
        return self.roster.missing(question, job, approved_by(self.votes_for(question)))

    def voter_for(self, job: Job, question: Approval) -> User:
        """Return the person for whom a vote would count.

        Raise NotPermitted, with a message for people, if there is none. If there are several, return the first one in a
        group that has not approved yet. Nobody decides about their own job, neither as a deputy nor through one.
        """
        if job.owner_id == self.by.pk:
            raise NotPermitted(_("You requested this job, so another approver of the team has to decide."))
        if job.author_id == self.by.pk:
            raise NotPermitted(_("You wrote this job for a schedule, so another approver of the team has to decide."))
        if any((person, self.by.pk) in self.invited for person in requesters(job)):
            raise NotPermitted(INVITED)
        if self._was_invited(self.by, job):
            raise NotPermitted(INVITED_BOTH)
        if self._has_invited(self.by, job):
            raise NotPermitted(INVITER)
        if free := self._free(job, question):
            missing = self.missing(job, question)
            return next((person for person in free if self._is_in_any(missing, person, job)), free[0])
        raise NotPermitted(
            _("Only %(who)s of %(team)s decide about its jobs.") % {"who": who_decides(question), "team": job.team}
        )

    def is_needed(self, job: Job, question: Approval) -> bool:
        """Return whether the person's approval would bring the job forward.

        It does not if their groups have approved, or a deputy has approved for them.
        """
        voter = self.voter_for(job, question)
        if voter.pk in approved_by(self.votes_for(question)):
            return False
        return len(groups_of(question)) == 1 or self._is_in_any(self.missing(job, question), voter, job)

    def _free(self, job: Job, question: Approval) -> list[User]:
        """Return the people for whom a vote would count, `by` first."""
        if not self.people or self.people[0].pk != self.by.pk:
            return []
        if not self.people[0].is_superuser and self.roster.roles.get((self.by.pk, job.team_id)) in (None, Role.VIEWER):
            return []
        taken = {vote.counts_for_id for vote in self.votes_for(question)} - {self.by.pk}
        if any(each(self.by, job) for each in (self._was_invited, self._has_invited)):
            return []
        taken |= requesters(job)
        taken |= {person.pk for person in self.people if self._was_invited(person, job)}
        taken |= {person.pk for person in self.people if self._has_invited(person, job)}
        able = [person for person in self.people if person.pk not in taken]
        return [person for person in able if self._is_in_any(groups_of(question), person, job)]

    def _was_invited(self, person: User, job: Job) -> bool:
        """Return whether a requester invited the person, or one who is no site admin invited both."""
        both = {inviter for inviter, account in self.invited if account in requesters(job)}
        admins = {inviter for inviter in both if (user := self.roster.people.get(inviter)) and user.is_superuser}
        return any((inviter, person.pk) in self.invited for inviter in both - admins | requesters(job))

    def _has_invited(self, person: User, job: Job) -> bool:
        return any((person.pk, each) in self.invited for each in requesters(job)) and not person.is_superuser

    def _is_in_any(self, groups: Iterable[Approvers], person: User, job: Job) -> bool:
        return any(self.roster.is_in(group, person.pk, job.team_id) for group in groups)


def requesters(job: Job) -> set[int]:
    """Return the people who decide nothing about a job: its owner, and whoever wrote it for the owner's schedule."""
    return {job.owner_id} if job.author_id is None else {job.owner_id, job.author_id}


def inviter(of: str | OuterRef | Value = "pk", column: str = "invited_by") -> Subquery:
    """Return who invited the person in the column `of` of a query, None if a second person has accepted the account.

    Somebody has if they accepted the person's role or confirmed the account, and are not the inviter.
    """
    accepted = Proposal.objects.filter(
        kind__in=[Proposal.Kind.ROLE, Proposal.Kind.ACCOUNT], decision=Proposal.Decision.ACCEPTED,
        subject=Cast(OuterRef("accepted_by"), CharField()),
    ).exclude(decided_by=OuterRef("invited_by"))  # fmt: skip
    person = OuterRef(of) if isinstance(of, str) else of
    rows = Invitation.objects.filter(accepted_by=person).exclude(invited_by=F("accepted_by"))
    return Subquery(rows.filter(~Exists(accepted)).order_by("accepted_at", "pk").values(column)[:1])


def count_as_one(one: int, other: int) -> bool:
    """Return whether two people may be one: the same, or one invited the other, whom nobody else has confirmed.

    So do two accounts of one inviter, unless that is a site admin.
    """
    found = User.objects.filter(pk__in=(one, other)).annotate(inviter=inviter()).values_list("pk", "inviter")
    by = dict(found)
    if one == other or by.get(one) == other or by.get(other) == one:
        return True
    both = by.get(one) if by.get(one) == by.get(other) else None
    return both is not None and not User.objects.filter(pk=both, is_superuser=True).exists()


def approved_by(votes: Iterable[Vote]) -> set[int]:
    """Return the people on whose behalf these votes approve."""
    return {vote.counts_for_id for vote in votes if vote.decision == Approval.Decision.APPROVED}


def load_missing(job: Job, question: Approval) -> list[Approvers]:
    """Return the groups that have not approved yet. Votes of people who may not decide any more are not counted."""
    votes = Vote.objects.filter(job=job, asked_at=question.asked_at)
    return Roster.load(job.team_id).missing(question, job, approved_by(votes))


def who_decides(question: Approval) -> str:
    """Return who may decide, in words for people."""
    return ", ".join(dict.fromkeys(who_is_in(group) for group in groups_of(question)))
