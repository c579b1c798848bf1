"""An index by which the sweep finds the failed jobs that other rules explained."""

from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0078_explained_by")]

    operations = [
        AddIndexConcurrently(
            "job",
            Index(
                fields=["explained_by", "-ended_at", "id"],
                condition=Q(state__in=["expired", "failed", "submit_failed"]),
                name="job_explained_by",
            ),
        ),
        RemoveIndexConcurrently("job", "job_unexplained"),
    ]
