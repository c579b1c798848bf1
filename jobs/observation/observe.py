"""Poll all jobs of one scope at once and record what Vertex AI returns.

One list call returns a hundred active jobs of a project, region and kind. A job of ours that is missing from the list
has ended, so it is requested by name. A failure is recorded on the scope, never on a job's state; the board then shows
how old its data is.

Most answers contain nothing new. They cost one UPDATE per page; only a job with news is loaded.
"""

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from jobs import explain, vertex
from jobs.clients import INSTANCE_LABEL, client
from jobs.models import Job, Scope
from jobs.observation import cadence
from jobs.observation.child_jobs import has_child_jobs, poll_child_jobs, poll_ended_pipeline
from jobs.observation.failures import record_failure
from jobs.observation.record import mark_seen, record, record_absence
from jobs.observation.restarts import record_restarts
from jobs.observation.set_aside import SetAside
from jobs.observation.trial_jobs import Lookup
from jobs.observation.watched import (
    WatchedJob,
    list_accounts,
    list_watched,
    may_have_duplicates,
    scope_filter,
)
from jobs.queue import claims, rate_limit
from jobs.states import JobState
from jobs.vertex import wire

FIELDS = ("name", "state", "createTime", "startTime", "endTime", "updateTime", "error", "labels")
"""The fields of a submitted job that `record` reads, and the labels, which show which instance made it."""
MORE_FIELDS = {"custom_job": ("webAccessUris",), "training_pipeline": ("trainingTaskMetadata",)}
JOB_ENDED = (
    "JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED",
    "JOB_STATE_PARTIALLY_SUCCEEDED",
)  # fmt: skip
PIPELINE_ENDED = ("PIPELINE_STATE_SUCCEEDED", "PIPELINE_STATE_FAILED", "PIPELINE_STATE_CANCELLED")
PAGE_TRIES = 3
SEEN_TOGETHER = 2_000
SEEN_WITHIN = timedelta(seconds=2)
ANOTHER_PROBE = timedelta(seconds=2)


class Listed(NamedTuple):
    """The active jobs that carry our label and that no row follows. `is_complete` means that every page was read."""

    unmatched: list[vertex.RemoteJob]
    is_complete: bool


def observe(scope_id: int, *, now: datetime) -> Listed | None:
    """Poll one scope, schedule the next poll and return the listed jobs that no row follows.

    Return None if the scope is not due, another worker has claimed it, or Vertex AI did not answer.
    """
    scope = claims.claim_poll(Scope, scope_id, now)
    if scope is None:
        return None
    listed = None
    with record_failure(scope, now=now):  # may end the block early
        watched = {job.remote_name: job for job in list_watched(scope, now)}
        if not (watched or may_have_duplicates(scope, now) or has_child_jobs(scope, now)):
            claims.release_poll(scope, due_at=None, answered_at=scope.answered_at)
            return None
        with cadence.call_seconds(scope.failures) as patience:
            if not patience:
                claims.postpone_poll(scope, due_at=now + ANOTHER_PROBE)
                return None
            poll = Poll(scope, watched, patience, now)
            last_error = poll.run()
        claims.wake_feed(scope.project, due_at=now)
        interval, asked = cadence.poll_interval(watched.values()), last_error.retry_after if last_error else None
        due_at = now + asked if asked else cadence.next_poll_at(scope.pk, interval, now=now)
        due_at = now if poll.is_cut_short else due_at
        claims.release_poll(scope, due_at=due_at, answered_at=now, last_error=str(last_error or poll.aside.words))
        listed = Listed(poll.unmatched, is_complete=poll.is_list_complete)
    return listed  # noqa: RET504


