"""Rows that workers poll: when the next poll is due, which worker has claimed it, and the result of the last one."""

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q


class PollTargetQuerySet(models.QuerySet[Any]):
    """Selections of the sweep."""

    def due(self, now: datetime) -> Self:
        """Select the rows whose poll is due and that no worker has claimed, oldest first."""
        free = Q(claimed_until=None) | Q(claimed_until__lte=now)
        return self.filter(free, due_at__lte=now).order_by("due_at", "pk")


class PollTarget(models.Model):
    """The columns of everything that is polled.

    A failure is recorded here and never changes a job's state. The board shows when the job was last seen instead.
    """

    due_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True, help_text="Last time Google answered.")
    failing_since = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0, help_text="Failures in a row.")
    last_error = models.TextField(blank=True, db_column="trouble", help_text="The last failure, for people.")

    objects = PollTargetQuerySet.as_manager()

    class Meta:
        abstract = True


class Scope(PollTarget):
    """The observer's row for a project, region and kind."""

    class Kind(models.TextChoices):
        """What is observed: jobs of a kind (the values of `Job.Kind`), or persistent resources."""

        CUSTOM_JOB = "custom_job", "custom jobs"
        TUNING_JOB = "hyperparameter_tuning_job", "tuning jobs"
        PIPELINE = "training_pipeline", "training pipelines"
        PERSISTENT_RESOURCE = "persistent_resource", "persistent resources"

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    kind = models.CharField(max_length=32, choices=Kind.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "region", "kind"], name="one_row_per_scope")]

    def __str__(self) -> str:
        return f"{self.kind} in {self.project}/{self.region}"


class LogFeed(PollTarget):
    """The log reader's row for a project. `cursor_at` is the time of the newest service line that was read."""

    project = models.CharField(max_length=63, unique=True)
    cursor_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"logs of {self.project}"
