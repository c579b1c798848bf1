"""The kept tail of a job's log, read by a worker so that no page ever waits for Cloud Logging."""

from django.db import models

from jobs.models.job import Job


class LogLine(models.Model):
    """One entry of Cloud Logging about one job."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="log_lines")
    timestamp = models.DateTimeField()
    insert_id = models.CharField(max_length=128)
    replica = models.CharField(max_length=64, help_text="workerpool0-0, or service for Vertex AI's own lines.")
    machine = models.CharField(
        max_length=128, blank=True, default="", db_default="", help_text="The VM that it ran on; empty where not told."
    )
    severity = models.CharField(max_length=12)
    message = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "timestamp", "insert_id"], name="one_line_per_entry")]

    def __str__(self) -> str:
        return f"{self.replica}: {self.message[:60]}"
