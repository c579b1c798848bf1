"""Jobs that somebody made outside Trainboard, found by a survey of a region and waiting to be adopted."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.look import Look


class Survey(Look):
    """Somebody wants to know which jobs of a project and region Trainboard has no row for."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    reaches_back_to = models.DateTimeField(help_text="Jobs that were made before are left out.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "region"], name="one_survey_per_region")]

    def __str__(self) -> str:
        return f"survey of {self.project}/{self.region}"


class ForeignJob(models.Model):
    """One job that the last survey of its region found and that no row of ours stands for."""

    survey = models.ForeignKey(Survey, on_delete=models.CASCADE, related_name="found")
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    remote_name = models.CharField(max_length=255, unique=True)
    display_name = models.CharField(max_length=128)
    state = models.CharField(max_length=64, help_text="As Vertex AI wrote it.")
    created_at = models.DateTimeField(null=True, blank=True)
    body = models.JSONField(help_text="The REST resource as it was read.")

    class Meta:
        indexes = [models.Index(fields=["survey", "-created_at", "id"], name="foreign_job_newest")]

    def __str__(self) -> str:
        return self.display_name
