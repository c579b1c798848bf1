"""The installation that this database belongs to, its running processes, and their counters."""

from django.db import models


class Installation(models.Model):
    """One row with primary key 1, created by the first worker that starts."""

    instance = models.CharField(max_length=63, help_text="TRAINBOARD_INSTANCE of the site that may send jobs.")
    trusted_since = models.DateTimeField(
        help_text="Requests from before may have been sent without a record here. They are looked up first."
    )
    swept_at = models.DateTimeField(null=True, blank=True, help_text="Last search for what is due.")
    identity = models.CharField(
        max_length=100,
        blank=True,
        db_default="",
        help_text="Changes when the database is restarted, restored or replaced by a copy.",
    )
    restored_reason = models.TextField(blank=True, help_text="Why, after the database was restored or copied.")

    def __str__(self) -> str:
        return f"database of {self.instance}"


class Heartbeat(models.Model):
    """One row for each worker and beat, which updates the time every few seconds while it runs."""

    class Part(models.TextChoices):
        """The type of a process."""

        WORKER = "worker"
        BEAT = "beat"

    process = models.CharField(max_length=150, unique=True, help_text="Its name and machine, such as worker@host.")
    part = models.CharField(max_length=10, choices=Part.choices)
    queues = models.CharField(max_length=200, blank=True, help_text="Queues that it takes tasks from.")
    at = models.DateTimeField(help_text="Its last heartbeat, by the database's clock.")

    def __str__(self) -> str:
        return f"{self.process} at {self.at:%Y-%m-%d %H:%M:%S}"


class MetricCount(models.Model):
    """A counter that only increases, summed over all processes; see `jobs.counts`."""

    metric = models.CharField(max_length=40)
    labels = models.CharField(max_length=80, blank=True)
    value = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["metric", "labels"], name="one_count_of_each")]

    def __str__(self) -> str:
        return f"{self.metric} {self.labels}: {self.value:g}"
