"""A saved view of the board: a URL query with a name, for its owner or for a team."""

from django.conf import settings
from django.db import models

from jobs.models.team import Team


class SavedView(models.Model):
    """The query of the board's URL, without the page. A view without a team is visible only to its owner."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="saved_views", null=True, blank=True, help_text="Who shares it."
    )
    name = models.CharField(max_length=40)
    query = models.CharField(max_length=500, blank=True, help_text="For example q=machine%3Aa3&group=owner.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_view_per_owner_and_name")]

    def __str__(self) -> str:
        return self.name
