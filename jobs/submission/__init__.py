"""A job is created at Vertex AI exactly once, cancelled and deleted.

Each step is pure decisions over the locked row and the database's time, behind three ports: `store` is the database,
`remote` Vertex AI, and `jobs.clock` the time.
"""

from jobs.submission.delete import delete as delete_job
from jobs.submission.delete import may_delete
from jobs.submission.resource_changes import ask as ask_for_change
from jobs.submission.resource_changes import resize_body

__all__ = ["ask_for_change", "delete_job", "may_delete", "resize_body"]
