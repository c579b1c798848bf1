"""Jobs that wait for an approval."""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from dashboard.access import in_teams_of
from jobs.models import Approval, Job, ShownJob, Vote, hide_in


def list_approvals(user: User, limit: int) -> list[Approval]:
    """Return the oldest open approvals, each with its job as this person may see it; one query."""
    approvals = list(_open_approvals(user)[:limit])
    for approval in approvals:
        approval.job = ShownJob.of(approval.job).reveal_to(user)
        hide_in([approval], ["findings"], approval.job)
    return approvals


def approvals_for(user: User) -> QuerySet[Approval]:
    """Return the open approvals that need `user`.

    Those of an approver's teams that name nobody else and that the person has not voted on, never one's own. What a
    deputy may decide is not among them.
    """
    mine = _open_approvals(user).filter(in_teams_of(user, "job__team", "approve")).exclude(job__owner=user)
    named = Q(approver_names="") | Q(approver_names__contains=f",{user.get_username()},")
    voted = Vote.objects.filter(job=OuterRef("job"), asked_at=OuterRef("asked_at"), voter=user)
    return mine.filter(named).exclude(Exists(voted))


def _open_approvals(user: User) -> QuerySet[Approval]:
    """Return the undecided approvals of the teams that `user` sees, oldest first; of a sweep one stands for all."""
    earlier = Job.objects.filter(
        sweep=OuterRef("job__sweep"),
        state="awaiting_approval",
        max_usd=OuterRef("job__max_usd"),
        pk__lt=OuterRef("job"),
    )
    return (
        Approval.objects.filter(in_teams_of(user, "job__team"), decision="", job__state="awaiting_approval")
        .exclude(Exists(earlier))
        .select_related("job__owner", "job__team__policy__current", "job__spend", "job__attempt__fallback")
        .order_by("asked_at", "pk")
    )
