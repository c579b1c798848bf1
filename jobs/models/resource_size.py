"""What persistent resources were over their whole life, and what they have cost their teams."""

from typing import ClassVar

from django.db import models

from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet
from jobs.models.spend import Dimension
from jobs.models.team import Team

MAX_ID_LENGTH = 63


class ResourceSize(AppendOnly):
    """What a persistent resource had from a moment on; it counts until the next row of the same resource."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    resource_id = models.CharField(max_length=MAX_ID_LENGTH)
    at = models.DateTimeField(help_text="From when on, as Vertex AI told or as it was first seen.")
    is_up = models.BooleanField(help_text="Its machines were there and are billed.")
    resource_pools = models.JSONField(default=list, help_text="machineSpec, diskSpec and replicaCount of each.")
    replica_usd = models.JSONField(
        default=list, help_text="What a replica of each pool cost an hour then, as text; null: no price was known."
    )
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, related_name="+", null=True, blank=True,
        help_text="Who has created it and pays what no job holds; empty: unknown.",
    )  # fmt: skip
    recorded_at = models.DateTimeField()

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["project", "region", "resource_id", "id"], name="sizes_of_resource")]

    def __str__(self) -> str:
        return f"size of {self.resource_id} in {self.project}/{self.region} at {self.at}"


class ResourceSpend(models.Model):
    """What a team has paid for a persistent resource on each day: for what its jobs held, or for what stood idle."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    resource_id = models.CharField(max_length=MAX_ID_LENGTH)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    is_idle = models.BooleanField(help_text="For replicas that no job held; else for those that its jobs held.")
    days = models.JSONField(default=dict, help_text="{day: US cents}, UTC.")
    of_groups = models.JSONField(
        null=True, help_text="{Dimension: {value: {day: US cents}}} of persons and labels; null: was not counted."
    )

    committed_cents: ClassVar[int] = 0
    jobs: ClassVar[int] = 0

    class Meta:
        verbose_name_plural = "spending of persistent resources"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "project", "region", "resource_id", "is_idle"], name="one_spend_per_resource_and_team"
            )
        ]

    def __str__(self) -> str:
        return f"spending of {self.team_id} for {self.resource_id} in {self.project}/{self.region}"

    @property
    def groups(self) -> list[tuple[str, str]]:
        """Pairs of a Dimension and a value, to which it adds."""
        found = [(str(Dimension.ALL), ""), (str(Dimension.STRATEGY), "persistent")]
        return [*found, (str(Dimension.RESOURCE), f"{self.resource_id} in {self.region}")] if self.is_idle else found

    @property
    def parts(self) -> list[tuple[list[tuple[str, str]], dict[str, int]]]:
        """Groups, each with what was spent in it by day."""
        return [(self.groups, self.days), *(([(name, value)], days) for name, value, days in self.list_groups())]

    def list_groups(self) -> list[tuple[str, str, dict[str, int]]]:
        """Return each person and label with what was spent by day."""
        kept: dict[str, dict[str, dict[str, int]]] = self.of_groups or {}
        return [(name, value, days) for name, values in kept.items() for value, days in values.items()]
