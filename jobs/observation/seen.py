"""When Vertex AI last reported a job."""

import uuid
from collections.abc import Collection
from datetime import datetime

from jobs.models import Job, LastSeen


def mark_seen(jobs: Collection[uuid.UUID], *, now: datetime) -> None:
    """Write that these jobs were reported at `now`: one UPDATE, and one INSERT where one is seen for the first time."""
    if LastSeen.objects.filter(pk__in=jobs).update(at=now) < len(jobs):
        unseen = Job.objects.filter(pk__in=jobs, last_seen=None).values_list("pk", flat=True)
        LastSeen.objects.bulk_create([LastSeen(job_id=pk, at=now) for pk in unseen], ignore_conflicts=True)
