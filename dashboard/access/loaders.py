"""Loaders: each returns a row that the person may see, or raises Http404, so that a stranger learns nothing.

Each raises PermissionDenied for a member of the team whose role does not permit the action.
"""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.access.roles import Request, can, in_teams_of, teams_of
from jobs.bounds import parse_digits
from jobs.models import (
    Budget,
    Channel,
    Draft,
    Job,
    PersistentResource,
    Schedule,
    ScheduleRun,
    ShownJob,
    Team,
    Template,
    hide_in,
)
from jobs.models.job import JobQuerySet
from jobs.models.persistent_resource import PersistentResourceQuerySet

REFUSALS = {
    "cancel": gettext_lazy(
        "Your role in this team lets you look at jobs; an engineer, approver or lead may cancel them."
    ),
    "decide": gettext_lazy("Your role in this team lets you look at its jobs; an approver or lead decides."),
    "approve": gettext_lazy("Your role in this team does not decide about jobs; an approver or lead does."),
}
"""Messages for members whose role does not permit an action on a job."""
MAX_KEY_LENGTH = 64
"""Maximum characters of a request key."""


def parse_key(text: str) -> int:
    """Return the primary key in a URL. Raise Http404 for anything else."""
    if (key := parse_digits(text)) is None:
        raise Http404("no such row")
    return key


def parse_uuid(text: str) -> UUID:
    """Return the job id in a URL. Raise Http404 for anything else."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404("no such job") from None


def jobs_of(user: User) -> JobQuerySet:
    """Return the jobs that `user` may see, with owner, team and last_seen loaded. The caller orders and limits them.

    Their secrets are hidden, also those of `user`; `job_for` reveals those.
    """
    return ShownJob.objects.filter(in_teams_of(user)).select_related("owner", "team", "last_seen")


def job_for(request: Request, pk: UUID, verb: str = "see", *, joined: Sequence[str] = ()) -> Job:
    """Return the job. Raise Http404 for people outside its team, PermissionDenied if the role does not permit `verb`.

    `joined` are related rows that the same query loads, such as "metrics".
    """
    job = jobs_for(request, [pk], joined=joined)[0]
    if verb != "see" and not can(request.user, verb, job.team):
        raise PermissionDenied(REFUSALS[verb])
    return job


def jobs_for(request: Request, pks: Sequence[UUID], *, joined: Sequence[str] = ()) -> list[Job]:
    """Return the jobs in the order of `pks`. Raise Http404 if the user may not see one. `joined` as for `job_for`."""
    jobs = jobs_of(request.user).with_silence().select_related("approval__decided_by", *joined)
    found = {job.pk: job for job in jobs.filter(pk__in=pks)}
    if not found.keys() >= {*pks}:
        raise Http404
    for job in found.values():
        if isinstance(job, ShownJob):
            job.reveal_to(request.user)
            if approval := getattr(job, "approval", None):
                hide_in([approval], ["findings"], job)
    return [found[pk] for pk in pks]


def templates_of(user: User) -> QuerySet[Template]:
    """Return the templates of the teams that `user` sees, by team and name. The caller limits them."""
    return (
        Template.objects.filter(in_teams_of(user))
        .select_related("team", "created_by")
        .order_by("team__name", "name", "pk")
    )


def template_for(request: Request, pk: int, verb: str = "see") -> Template:
    """Return the template. Raise Http404 for people outside its team, PermissionDenied if they may not do `verb`."""
    template = get_object_or_404(templates_of(request.user), pk=pk)
    if verb != "see" and not can(request.user, verb, template.team):
        raise PermissionDenied(_("Your role in this team lets you look at its templates; an engineer may change them."))
    return template


def draft_for(request: Request, pk: int) -> Draft:
    """Return the person's own draft for a team that they still belong to, or raise Http404."""
    return get_object_or_404(_drafts_of(request.user), pk=pk, form_key="")


