"""Indexes with which no page and no sweep reads more jobs than it shows or works on."""

from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently, RemoveIndexConcurrently

INDEXES = [
    Index(fields=["-requested_at", "id"], name="job_newest"),
    Index(fields=["owner", "-requested_at", "id"], name="job_newest_of_owner"),
    Index(fields=["team", "display_name", "state", "-requested_at", "id"], name="job_name"),
    Index(fields=["-ended_at", "id"], name="job_ended"),
    Index(fields=["team", "-ended_at", "id"], name="job_ended_of_team"),
    Index(fields=["project", "region", "kind", "ended_at"], name="job_ended_in_scope"),
    Index(fields=["team", "state", "-state_since", "id"], condition=Q(ended_at=None), name="job_unfinished"),
    Index(fields=["claimed_until"], condition=Q(claim__isnull=False), name="job_claimed"),
    Index(
        fields=["project", "submitted_at", "id"],
        condition=Q(log_complete=False, submitted_at__isnull=False),
        name="job_unread_log",
    ),
    Index(
        fields=["requested_at", "id"],
        condition=Q(deletion_requested_at__isnull=False, deleted_at=None),
        name="job_to_delete",
    ),
]
REPLACED = ["job_board", "job_scope", "job_on_resource"]
"""Other indexes begin with the same columns, or hold the few jobs that have not ended."""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0016_severities")]

    operations = [
        *(AddIndexConcurrently("job", index) for index in INDEXES),
        *(RemoveIndexConcurrently("job", name) for name in REPLACED),
    ]
