"""What a worker looks at again and again: when next, who is at it, and how the last look went."""

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q


class LookQuerySet(models.QuerySet[Any]):
    """The selection of those who hand out work."""

    def due(self, now: datetime) -> Self:
        """Rows that should be looked at and that no worker holds, oldest first."""
        free = Q(claimed_until=None) | Q(claimed_until__lte=now)
        return self.filter(free, due_at__lte=now).order_by("due_at", "pk")


class Look(models.Model):
    """Columns of a scope and of a log feed.

    A failure is written here and never touches a job's state: the board shows how old our knowledge is instead.
    """

    due_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True, help_text="Last time Google answered.")
    failing_since = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0, help_text="Failures in a row.")
    trouble = models.TextField(blank=True, help_text="The last failure, for people.")

    objects = LookQuerySet.as_manager()

    class Meta:
        abstract = True
