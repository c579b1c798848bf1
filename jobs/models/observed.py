"""Observations stored next to a job: when it was last seen, its log lines, its metrics, and unmatched jobs."""

from django.db import models

from jobs.models.job import Job


class LastSeen(models.Model):
    """One row for each job that was ever seen.

    It is a separate table because every poll writes it for thousands of jobs, and the row of a job is wide.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="last_seen")
    at = models.DateTimeField()

    class Meta:
        db_table = "jobs_sighting"

    def __str__(self) -> str:
        return f"job {self.job_id} seen at {self.at:%Y-%m-%d %H:%M:%S}"


class LogLine(models.Model):
    """One entry of Cloud Logging about one job."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="log_lines")
    timestamp = models.DateTimeField()
    insert_id = models.CharField(max_length=128)
    replica = models.CharField(max_length=64, help_text="workerpool0-0, or service for Vertex AI's own lines.")
    machine = models.CharField(
        max_length=128, blank=True, default="", db_default="", help_text="The VM that it ran on; empty: unknown."
    )
    severity = models.CharField(max_length=12)
    message = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "timestamp", "insert_id"], name="one_line_per_entry")]

    def __str__(self) -> str:
        return f"{self.replica}: {self.message[:60]}"


class JobMetrics(models.Model):
    """The metrics of a job whose log was read. They never change the job's state."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="metrics")
    last_line = models.BigIntegerField(default=0, help_text="Largest id of a log line that is in the record.")
    record = models.JSONField(default=dict, blank=True, help_text="jobs.metrics.Record as JSON; thinned.")
    newest = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="For lists: epoch, epochs, step, steps, and the name and value of the most important metric.",
    )
    accelerator_share = models.FloatField(
        null=True, blank=True, help_text="How busy the accelerators were in the last minute read, 0 to 1."
    )
    fraction = models.FloatField(null=True, blank=True, help_text="How much of the training is done, 0 to 1.")
    fraction_at = models.DateTimeField(null=True, blank=True, help_text="Time of the log line with the fraction.")
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
        blank=True, default="", db_default="", help_text="Why Cloud Monitoring could not be read; empty if it could."
    )

    def __str__(self) -> str:
        return f"metrics of {self.job_id}"


class UnmatchedJob(models.Model):
    """A job at Vertex AI with our label that no row follows, as last seen.

    If its request is known, the cancellation is repeated until the job has ended.
    """

    job = models.ForeignKey(
        Job,
        on_delete=models.CASCADE,
        related_name="unmatched",
        null=True,
        blank=True,
        help_text="The request whose label it carries; empty where no row has this id, as after a restored backup.",
    )
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    remote_name = models.CharField(max_length=255, unique=True)
    display_name = models.CharField(max_length=128, blank=True)
    state = models.CharField(max_length=64, help_text="As Vertex AI wrote it.")
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="Vertex AI does not list it as active any more.")
    cancel_sent_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True, help_text="Why the last cancellation failed; empty when it did not.")

    class Meta:
        indexes = [models.Index(fields=["project", "region", "kind", "ended_at"], name="unmatched_job_scope")]

    def __str__(self) -> str:
        return self.remote_name
