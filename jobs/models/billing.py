"""Billed amounts, imported by a lead from the Cloud Billing export, next to the costs calculated here."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.team import Team


class BillingImport(models.Model):
    """One file that was compared with the jobs of a team. Only a team's newest file is kept."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="billing_import")
    name = models.CharField(max_length=200, help_text="Of the file.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    rows = models.PositiveIntegerField(help_text="Rows of the file.")
    passed_over = models.PositiveIntegerField(default=0, help_text="Rows of other projects that name no job.")

    def __str__(self) -> str:
        return f"{self.name} of {self.team}"


class BilledAmount(models.Model):
    """The amount billed in a month for one job, or under one service if no job of the team is named.

    Amounts are in `currency` and are never added across currencies. `ours_usd` is the cost calculated here at the time
    of the import.
    """

    billing_import = models.ForeignKey(BillingImport, on_delete=models.CASCADE, related_name="amounts")
    month = models.DateField(help_text="First day of the invoice's month, US Pacific time.")
    currency = models.CharField(max_length=3)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_index=False)
    label = models.CharField(max_length=63, blank=True, help_text="Value of trainboard_job; empty: it has none.")
    service = models.CharField(max_length=120, blank=True, help_text="Where no job of the team is named.")
    cost = models.DecimalField(max_digits=22, decimal_places=6, default=0, help_text="Before credits, without tax.")
    credits = models.DecimalField(max_digits=22, decimal_places=6, default=0, help_text="Below zero: taken off.")
    tax = models.DecimalField(max_digits=22, decimal_places=6, default=0)
    ours_usd = models.DecimalField(max_digits=16, decimal_places=2, null=True, blank=True)
    difference_usd = models.DecimalField(
        max_digits=16, decimal_places=2, null=True, blank=True, help_text="Billed less ours; empty: not comparable."
    )
    rows = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["billing_import", "job", "-difference_usd"], name="billed_difference")]

    def __str__(self) -> str:
        return f"{self.cost} {self.currency} in {self.month:%Y-%m}"
