"""One place to look: all jobs of a kind in one region of one project are observed together."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q

from jobs.models.job import Job


class ScopeQuerySet(models.QuerySet["Scope"]):
    """Selections of the observer."""

    def due(self, now: datetime) -> Self:
        """Scopes that should be looked at and that no worker holds, oldest first."""
        free = Q(claimed_until=None) | Q(claimed_until__lte=now)
        return self.filter(free, due_at__lte=now).order_by("due_at", "pk")


class Scope(models.Model):
    """The observer's own row for a project, region and kind: when to look next, and how the last look went.

    A failure here never touches a job's state: the board shows how old our knowledge is instead.
    """

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    due_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True, help_text="Last time Vertex AI answered.")
    failing_since = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0, help_text="Failures in a row.")
    trouble = models.TextField(blank=True, help_text="The last failure, for people.")
    log_trouble = models.TextField(blank=True, help_text="Why the logs could not be read; empty when they were.")

    objects = ScopeQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "region", "kind"], name="one_row_per_scope")]

    def __str__(self) -> str:
        return f"{self.kind} in {self.project}/{self.region}"
