"""The indexes of jobs. With a million jobs, every query of a page or a sweep has to start with one of them."""

from django.db.models import Index, Q

SEARCHED = ["display_name", "state", "strategy", "region"]
"""Columns by which lists are filtered. PostgreSQL reads them from the index, and only the rows that match."""

JOB_INDEXES = [
    Index(fields=["-requested_at", "id"], include=SEARCHED, name="job_list"),
    Index(fields=["team", "-requested_at", "id"], include=SEARCHED, name="job_list_of_team"),
    Index(fields=["owner", "-requested_at", "id"], include=["team", *SEARCHED], name="job_list_of_owner"),
    Index(fields=["due_at", "id"], condition=Q(due_at__isnull=False), name="job_due"),
    Index(fields=["ended_at"], condition=Q(approved_usd__isnull=False), name="job_spending"),
    Index(fields=["team", "id"], condition=Q(is_counted=False), name="job_uncounted"),
    Index(fields=["cost_until", "id"], condition=Q(ended_at=None, started_at__isnull=False), name="job_cost_until"),
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
    Index(fields=["team", "region", "-started_at"], condition=Q(started_at__isnull=False), name="job_waits"),
    Index(fields=["team", "spec_digest", "-requested_at", "id"], name="job_identical"),
    Index(
        fields=["team", "folder_key", "-requested_at", "id"],
        condition=Q(folder_key__isnull=False),
        name="job_in_folder",
    ),
    Index(fields=["project", "region", "ended_at"], condition=Q(strategy="persistent"), name="job_on_resource"),
    Index(
        fields=["explained_by", "-ended_at", "id"],
        condition=Q(state__in=["expired", "failed", "submit_failed"]),
        name="job_explained_by",
    ),
    Index(fields=["sweep"], condition=Q(sweep__isnull=False), name="job_sweep"),
]
