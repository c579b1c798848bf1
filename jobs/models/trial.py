"""One trial of a tuning job as last seen."""

from django.db import models

from jobs.models.job import Job


class Trial(models.Model):
    """What Vertex AI reports about one trial of a tuning job. The observer writes it together with the job."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="trials")
    trial_id = models.CharField(max_length=32, help_text="The number that Vertex AI gives it, from 1.")
    state = models.CharField(max_length=32, help_text="Trial.State as Vertex AI wrote it, such as SUCCEEDED.")
    parameters = models.JSONField(default=dict, blank=True, help_text="{parameter id: value}")
    metrics = models.JSONField(default=dict, blank=True, help_text="{metric id: value} of the final measurement.")
    step_count = models.BigIntegerField(null=True, blank=True, help_text="Of the final measurement.")
    measurements = models.JSONField(
        null=True,
        blank=True,
        help_text="[[step or null, seconds or null, {metric id: value}], ...]: what it reported on its way, thinned.",
    )
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    infeasible_reason = models.TextField(blank=True)
    custom_job = models.CharField(max_length=255, blank=True, help_text="Name of the custom job that ran it.")
    job_states = models.JSONField(
        null=True,
        blank=True,
        help_text="[[JobState, moment], ...]: when its custom job entered each state; empty until it is read.",
    )
    job_error = models.TextField(
        blank=True, db_default="", default="", help_text="The error of its custom job, in Vertex AI's words."
    )
    job_asked_at = models.DateTimeField(
        null=True, blank=True, help_text="When Vertex AI last answered about its custom job."
    )
    job_is_settled = models.BooleanField(
        default=False, db_default=False, help_text="Its custom job has ended or is gone, and is not read any more."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "trial_id"], name="one_row_per_trial")]

    def __str__(self) -> str:
        return f"trial {self.trial_id} of {self.job_id}"
