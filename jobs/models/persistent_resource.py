"""Persistent resources as last seen, the changes that people requested, and what they cost."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q, Value
from django.utils.translation import gettext_lazy as _

from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet
from jobs.models.polling import PollTarget
from jobs.models.team import Team

BILLED = frozenset({"RUNNING", "UPDATING", "REBOOTING"})
"""Values of PersistentResource.State with machines. Vertex AI bills while RUNNING (persistent-resource-overview).

No source mentions updates and reboots. They are assumed to be billed too, because the machines stay.
"""


CHANGE_LABEL = "trainboard_change"
"""Label of a persistent resource with the mark of the change that has created it."""
OF_OTHERS = "Vertex AI has a persistent resource of this name that somebody else has made."


class PersistentResourceQuerySet(models.QuerySet["PersistentResource"]):
    """Selections shared by pages and rules."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Select the resources in the projects of the teams of `user`. A superuser sees all of them."""
        if getattr(user, "is_superuser", False):
            return self
        teams = user.memberships  # type: ignore[union-attr]
        further = teams.filter(team__allowed_resources__kind="project").values("team__allowed_resources__name")
        return self.filter(models.Q(project__in=teams.values("team__project")) | models.Q(project__in=further))

    def existing(self) -> Self:
        """Select the resources that Vertex AI still listed at the last poll."""
        return self.filter(gone_at=None)


