"""Container images that a team's forms name, and what Artifact Registry said of them last."""

from django.db import models

from jobs.models.team import Team
from jobs.spec.images import MAX_NAME_LENGTH, ImageStatus


class ImageReading(models.Model):
    """One image of one team: it waits for an answer while `due_at` is set.

    What an account may see of a registry is its own business: a reading counts only for the team that asked, and only
    while it acts as the account that got the answer.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=MAX_NAME_LENGTH, help_text="As it stands in the job.")
    acts_as = models.CharField(max_length=254, blank=True, help_text="Who asks; empty: Trainboard's own account.")
    asked_at = models.DateTimeField(help_text="When a form last had it asked about.")
    due_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=20, blank=True, choices=[(each.value, each.value) for each in ImageStatus])
    size_bytes = models.BigIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True, help_text="Why it could not be asked.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_reading_of_each_image")]
        indexes = [
            models.Index(fields=["due_at", "id"], condition=models.Q(due_at__isnull=False), name="image_due"),
            models.Index(fields=["team", "asked_at"], name="image_asked"),
            models.Index(fields=["asked_at"], name="image_old"),
        ]

    def __str__(self) -> str:
        return self.name
