"""How long rows that are no longer needed are kept, the site's regular upkeep tasks, and items that were set aside."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from jobs.models.polling import PollTarget


class RetentionSetting(models.Model):
    """A number of days that differs from the default of `jobs.upkeep.retention`. Without a row the default applies."""

    class Kind(models.TextChoices):
        """What is removed when it is old enough. docs/running.md explains how the age is determined."""

        EVENTS = "events", "events of jobs about steps that failed and were repeated"
        LOG_LINES = "log_lines", "log lines of replicas"
        DISCOVERIES = "surveys", "discoveries and the external jobs that they found"
        SET_ASIDE = "set_aside", "set aside items"
        MESSAGES = "messages", "messages and their deliveries"
        PERSISTENT_RESOURCES = "persistent_resources", "persistent resources that are gone"
        AUDIT_LOG = "audit_log", "entries of the audit log"

    kind = models.CharField(max_length=32, choices=Kind.choices, unique=True)
    days = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(36_500)], help_text="Older ones are removed."
    )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.days} days"


class Upkeep(PollTarget):
    """A task that the site runs for itself at long intervals. Whichever process comes first after `due_at` runs it."""

    name = models.CharField(max_length=32, unique=True)
    result = models.JSONField(default=dict, blank=True, help_text="What the last run did.")

    class Meta:
        verbose_name_plural = "upkeep"

    def __str__(self) -> str:
        return f"upkeep: {self.name}"


class SetAsideItem(models.Model):
    """One item that was left out, or stored with parts cut, with the reason and how often that happened.

    `jobs.observation.set_aside` writes these rows and limits their number. Nothing depends on a row, so it may be
    deleted.
    """

    place = models.CharField(max_length=200, help_text="Where it came from, such as a scope or the logs of a project.")
    item = models.CharField(max_length=200, help_text="Its name there, as far as it has one.")
    reason = models.TextField(help_text="Why it could not be stored or read as it was.")
    is_kept = models.BooleanField(default=False, help_text="It was stored, with parts cut to fit.")
    first_at = models.DateTimeField()
    last_at = models.DateTimeField(db_index=True)
    count = models.PositiveBigIntegerField(default=1, help_text="How often it was found.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["place", "item"], name="one_row_per_set_aside_item")]

    def __str__(self) -> str:
        return f"{self.item} of {self.place}"
