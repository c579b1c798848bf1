"""Who may decide about a job: approvers and leads of its team, people named by policy, and their deputies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from jobs.errors import NotPermitted
from jobs.models import Approval, Deputy, Job, Role, Vote
from jobs.policy_rules import Approvers
from jobs.requests.approver_groups import MAY_DECIDE, Roster, groups_of, who_is_in, with_roles
from jobs.requests.one_person import APPROVED, why_one, with_inviters


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
    accounts: Mapping[int, User]
    """The people, the requesters of the jobs and who has voted, also if deactivated, as `why_one` compares them."""

    @classmethod
    def load(cls, by: User, jobs: Sequence[Job], *, now: datetime) -> "Decider":
        """Load what is needed to decide about these jobs. Makes two queries for any number of jobs."""
        away = Deputy.objects.on(now.date()).filter(person=OuterRef("pk"), deputy=by)
        asked = Vote.objects.filter(job__in=[job.pk for job in jobs]).select_related("voter", "counts_for")
        votes = list(asked.order_by("pk"))
        always = {by.pk, *voters(votes)}.union(*map(requesters, jobs))
        rows = with_inviters(with_roles({job.team_id for job in jobs}, always)).annotate(is_away=Exists(away))
        found = list(rows.filter(MAY_DECIDE | Q(is_away=True) | Q(pk__in=always)))
        active = [each for each in found if each.is_active]
        own = {each.pk: each for each in active if each.pk == by.pk or each.is_away}
        people = sorted(own.values(), key=lambda each: (each.pk != by.pk, each.pk))
        return cls(by, people, Roster.of(active), votes, {each.pk: each for each in found})

    def votes_for(self, question: Approval) -> list[Vote]:
        """Return the votes for the question that is open now, oldest first."""
        return [vote for vote in self.votes if (vote.job_id, vote.asked_at) == (question.job_id, question.asked_at)]

    def missing(self, job: Job, question: Approval) -> list[Approvers]:
        """Return the groups that have not approved yet, as `Roster.missing`."""
        return self.roster.missing(question, job, approved_by(self.votes_for(question)))

    def voter_for(self, job: Job, question: Approval) -> User:
        """Return the person for whom a vote would count.

        Raise NotPermitted, with a message for people, if there is none. If there are several, return the first one in a
        group that has not approved yet. Nobody decides about their own job, neither as a deputy nor through one, and
        of accounts that count as one person only the first approves.
        """
        if job.owner_id == self.by.pk:
            raise NotPermitted(_("You requested this job, so another approver of the team has to decide."))
        if job.author_id == self.by.pk:
            raise NotPermitted(_("You wrote this job for a schedule, so another approver of the team has to decide."))
        if why := self._why_one(self.by, job, question):
            raise NotPermitted(str(why))
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
        taken |= {person.pk for person in self.people if self._why_one(person, job, question)}
        able = [person for person in self.people if person.pk not in taken]
        return [person for person in able if self._is_in_any(groups_of(question), person, job)]

    def _why_one(self, person: User, job: Job, question: Approval) -> str | Promise | None:
        """Return why a person counts as one with a requester of the job or with another who has approved, or None."""
        decider, asked = self.accounts[person.pk], (self.accounts[each] for each in requesters(job))
        if why := next((why for each in asked if (why := why_one(decider, each))), None):
            return why
        votes = [vote for vote in self.votes_for(question) if vote.decision == Approval.Decision.APPROVED]
        others = voters(votes) - {person.pk}
        return APPROVED if any(why_one(decider, self.accounts[each]) for each in others) else None

    def _is_in_any(self, groups: Iterable[Approvers], person: User, job: Job) -> bool:
        return any(self.roster.is_in(group, person.pk, job.team_id) for group in groups)


def requesters(job: Job) -> set[int]:
    """Return the people who decide nothing about a job: its owner, and whoever wrote it for the owner's schedule."""
    return {job.owner_id} if job.author_id is None else {job.owner_id, job.author_id}


def voters(votes: Iterable[Vote]) -> set[int]:
    """Return the people who have voted, and those for whom deputies have."""
    return {person for vote in votes for person in (vote.voter_id, vote.counts_for_id)}


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
