"""Vertex AI, as the steps use it: each call within our rate limit and with one time limit."""

from django.conf import settings

from jobs import vertex
from jobs.clients import INSTANCE_LABEL, JOB_LABEL, MAX_CALL, account_of, client
from jobs.clock import Clock
from jobs.models import Job, UnmatchedJob
from jobs.queue import rate_limit


class VertexRemote:
    """`ports.Remote` over the REST client."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def find(self, job: Job) -> list[vertex.RemoteJob]:
        """List every job at Vertex AI that carries this job's label, in whatever state."""
        self._read(job.project, job.region)
        wanted = f'labels.{JOB_LABEL}="{job.pk}"'
        with vertex.at_most(MAX_CALL.total_seconds()):
            return client(job.acts_as).list(job.kind, project=job.project, region=job.region, filter=wanted)

    def reserve_create(self, job: Job) -> None:
        """Take one creation or deletion from the rate limit."""
        rate_limit.spend(rate_limit.creates(job.project, job.region), now=self._clock.now())

    def create(self, job: Job, *, within: float) -> vertex.RemoteJob:
        """Create the job, labelled with our id; connecting, sending and reading are done within so many seconds."""
        labels = job.spec.get("labels", {}) | {JOB_LABEL: str(job.pk), INSTANCE_LABEL: settings.INSTANCE}
        with vertex.at_most(within):
            body = job.spec | {"labels": labels}
            return client(job.acts_as).create(job.kind, project=job.project, region=job.region, body=body)

    def cancel(self, job: Job | UnmatchedJob) -> None:
        """Ask for the end of the job that the row names."""
        self._read(job.project, job.region)
        followed = job.job if isinstance(job, UnmatchedJob) else job
        client(account_of(job.project) if followed is None else followed.acts_as).cancel(job.kind, job.remote_name)

    def get(self, job: Job) -> vertex.RemoteJob:
        """Return what Vertex AI has about the job."""
        self._read(job.project, job.region)
        return client(job.acts_as).get(job.kind, job.remote_name)

    def delete(self, job: Job) -> bool:
        """Delete what Vertex AI keeps of a job that has ended; False when it has begun to and will finish later."""
        self.reserve_create(job)
        return client(job.acts_as).delete(job.kind, job.remote_name)

    def _read(self, project: str, region: str) -> None:
        rate_limit.spend(rate_limit.reads(project, region), now=self._clock.now())
