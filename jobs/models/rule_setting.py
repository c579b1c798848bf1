"""How heavily this site weighs a rule: every change is a row, the newest of a code counts."""

from django.conf import settings
from django.db import models


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
