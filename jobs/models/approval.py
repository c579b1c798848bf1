"""The questions to approvers about a job with their answers, and changes that wait for a second person."""

from datetime import date
from decimal import Decimal
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.fallback import plan_of, worst_case
from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet
from jobs.models.job import Job
from jobs.models.team import Team


class Approval(models.Model):
    """Why policy asked about a job, and who decided what. It is answered once, unless the job is asked about again."""

    class Decision(models.TextChoices):
        """The two answers."""

        APPROVED = "approved", "approved"
        REJECTED = "rejected", "rejected"

    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="approval")
    asked_at = models.DateTimeField()
    findings = models.JSONField(
        default=list, help_text="The findings that require the approval: code, message and so on."
    )
    decision = models.CharField(max_length=10, choices=Decision.choices, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    comment = models.TextField(blank=True)

    # the first group of approvers; further ones are in `policy`; if there are several, all are rows of AskedGroup
    votes_needed = models.PositiveSmallIntegerField(default=1, db_default=1)
    role_needed = models.CharField(
        max_length=10, default="approver", db_default="approver", help_text="The least role that may decide."
    )
    approver_names = models.TextField(
        blank=True, default="", db_default="", help_text="Who may decide, as ,lena,sam, and empty for all of the role."
    )
    policy = models.JSONField(
        null=True,
        blank=True,
        help_text="Version, rule and figures of the policy that require it, as jobs.policy.Decision.",
    )
    digest = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="Of what is decided about; see Vote."
    )
    decided_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="The most that it might cost when approved."
    )
    cap_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="The least cap that an approver has set."
    )
    requested_spec = models.JSONField(
        null=True,
        blank=True,
        help_text="What was requested, while the requester has not accepted the strategy that an approver chose.",
    )
    attempts = models.JSONField(
        null=True,
        blank=True,
        help_text="All attempts that are decided about, as jobs.requests.questions; null: this job only.",
    )
    remind_at = models.DateTimeField(null=True, blank=True, help_text="When approvers are reminded next.")
    expires_at = models.DateTimeField(null=True, blank=True, help_text="When the request ends unanswered.")

    class Meta:
        indexes = [
            models.Index(fields=["asked_at", "id"], condition=models.Q(decision=""), name="approval_open"),
            models.Index(fields=["remind_at"], condition=models.Q(decision=""), name="approval_to_remind"),
            models.Index(fields=["expires_at"], condition=models.Q(decision=""), name="approval_to_expire"),
        ]

    def __str__(self) -> str:
        return f"{self.job}: {self.decision or 'open'}"

    @property
    def asked_usd(self) -> Decimal | None:
        """The maximum cost of what is decided: the job, or all attempts together. None if unknown."""
        if self.attempts is None:
            return self.job.max_usd
        most = [None if attempt["max_usd"] is None else Decimal(attempt["max_usd"]) for attempt in self.attempts]
        return worst_case(most, plan_of(self.job.attempt.fallback.plan))


class AskedGroup(AppendOnly):
    """One of several groups of approvers that a question asks, for queries. A question to one group has no rows."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="asked_groups")
    asked_at = models.DateTimeField(help_text="When this approval was requested, as in Vote.")
    position = models.PositiveSmallIntegerField(help_text="From 0, in the order of the rule.")
    votes_needed = models.PositiveSmallIntegerField()
    role_needed = models.CharField(max_length=10)
    approver_names = models.TextField(blank=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "asked_at", "position"], name="one_row_per_asked_group")]

    def __str__(self) -> str:
        return f"group {self.position} asked about {self.job}"


class Vote(AppendOnly):
    """One answer. It applies to the question asked at `asked_at`, and only to what `digest` identifies."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="votes")
    asked_at = models.DateTimeField(help_text="When this approval was requested. A later request needs new votes.")
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="votes")
    counts_for = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="votes_counted",
        help_text="The voter, or the person whose deputy the voter was.",
    )
    decision = models.CharField(max_length=10, choices=Approval.Decision.choices)
    comment = models.TextField(blank=True)
    cap_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="Approved only up to this cost."
    )
    max_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="The most that it might cost by then."
    )
    digest = models.CharField(
        max_length=64, help_text="Of the spec, the amount and the policy that were decided about."
    )
    voted_at = models.DateTimeField()
    groups = models.JSONField(
        null=True, blank=True, help_text="Positions of the groups that it counted for when given; null: the first."
    )

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "asked_at", "voter"], name="one_vote_per_voter_and_question"),
            models.UniqueConstraint(fields=["job", "asked_at", "counts_for"], name="one_vote_counts_per_person"),
        ]

    def __str__(self) -> str:
        return f"{self.voter} {self.decision} {self.job}"


class DeputyQuerySet(models.QuerySet["Deputy"]):
    """Selections by day."""

    def on(self, day: date) -> Self:
        """Select the deputies of a day, in UTC."""
        return self.filter(first_day__lte=day, last_day__gte=day, ended_at=None)


class Deputy(models.Model):
    """Who decides in place of a person who is away. Both days are included."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deputies")
    deputy = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deputy_of")
    first_day = models.DateField(help_text="In UTC.")
    last_day = models.DateField(help_text="In UTC.")
    named_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When the person took it back before its end.")

    objects = DeputyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deputies"
        constraints = [
            models.CheckConstraint(condition=~models.Q(person=models.F("deputy")), name="nobody_is_their_own_deputy")
        ]

    def __str__(self) -> str:
        return f"{self.deputy} for {self.person}, {self.first_day} to {self.last_day}"


class Proposal(models.Model):
    """One change that waits for a second person, or was decided. `jobs.proposals` applies it."""

    class Kind(models.TextChoices):
        """What is to be changed."""

        POLICY = "policy", _("policy")
        BUDGET = "budget", _("budget")
        CEILING = "ceiling", _("ceiling")
        ROLE = "role", _("role")
        ACCOUNT = "account", _("account of an invited person")

    class Decision(models.TextChoices):
        """How it ended. Empty while it waits."""

        ACCEPTED = "accepted", _("accepted")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")

    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="proposals")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    subject = models.CharField(max_length=40, blank=True, help_text="Key of the budget or person, kind of the ceiling.")
    before = models.JSONField(help_text="The present values.")
    wanted = models.JSONField(help_text="The values that are applied.")
    lets_pass = models.JSONField(default=list, help_text="Past jobs that would need less: id, name, before, after.")
    reason = models.CharField(max_length=200, blank=True)
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    decision = models.CharField(max_length=10, choices=Decision.choices, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="The second person; the first one if they were the only site admin, or withdrew it.",
    )  # fmt: skip
    decided_at = models.DateTimeField(null=True, blank=True)
    comment = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "kind", "subject"], condition=Q(decision=""), name="one_open_proposal_per_subject"
            )
        ]
        indexes = [
            models.Index(fields=["team", "-id"], name="proposal_of_team"),
            models.Index(fields=["id"], condition=Q(decision=""), name="proposal_open"),
            models.Index(fields=["subject"], condition=Q(kind__in=["role", "account"]), name="proposal_of_person"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject} of {self.team or 'the site'}"
