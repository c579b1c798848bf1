"""Drafts of jobs that are not requested yet: an import, or the fields of a compose form. They expire after days."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.team import Team


class Draft(models.Model):
    """An imported spec of one person, or the fields of a form with its key.

    `fields` of an imported one has only the paths that its text leaves open (`imported_drafts.LEFT_OUT`).

    Only its owner sees it, and it expires (`jobs.requests.imported_drafts`).
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="drafts")
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    spec = models.JSONField(help_text="The REST body, as far as it could be read.")
    region = models.CharField(max_length=40, blank=True)
    project = models.CharField(
        max_length=63, blank=True, default="", db_default="", help_text="Empty: the default project of the team."
    )
    expected_seconds = models.PositiveIntegerField(null=True, blank=True, help_text="Run time the importer expects.")
    form_key = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="The request key of the form; empty for an imported draft.",
    )
    fields = models.JSONField(null=True, blank=True, help_text="{field: typed text}; empty for an imported draft.")
    version = models.PositiveIntegerField(default=0, db_default=0, help_text="Counts how often the form was saved.")
    created_at = models.DateTimeField(db_index=True, help_text="When it was saved; for a form the last time.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "form_key"], condition=~models.Q(form_key=""), name="one_draft_per_form"
            )
        ]

    def __str__(self) -> str:
        return f"draft {self.pk} of {self.owner}"
