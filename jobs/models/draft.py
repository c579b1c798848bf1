"""A spec on its way from an import into the compose form; it lives for a few days."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.team import Team


class Draft(models.Model):
    """What one person imported. Only they see it, and it expires (`jobs.lifecycle.asking.drafts`)."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="drafts")
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    spec = models.JSONField(help_text="The REST body, as far as it could be read.")
    region = models.CharField(max_length=40, blank=True)
    expected_seconds = models.PositiveIntegerField(null=True, blank=True, help_text="Run time the importer expects.")
    created_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"draft {self.pk} of {self.owner}"
