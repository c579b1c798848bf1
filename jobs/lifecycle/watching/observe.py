"""Look at all jobs of one scope at once and record what Vertex AI says.

One list call answers for a hundred active jobs of a project, region and kind. A job of ours that is missing from the
list has ended, so it is asked for by name. Whatever goes wrong in the outside world is written on the scope, never on a
job's state: the board then shows how old our knowledge is.

Most answers say nothing new. Those cost one UPDATE for each page; only a job about which there is news is loaded.
"""

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, F, Q

from jobs import states, vertex
from jobs.lifecycle import budget, claims
from jobs.lifecycle.aside import Aside
from jobs.lifecycle.connection import INSTANCE_LABEL, client
from jobs.lifecycle.watching import cadence
from jobs.lifecycle.watching.guard import guarded
from jobs.lifecycle.watching.news import Known, is_news, may_be_restarting
from jobs.lifecycle.watching.record import BLIND_AFTER, record, record_absence
from jobs.lifecycle.watching.restarts import reconcile
from jobs.lifecycle.watching.sightings import saw
from jobs.models import Job, Scope
from jobs.states import JobState
from jobs.vertex import wire

FIELDS = ("name", "state", "startTime", "endTime", "updateTime", "error")
"""What `record` reads of a job that has been submitted; the rest would only make the pages longer."""
MORE_FIELDS: dict[str, tuple[str, ...]] = {Job.Kind.PIPELINE: ("trainingTaskMetadata",)}
JOB_ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED")
PIPELINE_ENDED = ("PIPELINE_STATE_SUCCEEDED", "PIPELINE_STATE_FAILED", "PIPELINE_STATE_CANCELLED")
ERROR_WINDOW = timedelta(minutes=5)
"""How long after its end a job may fail to give a reason until we believe that there is none (vertex-facts 6.1)."""
ERROR_LATEST = timedelta(hours=6)
"""After this nobody asks any more, whatever kept us from hearing of it."""
PAGE_TRIES = 3
SEEN_TOGETHER = 2_000
SEEN_WITHIN = timedelta(seconds=2)
ANOTHER_PROBE = timedelta(seconds=2)


def observe(scope_id: int, *, now: datetime) -> None:
    """Look at one scope and plan the next look; does nothing when it is not due or another worker is at it."""
    scope = claims.claim_look(Scope, scope_id, now)
    if scope is None:
        return
    with guarded(scope, now=now):
        _observe(scope, now)


def _observe(scope: Scope, now: datetime) -> None:
    watched = {job.remote_name: job for job in watched_jobs(scope, now)}
    if not watched:
        claims.release_look(scope, due_at=None, answered_at=scope.answered_at)
        return
    with cadence.turn(scope.failures) as patience:
        if not patience:
            claims.postpone_look(scope, due_at=now + ANOTHER_PROBE)
            return
        look = Look(scope, watched, patience, now)
        trouble = look.take()
    claims.wake_feed(scope.project, due_at=now)
    pause = (trouble and trouble.retry_after) or cadence.pause(watched.values())
    due_at = now if look.is_cut_short else now + pause
    claims.release_look(scope, due_at=due_at, answered_at=now, trouble=str(trouble or look.aside.words))


def watched_jobs(scope: Scope, now: datetime) -> list[Known]:
    """Jobs that Vertex AI may still have news about: those that are active, and those that failed without a reason."""
    of_scope = Job.objects.filter(**place_of(scope)).exclude(remote_name="")
    failed = Q(state=JobState.FAILED, error__isnull=True, deleted_at=None, ended_at__gt=now - ERROR_LATEST)
    reasonless = failed & Q(sighting__at__lt=F("ended_at") + ERROR_WINDOW)
    active = ~Q(state__in=states.FINISHED | states.LOCAL)
    told = {
        "has_started": Q(started_at__isnull=False),
        "runs_long": Q(running_since__isnull=False, running_since__lt=now - cadence.LONG_RUN),
        "was_blind": Q(sighting__at__isnull=False, sighting__at__lt=now - BLIND_AFTER),
        "is_to_be_cancelled": Q(cancel_requested_at__isnull=False),
    }
    asked = {name: ExpressionWrapper(told[name], BooleanField()) for name in told}
    found = of_scope.filter(active | reasonless).annotate(**asked)
    longest_unheard_first = found.order_by(F("sighting__at").asc(nulls_first=True), "submitted_at", "pk")
    return list(map(Known._make, longest_unheard_first.values_list(*Known._fields)))


def place_of(scope: Scope) -> dict[str, str]:
    """What the jobs of a scope have in common."""
    return {"project": scope.project, "region": scope.region, "kind": scope.kind}