class Poll:
    """One poll of one scope.

    `is_cut_short` means that some jobs were not requested because the poll took too long. `unmatched` are the listed
    jobs that carry our label and that no row follows.
    """

    def __init__(self, scope: Scope, watched: dict[str, WatchedJob], patience: float, now: datetime) -> None:
        self._scope, self._watched, self._patience, self._now = scope, watched, patience, now
        self._spend = partial(rate_limit.spend, rate_limit.reads(scope.project, scope.region), now=now)
        self._watch = cadence.Stopwatch(now, jobs_count=len(watched))
        self._without_news, self._written_at = list[uuid.UUID](), now
        self.aside = SetAside(str(scope), now=now)
        self._lookup = Lookup(self._get, self.aside, self._watch, now)
        self.is_cut_short = self.is_list_complete = False
        self.unmatched: list[vertex.RemoteJob] = []

    def run(self) -> vertex.VertexError | None:
        """List the active jobs, get each of ours that is missing from the list, and return the last failure of a get.

        A list leaves out the trials of tuning jobs, so each tuning job is requested by name. A failed get does not stop
        the others. Raise the failure of the list. Raise the failure of the gets if all of them failed, because the
        region then does not answer.
        """
        missing = dict(self._watched)
        try:
            last_error = self._poll_jobs(missing)
        finally:  # also after a failure, for the jobs answered before it
            self._write_seen()
        if self._scope.kind == Job.Kind.CUSTOM_JOB or isinstance(last_error, rate_limit.OverRateLimit):
            return last_error
        of_child_jobs = poll_child_jobs(self._scope, self._lookup)
        return last_error or of_child_jobs

    def _poll_jobs(self, missing: dict[str, WatchedJob]) -> vertex.VertexError | None:
        if self._scope.kind != Job.Kind.TUNING_JOB:
            self._list_active(missing)
            return None if self.is_cut_short else self._get_missing(missing)
        last_error = self._get_missing(missing)  # a list leaves out the trials
        if not (self.is_cut_short or isinstance(last_error, rate_limit.OverRateLimit)):
            self._list_active({})
        return last_error

    def _list_active(self, missing: dict[str, WatchedJob]) -> None:
        """Read the list of active jobs, remove the listed ones from `missing` and record what it shows about them."""
        for page in chain.from_iterable(map(self._pages, list_accounts(self._scope, self._watched.values()))):
            ours = [remote for remote in page if remote.labels.get(INSTANCE_LABEL) == settings.INSTANCE]
            self.unmatched += [remote for remote in ours if remote.name not in self._watched]
            self._record([remote for remote in page if missing.pop(remote.name, None)])
            if self._watch.has_run_out:
                self.is_cut_short = True
                return
        self.is_list_complete = True

    def _get_missing(self, missing: dict[str, WatchedJob]) -> vertex.VertexError | None:
        """Get each job by name until the time of the poll or the rate limit is used up. See `run` for failures.

        Jobs come first that had no answer for the longest time, so that the next poll continues where this one ended.
        """
        last_error: vertex.VertexError | None = None
        answers_count = len(self._watched) - len(missing)
        for known in missing.values():
            if not known.is_asked_for:
                continue
            if self._watch.has_run_out:
                self.is_cut_short = True
                break
            try:
                self._get_job(known)
                answers_count += 1
            except rate_limit.OverRateLimit as error:
                return error
            except vertex.VertexError as error:
                last_error = error
        if last_error is not None and not answers_count:
            raise last_error
        return last_error

    def _pages(self, acts_as: str) -> Iterator[list[vertex.RemoteJob]]:
        """Yield the active jobs of this instance that an account can see. Each page has to arrive within the timeout.

        While adopted jobs are watched, these are all active jobs of the region, because adopted jobs lack our label.
        """
        scope = self._scope
        ended = PIPELINE_ENDED if scope.kind == Job.Kind.PIPELINE else JOB_ENDED
        terms = [f'state!="{state}"' for state in ended]
        if not Job.objects.remote().filter(**scope_filter(scope), is_adopted=True).exists():
            terms.insert(0, f'labels.{INSTANCE_LABEL}="{settings.INSTANCE}"')
        pages = client(acts_as).pages(
            scope.kind,
            project=scope.project,
            region=scope.region,
            filter=" AND ".join(terms),
            fields=(*FIELDS, *MORE_FIELDS.get(scope.kind, ())),
            before_page=self._spend,
            tries=PAGE_TRIES,
            on_odd=lambda item, reason: self.aside.put(wire.text(wire.mapping(item).get("name")), reason),
        )
        while True:
            with vertex.at_most(self._patience):
                page = next(pages, None)
            if page is None:
                return
            yield page

    def _get_job(self, known: WatchedJob) -> None:
        try:
            remote = self._get(self._scope.kind, known.remote_name, known.acts_as)
        except vertex.NotFound:
            with self.aside.item(known.remote_name):
                self._keep_claim()
                record_absence(Job.objects.select_related("last_seen").get(pk=known.pk), now=self._now)
        else:
            self._record([remote])

    def _get(self, kind: str, name: str, acts_as: str) -> vertex.RemoteJob:
        self._spend()
        self._keep_claim()
        with vertex.at_most(self._patience):
            return client(acts_as).get(kind, name)

    def _record(self, answers: list[vertex.RemoteJob]) -> None:
        """Record the answers: one transaction for each one with news, one UPDATE for hundreds of the others."""
        news = []
        for remote in answers:
            known = self._watched[remote.name]
            if self._scope.kind != Job.Kind.CUSTOM_JOB or known.is_news(remote, self._watch.now):
                news.append((known, remote))
            else:
                self._without_news.append(known.pk)
        if len(self._without_news) >= SEEN_TOGETHER or self._watch.now - self._written_at > SEEN_WITHIN:
            self._write_seen()
        for known, remote in news:
            if self._scope.kind == Job.Kind.PIPELINE and known.has_just_ended(remote):
                poll_ended_pipeline(known.pk, self._lookup)
            with self.aside.item(known.remote_name):
                self._keep_claim()
                job = Job.objects.select_related("last_seen").get(pk=known.pk)
                if job.remote_name != remote.name:  # the row was replaced by an older copy meanwhile
                    continue
                record(job, remote, now=self._now)
                # A job that had not run before has no restart, but may have ended with its last loss. The reader of the
                # log feed handles restarts shown by logs.
                has_run = known.has_started or (job.started_at is not None and job.state != JobState.RUNNING)
                may_be_news = has_run or job.is_finished
                if may_be_news and (job.state != known.state or known.may_be_restarting):
                    with self.aside.item(f"restarts of {known.remote_name}"):
                        record_restarts(job, now=self._now)
                elif job.is_finished:
                    with self.aside.item(f"explanation of {known.remote_name}"):
                        explain.refresh(job)

    def _write_seen(self) -> None:
        if not self._without_news:
            return
        with transaction.atomic():
            self._keep_claim()
            mark_seen(self._without_news, now=self._now)
        self._without_news, self._written_at = [], self._watch.now

    def _keep_claim(self) -> None:
        claims.keep_poll(self._scope, now=self._watch.now)
