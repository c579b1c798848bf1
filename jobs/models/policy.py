"""The versions of a team's policy, and the severities that this site gives to rules."""

from django.conf import settings
from django.db import models

from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet
from jobs.models.team import Team


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