class PersistentResource(models.Model):
    """One persistent resource of a project and region. Nobody edits it: the observer writes the last answer."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    resource_id = models.CharField(max_length=63, help_text="The short id that a job's persistentResourceId names.")
    display_name = models.CharField(max_length=128, blank=True)
    state = models.CharField(max_length=64, help_text="PersistentResource.State as Vertex AI wrote it.")
    state_since = models.DateTimeField(help_text="When the state was first seen.")
    body = models.JSONField(help_text="The REST resource as it was read.")
    seen_at = models.DateTimeField(help_text="When Vertex AI last listed it.")
    gone_at = models.DateTimeField(null=True, blank=True, help_text="When it was first missing from the list.")

    billed_until = models.DateTimeField(null=True, blank=True, help_text="Until when its cost is in the ledger.")

    objects = PersistentResourceQuerySet.as_manager()

    class Meta:
        db_table = "jobs_pool"  # names in the database stay, for workers of the previous version
        constraints = [models.UniqueConstraint(fields=["project", "region", "resource_id"], name="one_row_per_pool")]

    def __str__(self) -> str:
        return f"{self.resource_id} in {self.project}/{self.region}"

    @property
    def is_billed(self) -> bool:
        """Whether its machines are billed in its state."""
        return self.state in BILLED


class ResourceChange(PollTarget):
    """One call to Vertex AI about a persistent resource. While it is open, there is no other for the same resource.

    A change that adds cost waits with no `due_at` until everybody in `needs` has approved it.
    """

    class Action(models.TextChoices):
        """The calls that change a persistent resource."""

        CREATE = "create", _("create")
        RESIZE = "resize", _("resize")
        REBOOT = "reboot", _("reboot")
        DELETE = "delete", _("delete")
        EXTEND = "extend", _("extend")

    class Outcome(models.TextChoices):
        """The outcome of a change. Empty while it is open."""

        ACCEPTED = "accepted", _("accepted by Vertex AI")
        REFUSED = "refused", _("refused by Vertex AI")
        UNKNOWN = "unknown", _("not known")

    MADE = (Outcome.ACCEPTED, Outcome.UNKNOWN)
    """Outcomes after which the resource may exist, so that it is deleted at its end."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    resource_id = models.CharField(max_length=63)
    action = models.CharField(max_length=10, choices=Action.choices)
    body = models.JSONField(default=dict, blank=True, help_text="The REST body to send; empty where none is.")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    attempted_at = models.DateTimeField(
        null=True, blank=True, help_text="Last call whose effect is unknown; empty when it is known."
    )
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    message = models.TextField(blank=True, help_text="The result, for people.")

    lifetime_hours = models.PositiveIntegerField(null=True, blank=True, help_text="For create and extend.")
    usd_per_hour = models.DecimalField(
        max_digits=16, decimal_places=6, null=True, blank=True, help_text="All machines; empty: not known."
    )
    most_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True,
        help_text="The most that it may add if Trainboard fails just then; empty: not known.",
    )  # fmt: skip
    gpus = models.PositiveIntegerField(
        null=True, blank=True, help_text="Accelerators of all machines after the change; empty: as before."
    )
    needs = models.JSONField(default=list, db_default=Value([], models.JSONField()), help_text="Groups of approvers.")
    findings = models.JSONField(default=list, db_default=Value([], models.JSONField()), help_text="Why it is asked.")
    approved_by = models.JSONField(
        default=list, db_default=Value([], models.JSONField()), help_text="Keys of the people who approved it."
    )
    allowed_at = models.DateTimeField(null=True, blank=True, help_text="When it was allowed to be sent.")
    deletes_at = models.DateTimeField(null=True, blank=True, help_text="When the resource is to be deleted.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "region", "resource_id"],
                condition=Q(ended_at=None),
                name="one_open_change_per_resource",
            )
        ]
        indexes = [
            models.Index(fields=["due_at", "id"], condition=Q(ended_at=None), name="resource_change_due"),
            models.Index(fields=["project", "-asked_at"], name="resource_change_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.resource_id} in {self.project}/{self.region}"

    @classmethod
    def lifetime_ends(cls, project: str, region: str, resource_id: str) -> datetime | None:
        """Return when a resource is to be deleted, None if it has no lifetime. Makes two queries."""
        place = {"project": project, "region": region, "resource_id": resource_id}
        made = cls.objects.filter(**place, outcome__in=cls.MADE)
        created = made.filter(action=cls.Action.CREATE).order_by("-asked_at", "-pk").values_list("asked_at", flat=True)
        if (since := created.first()) is None:
            return None
        ends: datetime | None = made.filter(asked_at__gte=since).aggregate(end=models.Max("deletes_at"))["end"]
        return ends

    @property
    def mark(self) -> str:
        """A text that only this change has, also if the database is restored and counts its keys again."""
        return f"{self.pk}-{self.asked_at:%Y%m%d%H%M%S%f}"

    def has_made(self, resource: Mapping[str, Any]) -> bool:
        """Return whether this creation has made a resource that Vertex AI returned: its name alone shows nothing."""
        labels = resource.get("labels")
        return isinstance(labels, dict) and labels.get(CHANGE_LABEL) == self.mark

    @property
    def is_disowned(self) -> bool:
        """Whether `disown` was called on this creation: each has had a lifetime."""
        return self.lifetime_hours is not None and self.deletes_at is None

    @classmethod
    def find_maker(cls, project: str, region: str, resource_id: str) -> Self | None:
        """Return the last creation of a resource here that may have made it, None if it was made elsewhere."""
        place = {"project": project, "region": region, "resource_id": resource_id}
        made = cls.objects.filter(**place, action=cls.Action.CREATE, outcome__in=cls.MADE, deletes_at__isnull=False)
        return made.order_by("-asked_at", "-pk").first()

    def disown(self) -> None:
        """Record that a resource which this creation has not made has its name: nobody ends that at a lifetime."""
        of_name = {"project": self.project, "region": self.region, "resource_id": self.resource_id}
        made = type(self).objects.filter(**of_name, asked_at__gte=self.asked_at, outcome__in=self.MADE)
        made.update(deletes_at=None)
        unknown = type(self).objects.filter(pk=self.pk, outcome=self.Outcome.UNKNOWN)
        unknown.update(outcome=self.Outcome.REFUSED, message=OF_OTHERS)

    @property
    def awaits_approval(self) -> bool:
        """Whether it waits for somebody to approve it."""
        return bool(self.needs) and self.allowed_at is None and self.ended_at is None


MAX_ID_LENGTH = 63


class ResourceSize(AppendOnly):
    """The size of a persistent resource from a time on, until the next row of the same resource."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    resource_id = models.CharField(max_length=MAX_ID_LENGTH)
    at = models.DateTimeField(help_text="When this began: the time from Vertex AI, or when it was first seen.")
    is_up = models.BooleanField(help_text="Its machines were there and are billed.")
    resource_pools = models.JSONField(default=list, help_text="machineSpec, diskSpec and replicaCount of each.")
    replica_usd = models.JSONField(
        default=list, help_text="Price of a replica of each pool per hour then, as text; null: not known."
    )
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, related_name="+", null=True, blank=True,
        help_text="Who created it and pays for machines without a job; empty: unknown.",
    )  # fmt: skip
    recorded_at = models.DateTimeField()

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["project", "region", "resource_id", "id"], name="sizes_of_resource")]

    def __str__(self) -> str:
        return f"size of {self.resource_id} in {self.project}/{self.region} at {self.at}"
