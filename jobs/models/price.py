"""Prices, fees, and machine types recorded on this site in addition to the data files. Rows are only added."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Price(models.Model):
    """One price of a resource in a region, with its source and who recorded it.

    The newest row of a key is the valid one. A correction is a new row. `usd_per_hour` is empty if the resource is no
    longer sold in this way.
    """

    class Origin(models.TextChoices):
        """Who recorded the row."""

        PERSON = "person"
        IMPORT = "import"

    class Basis(models.TextChoices):
        """Whose price it is."""

        COMPUTE_ENGINE = "compute_engine", _("Compute Engine's price")
        VERTEX_TRAINING = "vertex_training", _("Vertex AI's price with its fee inside")
        MANAGEMENT_FEE = "management_fee", _("Vertex AI's management fee")

    region = models.CharField(max_length=64)
    resource = models.CharField(max_length=80, help_text="As in jobs/catalog/data/prices.csv.")
    strategy = models.CharField(max_length=16, help_text="standard, spot, flex_start, reservation, or * for all.")
    basis = models.CharField(max_length=32, choices=Basis.choices)
    usd_per_hour = models.DecimalField(max_digits=22, decimal_places=12, null=True, blank=True)
    source = models.CharField(max_length=200)
    source_url = models.URLField(max_length=500, blank=True)
    as_of = models.DateField(help_text="The day on which the source held this price.")
    is_official = models.BooleanField(help_text="Whether Google published it.")
    note = models.CharField(max_length=500, blank=True, help_text="Of an import: the SKUs.")
    origin = models.CharField(max_length=16, choices=Origin.choices)
    reason = models.CharField(max_length=200)
    recorded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True)
    recorded_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["region", "resource", "strategy", "basis", "-id"], name="price_newest")]

    def __str__(self) -> str:
        return f"{self.resource} in {self.region}, {self.strategy}: {self.usd_per_hour}"


class CatalogueEntry(models.Model):
    """One machine or accelerator type, with its source and the reason of its record.

    The newest row of a name is the valid one. If its `values` are empty, the entry was removed again.
    """

    class Kind(models.TextChoices):
        """The catalogue that the entry extends."""

        MACHINE = "machine"
        ACCELERATOR = "accelerator"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    name = models.CharField(max_length=80)
    values = models.JSONField(default=dict, blank=True, help_text="As jobs.catalog.compute reads them.")
    source = models.CharField(max_length=200)
    as_of = models.DateField(help_text="The day on which the source had this.")
    reason = models.CharField(max_length=200)
    recorded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
