"""Where messages are sent: the channels of a team, and the message preferences of people."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models.team import Team


class Via(models.TextChoices):
    """How a message is delivered."""

    BROWSER = "browser", _("browser")
    EMAIL = "email", _("e-mail")
    SLACK = "slack", "Slack"
    GOOGLE_CHAT = "google_chat", "Google Chat"
    WEBHOOK = "webhook", _("webhook")


class Digest(models.TextChoices):
    """How often messages are sent."""

    EACH = "", _("each at once")
    HOURLY = "hourly", _("one summary an hour")
    DAILY = "daily", _("one summary a day")


class Channel(models.Model):
    """An external destination for a team's messages. Leads of the team set it. Its address and secret stay hidden."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="channels")
    via = models.CharField(max_length=16, choices=[choice for choice in Via.choices if choice[0] != Via.BROWSER])
    name = models.CharField(max_length=60)
    address = models.CharField(max_length=1000, help_text="An e-mail address, or the https address of a webhook.")
    kinds = models.JSONField(default=list, help_text="Kinds of messages that it gets.")
    digest = models.CharField(max_length=8, choices=Digest.choices, blank=True)
    secret = models.CharField(max_length=120, blank=True, help_text="Signs webhooks: whsec_ and base64.")
    old_secret = models.CharField(max_length=120, blank=True, help_text="Signs beside it after a rotation.")
    old_secret_until = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    paused_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True, help_text="A worker sends to it until then.")
    held_until = models.DateTimeField(null=True, blank=True, help_text="Not tried before, because it failed.")
    failures = models.PositiveIntegerField(default=0, help_text="Failures in a row.")
    last_error = models.CharField(max_length=300, blank=True)
    last_sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_channel_per_team_and_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.team}"


class MessagePreference(models.Model):
    """Which messages a person gets and how, as far as that differs from the default."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="message_preference")
    choices = models.JSONField(default=dict, blank=True, help_text='{kind: ["browser", "email"]}')
    about_others = models.BooleanField(default=False, help_text="Also about jobs that others of the team requested.")
    digest = models.CharField(max_length=8, choices=Digest.choices, blank=True, help_text="Of e-mail.")

    def __str__(self) -> str:
        return f"messages to {self.user}"
