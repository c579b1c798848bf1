"""Messages to people and to channels of teams: recipients, content and sending.

`jobs.outbox` writes a message in the same transaction as the reported event. `route` writes its deliveries, and
`deliver` sends those that are due. `content` builds the content, and one module per way (`email`, `slack`,
`google_chat`, `webhook`) renders it so that no name is read as markup. `allowed_addresses` and `post` keep requests
away from internal networks.
"""

from jobs.messages.content import content_of, headline_of, path_of
from jobs.messages.deliver import deliver, due_destinations
from jobs.messages.kinds import DEFAULT_OF_CHANNEL, LABELS, PERSONAL, choices_of
from jobs.messages.reports import report_when_due
from jobs.messages.route import route as route_messages
from jobs.messages.route import unrouted
from jobs.messages.waits import watch_waits

__all__ = [
    "DEFAULT_OF_CHANNEL",
    "LABELS",
    "PERSONAL",
    "choices_of",
    "content_of",
    "deliver",
    "due_destinations",
    "headline_of",
    "path_of",
    "report_when_due",
    "route_messages",
    "unrouted",
    "watch_waits",
]
