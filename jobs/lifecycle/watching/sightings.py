"""That Vertex AI told us about jobs just now, whatever it said."""

import uuid
from collections.abc import Collection
from datetime import datetime

from jobs.models import Job, Sighting


def saw(jobs: Collection[uuid.UUID], *, now: datetime) -> None:
    """Write it for all of them: one UPDATE, and one INSERT where one is seen for the first time."""
    if Sighting.objects.filter(pk__in=jobs).update(at=now) < len(jobs):
        unseen = Job.objects.filter(pk__in=jobs, sighting=None).values_list("pk", flat=True)
        Sighting.objects.bulk_create([Sighting(job_id=pk, at=now) for pk in unseen], ignore_conflicts=True)
