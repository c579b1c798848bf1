"""Quotas of a project as Google told them last."""

from django.db import models


class QuotaReading(models.Model):
    """Limit and use of one metric in one region; no region: the limit of regions that have none of their own."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40, blank=True)
    metric = models.CharField(max_length=100, help_text="Without aiplatform.googleapis.com/.")
    quota_id = models.CharField(max_length=200, blank=True, help_text="What an increase is asked for by.")
    limit = models.BigIntegerField(help_text="-1: there is none.")
    used = models.BigIntegerField(null=True, blank=True, help_text="Empty: Google did not say.")
    read_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "region", "metric"], name="one_reading_of_each_quota")
        ]

    def __str__(self) -> str:
        return f"{self.metric} in {self.project}/{self.region}: {self.used} of {self.limit}"
