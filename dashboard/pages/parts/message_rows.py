"""Messages as rows of a list."""

from dataclasses import dataclass

from jobs.messages import headline_of
from jobs.models import Delivery
from jobs.texts import is_translatable

LOOKS = {
    "failed": "bad", "rejected": "bad", "over_approved": "bad", "approval_expired": "bad",
    "done": "ok", "approved": "ok", "started": "run", "waiting_long": "wait", "restarted": "again",
    "approval_needed": "ask", "approval_reminder": "ask", "cancelled": "halt",
}  # fmt: skip
"""The shape for a kind of message. Others have the neutral one."""


@dataclass(frozen=True, slots=True)
class Row:
    """A delivery with its subject and its shape."""

    delivery: Delivery
    headline: str
    is_english: bool
    """Whether the subject contains a stored sentence that cannot be translated."""
    look: str


def row_of(delivery: Delivery) -> Row:
    """Return a delivery as a row of a list."""
    message = delivery.message
    is_preemption = message.event is not None and message.event.reason == "preempted"
    look = "bolt" if message.kind == "restarted" and is_preemption else LOOKS.get(message.kind, "odd")
    text = message.words("text") if message.job_id is None else ""
    return Row(delivery, headline_of(message), bool(text) and not is_translatable(text), look)
