"""Who may do what to a job: roles in its team, and jobs that are only watched."""

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from jobs.errors import NotPermitted
from jobs.models import Job, Membership, Role, Team


def check_is_ours(job: Job) -> None:
    """Raise NotPermitted for an adopted job."""
    if job.is_adopted:
        raise NotPermitted(
            _("This job was made outside Trainboard and is only watched here; whoever made it changes it at Vertex AI.")
        )


def role_of(by: User, *, team_id: int) -> str | None:
    """Return a person's role in a team, None for who is no member or deactivated; a superuser is a lead everywhere."""
    if not User.objects.filter(pk=by.pk, is_active=True).exists():
        return None
    if by.is_superuser:
        return Role.LEAD
    return Membership.objects.filter(team=team_id, user=by).values_list("role", flat=True).first()


def check_may_request(by: User, team: Team) -> None:
    """Raise NotPermitted unless `by` is a member of `team` whose role may request jobs."""
    if role_of(by, team_id=team.pk) not in {Role.ENGINEER, Role.APPROVER, Role.LEAD}:
        raise NotPermitted(_("Only engineers, approvers and leads of %(team)s request jobs for it.") % {"team": team})
