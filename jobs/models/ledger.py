"""The ledger: what everything cost, in entries that are only added, and the one kept sum of them that pages read.

`jobs.budgets.ledger` writes both in one transaction. Amounts are whole micro-dollars, millionths of a US dollar, and
are rounded only where they are shown. Days and months are in UTC.
"""

from django.db import models
from django.db.models import Q

from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet
from jobs.models.job import Job
from jobs.models.team import Team

MAX_VALUE_LENGTH = 200


class Dimension(models.TextChoices):
    """The property by which a team's costs are grouped."""

    ALL = "", "all jobs"
    PERSON = "person", "person"
    STRATEGY = "strategy", "strategy"
    MACHINE = "machine", "machine"
    LABEL = "label", "label"
    RESOURCE = "resource", "idle persistent resource"


class CostEntry(AppendOnly):
    """A part of the cost of one job, or of one persistent resource, on one day.

    What is learned later adds another entry with the difference, which may be negative: the sum of the entries is what
    is known now, and the entries show how it came about.
    """

    class Kind(models.TextChoices):
        """What was paid for."""

        RUN = "run", "machines of a job"
        SHARE = "share", "use of a persistent resource by a job"
        IDLE = "idle", "persistent resource without a job"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    project = models.CharField(max_length=63)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, related_name="costs", db_index=False)
    resource = models.CharField(
        max_length=110, blank=True, help_text="Region and id of the persistent resource, as us-central1/night-shift."
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    day = models.DateField()
    groups = models.JSONField(help_text="Pairs of a Dimension and a value, to whose sums it is added.")
    micros = models.BigIntegerField(help_text="Millionths of a US dollar.")
    usd_per_hour = models.DecimalField(
        max_digits=18, decimal_places=6, null=True, help_text="The price; empty: that of the resource's size then."
    )
    price = models.CharField(
        max_length=40, blank=True, help_text="When the prices of the job were saved that it rests on; empty: estimate."
    )
    recorded_at = models.DateTimeField()

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "cost entries"
        indexes = [
            models.Index(fields=["job", "kind", "day"], name="cost_of_job"),
            models.Index(fields=["team", "day"], name="cost_of_team"),
            models.Index(fields=["project", "resource", "day"], condition=~Q(resource=""), name="cost_of_resource"),
        ]

    def __str__(self) -> str:
        return f"{self.micros} micro-dollars on {self.day} for {self.job_id or self.resource}"


class Group(models.Model):
    """The columns that identify a group of a team's jobs."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    dimension = models.CharField(max_length=10, choices=Dimension.choices, blank=True)
    value = models.CharField(max_length=MAX_VALUE_LENGTH, blank=True, help_text="Person's id, strategy, key=value.")

    class Meta:
        abstract = True


class SpendSum(Group):
    """The sum of the entries of a group in a month; of each strategy also that of a day."""

    period = models.CharField(max_length=10, help_text="A month as 2026-11, or a day as 2026-11-26.")
    micros = models.BigIntegerField(default=0)
    jobs = models.IntegerField(default=0, help_text="Jobs whose machines cost something in it; of a month.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "period", "dimension", "value"], name="one_sum_per_period")
        ]
        indexes = [models.Index(fields=["team", "period", "dimension", "-micros"], name="largest_sums")]

    def __str__(self) -> str:
        return f"spending of {self.team}, {self.period}, {self.dimension} {self.value}"
