"""Teams, the roles of their members, and what a team may do without an approval, in versions."""

from typing import Any, Self

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet


class TeamQuerySet(models.QuerySet["Team"]):
    """Selections by project. A team has a default project and the projects added in its settings."""

    def allowed_in(self, project: str) -> Self:
        """Select the teams that may run jobs in a project."""
        further = models.Q(allowed_resources__kind="project", allowed_resources__name=project)
        return self.filter(models.Q(project=project) | further).distinct()

    def of_each_project(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return (project, *columns) for each project of each team, possibly with duplicates. Makes one query."""
        further = self.filter(allowed_resources__kind="project").values_list("allowed_resources__name", *columns)
        return list(self.values_list("project", *columns).union(further, all=True))

    def owning(self, project: str, column: str) -> set[Any]:
        """Return a column of the teams that own a project: those with it as default, else all that may use it.

        Jobs made in the project outside Trainboard belong to them. Makes one query.
        """
        rows = list(self.allowed_in(project).values_list("project", column))
        return {value for default, value in rows if default == project} or {value for _, value in rows}


class Team(models.Model):
    """People who share jobs, a Google Cloud project and a policy. Nobody outside a team sees its jobs."""

    name = models.CharField(max_length=80, unique=True)
    project = models.CharField(max_length=63, help_text="Google Cloud project id, for example vision-research.")
    default_region = models.CharField(max_length=40, default="us-central1")
    bucket = models.CharField(
        max_length=255, blank=True, help_text="Where jobs write by default, for example gs://vision-training."
    )
    acts_as = models.CharField(
        max_length=255, blank=True, default="", db_default="",
        help_text="The service account that Vertex AI is called as for this team; empty: Trainboard's own.",
    )  # fmt: skip
    is_closed = models.BooleanField(
        default=False, db_default=False,
        help_text="Whether an empty list of allowed buckets, accounts, networks or keys allows none; else all.",
    )  # fmt: skip
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="teams")

    objects = TeamQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """The role of a member in a team. Each role includes the ones before it."""

    VIEWER = "viewer", "viewer: sees the team's jobs"
    ENGINEER = "engineer", "engineer: also requests and cancels jobs"
    APPROVER = "approver", "approver: also approves jobs of others"
    LEAD = "lead", "lead: also sets policy"


class Membership(models.Model):
    """One person's role in one team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.ENGINEER)
    granted_by = models.ForeignKey(
        "Identity", on_delete=models.SET_NULL, null=True, blank=True, related_name="memberships"
    )
    """The identity whose group gave the role. None if a person or a rule for a domain gave it."""
    granted_by_group = models.CharField(max_length=255, blank=True, default="", db_default="")
    """The group that gave the role. If the person leaves it, the role is removed."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_role_per_team_and_user")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"


class Policy(models.Model):
    """The current policy of a team: the version that a lead saved last, else the limits in this row.

    If a team has no row, every job that costs money needs an approval.
    """

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="policy")
    ask_over_usd = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        default=0,
        validators=[MinValueValidator(0)],
        help_text="A job that may cost more than this, when it runs until its timeout, needs an approval.",
    )
    refuse_over_usd = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="A job that may cost more than this is refused. Empty: no job is too expensive.",
    )
    regions = models.JSONField(
        default=list, blank=True, help_text="Regions that may be used, as a list. Empty: every region."
    )

    cancel_over_approved = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Cancel a running job when its cost exceeds the approved amount; otherwise only send a message.",
    )
    cancel_at_cap = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Cancel a running job when its cost reaches its cap; otherwise only send a message.",
    )

    current = models.OneToOneField(
        "PolicyVersion",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="The version whose rules count; empty: the limits above count.",
    )

    class Meta:
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return f"policy of {self.team}"


class AllowedResource(models.Model):
    """One project, bucket, service account, network or encryption key that a team may use.

    A team's default project and bucket are always allowed. Where a team has no row of another kind, it may use none, or
    every one if its lists are open. `jobs.allowed_resources` enforces this.
    """

    class Kind(models.TextChoices):
        """The kind of an allowed resource."""

        PROJECT = "project", _("project")
        BUCKET = "bucket", _("bucket")
        SERVICE_ACCOUNT = "service_account", _("service account")
        NETWORK = "network", _("network")
        KEY = "key", _("encryption key")

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="allowed_resources")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    name = models.CharField(
        max_length=255,
        help_text="A project id, a bucket without gs://, an account or “none”, or the full name of another.",
    )

    class Meta:
        ordering = ["kind", "name"]
        constraints = [models.UniqueConstraint(fields=["team", "kind", "name"], name="one_row_per_allowed_resource")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name} of {self.team}"


class PolicyVersion(AppendOnly):
    """A version of the ordered rules of a team.

    The highest number is the current one. For `rules` see `jobs.policy_rules`.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="policy_versions")
    number = models.PositiveIntegerField(help_text="Counts the versions of the team from 1.")
    rules = models.JSONField(help_text="The rules in their order, as jobs.policy_rules.Rule writes them.")
    drift_percent = models.PositiveSmallIntegerField(
        default=0, help_text="Percent by which the cost may rise after an approval before the job needs another one."
    )
    remind_hours = models.PositiveSmallIntegerField(default=24, help_text="Hours between two reminders; 0: none.")
    expire_hours = models.PositiveSmallIntegerField(
        default=168, help_text="Hours after which an undecided request ends; 0: never."
    )
    cancel_over_approved = models.BooleanField(default=False)
    cancel_at_cap = models.BooleanField(default=True, db_default=True)
    approvers_choose_strategy = models.BooleanField(
        default=False,
        db_default=False,
        help_text="An approver's other strategy counts at once; else the requester has to accept it.",
    )
    waste_hours = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="{fault: hours after which a running job is cancelled unless somebody answers, 0: its owner is only "
        "asked}. A fault that is missing is only reported.",
    )
    saved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    saved_at = models.DateTimeField()
    note = models.CharField(max_length=200, blank=True, help_text="Why it was changed.")

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "number"], name="one_policy_version_per_number")]

    def __str__(self) -> str:
        return f"policy {self.number} of {self.team}"


class RuleSetting(models.Model):
    """One change of a rule's severity, with who made it and why."""

    code = models.CharField(max_length=80, help_text="Code of a rule in jobs.strategies.")
    severity = models.CharField(max_length=10, help_text="error, approval, note, off, or default.")
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    set_at = models.DateTimeField()
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [models.Index(fields=["code", "-id"], name="rule_setting_newest")]

    def __str__(self) -> str:
        return f"{self.code}: {self.severity}"
