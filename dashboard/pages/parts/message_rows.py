"""Messages as rows of a list."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs.messages import headline_of
from jobs.messages.inbox import topic_of
from jobs.models import Delivery
from jobs.texts import is_translatable

LOOKS = {
    "failed": "bad", "rejected": "bad", "over_approved": "bad", "approval_expired": "bad",
    "done": "ok", "approved": "ok", "started": "run", "waiting_long": "wait", "waste": "wait", "restarted": "again",
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


@dataclass(slots=True)
class Group:
    """The messages of a page with the same topic, newest first."""

    newest: Row
    earlier: list[Row] = field(default_factory=list)

    @property
    def unread(self) -> bool:
        """Whether one of them is unread."""
        return any(row.delivery.read_at is None for row in [self.newest, *self.earlier])

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds of the earlier ones and how many each has, the most frequent first."""
        return Counter(row.delivery.message.get_kind_display() for row in self.earlier).most_common()


def grouped(rows: Iterable[Row]) -> list[Group]:
    """Return the rows of a page in groups by topic, newest first; a group stands where its newest message does."""
    groups: dict[str, Group] = {}
    # Deliveries that were written at once have the same time; their messages are numbered as they occurred.
    for row in sorted(rows, key=lambda each: each.delivery.message_id, reverse=True):
        topic = topic_of(row.delivery.message)
        if topic in groups:
            groups[topic].earlier.append(row)
        else:
            groups[topic] = Group(row)
    return list(groups.values())
