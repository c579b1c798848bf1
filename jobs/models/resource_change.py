"""A change of a persistent resource that somebody has asked for; a worker sends it, the row says what came of it."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.models.poll_target import PollTarget
from jobs.models.team import Team


class ResourceChange(PollTarget):
    """One call to Vertex AI about a persistent resource. While it is open, there is no other for the same one."""

    class Action(models.TextChoices):
        """The calls that change a persistent resource."""

        CREATE = "create", _("create")
        RESIZE = "resize", _("resize")
        REBOOT = "reboot", _("reboot")
        DELETE = "delete", _("delete")

    class Outcome(models.TextChoices):
        """What became of it; empty while it is open."""

        ACCEPTED = "accepted", _("accepted by Vertex AI")
        REFUSED = "refused", _("refused by Vertex AI")
        UNKNOWN = "unknown", _("not known")

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
    message = models.TextField(blank=True, help_text="What came of it, for people.")

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
