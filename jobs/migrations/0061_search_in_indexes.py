from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently, RemoveIndexConcurrently

SEARCHED = ["display_name", "state", "strategy", "region"]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0060_plain_help_texts")]

    operations = [
        AddIndexConcurrently("job", Index(fields=["-requested_at", "id"], include=SEARCHED, name="job_list")),
        AddIndexConcurrently(
            "job", Index(fields=["team", "-requested_at", "id"], include=SEARCHED, name="job_list_of_team")
        ),
        AddIndexConcurrently(
            "job",
            Index(fields=["owner", "-requested_at", "id"], include=["team", *SEARCHED], name="job_list_of_owner"),
        ),
        AddIndexConcurrently(
            "job",
            Index(
                fields=["project", "region", "ended_at"], condition=Q(strategy="persistent"), name="job_on_resource"
            ),
        ),
        RemoveIndexConcurrently("job", "job_newest"),
        RemoveIndexConcurrently("job", "job_history"),
        RemoveIndexConcurrently("job", "job_newest_of_owner"),
    ]
