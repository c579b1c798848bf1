"""Create a job at Vertex AI exactly once, cancel it and delete it.

Each step consists of pure decisions over the locked row and the database's time. It uses three ports: `store` is the
database, `remote` is Vertex AI, and `jobs.clock` is the time.
"""

from jobs.submission.cancel import is_unsent
from jobs.submission.delete import delete as delete_job
from jobs.submission.delete import may_delete
from jobs.submission.resource_changes import resize_body

__all__ = ["delete_job", "is_unsent", "may_delete", "resize_body"]
