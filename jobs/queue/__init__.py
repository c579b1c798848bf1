"""The database is the queue: claims of rows that are due, the rate limits of Vertex AI, and whether it may send."""

from jobs.queue.installation import mark_restored
from jobs.queue.installation import owner_instance as database_owner

__all__ = ["database_owner", "mark_restored"]
