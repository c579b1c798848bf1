"""The database and Vertex AI behind the ports of the steps. A method is one transaction or one API call."""

import logging
import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from jobs import counts, transitions, vertex
from jobs.bounds import past_moment
from jobs.clients import INSTANCE_LABEL, JOB_LABEL, MAX_CALL, account_of, client
from jobs.clock import Clock
from jobs.models import Job, UnmatchedJob
from jobs.observation.record import record
from jobs.queue import claims, installation, rate_limit
from jobs.requests.questions import save_question
from jobs.storable import update_row
from jobs.submission.ports import Change, Decide, Event, Written
from jobs.submission.reassessment import reassess

logger = logging.getLogger(__name__)


class DatabaseStore:
    """Implement `ports.Store` with Django's models."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def claim(self, job_id: uuid.UUID | str) -> Job | None:
        """Claim the job for one step. Return None if it is gone, not due, claimed, or not to be sent from here."""
        now, token = self._clock.now(), uuid.uuid4()
        if not installation.may_send(now):
            return None
        columns = {"claim": token, "claimed_until": now + claims.JOB_LEASE}
        # One UPDATE that includes the condition: if two workers see the job due, the second one changes no row.
        is_claimed = Job.objects.due(now).filter(pk=job_id).order_by().update(**columns)
        return Job.objects.select_related("team").filter(pk=job_id, claim=token).first() if is_claimed else None

    def get(self, job_id: uuid.UUID | str) -> Job | None:
        """Return the current row, or None if there is none or the id is not a UUID."""
        try:
            return Job.objects.select_related("team").filter(pk=uuid.UUID(str(job_id))).first()
        except ValueError:
            return None

    def apply(self, job: Job, decide: Decide, *, needs_claim: bool = True) -> Written | None:
        """Lock the row, read it and the time again, and write what `decide` returns. See `ports.Store`."""
        with transaction.atomic():
            # Lock only the job's row. If the team's row were locked too, the jobs of a team would wait for each other.
            fresh = Job.objects.select_for_update(of=("self",)).select_related("team").filter(pk=job.pk).first()
            if fresh is None:
                logger.warning("job %s is gone, as after the restore of a backup; its step ends here", job.pk)
                return None
            # Read before the time, so that a slow query for the time counts as spent; see `submit._create`.
            read_at = self._clock.monotonic()
            now = self._clock.now()
            is_holder = job.claim is not None and fresh.claim == job.claim
            is_current = fresh.claimed_until is not None and fresh.claimed_until > now
            if needs_claim and not (is_holder and is_current):
                return None
            change = decide(fresh, now)
            if change is not None:
                self._write(fresh, change, is_holder=is_holder, now=now)
        return Written(fresh, read_at, is_changed=change is not None)

    def reassess(self, job: Job) -> Change | None:
        """Assess an allowed job again before each try. Return None if it may be sent, else the change to write."""
        return reassess(job, self._clock.now())

    def trust(self) -> installation.Trust:
        """Return since when the database is known not to have been replaced by an older copy."""
        return installation.load_trust(self._clock.now())

    def record_unmatched(self, job: Job, remote: vertex.RemoteJob, *, has_ended: bool) -> UnmatchedJob:
        """Record a job at Vertex AI that carries the label of `job` but is not the one it follows."""
        return save_unmatched(
            remote,
            job=job,
            place={"kind": job.kind, "project": job.project, "region": job.region},
            has_ended=has_ended,
            now=self._clock.now(),
        )

    def save_unmatched(self, row: UnmatchedJob) -> None:
        """Write the columns that a step changed."""
        row.save(update_fields=["cancel_sent_at", "last_error"])

    def _write(self, job: Job, change: Change, *, is_holder: bool, now: datetime) -> None:
        for event in change.events:
            _write_event(job, event, now)
        columns = dict(change.columns)
        if change.remote is not None:
            # A remote name is unique, and somebody may have adopted our job before its answer arrived.
            for other in Job.objects.select_for_update().filter(remote_name=change.remote.name).exclude(pk=job.pk):
                transitions.supersede(other, by=job, now=now)
            is_new = not job.remote_name
            submitted_at = past_moment(change.remote.create_time, now) or now
            record(job, change.remote, now=now, remote_name=change.remote.name, submitted_at=submitted_at)
            if job.remote_name != change.remote.name:  # the attempt stays in doubt and is looked up
                raise RuntimeError(f"job {job.pk} cannot enter {change.remote.state} from {job.state}")
            if is_new and job.approved_at is not None:
                seconds = (now - job.approved_at).total_seconds()
                transaction.on_commit(partial(counts.count_submission, seconds))
            # The change was decided before the answer was recorded, and the answer may have ended the job.
            if job.is_finished and not job.may_have_duplicates:
                columns["due_at"] = None
        if change.releases and is_holder:
            columns |= {"claim": None, "claimed_until": None}
        if columns:
            update_row(job, columns)
        if change.question is not None:
            save_question(job, change.question, now=now)
        if change.wakes:
            soon = now + settings.POLL_INTERVAL
            claims.wake_feed(job.project, due_at=soon)
            claims.wake_scope(project=job.project, region=job.region, kind=job.kind, due_at=soon)


class VertexRemote:
    """Implement `ports.Remote` with the REST client."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def find(self, job: Job) -> list[vertex.RemoteJob]:
        """Return every job at Vertex AI that carries this job's label, in any state."""
        self._read(job.project, job.region)
        wanted = f'labels.{JOB_LABEL}="{job.pk}"'
        with vertex.at_most(MAX_CALL.total_seconds()):
            return client(job.acts_as).list(job.kind, project=job.project, region=job.region, filter=wanted)

    def reserve_create(self, job: Job) -> None:
        """Take one creation or deletion from the rate limit."""
        rate_limit.spend(rate_limit.creates(job.project, job.region), now=self._clock.now())

    def create(self, job: Job, *, within: float) -> vertex.RemoteJob:
        """Create the job with our label. Connecting, sending and reading take at most `within` seconds."""
        labels = job.spec.get("labels", {}) | {JOB_LABEL: str(job.pk), INSTANCE_LABEL: settings.INSTANCE}
        with vertex.at_most(within):
            body = job.spec | {"labels": labels}
            return client(job.acts_as).create(job.kind, project=job.project, region=job.region, body=body)

    def cancel(self, job: Job | UnmatchedJob) -> None:
        """Ask Vertex AI to cancel the job that the row names."""
        self._read(job.project, job.region)
        followed = job.job if isinstance(job, UnmatchedJob) else job
        client(account_of(job.project) if followed is None else followed.acts_as).cancel(job.kind, job.remote_name)

    def get(self, job: Job) -> vertex.RemoteJob:
        """Return the job as Vertex AI has it."""
        self._read(job.project, job.region)
        return client(job.acts_as).get(job.kind, job.remote_name)

    def delete(self, job: Job) -> bool:
        """Delete an ended job at Vertex AI. Return False if the deletion has started but not finished."""
        self.reserve_create(job)
        return client(job.acts_as).delete(job.kind, job.remote_name)

    def _read(self, project: str, region: str) -> None:
        rate_limit.spend(rate_limit.reads(project, region), now=self._clock.now())


def save_unmatched(
    remote: vertex.RemoteJob, *, job: Job | None, place: Mapping[str, Any], has_ended: bool, now: datetime
) -> UnmatchedJob:
    """Save and return the row of a job at Vertex AI that carries our label but that no row follows."""
    seen = {
        "job": job,
        "display_name": remote.display_name[:128],
        "state": remote.state[:64],
        "last_seen_at": now,
        "ended_at": now if has_ended else None,
    }
    row, _ = UnmatchedJob.objects.update_or_create(
        remote_name=remote.name, defaults=seen, create_defaults={**place, **seen, "first_seen_at": now}
    )
    return row


def _write_event(job: Job, event: Event, now: datetime) -> None:
    fields: dict[str, Any] = {
        "now": now,
        "message": event.message,
        "once_key": event.key,
        "actor": event.actor,
        "reason": event.reason,
        "detail": dict(event.detail),
    }
    if event.to_state:
        if not transitions.transition(job, event.to_state, **fields):
            raise RuntimeError(f"job {job.pk} cannot go from {job.state} to {event.to_state}")
    else:
        transitions.record_event(job, event.kind, **fields)