class Look:
    """One look at one scope. `is_cut_short`: it took too long, and some jobs have not been asked for."""

    def __init__(self, scope: Scope, watched: dict[str, Known], patience: float, now: datetime) -> None:
        self._scope, self._watched, self._patience, self._now = scope, watched, patience, now
        self._spend = partial(budget.spend, budget.reads(scope.project, scope.region), now=now)
        self._watch = cadence.Stopwatch(now, jobs_count=len(watched))
        self._without_news: list[uuid.UUID] = []
        self._written_at = now
        self.aside = Aside(str(scope), now=now)
        self.is_cut_short = False

    def take(self) -> vertex.VertexError | None:
        """One list for the active ones, one get for each of ours that it does not hold.

        A list leaves out the trials of tuning jobs, so each of those is asked for by name. A get that fails does not
        keep the others from being asked; the last such failure is returned. Raises that of the list, and that of the
        gets where all of them failed, since the place then does not answer.
        """
        missing = dict(self._watched)
        try:
            for page in self._pages():
                self._apply([remote for remote in page if missing.pop(remote.name, None)])
                if self._watch.has_run_out:
                    self.is_cut_short = True
                    return None
            return self._ask_for(missing)
        finally:
            self._write_seen()

    def _ask_for(self, missing: dict[str, Known]) -> vertex.VertexError | None:
        """Ask for each by name, until the time of a look or our budget is used up; see `take` for failures.

        Those that were not heard of for longest come first, so that the next look goes on where this one ended.
        """
        trouble: vertex.VertexError | None = None
        answers_count = len(self._watched) - len(missing)
        for known in missing.values():
            if self._watch.has_run_out:
                self.is_cut_short = True
                break
            try:
                self._ask(known)
                answers_count += 1
            except budget.OverBudget as error:
                return error
            except vertex.VertexError as error:
                trouble = error
        if trouble is not None and not answers_count:
            raise trouble
        return trouble

    def _pages(self) -> Iterator[list[vertex.RemoteJob]]:
        """The active jobs of this instance; each page has to come within the patience.

        While adopted jobs are watched, which lack our label, it is every active job of the region.
        """
        scope = self._scope
        if scope.kind == Job.Kind.TUNING_JOB:
            return
        ended = PIPELINE_ENDED if scope.kind == Job.Kind.PIPELINE else JOB_ENDED
        terms = [f'state!="{state}"' for state in ended]
        if not Job.objects.remote().filter(**place_of(scope), is_adopted=True).exists():
            terms.insert(0, f'labels.{INSTANCE_LABEL}="{settings.INSTANCE}"')
        pages = client().pages(
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

    def _ask(self, known: Known) -> None:
        """Ask for one job by name."""
        self._spend()
        try:
            with vertex.at_most(self._patience):
                remote = client().get(self._scope.kind, known.remote_name)
        except vertex.NotFound:
            with self.aside.item(known.remote_name):
                self._keep_claim()
                record_absence(Job.objects.select_related("sighting").get(pk=known.pk), now=self._now)
        else:
            self._apply([remote])

    def _apply(self, answers: list[vertex.RemoteJob]) -> None:
        """Write what the answers say: one transaction for each with news, one UPDATE for hundreds of the others."""
        news = []
        for remote in answers:
            known = self._watched[remote.name]
            if self._scope.kind != Job.Kind.CUSTOM_JOB or is_news(known, remote):
                news.append((known, remote))
            else:
                self._without_news.append(known.pk)
        if len(self._without_news) >= SEEN_TOGETHER or self._watch.now - self._written_at > SEEN_WITHIN:
            self._write_seen()
        for known, remote in news:
            with self.aside.item(known.remote_name):
                self._keep_claim()
                job = Job.objects.select_related("sighting").get(pk=known.pk)
                record(job, remote, now=self._now)
                self._look_for_restarts(known, job)

    def _write_seen(self) -> None:
        if not self._without_news:
            return
        with transaction.atomic():
            self._keep_claim()
            saw(self._without_news, now=self._now)
        self._without_news, self._written_at = [], self._watch.now

    def _look_for_restarts(self, known: Known, job: Job) -> None:
        """A job that has not run before, or now runs for the first time, has no restart; logs are the feed's."""
        has_run = known.has_started or (job.started_at is not None and job.state != JobState.RUNNING)
        if has_run and (job.state != known.state or may_be_restarting(known)):
            with self.aside.item(f"restarts of {known.remote_name}"):
                reconcile(job, now=self._now)

    def _keep_claim(self) -> None:
        claims.keep_look(self._scope, now=self._watch.now)
