"""The further attempts of a request: the plan, and the jobs made by it."""

import uuid

from django.db import models
from django.db.models import Q

from jobs.models.job import Job
from jobs.models.kept_message import KeptMessage


class Fallback(KeptMessage):
    """The attempts that follow when a job gets no capacity. `plan` is a `jobs.fallback.Plan` and never changes.

    A fallback is open while another attempt may follow. At most one of its jobs is unfinished.
    """

    class Outcome(models.TextChoices):
        """Why no further attempt follows."""

        SUCCEEDED = "succeeded", "succeeded"
        EXHAUSTED = "exhausted", "all attempts were made"
        OTHER_END = "other_end", "ended for another reason"
        CANCELLED = "cancelled", "cancelled by a person"
        NOT_APPROVED = "not_approved", "not approved"
        REFUSED = "refused", "the next attempt was refused"
        TOO_EXPENSIVE = "too_expensive", "all attempts together cost enough"
        OWNER_LEFT = "owner_left", "its requester may request no more jobs"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    plan = models.JSONField()
    words = models.CharField(max_length=400, help_text="The attempts in a line: Spot → Standard.")
    wait_hours = models.PositiveIntegerField(null=True, blank=True, help_text="That of the plan.")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="No further attempt follows since then.")
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True)
    message = models.TextField(blank=True, help_text="Why no further attempt follows, for people.")

    class Meta:
        indexes = [models.Index(fields=["began_at", "id"], condition=Q(ended_at=None), name="fallback_open")]

    def __str__(self) -> str:
        return str(self.pk)


class FallbackAttempt(KeptMessage):
    """One job of a fallback. The first is number 1."""

    fallback = models.ForeignKey(Fallback, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="attempt")
    reason = models.CharField(max_length=16, blank=True, help_text="Why the attempt before it ended; empty: the first.")
    message = models.TextField(blank=True, help_text="Why it was made, for people.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["fallback", "number"], name="one_job_per_attempt")]

    def __str__(self) -> str:
        return f"attempt {self.number}, job {self.job_id}"
