"""The team of each entry of the audit log, and seals of its entries, so that a changed or missing one is noticed."""

from auditlog.models import LogEntry
from django.db import models

SITE = 0
"""The chain of entries that are about no team."""


class AuditSeal(models.Model):
    """One sealed span of entries of a team. Its digest covers the entries and the seal before it.

    Retention removes the entries of whole spans; the seal stays, so that the chain can still be verified. The team is a
    plain number, as in `AuditedTeam`.
    """

    team = models.BigIntegerField(help_text="The team's id; 0 for entries about no team.")
    number = models.PositiveIntegerField(help_text="From 1 on, without gaps in a chain.")
    entries = models.PositiveIntegerField()
    last_at = models.DateTimeField(help_text="When the newest of its entries was written.")
    content = models.CharField(max_length=64, help_text="SHA-256 digest of the digests of its entries.")
    digest = models.CharField(max_length=64, help_text="SHA-256 digest of the seal before, of this content and number.")
    sealed_at = models.DateTimeField()
    exported_at = models.DateTimeField(
        null=True, blank=True, help_text="When the configured address accepted it with its entries; empty: not yet."
    )
    removed_at = models.DateTimeField(null=True, blank=True, help_text="When retention removed its entries.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "number"], name="one_seal_per_number")]
        indexes = [models.Index(fields=["last_at"], condition=models.Q(removed_at=None), name="seals_with_entries")]

    def __str__(self) -> str:
        return f"seal {self.number} of team {self.team}"


class SealedEntry(models.Model):
    """The digest of one sealed entry. `entry` is no foreign key, so that the row shows that an entry is missing."""

    entry = models.BigIntegerField(primary_key=True)
    seal = models.ForeignKey(AuditSeal, on_delete=models.PROTECT, related_name="sealed_entries")
    actor = models.BigIntegerField(null=True, help_text="Id of the author, which an entry loses with the account.")
    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"entry {self.entry} of {self.seal_id}"


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
