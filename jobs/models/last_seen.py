"""When an answer of Vertex AI last showed a job."""

from django.db import models

from jobs.models.job import Job


class LastSeen(models.Model):
    """One row for each job that was ever seen.

    It is apart from `Job` because every poll writes it for thousands of jobs, and the row of a job is wide.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="last_seen")
    at = models.DateTimeField()

    class Meta:
        db_table = "jobs_sighting"

    def __str__(self) -> str:
        return f"job {self.job_id} seen at {self.at:%Y-%m-%d %H:%M:%S}"
