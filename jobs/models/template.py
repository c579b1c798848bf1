"""What people save: drafts and templates of jobs, and views of the board."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.team import Team

MAX_NAME_LENGTH = 80
MAX_NOTE_LENGTH = 500


class Template(models.Model):
    """One saved spec, with the region and the project that its jobs begin with."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="templates")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    note = models.CharField(max_length=MAX_NOTE_LENGTH, blank=True, help_text="What it is for, in a sentence.")
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    spec = models.JSONField(help_text="The REST body, as of a job.")
    region = models.CharField(max_length=40)
    project = models.CharField(
        max_length=63, blank=True, default="", db_default="", help_text="Empty: the default project of the team."
    )
    expected_seconds = models.PositiveIntegerField(help_text="Run time that a job of it is expected to take.")
    cap_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="Cap on the cost of a job that it makes."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="templates")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_template_per_team_and_name")]

    def __str__(self) -> str:
        return self.name


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
