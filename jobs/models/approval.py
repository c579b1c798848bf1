"""A question put to the approvers of a team, and its answer."""

from django.conf import settings
from django.db import models

from jobs.models.job import Job


class Approval(models.Model):
    """Why policy asked about a job, and who decided what. Answered once, unless the job has to be asked about again."""

    class Decision(models.TextChoices):
        """The two answers."""

        APPROVED = "approved", "approved"
        REJECTED = "rejected", "rejected"

    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="approval")
    asked_at = models.DateTimeField()
    findings = models.JSONField(default=list, help_text="The findings that asked: code, message and so on.")
    decision = models.CharField(max_length=10, choices=Decision.choices, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    comment = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["asked_at", "id"], condition=models.Q(decision=""), name="approval_open")]

    def __str__(self) -> str:
        return f"{self.job}: {self.decision or 'open'}"
