"""What workers poll: when the next poll is due, which worker has claimed it, and how the last one went."""

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q


class PollTargetQuerySet(models.QuerySet[Any]):
    """The selections of the sweep."""

    def due(self, now: datetime) -> Self:
        """Rows whose poll is due and that no worker has claimed, oldest first."""
        free = Q(claimed_until=None) | Q(claimed_until__lte=now)
        return self.filter(free, due_at__lte=now).order_by("due_at", "pk")


class PollTarget(models.Model):
    """Columns of everything that is polled.

    A failure is written here and never changes a job's state: the board shows when the job was last seen instead.
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
