"""Sums of what jobs have cost and may still cost, by day and month, and by the groups of a `Dimension`.

`jobs.budgets.record` writes all of them in one transaction. Amounts are whole US cents. Days and months are in UTC.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from jobs.models.job import Job
from jobs.models.team import Team

MAX_VALUE_LENGTH = 200


class Dimension(models.TextChoices):
    """The property by which a team's jobs are grouped."""

    ALL = "", "all jobs"
    PERSON = "person", "person"
    STRATEGY = "strategy", "strategy"
    MACHINE = "machine", "machine"
    LABEL = "label", "label"
    RESOURCE = "resource", "idle persistent resource"


class JobSpend(models.Model):
    """The part of one job in the sums: its cost on each day, and what it may still cost."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="spend")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    groups = models.JSONField(default=list, help_text="Pairs of a Dimension and a value, to which it adds.")
    days = models.JSONField(default=dict, help_text="{day: US cents that it cost on that day}.")
    committed_cents = models.BigIntegerField(default=0, help_text="What it may still cost, as approved or allowed.")
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
        """Groups, each with its cost by day."""
        return [(self.groups, self.days)]


class Group(models.Model):
    """The columns that identify a group of a team's jobs."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    dimension = models.CharField(max_length=10, choices=Dimension.choices, blank=True)
    value = models.CharField(max_length=MAX_VALUE_LENGTH, blank=True, help_text="Person's id, strategy, key=value.")

    class Meta:
        abstract = True


class MonthSpend(Group):
    """The cost of a group's jobs in a month."""

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
    """The cost of a team's jobs on a day under a strategy."""

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
    """What the allowed and unfinished jobs of a group may still cost.

    A request that is checked against the team's budgets locks the row of all jobs of the team.
    """

    cents = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "committed spending"
        constraints = [models.UniqueConstraint(fields=["team", "dimension", "value"], name="one_commitment_per_group")]

    def __str__(self) -> str:
        return f"committed by {self.team}, {self.dimension} {self.value}"
