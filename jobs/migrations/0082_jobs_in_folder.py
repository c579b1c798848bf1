from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0081_output_folders")]

    operations = [
        AddIndexConcurrently(
            "job",
            Index(
                fields=["team", "folder_key", "-requested_at", "id"],
                condition=Q(folder_key__isnull=False),
                name="job_in_folder",
            ),
        ),
    ]
