"""Loaders for jobs that were made outside Trainboard: only those in projects of the person's own teams."""

from django.contrib.auth.models import User
from django.db.models import QuerySet

from dashboard.access.roles import teams_to_request
from jobs.models import ForeignJob, Survey, Team

__all__ = ["ForeignJob", "Survey", "adopting_teams", "found_by", "found_of", "survey_of"]


def adopting_teams(user: User) -> list[Team]:
    """Return the teams into which `user` may adopt jobs, by name."""
    return teams_to_request(user)


def survey_of(teams: list[Team], project: str, region: str) -> Survey | None:
    """Return the last survey of a place in one of the teams' projects; None when nobody has looked there."""
    surveys = Survey.objects.filter(project__in={team.project for team in teams}, project=project, region=region)
    return surveys.select_related("asked_by").first()


def found_by(survey: Survey, name: str) -> QuerySet[ForeignJob]:
    """Return what a survey found whose name holds `name`, the newest first."""
    found = ForeignJob.objects.filter(survey=survey).select_related("survey")
    return (found.filter(display_name__icontains=name) if name else found).order_by("-created_at", "pk")


def found_of(team: Team, keys: list[int]) -> list[ForeignJob]:
    """Return the found jobs with these keys in the project of a team, oldest first."""
    found = ForeignJob.objects.filter(pk__in=keys, survey__project=team.project)
    return list(found.select_related("survey").order_by("created_at", "pk"))
