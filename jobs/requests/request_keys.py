"""Request keys: what caused a job, from which its id follows, and how a repeated request is found.

Every job has a key. Together with its owner, the key names the cause of the job: a form, an `Idempotency-Key`, a time
of a schedule, a further attempt. The job's id is derived from it, and Vertex AI knows the job by this id. So the same
cause leads to the same id even in a database that was restored and has forgotten the job, and the job is found there by
its label before another one is created (`jobs.submission.submit`).

Keys made here begin with a reserved prefix. `given_key` keeps keys that come from outside apart from them.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4, uuid5

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Min

from jobs import spec
from jobs.bounds import digest_of
from jobs.fallback import Plan
from jobs.models import Job
from jobs.models.job import NEW_KEY
from jobs.spec.sent import find_differences

FIRST_KEY = "judged:request"
"""The key of a job's first event, which stores what was requested."""
OTHER_REQUEST = "other_request"
"""The reason of the event that a found job was sent for another request with the same key, which the row shows."""
NAMESPACE = UUID("5f0a4a0e-3d52-5a0c-9c3f-6c0b8d0f7a11")
"""Of the ids of jobs (RFC 9562, version 5). Never change it: the jobs at Vertex AI are labelled with these ids."""
RESERVED = re.compile(rf"({NEW_KEY}|api-|run-|schedule-|fallback-|given-|adopted:|demo:)")
ATTEMPT = re.compile(r"fallback-([0-9a-f]{32})-(\d+)")
SCHEDULED = re.compile(r"schedule-([0-9a-f]{32})-\d{12}")
MAX_GIVEN_LENGTH = 57
"""The column holds 64 characters. The rest is for the numbers of a sweep."""


# ---------------------------------------------------------------- keys
def given_key(text: str) -> str:
    """Return the key of a request for a key from outside, such as a form's hidden field.

    A text that looks like a key of ours, or is too long, is replaced by its digest.
    """
    is_kept = len(text) <= MAX_GIVEN_LENGTH and not RESERVED.match(text)
    return text if is_kept else f"given-{digest_of(text)[:48]}"


def keys_of_form(text: str) -> list[str]:
    """Return the request keys that the job, or the first job of the sweep, of a form with this hidden key has."""
    return [given_key(text), f"{given_key(text)}-1"]


def new_key() -> str:
    """Return the key of a request that cannot have been made before, because nobody else knows its key."""
    return f"{NEW_KEY}{uuid4().hex}"


def api_key(text: str) -> str:
    """Return the key of a request with this `Idempotency-Key`."""
    return f"api-{digest_of(text)[:48]}"


def schedule_key(schedule: UUID, moment: datetime) -> str:
    """Return the key of one due time of a schedule."""
    return f"schedule-{schedule.hex}-{moment:%Y%m%d%H%M}"


def attempt_key(fallback: UUID, number: int) -> str:
    """Return the key of a further attempt."""
    return f"fallback-{fallback.hex}-{number}"


def adopted_key(remote_name: str) -> str:
    """Return the key of a job that was made outside Trainboard."""
    return f"adopted:{digest_of(remote_name)[:40]}"


def job_id(by: User, key: str) -> UUID:
    """Return the id of the job that `by` requests with this key.

    Ids of further attempts and of scheduled runs do not depend on the person. Other ids depend on the database and the
    instance, so that the same key of somebody with the same name on another site means another job. A person counts
    by username: a restored database may assign the number of an account again, to somebody else.
    """
    if attempt := ATTEMPT.fullmatch(key):
        return uuid5(UUID(attempt[1]), attempt[2])
    if scheduled := SCHEDULED.fullmatch(key):
        return uuid5(UUID(scheduled[1]), key)
    return uuid5(NAMESPACE, "\n".join([_database_mark(), settings.INSTANCE, by.get_username(), key]))


def _database_mark() -> str:
    """Return the time of the database's first migration, which every backup of it contains, also the oldest ones."""
    first = MigrationRecorder(connection).migration_qs.aggregate(at=Min("applied"))["at"]
    return first.astimezone(UTC).isoformat() if first is not None else ""


# ---------------------------------------------------------------- repeated requests
def find_requested(by: User, request_key: str) -> Job | None:
    """Return the job that `by` requested with this key, or None if there is none."""
    return Job.objects.filter(owner=by, request_key=request_key).first()


def list_requested(by: User, keys: Sequence[str]) -> list[Job]:
    """Return the jobs that were requested with these keys, in the order of the keys."""
    return sorted(Job.objects.filter(owner=by, request_key__in=keys), key=lambda job: keys.index(job.request_key))


def is_request_of(job: Job, submission: spec.Submission, cap_usd: Decimal | None, plan: Plan | None) -> bool:
    """Return whether a job was requested with this submission and cap. Later changes and its name are ignored."""
    found = _requested(job)
    before = {"digest": job.spec_digest, "cap_usd": None if job.cap_usd is None else str(job.cap_usd)}
    requested = identity_of(submission, cap_usd if plan is None else plan.cap(cap_usd))
    if job.events.filter(reason=OTHER_REQUEST).exists():  # the database knows that request from Vertex AI only
        is_same = not find_differences(job.kind, spec.rest_body(submission.job), job.spec)
        return is_same and (found or before)["cap_usd"] == requested["cap_usd"]
    return bool((found or before) == requested)


def requested_cap(job: Job) -> Decimal | None:
    """Return the cap that the requester wrote. An approver may have lowered that of the job since."""
    found = _requested(job)
    if found is None:
        return job.cap_usd
    return None if found["cap_usd"] is None else Decimal(found["cap_usd"])


def _requested(job: Job) -> dict[str, Any] | None:
    """Return what was requested, or None: events of older releases do not store it."""
    event = job.events.filter(once_key=FIRST_KEY).first()
    return event.detail.get("requested") if event is not None else None


def identity_of(submission: spec.Submission, cap_usd: Decimal | None) -> dict[str, str | None]:
    """Return what distinguishes requests made with the same key."""
    return {"digest": submission.digest, "cap_usd": None if cap_usd is None else f"{cap_usd:.2f}"}
