"""What one person answered to one question about a job: rows that never change."""

from datetime import date
from typing import Self

from django.conf import settings
from django.db import models

from jobs.models.approval import Approval
from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet
from jobs.models.job import Job


class Vote(AppendOnly):
    """One answer. It holds for the question that was asked at `asked_at`, and for exactly what `digest` stands for."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="votes")
    asked_at = models.DateTimeField(help_text="Names the question: a job that is asked about again needs new votes.")
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="votes")
    counts_for = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="votes_counted",
        help_text="The voter, or the person whose deputy the voter was.",
    )
    decision = models.CharField(max_length=10, choices=Approval.Decision.choices)
    comment = models.TextField(blank=True)
    cap_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="Approved only up to this cost."
    )
    max_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="The most that it might cost by then."
    )
    digest = models.CharField(
        max_length=64, help_text="Of the spec, the amount and the policy that were decided about."
    )
    voted_at = models.DateTimeField()
    groups = models.JSONField(
        null=True, blank=True, help_text="Positions of the groups that it counted for when given; null: the first."
    )

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "asked_at", "voter"], name="one_vote_per_voter_and_question"),
            models.UniqueConstraint(fields=["job", "asked_at", "counts_for"], name="one_vote_counts_per_person"),
        ]

    def __str__(self) -> str:
        return f"{self.voter} {self.decision} {self.job}"


class DeputyQuerySet(models.QuerySet["Deputy"]):
    """The selection by day."""

    def on(self, day: date) -> Self:
        """Those that stand in on a day, in UTC."""
        return self.filter(first_day__lte=day, last_day__gte=day, ended_at=None)


class Deputy(models.Model):
    """Who decides in a person's place while that person is away; both days belong to the time."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deputies")
    deputy = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deputy_of")
    first_day = models.DateField(help_text="In UTC.")
    last_day = models.DateField(help_text="In UTC.")
    named_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When the person took it back before its end.")

    objects = DeputyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deputies"
        constraints = [
            models.CheckConstraint(condition=~models.Q(person=models.F("deputy")), name="nobody_is_their_own_deputy")
        ]

    def __str__(self) -> str:
        return f"{self.deputy} for {self.person}, {self.first_day} to {self.last_day}"
