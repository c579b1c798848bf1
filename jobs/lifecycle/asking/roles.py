"""What a person is in a team, for the verbs that not everybody may do."""

from django.contrib.auth.models import User

from jobs.models import Membership, Role


def role_of(by: User, *, team_id: int) -> str | None:
    """Return a person's role in a team, None for who is no member; a superuser counts as a lead everywhere."""
    if by.is_superuser:
        return Role.LEAD
    return Membership.objects.filter(team=team_id, user=by).values_list("role", flat=True).first()
