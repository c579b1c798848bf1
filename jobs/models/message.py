"""Messages, their deliveries, where they are sent, and the message preferences of people."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.models.event import JobEvent
from jobs.models.job import Job
from jobs.models.team import Team
from jobs.texts import from_json


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


class Message(models.Model):
    """A message to people, written in the same transaction as its cause. `once_key` makes it unique.

    Its text is rendered from the current rows when it is shown or sent.
    """

    class Kind(models.TextChoices):
        """The kind of a message."""

        APPROVAL_NEEDED = "approval_needed", _("Approval needed")
        APPROVAL_REMINDER = "approval_reminder", _("Approval still needed")
        APPROVAL_EXPIRED = "approval_expired", _("Approval expired")
        APPROVED = "approved", _("Approved")
        CHANGE_PROPOSED = "change_proposed", _("Approved under another strategy")
        REJECTED = "rejected", _("Rejected")
        STARTED = "started", _("Started")
        RESTARTED = "restarted", _("Preempted or restarted")
        WAITING_LONG = "waiting_long", _("Waiting long")
        FAILED = "failed", _("Failed")
        DONE = "done", _("Succeeded")
        CANCELLED = "cancelled", _("Cancelled")
        OVER_APPROVED = "over_approved", _("Cost more than approved")
        BUDGET = "budget", _("Budget")
        CAP = "cap", _("Cap reached")
        WASTE = "waste", _("May waste money")
        FALLBACK = "fallback", _("Further attempts")
        SCHEDULE = "schedule", _("Schedule")
        RESOURCE_ENDS = "resource_ends", _("A persistent resource ends")
        CHANGE_WAITS = "change_waits", _("A change waits for a second person")
        PRICE_STALE = "price_stale", _("Prices are old")
        MONTHLY_REPORT = "monthly_report", _("Monthly report of spend")
        TEST = "test", _("Test")

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False, help_text="Its id at every receiver.")
    kind = models.CharField(max_length=24, choices=Kind.choices)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="messages")
    job = models.ForeignKey(
        Job, on_delete=models.PROTECT, related_name="messages", null=True, blank=True, db_index=False
    )
    event = models.ForeignKey(JobEvent, on_delete=models.PROTECT, related_name="+", null=True, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    once_key = models.CharField(max_length=200, unique=True)
    detail = models.JSONField(default=dict, blank=True)
    occurred_at = models.DateTimeField()
    created_at = models.DateTimeField()
    routed_at = models.DateTimeField(null=True, blank=True, help_text="When its deliveries were written.")

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=Q(routed_at=None), name="message_to_route"),
            models.Index(fields=["job", "kind"], name="message_of_job"),
            models.Index(fields=["created_at"], name="message_age"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.once_key}"

    def words(self, name: str) -> str:
        """Return the "text" or "next" of `detail`, as a `Text` if it can be translated, or "" if there is none."""
        return from_json(self.detail.get("words", {}).get(name) or str(self.detail.get(name) or ""))


class Delivery(models.Model):
    """The delivery of a message to one person or one channel.

    In the browser it is delivered as soon as it is written.
    """

    class State(models.TextChoices):
        """The state of a delivery."""

        WAITING = "waiting", _("waiting")
        SENT = "sent", _("sent")
        DEAD = "dead", _("not delivered")
        DROPPED = "dropped", _("dropped")

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="+", null=True, blank=True, db_index=False)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", null=True, blank=True, db_index=False
    )
    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, related_name="deliveries", null=True, blank=True, db_index=False
    )
    via = models.CharField(max_length=16, choices=Via.choices)
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    is_digest = models.BooleanField(default=False, help_text="Sent together with others that are due.")
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(help_text="When it is tried next.")
    give_up_at = models.DateTimeField(help_text="A failure after this is the last one.")
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When it was sent, dropped or given up.")
    read_at = models.DateTimeField(null=True, blank=True, help_text="In the browser: when it was read.")

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["message", "person", "via"], name="one_delivery_per_person_and_way"),
            models.UniqueConstraint(fields=["message", "channel"], name="one_delivery_per_channel"),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=Q(state="waiting", person__isnull=False), name="delivery_due_person"
            ),
            models.Index(fields=["channel", "due_at", "id"], condition=Q(state="waiting"), name="delivery_due_channel"),
            models.Index(fields=["job", "id"], condition=Q(state="waiting"), name="delivery_order"),
            models.Index(fields=["person", "-created_at", "id"], condition=Q(via="browser"), name="delivery_inbox"),
            models.Index(fields=["person"], condition=Q(via="browser", read_at=None), name="delivery_unread"),
            models.Index(fields=["team", "-ended_at", "id"], condition=Q(state="dead"), name="delivery_dead"),
            models.Index(fields=["channel", "-id"], name="delivery_of_channel"),
            models.Index(fields=["person"], condition=Q(state="waiting"), name="delivery_waiting_person"),
        ]

    def __str__(self) -> str:
        return f"{self.message} by {self.via}: {self.state}"
