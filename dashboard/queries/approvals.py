"""Jobs that await approval."""

from datetime import date
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import CharField, Count, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat, StrIndex

from dashboard.access import in_teams_of
from jobs.models import Approval, AskedGroup, Deputy, Job, Membership, Role, ShownJob, Vote, hide_in
from jobs.requests.one_person import CountAsOne

_OPEN = Q(decision="", job__state="awaiting_approval")
_IN_NAMES = Q(names="") | Q(place__gt=0)
"""Condition that a group names nobody, or the person whose name is at `place`."""


def list_approvals(user: User, limit: int) -> list[Approval]:
    """Return the oldest open approvals, each with its job as this person may see it. One query."""
    approvals = list(_open_approvals(user)[:limit])
    for approval in approvals:
        approval.job = ShownJob.of(approval.job).reveal_to(user)
        hide_in([approval], ["findings"], approval.job)
    return approvals


def approvals_for(user: User, today: date) -> QuerySet[Approval]:
    """Return the open approvals that `user` can decide on a day (UTC). One represents all of a sweep.

    The person may decide in their own name or as the deputy of somebody who is away, as `jobs.requests.deciders`
    allows. Their own jobs, those of accounts that count as theirs, and approvals on which they have voted are excluded.
    """
    return _decidable(_open_approvals(user), user, today)


def decidable_jobs(user: User, today: date) -> frozenset[UUID]:
    """Return the keys of the jobs that `user` can decide about, as `approvals_for`, with all of a sweep. One query."""
    return frozenset(_decidable(Approval.objects.filter(_OPEN), user, today).values_list("job_id", flat=True))


def _decidable(approvals: QuerySet[Approval], user: User, today: date) -> QuerySet[Approval]:
    may_decide = Q(Exists(_deciders(user, today)))
    votes = Vote.objects.filter(job=OuterRef("job"), asked_at=OuterRef("asked_at"))
    requesters = (CountAsOne(user.pk, F("job__owner")), CountAsOne(user.pk, F("job__author")))
    voted = Exists(votes.filter(voter=user)), Exists(_of_one_person(votes, Value(user.pk)))
    found = approvals.filter(*(~Q(each) for each in (*requesters, *voted)))
    if user.is_superuser:
        # Site admins have every role, so only a list of names can exclude them.
        named = Q(approver_names="") | Q(approver_names__contains=f",{user.get_username()},")
        return found.filter(_is_asked(named | may_decide))
    return found.filter(in_teams_of(user, "job__team", "decide")).filter(_is_asked(may_decide))


def _of_one_person(votes: QuerySet[Vote], person: Any) -> QuerySet[Vote]:
    """Return the approvals among votes that another account has given, or a deputy for it, and that counts as one."""
    by, counts_for = (Q(CountAsOne(person, F(each))) & ~Q(**{each: person}) for each in ("voter", "counts_for"))
    return votes.filter(by | counts_for, decision=Approval.Decision.APPROVED)


def _is_asked(condition: Q) -> Q:
    """Return the condition that an approval needs a person.

    `condition` selects the groups on which the person may vote. If several groups must approve, one of them that has
    not approved yet must match.
    """
    # There are no rows if only one group must approve.
    groups = AskedGroup.objects.filter(job=OuterRef("job"), asked_at=OuterRef("asked_at"))
    given = Vote.objects.filter(
        job=OuterRef("job"), asked_at=OuterRef("asked_at"), decision=Approval.Decision.APPROVED,
        counts_for__is_active=True,
    )  # fmt: skip
    own = Q(counts_for__memberships__team=F("job__team"))
    roles = own & (
        Q(counts_for__memberships__role=Role.LEAD) | Q(counts_for__memberships__role=Role.APPROVER, least="approver")
    )
    eligible = given.annotate(**_of_group("counts_for__username")).filter(
        roles | Q(counts_for__is_superuser=True), _IN_NAMES
    )
    counted = eligible.order_by().values("job").annotate(people=Count("counts_for", distinct=True)).values("people")
    open_groups = groups.annotate(given=Coalesce(Subquery(counted), 0)).filter(condition, given__lt=F("votes_needed"))
    return (~Q(Exists(groups)) & condition) | Q(Exists(open_groups))


def _of_group(name: str) -> dict[str, Any]:
    """Return columns of the group in the outer query, for `_IN_NAMES` and the roles; `name` is a column of a person."""
    return {
        "least": ExpressionWrapper(OuterRef("role_needed"), output_field=CharField()),
        "names": ExpressionWrapper(OuterRef("approver_names"), output_field=CharField()),
        "place": StrIndex(OuterRef("approver_names"), Concat(Value(","), F(name), Value(","))),
    }


def _deciders(user: User, today: date) -> QuerySet[Membership]:
    """Return the memberships for which a vote of `user` would count in the approval of the outer query."""
    away = Deputy.objects.on(today).filter(deputy=user)
    votes = Vote.objects.filter(job=OuterRef(OuterRef("job")), asked_at=OuterRef(OuterRef("asked_at")))
    roles = Q(role=Role.LEAD) | (Q(role=Role.APPROVER) & Q(least="approver"))
    return (
        Membership.objects.filter(Q(user=user) | Q(user__in=away.values("person")), team=OuterRef("job__team"))
        .filter(user__is_active=True)
        .exclude(Exists(votes.filter(counts_for=OuterRef("user"))))
        .exclude(Exists(_of_one_person(votes, OuterRef("user"))))
        .exclude(CountAsOne(F("user"), OuterRef("job__owner")))
        .exclude(CountAsOne(F("user"), OuterRef("job__author")))
        .annotate(**_of_group("user__username"))
        .filter(roles, _IN_NAMES)
    )


def _open_approvals(user: User) -> QuerySet[Approval]:
    """Return the undecided approvals of the teams that `user` sees, oldest first. One represents all of a sweep."""
    earlier_of_sweep = Job.objects.filter(
        sweep=OuterRef("job__sweep"),
        state="awaiting_approval",
        max_usd=OuterRef("job__max_usd"),
        pk__lt=OuterRef("job"),
    )
    return (
        Approval.objects.filter(_OPEN, ~Exists(earlier_of_sweep), in_teams_of(user, "job__team"))
        .select_related("job__owner", "job__team__policy__current", "job__attempt__fallback")
        .order_by("asked_at", "pk")
    )
