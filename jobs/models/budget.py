"""The monthly budgets of a team with their changes and notices, and ceilings on what runs at once."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.budget import Passing
from jobs.gate import CeilingKind
from jobs.models.immutable import AppendOnly
from jobs.models.kept_message import KeptMessage
from jobs.models.ledger import Group
from jobs.models.team import Team


def default_thresholds() -> list[int]:
    """Return the default thresholds: percentages of a budget at which people get a message."""
    return [50, 80, 100]


class Budget(Group):
    """The US dollars that a team, one person in it or the jobs with one label may spend in each month (UTC)."""

    name = models.CharField(max_length=80)
    amount_usd = models.DecimalField(max_digits=14, decimal_places=2, validators=[MinValueValidator(0)])
    passing = models.CharField(max_length=4, choices=[(str(each), str(each)) for each in Passing])
    thresholds = models.JSONField(default=default_thresholds, help_text="Percentages at which people get a message.")
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True, help_text="No job is held against it since then.")
    version = models.PositiveIntegerField(
        default=1, help_text="Grows with each change. A form sends back the one that it showed."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "dimension", "value"], condition=Q(closed_at=None), name="one_open_budget_per_group"
            ),
            models.CheckConstraint(condition=Q(amount_usd__gte=0), name="budget_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.team}"


class BudgetChange(AppendOnly):
    """One change of a budget: who made it, when, and each field before and after."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="changes")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    fields = models.JSONField(help_text="{field: [before, after]}; before is null where the budget is new.")
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [models.Index(fields=["budget", "-id"], name="budget_change_newest")]

    def __str__(self) -> str:
        return f"change of {self.budget_id} at {self.at}"


class BudgetNotice(AppendOnly, KeptMessage):
    """A notice that a share of a budget was spent in a month, written once. The sender of messages reads these rows."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="notices")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    month = models.DateField(help_text="Its first day, UTC.")
    percent = models.PositiveIntegerField()
    amount_usd = models.DecimalField(max_digits=14, decimal_places=2, help_text="The budget at that time.")
    spent_usd = models.DecimalField(max_digits=16, decimal_places=2)
    message = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["budget", "month", "percent", "amount_usd"], name="one_notice_per_share")
        ]
        indexes = [models.Index(fields=["team", "-at"], name="budget_notice_newest")]

    def __str__(self) -> str:
        return self.message


class Ceiling(models.Model):
    """One ceiling. See `jobs.gate.CeilingKind` for what each kind limits."""

    class Kind(models.TextChoices):
        """What is limited, with words for people."""

        JOB = CeilingKind.JOB.value, _("US dollars for one job")
        HOUR = CeilingKind.HOUR.value, _("US dollars per hour at once")
        PERSON_DAY = CeilingKind.PERSON_DAY.value, _("US dollars for one person and day")
        GPUS = CeilingKind.GPUS.value, _("GPUs at once")

    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, null=True, blank=True, related_name="ceilings", help_text="Empty: the site."
    )
    kind = models.CharField(max_length=12, choices=Kind.choices)
    amount = models.DecimalField(max_digits=14, decimal_places=2, validators=[MinValueValidator(0)])
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    set_at = models.DateTimeField()
    reason = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "kind"], name="one_ceiling_per_team_and_kind"),
            models.UniqueConstraint(fields=["kind"], condition=Q(team=None), name="one_ceiling_of_the_site_per_kind"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="ceiling_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.amount}"
