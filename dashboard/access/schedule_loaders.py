"""Loaders of schedules: 404 for people outside the team, 403 for members whose role does not change one."""

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from dashboard.access.roles import Request, can, in_teams_of
from jobs.models import Schedule, ScheduleRun

REFUSAL = _("Only its owner and leads of the team change a schedule.")


def schedules_of(request: Request) -> QuerySet[Schedule]:
    """Return the schedules of the person's teams with the outcome of their newest run, by team and name."""
    newest = ScheduleRun.objects.filter(schedule=OuterRef("pk")).order_by("-moment")
    rows = Schedule.objects.filter(in_teams_of(request.user)).select_related("team", "owner").defer("spec")
    shown = rows.annotate(
        last_outcome=Subquery(newest.values("outcome")[:1]), last_moment=Subquery(newest.values("moment")[:1])
    )
    return shown.order_by("team__name", "name", "pk")


def schedule_for(request: Request, pk: UUID, *, to_change: bool = False) -> Schedule:
    """Return a schedule of the person's teams."""
    row = get_object_or_404(schedules_of(request), pk=pk)
    if to_change and not may_change_schedule(request, row):
        raise PermissionDenied(REFUSAL)
    return row


def may_change_schedule(request: Request, row: Schedule) -> bool:
    """Tell whether the person may change it: a lead any of the team, others who request jobs there their own."""
    is_own = row.owner_id == request.user.pk and can(request.user, "request", row.team)
    return is_own or can(request.user, "manage", row.team)
