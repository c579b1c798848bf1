"""Names of job states in sentences and lists, translated."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from jobs.states import JobState

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

STATE_WORDS: "dict[str, StrPromise]" = {
    JobState.AWAITING_APPROVAL: _("awaiting approval"),
    JobState.APPROVED: _("approved"),
    JobState.SUBMITTING: _("submitting"),
    JobState.REJECTED: _("rejected"),
    JobState.WITHDRAWN: _("withdrawn"),
    JobState.SUBMIT_FAILED: _("submit failed"),
    JobState.LOST: _("lost"),
    JobState.QUEUED: _("queued"),
    JobState.PENDING: _("pending"),
    JobState.RUNNING: _("running"),
    JobState.CANCELLING: _("cancelling"),
    JobState.PAUSED: _("paused"),
    JobState.UPDATING: _("updating"),
    JobState.SUCCEEDED: _("succeeded"),
    JobState.PARTIALLY_SUCCEEDED: _("partially succeeded"),
    JobState.FAILED: _("failed"),
    JobState.CANCELLED: _("cancelled"),
    JobState.EXPIRED: _("expired"),
}
"""A state that Vertex AI adds later is not in this dictionary."""
