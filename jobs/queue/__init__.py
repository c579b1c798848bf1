"""The queue in the database: claims of due rows, rate limits for Vertex AI, and whether this database may send jobs."""

from jobs.queue.installation import mark_restored
from jobs.queue.installation import owner_instance as database_owner

__all__ = ["database_owner", "mark_restored"]
