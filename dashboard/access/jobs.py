"""Loaders: they find a row that the person may see, or answer 404, so that a stranger learns nothing."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from dashboard.access.roles import Request, can, teams_of, teams_where
from jobs.models import Approval, Job, JobEvent, Scope, ShownJob, hide_in

REFUSALS = {
    "cancel": "Your role in this team lets you look at jobs; an engineer, approver or lead may cancel them.",
    "approve": "Your role in this team does not decide about jobs; an approver or lead does.",
}


def jobs_of(user: User) -> QuerySet[Job]:
    """Return the jobs that `user` may see, with owner, team and sighting loaded; the caller orders and bounds them.

    Their secrets are hidden, the person's own too; `job_for` shows those.
    """
    return ShownJob.objects.filter(team__in=teams_of(user)).select_related("owner", "team", "sighting")


def job_for(request: Request, pk: UUID, verb: str = "see") -> Job:
    """Return the job, or 404 for people outside its team, or 403 for members whose role does not allow `verb`."""
    job = get_object_or_404(jobs_of(request.user).select_related("approval__decided_by"), pk=pk)
    if isinstance(job, ShownJob):
        job.reveal_to(request.user)
        if approval := getattr(job, "approval", None):
            hide_in([approval], ["findings"], job)
    if verb != "see" and not can(request.user, verb, job.team):
        raise PermissionDenied(REFUSALS[verb])
    return job


def job_to_approve(request: Request, pk: UUID) -> Job:
    """Return the job for a decision; `lifecycle` still refuses to let its owner decide."""
    return job_for(request, pk, "approve")


def events_of(job: Job) -> list[JobEvent]:
    """Return what happened to the job, in the order in which it happened, as the job's viewer may see it."""
    events = list(job.events.select_related("actor").order_by("occurred_at", "pk"))
    hide_in(events, ["sentence", "detail"], job)
    return events


def open_approvals(user: User) -> QuerySet[Approval]:
    """Return the unanswered questions of the teams that `user` sees, oldest first."""
    return (
        Approval.objects.filter(decision="", job__state="awaiting_approval", job__team__in=teams_of(user))
        .select_related("job__owner", "job__team")
        .order_by("asked_at", "pk")
    )


def questions(user: User, most: int) -> list[Approval]:
    """Return the oldest of these questions, each with its job as this person may see it."""
    found = list(open_approvals(user)[:most])
    for each in found:
        each.job = ShownJob.of(each.job).reveal_to(user)
        hide_in([each], ["findings"], each.job)
    return found


def to_decide(user: User) -> QuerySet[Approval]:
    """Return the unanswered questions that `user` may answer: an approver's teams, never one's own job."""
    return open_approvals(user).filter(job__team__in=teams_where(user, "approve")).exclude(job__owner=user)


def failing_scopes(jobs: Iterable[Job]) -> list[Scope]:
    """Return the places of these jobs where Vertex AI does not answer now; one query."""
    places = {(job.project, job.region, job.kind) for job in jobs if job.is_remote and not job.is_finished}
    if not places:
        return []
    wanted = Q()
    for project, region, kind in sorted(places):
        wanted |= Q(project=project, region=region, kind=kind)
    return list(Scope.objects.filter(wanted, failing_since__isnull=False).order_by("failing_since", "pk"))


def moves_since(jobs: Iterable[Job], since: datetime) -> dict[UUID, list[JobEvent]]:
    """Return, for each job, its changes of state at or after `since`, in order; one query."""
    found: dict[UUID, list[JobEvent]] = {job.pk: [] for job in jobs}
    events = JobEvent.objects.filter(job__in=list(found), kind=JobEvent.Kind.STATE, occurred_at__gte=since)
    for event in events.order_by("occurred_at", "pk"):
        found[event.job_id].append(event)
    return found
