"""Changes that give somebody power over money, which take effect when a second person has accepted them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.models.team import Team


class Proposal(models.Model):
    """One change that waits for a second person, or was decided. `jobs.proposals` applies it."""

    class Kind(models.TextChoices):
        """What is to be changed."""

        POLICY = "policy", _("policy")
        BUDGET = "budget", _("budget")
        CEILING = "ceiling", _("ceiling")
        ROLE = "role", _("role")
        ACCOUNT = "account", _("account of an invited person")

    class Decision(models.TextChoices):
        """How it ended. Empty while it waits."""

        ACCEPTED = "accepted", _("accepted")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")

    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="proposals")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    subject = models.CharField(max_length=40, blank=True, help_text="Key of the budget or person, kind of the ceiling.")
    before = models.JSONField(help_text="The present values.")
    wanted = models.JSONField(help_text="The values that are applied.")
    lets_pass = models.JSONField(default=list, help_text="Past jobs that would need less: id, name, before, after.")
    reason = models.CharField(max_length=200, blank=True)
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    decision = models.CharField(max_length=10, choices=Decision.choices, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="The second person; the first one if they were the only site admin, or withdrew it.",
    )  # fmt: skip
    decided_at = models.DateTimeField(null=True, blank=True)
    comment = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "kind", "subject"], condition=Q(decision=""), name="one_open_proposal_per_subject"
            )
        ]
        indexes = [
            models.Index(fields=["team", "-id"], name="proposal_of_team"),
            models.Index(fields=["id"], condition=Q(decision=""), name="proposal_open"),
            models.Index(fields=["subject"], condition=Q(kind__in=["role", "account"]), name="proposal_of_person"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject} of {self.team or 'the site'}"
