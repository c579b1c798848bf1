"""The initial region of pages about prices."""

from django.contrib.auth.models import User

from dashboard.access import teams_of
from jobs.catalog import REGIONS

DEFAULT_REGION = "us-central1"


def default_region(user: User) -> str:
    """Return the default region of the user's first team if it offers training, else a common one."""
    team = next(iter(teams_of(user)), None)
    return team.default_region if team and team.default_region in REGIONS else DEFAULT_REGION