def typed_draft_for(request: Request, form_key: str) -> Draft:
    """Return the person's own draft of the form with this key, for a team that they are still in.

    Raise Http404 if none.
    """
    return get_object_or_404(_drafts_of(request.user).exclude(form_key=""), form_key=form_key[:MAX_KEY_LENGTH])


def team_for(request: Request, pk: int, verb: str = "see") -> Team:
    """Return the team with its policy.

    Raise Http404 for people outside it, PermissionDenied if they may not do `verb`.
    """
    team = next((each for each in teams_of(request.user) if each.pk == pk), None)
    if team is None:
        raise Http404("no such team")
    if verb != "see" and not can(request.user, verb, team):
        raise PermissionDenied(
            _("Your role in this team lets you look at its settings and budgets; a lead may change them.")
        )
    return team


def _drafts_of(user: User) -> QuerySet[Draft]:
    return Draft.objects.filter(in_teams_of(user), owner=user).select_related("team")


def resources_of(user: User) -> PersistentResourceQuerySet:
    """Return the persistent resources in the projects of the person's teams, by project, region and id."""
    return PersistentResource.objects.visible_to(user).order_by("project", "region", "resource_id")


def resource_for(request: Request, pk: int) -> PersistentResource:
    """Return a persistent resource that existed at the last poll.

    Raise Http404 for people outside the teams of its project.
    """
    return get_object_or_404(resources_of(request.user).existing(), pk=pk)


def budget_for(request: Request, pk: int, verb: str = "see") -> Budget:
    """Return a budget of the person's teams.

    Raise Http404 for people outside them, PermissionDenied as `team_for` does.
    """
    row = get_object_or_404(Budget.objects.filter(in_teams_of(request.user)).select_related("team"), pk=pk)
    if verb != "see" and not can(request.user, verb, row.team):
        raise PermissionDenied(_("Only leads of the team set its budgets."))
    return row


def schedules_of(request: Request) -> QuerySet[Schedule]:
    """Return the schedules of the person's teams with the outcome of their latest run, by team and name."""
    newest = ScheduleRun.objects.filter(schedule=OuterRef("pk")).order_by("-moment")
    rows = Schedule.objects.filter(in_teams_of(request.user)).select_related("team", "owner").defer("spec")
    shown = rows.annotate(
        last_outcome=Subquery(newest.values("outcome")[:1]), last_moment=Subquery(newest.values("moment")[:1])
    )
    return shown.order_by("team__name", "name", "pk")


def schedule_for(request: Request, pk: UUID, *, to_change: bool = False) -> Schedule:
    """Return a schedule of the person's teams, or raise Http404.

    With `to_change`, raise PermissionDenied for members who may not change it.
    """
    row = get_object_or_404(schedules_of(request), pk=pk)
    if to_change and not may_change_schedule(request, row):
        raise PermissionDenied(_("Only its owner and leads of the team change a schedule."))
    return row


def may_change_schedule(request: Request, row: Schedule) -> bool:
    """Return whether the person may change the schedule.

    A lead may change any schedule of the team. Others who may request jobs in the team may change their own.
    """
    is_own = row.owner_id == request.user.pk and can(request.user, "request", row.team)
    return is_own or can(request.user, "manage", row.team)


def channel_for(request: Request, pk: int) -> Channel:
    """Return a channel of a team that the person leads.

    Raise Http404 for people outside the team, PermissionDenied for other members.
    """
    rows = Channel.objects.filter(in_teams_of(request.user)).select_related("team", "created_by")
    channel = get_object_or_404(rows, pk=pk)
    _check_sets_channels(request, channel.team)
    return channel


def team_to_lead(request: Request, pk: int) -> Team:
    """Return a team whose channels the person may set.

    Raise Http404 for people outside it, PermissionDenied for other members.
    """
    team = get_object_or_404(Team.objects.filter(in_teams_of(request.user, "pk")), pk=pk)
    _check_sets_channels(request, team)
    return team


def _check_sets_channels(request: Request, team: Team) -> None:
    if not can(request.user, "set_policy", team):
        raise PermissionDenied(_("Your role in this team does not set its channels; a lead does."))
