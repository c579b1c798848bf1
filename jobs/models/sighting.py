"""When Vertex AI last told us about a job."""

from django.db import models

from jobs.models.job import Job


class Sighting(models.Model):
    """A row of its own: every look writes one for each of thousands of jobs, and a job's own row is wide.

    There is none before the first answer about a job.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="sighting")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"job {self.job_id} seen at {self.at:%Y-%m-%d %H:%M:%S}"
