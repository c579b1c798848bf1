"""Machine and accelerator types recorded on this site in addition to the data files. Rows are only added."""

from django.db import models


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
