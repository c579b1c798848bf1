"""One trial of a tuning job as it was last seen."""

from django.db import models

from jobs.models.job import Job


class Trial(models.Model):
    """What Vertex AI says of one trial inside its tuning job; the observer writes it together with the job."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="trials")
    trial_id = models.CharField(max_length=32, help_text="The number that Vertex AI gives it, from 1.")
    state = models.CharField(max_length=32, help_text="Trial.State as Vertex AI wrote it, such as SUCCEEDED.")
    parameters = models.JSONField(default=dict, blank=True, help_text="{parameter id: value}")
    metrics = models.JSONField(default=dict, blank=True, help_text="{metric id: value} of the final measurement.")
    step_count = models.BigIntegerField(null=True, blank=True, help_text="Of the final measurement.")
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    infeasible_reason = models.TextField(blank=True)
    custom_job = models.CharField(max_length=255, blank=True, help_text="Name of the custom job that ran it.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "trial_id"], name="one_row_per_trial")]

    def __str__(self) -> str:
        return f"trial {self.trial_id} of {self.job_id}"
