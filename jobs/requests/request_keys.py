"""Request keys: find the job that was requested with a key, and check whether a repeated request is the same."""

from collections.abc import Sequence
from decimal import Decimal

from django.contrib.auth.models import User

from jobs import spec
from jobs.fallback import Plan
from jobs.models import Job

FIRST_KEY = "judged:request"
"""The key of a job's first event, which stores what was requested."""


def find_requested(by: User, request_key: str) -> Job | None:
    """Return the job that `by` requested with this key, or None if there is none."""
    return Job.objects.filter(owner=by, request_key=request_key).first()


def list_requested(by: User, keys: Sequence[str]) -> list[Job]:
    """Return the jobs that were requested with these keys, in the order of the keys."""
    return sorted(Job.objects.filter(owner=by, request_key__in=keys), key=lambda job: keys.index(job.request_key))


def is_request_of(job: Job, submission: spec.Submission, cap_usd: Decimal | None, plan: Plan | None) -> bool:
    """Return whether a job was requested with this submission and cap. Later changes and its name are ignored."""
    event = job.events.filter(once_key=FIRST_KEY).first()
    found = event.detail.get("requested") if event is not None else None
    # Events of older releases do not store what was requested.
    before = {"digest": job.spec_digest, "cap_usd": None if job.cap_usd is None else str(job.cap_usd)}
    return bool((found or before) == identity_of(submission, cap_usd if plan is None else plan.cap(cap_usd)))


def identity_of(submission: spec.Submission, cap_usd: Decimal | None) -> dict[str, str | None]:
    """Return what distinguishes requests made with the same key."""
    return {"digest": submission.digest, "cap_usd": None if cap_usd is None else f"{cap_usd:.2f}"}
