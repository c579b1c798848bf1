"""A spec that a team saves under a name, to begin jobs with."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.team import Team

MAX_NAME_LENGTH = 80
MAX_NOTE_LENGTH = 500


class Template(models.Model):
    """One saved spec, with the region and the project that its jobs begin with."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="templates")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    note = models.CharField(max_length=MAX_NOTE_LENGTH, blank=True, help_text="What it is for, in a sentence.")
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    spec = models.JSONField(help_text="The REST body, as of a job.")
    region = models.CharField(max_length=40)
    project = models.CharField(
        max_length=63, blank=True, default="", db_default="", help_text="Empty: the default project of the team."
    )
    expected_seconds = models.PositiveIntegerField(help_text="Run time that a job of it is expected to take.")
    cap_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="Cap on the cost of a job that it makes."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="templates")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_template_per_team_and_name")]

    def __str__(self) -> str:
        return self.name
