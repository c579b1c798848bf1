from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0073_resource_ends")]

    operations = [
        AddIndexConcurrently(
            "job",
            Index(
                fields=["-ended_at", "id"],
                condition=Q(explanation__isnull=True, state__in=["expired", "failed", "submit_failed"]),
                name="job_unexplained",
            ),
        ),
    ]
