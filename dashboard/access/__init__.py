"""Sign-in, roles, and loaders that return a row or raise Http404."""

from dashboard.access.loaders import job_for, jobs_for, jobs_of
from dashboard.access.roles import (
    Request,
    can,
    in_teams_of,
    role_in,
    teams_by_own_project,
    teams_by_project,
    teams_of,
    teams_where,
)

__all__ = [
    "Request",
    "can",
    "in_teams_of",
    "job_for",
    "jobs_for",
    "jobs_of",
    "role_in",
    "teams_by_own_project",
    "teams_by_project",
    "teams_of",
    "teams_where",
]
