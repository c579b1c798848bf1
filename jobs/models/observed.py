"""What was seen outside: sightings, log lines, metrics and trials of jobs, unmatched jobs, quotas and images."""

from django.db import models

from jobs.models.job import Job
from jobs.models.team import Team
from jobs.spec.images import MAX_NAME_LENGTH, ImageStatus


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


class JobHealth(models.Model):
    """What is known of the work of a running job (`jobs.timeline.health`). It holds only for the attempt it names."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="health")
    code = models.CharField(max_length=16, blank=True, help_text="Such as idle or stuck; empty: nothing to report.")
    since = models.DateTimeField(null=True, blank=True)
    is_certain = models.BooleanField(default=False)
    facts = models.JSONField(default=dict, blank=True, help_text="The values of its evidence: seconds, shares, names.")
    assessed_at = models.DateTimeField(null=True, blank=True)
    restarts = models.PositiveIntegerField(default=0, help_text="Of the job when it was assessed.")
    running_since = models.DateTimeField(null=True, blank=True, help_text="Of the job when it was assessed.")
    fine_until = models.DateTimeField(
        null=True, blank=True, help_text="Until when its owner or a lead declares the job fine."
    )
    fine_seconds = models.PositiveIntegerField(
        default=0, db_default=0, help_text="How long its owner has declared it fine, in all."
    )
    asked_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when its owner could answer “Still working?”; empty: no open question."
    )
    answer_hours = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Hours after which an open question cancels the job; 0: it does not."
    )

    def __str__(self) -> str:
        return f"health of {self.job_id}: {self.code or 'none'}"


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


class QuotaReading(models.Model):
    """Limit and use of one metric in one region.

    Without a region, it is the limit of regions that have none of their own.
    """

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40, blank=True)
    metric = models.CharField(max_length=100, help_text="Without aiplatform.googleapis.com/.")
    quota_id = models.CharField(max_length=200, blank=True, help_text="The id with which an increase is requested.")
    limit = models.BigIntegerField(help_text="-1: there is none.")
    used = models.BigIntegerField(null=True, blank=True, help_text="Empty: unknown.")
    read_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "region", "metric"], name="one_reading_of_each_quota")
        ]

    def __str__(self) -> str:
        return f"{self.metric} in {self.project}/{self.region}: {self.used} of {self.limit}"


class ImageReading(models.Model):
    """One image, or output folder, of one team. It waits for an answer while `due_at` is set.

    What an account may see of a registry or a bucket is private. So a reading applies only to the team that requested
    it, and only while the team acts as the account that got the answer.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=MAX_NAME_LENGTH, help_text="As it stands in the job.")
    acts_as = models.CharField(
        max_length=254, blank=True, help_text="The account that reads it; empty: Trainboard's own."
    )
    asked_at = models.DateTimeField(help_text="When a form last requested it.")
    due_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=20, blank=True, choices=[(each.value, each.value) for each in ImageStatus])
    size_bytes = models.BigIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True, help_text="Why it could not be read.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_reading_of_each_image")]
        indexes = [
            models.Index(fields=["due_at", "id"], condition=models.Q(due_at__isnull=False), name="image_due"),
            models.Index(fields=["team", "asked_at"], name="image_asked"),
            models.Index(fields=["asked_at"], name="image_old"),
        ]

    def __str__(self) -> str:
        return self.name
