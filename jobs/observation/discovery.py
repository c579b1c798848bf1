"""Discover the jobs of a project and region that have no row here. A worker does this when somebody requests it.

A discovery lists jobs of all three kinds, whatever their labels, and saves those without a row as `ExternalJob`. They
are saved together at the end, so that a failed discovery leaves the results of the last one. It is not repeated unless
somebody requests it again.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs import spec, vertex
from jobs.bounds import past_moment
from jobs.clients import INSTANCE_LABEL, account_of, client
from jobs.errors import NotPermitted
from jobs.models import Discovery, ExternalJob, Job, Membership, Role, Team
from jobs.observation import cadence
from jobs.observation.failures import record_failure
from jobs.observation.set_aside import SetAside
from jobs.queue import claims, rate_limit
from jobs.spec.shape import fields
from jobs.vertex import wire

REACH = timedelta(days=30)
"""Jobs created earlier than this are left out."""
MAX_JOBS = 2_000
"""Limit of jobs of one discovery. Vertex AI lists the newest first, but does not promise to."""
MAX_PAGES = 50
"""Limit of pages for each kind. The list also contains our own jobs."""
MAX_GETS = 100
"""Limit of calls, one for each tuning job. The trials of further tuning jobs are listed like other custom jobs."""
PAGE_TRIES = 3
MAX_FAILURES = 6
"""Failures in a row, after which somebody has to request the discovery again."""
AT_ONCE = 200
FIELDS = ("name", "state", "createTime", "startTime", "endTime", "updateTime", "error")
"""The fields that adoption reads in addition to the body itself."""
FIELDS_OF_KIND: dict[str, tuple[str, ...]] = {Job.Kind.PIPELINE: ("trainingTaskMetadata",)}
RUNS_INSIDE = {"backingCustomJob": Job.Kind.CUSTOM_JOB, "backingHyperparameterTuningJob": Job.Kind.TUNING_JOB}
"""From a field of a pipeline's metadata to the kind of the job that does its work (vertex-facts 3)."""


def check_may_adopt(*, project: str, by: User, team: Team | None = None) -> None:
    """Raise NotPermitted if `by` may not adopt jobs of `project` into `team`, or into any team if it is None."""
    teams = Team.objects.filter(pk__in=Team.objects.owning(project, "pk"))
    teams = teams if team is None else teams.filter(pk=team.pk)
    if not teams.exists():
        no_team, no_project = (
            _("%(project)s is not the project of any team."),
            _("%(project)s is not the project of %(team)s."),
        )
        words = no_project if team else no_team
        raise NotPermitted(words % {"project": project, "team": team})
    engineers = Membership.objects.filter(user=by, team__in=teams, role__in=[Role.ENGINEER, Role.APPROVER, Role.LEAD])
    if not by.is_superuser and not engineers.exists():
        if team is None:
            words = _(
                "Only engineers, approvers and leads of a team whose project is %(project)s adopt jobs from there."
            )
        else:
            words = _("Only engineers, approvers and leads of %(team)s adopt jobs from there.")
        raise NotPermitted(words % {"project": project, "team": team})


def request_discovery(*, project: str, region: str, by: User, now: datetime) -> Discovery:
    """Request that a worker looks for jobs in a region that were made outside Trainboard. Raise NotPermitted."""
    check_may_adopt(project=project, by=by)
    columns = {"asked_by": by, "asked_at": now, "reaches_back_to": now - REACH, "due_at": now}
    fresh = {"failures": 0, "failing_since": None, "last_error": ""}
    return Discovery.objects.update_or_create(project=project, region=region, defaults=columns | fresh)[0]


def discover(discovery_id: int, *, now: datetime) -> None:
    """Make one discovery. Do nothing if it is not due or another worker has claimed it."""
    row = claims.claim_poll(Discovery, discovery_id, now)
    if row is None:
        return
    with record_failure(row, now=now) as result:
        walk = Walk(row, now)
        found = walk.find()
        with transaction.atomic():  # checks the claim too, so that the results do not mix with another worker's
            claims.keep_poll(row, now=now)
            names, followed = [external.remote_name for external in found], set[str]()
            for first in range(0, len(names), AT_ONCE):
                followed |= _followed(names[first : first + AT_ONCE])
            row.found.all().delete()
            left = [external for external in found if external.remote_name not in followed]
            walk.aside.store(left, _insert, name=lambda external: external.remote_name)
            last_error = " ".join(filter(None, [walk.last_error, walk.aside.words]))
            claims.release_poll(row, due_at=None, answered_at=now, last_error=last_error)
    if result.failure is not None:
        is_hopeless = isinstance(result.failure, vertex.Refused | vertex.NotFound | vertex.PermissionDenied)
        most = 1 if is_hopeless else MAX_FAILURES
        Discovery.objects.filter(pk=row.pk, claim=None, failures__gte=most).update(due_at=None)


