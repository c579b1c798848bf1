"""The team that an entry of the audit log is about, so that a lead's page can use an index."""

from auditlog.models import LogEntry
from django.db import models


class AuditedTeam(models.Model):
    """The team of one entry. Entries that are not about a team, such as a price, have no row.

    The team is a plain number, so that the log of a team remains when the team is deleted.
    """

    entry = models.OneToOneField(LogEntry, on_delete=models.CASCADE, primary_key=True, related_name="audited_team")
    team = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["team", "-entry"], name="audited_team_newest")]

    def __str__(self) -> str:
        return f"entry {self.entry_id} of team {self.team}"
