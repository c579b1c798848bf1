"""Schedules: jobs that are requested repeatedly at the times of a cron expression, and the outcome of each time."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.models.job import Job
from jobs.models.kept_message import KeptMessage
from jobs.models.team import Team
from jobs.texts import from_json

MAX_NAME_LENGTH = 80
MAX_REGION_LENGTH = 40


class Schedule(models.Model):
    """A spec that is requested in the name of its owner whenever `cron` is due in `time_zone`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="schedules")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="schedules")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True, blank=True,
        help_text="Who wrote the spec; empty: the owner, or not stored then.",
    )  # fmt: skip
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    cron = models.CharField(max_length=100, help_text="Five fields, as in Debian's cron.")
    time_zone = models.CharField(max_length=64)
    allows_overlap = models.BooleanField(default=False, help_text="It runs also while the run before has not ended.")
    last_day = models.DateField(null=True, blank=True, help_text="The last day on which it runs; empty: without end.")
    is_enabled = models.BooleanField(default=True)
    paused_because = models.CharField(max_length=300, blank=True)
    paused_parts = models.JSONField(null=True, blank=True, help_text="paused_because as jobs.texts.as_json.")

    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    spec = models.JSONField(help_text="The REST body, as of a job; it never changes.")
    region = models.CharField(max_length=MAX_REGION_LENGTH)
    project = models.CharField(
        max_length=63, blank=True, default="", db_default="", help_text="Empty: the default project of the team."
    )
    expected_seconds = models.PositiveIntegerField()
    cap_usd = models.DecimalField(max_digits=14, decimal_places=2, null=True, blank=True)
    plan = models.JSONField(null=True, blank=True, help_text="jobs.fallback.Plan; empty: no further attempts.")

    next_at = models.DateTimeField(null=True, blank=True, help_text="When it is due next; empty: never.")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_schedule_per_team_and_name")]
        indexes = [models.Index(fields=["next_at"], condition=Q(is_enabled=True), name="schedule_due")]

    def __str__(self) -> str:
        return self.name

    @property
    def why_paused(self) -> str:
        """Why the schedule is paused, as a `Text` if it can be translated."""
        return self.paused_because if self.paused_parts is None else from_json(self.paused_parts)


class ScheduleRun(KeptMessage):
    """The outcome of one due time of a schedule. There is one row for each time."""

    class Outcome(models.TextChoices):
        """The outcome of a run."""

        REQUESTED = "requested", _("requested")
        REFUSED = "refused", _("refused")
        SKIPPED = "skipped", _("skipped")
        MISSED = "missed", _("missed")
        NOT_PERMITTED = "not_permitted", _("not permitted")

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs")
    moment = models.DateTimeField(help_text="When it was due; of several that were missed, the first.")
    made_at = models.DateTimeField()
    outcome = models.CharField(max_length=16, choices=Outcome.choices)
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="schedule_run", null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["schedule", "moment"], name="one_run_per_moment")]

    def __str__(self) -> str:
        return f"{self.schedule}, {self.moment}: {self.outcome}"