class Walk:
    """One pass through the lists of a region. `last_error` is a message about what was left out, or empty."""

    def __init__(self, row: Discovery, now: datetime) -> None:
        self._row = row
        self._watch = cadence.Stopwatch(now)
        self._spend = partial(rate_limit.spend, rate_limit.reads(row.project, row.region), now=now)
        # Kind and number of the jobs that do the work of the pipelines and tuning jobs that we follow.
        parents = Job.objects.filter(project=row.project, region=row.region).exclude(kind=Job.Kind.CUSTOM_JOB)
        numbers = {number for sources in parents.values_list("log_sources", flat=True).iterator() for number in sources}
        self._inside = {(kind, number) for number in numbers for kind in RUNS_INSIDE.values()}
        self._gets_left = MAX_GETS
        self.aside = SetAside(str(row), now=now)
        self.last_error = ""

    def find(self) -> list[ExternalJob]:
        """Return the jobs that nobody follows. Pipelines come first: they show which other jobs only do their work."""
        found: list[ExternalJob] = []
        for kind in (Job.Kind.PIPELINE, Job.Kind.TUNING_JOB, Job.Kind.CUSTOM_JOB):
            for page in self._pages(kind):
                found += self._with_trials(kind, self._external(kind, page))
                if len(found) >= MAX_JOBS:
                    self._cut()
                    return found[:MAX_JOBS]
        return found

    def _pages(self, kind: str) -> Iterator[list[vertex.RemoteJob]]:
        row = self._row
        pages = client(account_of(row.project)).pages(
            kind,
            project=row.project,
            region=row.region,
            filter=f"createTime>={vertex.quoted(vertex.timestamp(row.reaches_back_to))}",
            fields=fields_of(kind),
            before_page=self._spend,
            tries=PAGE_TRIES,
            on_odd=lambda item, reason: self.aside.put(wire.text(wire.mapping(item).get("name")), reason),
        )
        for _page in range(MAX_PAGES):
            with vertex.at_most(cadence.PATIENCE_SECONDS):
                page = next(pages, None)
            if page is None:
                return
            claims.keep_poll(row, now=self._watch.now)
            yield page
            if self._watch.has_run_out:
                break
        self._cut()

    def _external(self, kind: str, page: list[vertex.RemoteJob]) -> Iterator[ExternalJob]:
        """Yield the jobs of a page that have no row here and do not merely do the work of another job."""
        followed = _followed(remote.name for remote in page)
        for remote in page:
            if remote.name in followed:
                continue
            metadata = remote.raw.get("trainingTaskMetadata")
            if isinstance(metadata, dict):
                self._inside |= {(inner, _number(str(metadata.get(field)))) for field, inner in RUNS_INSIDE.items()}
            if (kind, _number(remote.name)) not in self._inside:
                yield _row(self._row, kind, remote, self._watch.now)

    def _with_trials(self, kind: str, rows: Iterable[ExternalJob]) -> Iterator[ExternalJob]:
        """Get each tuning job by name, because a list leaves out its trials, which run as custom jobs."""
        for row in rows:
            if kind == Job.Kind.TUNING_JOB and self._gets_left:
                self._gets_left -= 1
                self._spend()
                with suppress(vertex.NotFound), vertex.at_most(cadence.PATIENCE_SECONDS):
                    row.body |= {
                        "trials": client(account_of(self._row.project)).get(kind, row.remote_name).raw.get("trials", [])
                    }
                trials = row.body.get("trials")
                trials = map(wire.mapping, trials if isinstance(trials, list) else [])
                self._inside |= {(Job.Kind.CUSTOM_JOB, _number(str(trial.get("customJob")))) for trial in trials}
            yield row

    def _cut(self) -> None:
        self.last_error = (
            f"The discovery is incomplete: it stops after {MAX_JOBS:,} found jobs, {MAX_PAGES} pages of a kind, or a "
            "minute and a half."
        )


def fields_of(kind: str) -> tuple[str, ...]:
    """Return the fields to request: those of the body of this kind, and those that Vertex AI reports about the job."""
    body = (slot.alias for slot in fields(spec.KINDS[kind]) if not slot.output)
    return (*FIELDS, *FIELDS_OF_KIND.get(kind, ()), *body)


def hint_of(external: ExternalJob) -> str:
    """Return where a job comes from according to its labels, or "" if they do not show it."""
    labels = external.body.get("labels")
    instance = labels.get(INSTANCE_LABEL) if isinstance(labels, dict) else None
    if instance == settings.INSTANCE:
        return "This Trainboard created the job but has no row for it, for example because its database was restored."
    return f"Another Trainboard created the job: {instance}." if instance else ""


def _followed(names: Iterable[str]) -> set[str]:
    return set(Job.objects.filter(remote_name__in=list(names)).values_list("remote_name", flat=True))


def _number(name: str) -> str:
    return name.rpartition("/")[2]


def _row(row: Discovery, kind: str, remote: vertex.RemoteJob, now: datetime) -> ExternalJob:
    return ExternalJob(
        discovery=row,
        kind=kind,
        remote_name=remote.name,
        display_name=remote.display_name,
        state=remote.state,
        created_at=past_moment(remote.create_time, now),
        body=remote.raw,
    )


def _insert(rows: Sequence[ExternalJob]) -> None:
    ExternalJob.objects.bulk_create(
        rows,
        batch_size=AT_ONCE,
        update_conflicts=True,
        unique_fields=["remote_name"],
        update_fields=["discovery", "kind", "display_name", "state", "created_at", "body"],
    )
