"""What a job's programs wrote of themselves: metrics, progress and checkpoints. A worker writes it, pages read it."""

from django.db import models

from jobs.models.job import Job


class JobMetrics(models.Model):
    """The row beside a job whose log was read; nothing in it changes what is believed of the job's state."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="metrics")
    last_line = models.BigIntegerField(default=0, help_text="Largest id of a log line that is in the record.")
    record = models.JSONField(default=dict, blank=True, help_text="jobs.metrics.Record as JSON; thinned.")
    fraction = models.FloatField(null=True, blank=True, help_text="How much of the training is done, 0 to 1.")
    fraction_at = models.DateTimeField(null=True, blank=True, help_text="When the line that tells it was written.")
    ends_at = models.DateTimeField(null=True, blank=True, help_text="When the training ends at its pace.")
    checkpoints = models.JSONField(
        default=list,
        blank=True,
        help_text="[[moment, name, bytes], ...] in the output folder, oldest first; the newest.",
    )
    checkpoints_read_at = models.DateTimeField(null=True, blank=True)
    checkpoints_error = models.TextField(blank=True, help_text="Why the folder could not be listed; empty if it could.")

    usage = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="What the machines used: jobs.metrics.Record as JSON."
    )
    usage_read_at = models.DateTimeField(null=True, blank=True)
    usage_error = models.TextField(
        blank=True, default="", db_default="", help_text="Why Cloud Monitoring told nothing; empty if it did."
    )

    def __str__(self) -> str:
        return f"metrics of {self.job_id}"
