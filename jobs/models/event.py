"""The events of a job: rows that are written once and never changed."""

from collections.abc import Collection

from django.conf import settings
from django.db import models

from jobs.models.immutable import AppendOnly, AppendOnlyQuerySet
from jobs.models.job import Job


class JobEventQuerySet(AppendOnlyQuerySet["JobEvent"]):
    """Selections of events by kind."""

    def without_passing(self) -> "JobEventQuerySet":
        """Leave out events of the kinds `JobEvent.PASSING`.

        States, restarts, attempts and costs do not depend on them.
        """
        return self.exclude(kind__in=JobEvent.PASSING)

    def forget_passing(self, pks: Collection[int]) -> int:
        """Delete those of these events whose kind is in `JobEvent.PASSING`, and return how many.

        Events are deleted in no other way. Only `jobs.upkeep.retention` calls this. No state, restart, attempt or cost
        depends on these events.
        """
        deleted, _ = models.QuerySet.delete(self.filter(pk__in=pks, kind__in=JobEvent.PASSING))
        return deleted


class JobEvent(AppendOnly):
    """One event of a job, with its actor, the time it occurred and the time it was recorded."""

    class Kind(models.TextChoices):
        """The kind of an event."""

        STATE = "state", "state changed"
        ASSESSED = "judged", "assessed"
        SUBMIT_ATTEMPTED = "submit_attempted", "submission attempted"
        SUBMIT_ADOPTED = "submit_adopted", "an earlier submission was found"
        CANCEL_REQUESTED = "cancel_requested", "cancellation requested"
        CANCEL_SENT = "cancel_sent", "cancellation sent"
        CORRECTED = "corrected", "states corrected"
        CUSTOM_JOB_STATE = "custom_job_state", "state of the pipeline's custom job changed"
        RESTARTED = "restarted", "restarted"
        MACHINES_LOST = "machines_lost", "machines lost for the last time"
        EXPLAINED = "explained", "cause of a restart learned"
        ERROR_LEARNED = "error_learned", "error learned"
        UNSEEN = "unseen", "not observed"
        STEP_FAILED = "trouble", "a step failed and will be repeated"
        REPAIRED = "repaired", "repaired"
        ADOPTED = "adopted", "adopted from outside"
        DELETE_REQUESTED = "delete_requested", "deletion at Vertex AI requested"
        DELETED = "deleted", "deleted at Vertex AI"
        DUPLICATE = "duplicate", "second job at Vertex AI"
        OVER_APPROVED = "over_approved", "cost more than was approved"
        CAP_NEAR = "cap_near", "cost four fifths of its cap"
        CAP_REACHED = "cap_reached", "cost as much as its cap"
        VOTED = "voted", "an approver voted"
        REMINDED = "approval_due", "an approval is due"
        CHANGED = "changed", "an approver changed the strategy"
        CHANGE_ANSWERED = "change_answered", "the requester answered a change"
        FALLBACK = "fallback", "further attempts"
        FAMILY = "family", "moved to another family"
        WARNED = "warned", "it may waste money"
        DECLARED_FINE = "declared_fine", "somebody declared it fine"
        CLEARED = "cleared", "its fault is not found any more"

    PASSING = (Kind.STEP_FAILED, Kind.REPAIRED)
    """Kinds that may be deleted long after the job's end: retried and repaired steps, which changed nothing."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="events")
    kind = models.CharField(max_length=24, choices=Kind.choices)
    from_state = models.CharField(max_length=64, blank=True)
    to_state = models.CharField(max_length=64, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, help_text="Empty: the system."
    )
    occurred_at = models.DateTimeField(help_text="When it occurred, by the clock of the system where it occurred.")
    recorded_at = models.DateTimeField(help_text="When Trainboard recorded it.")
    reason = models.CharField(max_length=48, blank=True, help_text="A short code, for counting.")
    message = models.TextField(db_column="sentence", help_text="The text for people, in the past tense.")
    detail = models.JSONField(default=dict, blank=True)
    once_key = models.CharField(max_length=120, help_text="An event with the same key is recorded only once.")

    objects = JobEventQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "once_key"], name="one_event_per_once_key")]
        indexes = [models.Index(fields=["job", "occurred_at", "id"], name="event_timeline")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, job {self.job_id}"  # not its message, which may contain a secret
