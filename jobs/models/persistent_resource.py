"""A persistent resource as it was last seen: machines that stay up for a project and run one job after another."""

from typing import Self

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import models


class PersistentResourceQuerySet(models.QuerySet["PersistentResource"]):
    """The selections that pages and rules share."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Those in the projects of the teams that `user` belongs to; a superuser sees every one."""
        if getattr(user, "is_superuser", False):
            return self
        teams = user.memberships  # type: ignore[union-attr]
        further = teams.filter(team__allowed_resources__kind="project").values("team__allowed_resources__name")
        return self.filter(models.Q(project__in=teams.values("team__project")) | models.Q(project__in=further))

    def existing(self) -> Self:
        """Those that Vertex AI still listed at the last poll."""
        return self.filter(gone_at=None)


class PersistentResource(models.Model):
    """One persistent resource of a project and region. Nobody edits it: the observer writes what it read last."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    resource_id = models.CharField(max_length=63, help_text="The short id that a job's persistentResourceId names.")
    display_name = models.CharField(max_length=128, blank=True)
    state = models.CharField(max_length=64, help_text="PersistentResource.State as Vertex AI wrote it.")
    state_since = models.DateTimeField(help_text="When the state was first seen.")
    body = models.JSONField(help_text="The REST resource as it was read.")
    seen_at = models.DateTimeField(help_text="When Vertex AI last listed it.")
    gone_at = models.DateTimeField(null=True, blank=True, help_text="When it was first missing from the list.")

    billed_until = models.DateTimeField(null=True, blank=True, help_text="Until when its cost is in ResourceSpend.")

    objects = PersistentResourceQuerySet.as_manager()

    class Meta:
        db_table = "jobs_pool"  # names in the database stay, for workers of the version before
        constraints = [models.UniqueConstraint(fields=["project", "region", "resource_id"], name="one_row_per_pool")]

    def __str__(self) -> str:
        return f"{self.resource_id} in {self.project}/{self.region}"
