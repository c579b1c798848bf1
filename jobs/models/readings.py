"""The last answers from Google about quotas, container images and output folders."""

from django.db import models

from jobs.models.team import Team
from jobs.spec.images import MAX_NAME_LENGTH, ImageStatus


class QuotaReading(models.Model):
    """Limit and use of one metric in one region.

    Without a region, it is the limit of regions that have none of their own.
    """

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40, blank=True)
    metric = models.CharField(max_length=100, help_text="Without aiplatform.googleapis.com/.")
    quota_id = models.CharField(max_length=200, blank=True, help_text="The id with which an increase is requested.")
    limit = models.BigIntegerField(help_text="-1: there is none.")
    used = models.BigIntegerField(null=True, blank=True, help_text="Empty: unknown.")
    read_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "region", "metric"], name="one_reading_of_each_quota")
        ]

    def __str__(self) -> str:
        return f"{self.metric} in {self.project}/{self.region}: {self.used} of {self.limit}"


class ImageReading(models.Model):
    """One image, or output folder, of one team. It waits for an answer while `due_at` is set.

    What an account may see of a registry or a bucket is private. So a reading applies only to the team that requested
    it, and only while the team acts as the account that got the answer.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=MAX_NAME_LENGTH, help_text="As it stands in the job.")
    acts_as = models.CharField(
        max_length=254, blank=True, help_text="The account that reads it; empty: Trainboard's own."
    )
    asked_at = models.DateTimeField(help_text="When a form last requested it.")
    due_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=20, blank=True, choices=[(each.value, each.value) for each in ImageStatus])
    size_bytes = models.BigIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True, help_text="Why it could not be read.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_reading_of_each_image")]
        indexes = [
            models.Index(fields=["due_at", "id"], condition=models.Q(due_at__isnull=False), name="image_due"),
            models.Index(fields=["team", "asked_at"], name="image_asked"),
            models.Index(fields=["asked_at"], name="image_old"),
        ]

    def __str__(self) -> str:
        return self.name
