"""What jobs have cost and may still cost, as sums that are kept: by day and month, and by what jobs are grouped by.

`jobs.budgets.record` writes all of them in one transaction. Money is in whole US cents, days and months are UTC.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from jobs.models.job import Job
from jobs.models.team import Team

MAX_VALUE_LENGTH = 200


class Dimension(models.TextChoices):
    """By what the jobs of a team are grouped."""

    ALL = "", "all jobs"
    PERSON = "person", "person"
    STRATEGY = "strategy", "strategy"
    MACHINE = "machine", "machine"
    LABEL = "label", "label"
    RESOURCE = "resource", "idle persistent resource"


class JobSpend(models.Model):
    """What one job has added to the sums: what it has cost on each day, and what it may still cost."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="spend")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    groups = models.JSONField(default=list, help_text="Pairs of a Dimension and a value, to which it adds.")
    days = models.JSONField(default=dict, help_text="{day: US cents that it cost on that day}.")
    committed_cents = models.BigIntegerField(default=0, help_text="What it may still cost, as it was allowed.")
    is_open = models.BooleanField(default=True, help_text="The job has not ended.")
    recorded_at = models.DateTimeField()

    jobs: ClassVar[int] = 1

    class Meta:
        verbose_name_plural = "spending of jobs"
        indexes = [models.Index(fields=["recorded_at", "job"], condition=Q(is_open=True), name="spend_open")]

    def __str__(self) -> str:
        return f"spending of job {self.job_id}"

    @property
    def parts(self) -> list[tuple[list[tuple[str, str]], dict[str, int]]]:
        """Groups, each with what was spent in it by day."""
        return [(self.groups, self.days)]


class Group(models.Model):
    """The columns that name a group of a team's jobs."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    dimension = models.CharField(max_length=10, choices=Dimension.choices, blank=True)
    value = models.CharField(max_length=MAX_VALUE_LENGTH, blank=True, help_text="Person's id, strategy, key=value.")

    class Meta:
        abstract = True


class MonthSpend(Group):
    """What the jobs of a group cost in a month."""

    month = models.DateField(help_text="Its first day.")
    cents = models.BigIntegerField(default=0)
    jobs = models.IntegerField(default=0, help_text="Jobs that cost something in it.")

    class Meta:
        verbose_name_plural = "spending of months"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "month", "dimension", "value"], name="one_spend_per_month_and_group"
            )
        ]
        indexes = [models.Index(fields=["team", "month", "dimension", "-cents"], name="spend_of_month")]

    def __str__(self) -> str:
        return f"spending of {self.team}, {self.month:%Y-%m}, {self.dimension} {self.value}"


class DaySpend(models.Model):
    """What the jobs of a team cost on a day under a strategy."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    strategy = models.CharField(max_length=32)
    cents = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "spending of days"
        constraints = [
            models.UniqueConstraint(fields=["team", "day", "strategy"], name="one_spend_per_day_and_strategy")
        ]

    def __str__(self) -> str:
        return f"spending of {self.team}, {self.day}, {self.strategy}"


class Committed(Group):
    """What the jobs of a group that were allowed and have not ended may still cost.

    The row of all jobs of a team is locked by whoever holds a request against the team's budgets.
    """

    cents = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "committed spending"
        constraints = [models.UniqueConstraint(fields=["team", "dimension", "value"], name="one_commitment_per_group")]

    def __str__(self) -> str:
        return f"committed by {self.team}, {self.dimension} {self.value}"
