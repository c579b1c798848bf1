from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0092_families")]

    operations = [
        AddIndexConcurrently(
            "job",
            Index(fields=["family", "-requested_at", "id"], condition=Q(family__isnull=False), name="job_family"),
        ),
        AddIndexConcurrently(
            "job", Index(fields=["requested_at", "id"], condition=Q(family=None), name="job_without_family")
        ),
    ]
