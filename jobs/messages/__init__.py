"""Messages to people and to channels of teams: who gets them, what they contain, how they are sent.

`jobs.outbox` writes a message in the transaction of what it reports. `route` writes its deliveries, `deliver` sends
those that are due, `content` holds what stands in one, and a module for each way (`email`, `slack`, `google_chat`,
`webhook`) writes it so that no name in it can be read as markup. `allowed_addresses` and `post` keep every request away
from internal networks.
"""

from jobs.messages.content import content_of, headline_of, path_of
from jobs.messages.deliver import deliver, due_destinations
from jobs.messages.kinds import DEFAULT_OF_CHANNEL, LABELS, PERSONAL, choices_of
from jobs.messages.route import sweep

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
    "sweep",
]
