"""Jobs made outside Trainboard, found by a discovery of their region, which people can adopt."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.polling import PollTarget


class Discovery(PollTarget):
    """A search for the jobs of a project and region that have no row here, requested by a person."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    reaches_back_to = models.DateTimeField(help_text="Jobs that were made before are left out.")

    class Meta:
        db_table = "jobs_survey"
        constraints = [models.UniqueConstraint(fields=["project", "region"], name="one_survey_per_region")]

    def __str__(self) -> str:
        return f"discovery of {self.project}/{self.region}"


class ExternalJob(models.Model):
    """A job without a `Job` row, found by the last discovery of its region."""

    discovery = models.ForeignKey(Discovery, on_delete=models.CASCADE, db_column="survey_id", related_name="found")
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    remote_name = models.CharField(max_length=255, unique=True)
    display_name = models.CharField(max_length=128)
    state = models.CharField(max_length=64, help_text="As Vertex AI wrote it.")
    created_at = models.DateTimeField(null=True, blank=True)
    body = models.JSONField(help_text="The REST resource as it was read.")

    class Meta:
        db_table = "jobs_foreignjob"
        indexes = [models.Index(fields=["discovery", "-created_at", "id"], name="foreign_job_newest")]

    def __str__(self) -> str:
        return self.display_name
