"""What an experiment can do: create within the budget, poll, cancel, delete and read logs. Everything is recorded.

The steps of an experiment are a generator that yields how many seconds it waits, so that one thread runs several at
once, and a clock that a test moves needs no waiting at all.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from jobs.clients import recorded_clients
from jobs.conformance.journal import Journal, Request
from jobs.conformance.private import Scrubber
from jobs.conformance.recording import Answer, Recording
from jobs.conformance.spending import HOUR, RunBudget, hourly_usd, most_usd
from jobs.cost import PriceBook
from jobs.spec import COLLECTIONS
from jobs.vertex import (
    AuthFailed,
    Exchange,
    PermissionDenied,
    PlatformClient,
    RemoteJob,
    RemoteResource,
    Unavailable,
    VertexClient,
    VertexError,
    quoted,
    wire,
)
from jobs.vertex.quotas import QuotaLimit

LABEL = "trainboard_conformance"
PREFIX = "trainboard-conformance"
RESOURCE = "persistent_resource"
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
FINE_SECONDS, FINE_FOR, POLL_SECONDS = 0.5, 15, 5
"""A job is polled often in its first seconds, in which it changes several times, and then as clients usually do."""
MAX_LOG_LINES, MAX_LIMITS = 1_000, 2_000
LATE_LINES = 45
"""Seconds until the log is complete: entries arrived up to 28 s late (vertex-facts 17.7)."""


class CannotRun(Exception):
    """Vertex AI does not let this account run experiments at all."""


class Clock(Protocol):
    """The clock of a run."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait, or move the clock."""


@dataclass(frozen=True)
class Site:
    """Where a run takes place. `run` is the value of its label. `image` runs the programs of the experiments."""

    project: str
    region: str
    bucket: str
    run: str
    image: str
    machine: str

    def name(self, experiment: str) -> str:
        """Return the display name of an experiment's job, which is the id of its persistent resource too."""
        return f"{PREFIX}-{self.run}-{experiment}"

    @property
    def folder(self) -> str:
        """The folder in the bucket that the jobs write to."""
        return f"gs://{self.bucket}/{PREFIX}/{self.run}"

    @property
    def label_filter(self) -> str:
        """The list filter that selects the jobs of the run."""
        return f"labels.{LABEL}={quoted(self.run)}"


@dataclass(frozen=True)
class Planned:
    """A create that an experiment will make. `runs` is how often its machines may run until the timeout.

    `priced_as` is a body whose price counts if the one of `body` is not known.
    """

    kind: str
    body: Mapping[str, Any]
    timeout_seconds: float
    runs: int = 1
    priced_as: Mapping[str, Any] | None = None

    def hourly(self, region: str, book: PriceBook) -> Decimal:
        """Return the cost of its machines per hour."""
        kind = "custom_job" if self.kind == RESOURCE else self.kind
        return hourly_usd(kind, self.priced_as or self.body, region=region, book=book)

    def most(self, region: str, book: PriceBook) -> Decimal:
        """Return the most that it can cost."""
        hourly = self.hourly(region, book)
        return most_usd(hourly, timeout_seconds=self.timeout_seconds, runs=self.runs)


@dataclass
class Desk:
    """What all experiments of a run share."""

    site: Site
    clock: Clock
    book: PriceBook
    budget: RunBudget
    journal: Journal
    scrubber: Scrubber
    recording: Recording
    doing: tuple[str, str] = ("", "")
    """The experiment and the step whose calls are made now."""
    numbers: int = 0
    vertex: VertexClient = field(init=False)
    platform: PlatformClient = field(init=False)

    def __post_init__(self) -> None:
        self.vertex, self.platform = recorded_clients(self.record)

    def record(self, exchange: Exchange) -> None:
        """Add an answer to the recording, without private values."""
        experiment, step = self.doing
        try:
            body = wire.decode(exchange.content) if exchange.content else {}
        except ValueError:
            body = {"text": exchange.content[:500].decode("utf-8", "replace")}
        body = body[0] if isinstance(body, list) and body else body
        method, path = _method_and_path(exchange)
        if number := _project_number(wire.mapping(body), method):
            self.scrubber.learn_project(number)
        request = {"query": dict(exchange.query), "body": exchange.body} if exchange.body else dict(exchange.query)
        answer = Answer(
            experiment=experiment,
            step=step,
            method=method,
            path=self.scrubber.text(path),
            request=self.scrubber.scrub(request),
            status=exchange.status,
            at=self.clock.now(),
            body=self.scrubber.scrub(wire.mapping(body)),
        )
        self.recording.answers.append(answer)

    def lost(self, words: str) -> None:
        """Record a call that got no usable answer."""
        experiment, step = self.doing
        body = {"text": self.scrubber.text(words)}
        self.recording.answers.append(Answer(experiment, step, "", "", {}, None, self.clock.now(), body))


@dataclass
class Lab:
    """The hands of one experiment."""

    desk: Desk
    experiment: str
    requests: dict[str, Request] = field(default_factory=dict)
    """The requests of this experiment by the name of their job."""
    hourly: dict[int, Decimal] = field(default_factory=dict)
    seen_running: dict[str, datetime] = field(default_factory=dict)

    @property
    def site(self) -> Site:
        """Where the run takes place."""
        return self.desk.site

    @property
    def now(self) -> datetime:
        """The time of the run."""
        return self.desk.clock.now()

    def create(self, planned: Planned, step: str = "create") -> str:
        """Create a job within the budget and return its name, "" if it was refused or its answer got lost.

        A lost create stays in the journal; the cleaning at the end looks for it by its label. Raise OverBudget.
        """
        desk, site = self.desk, self.site
        desk.numbers += 1
        hourly = planned.hourly(site.region, desk.book)
        most = most_usd(hourly, timeout_seconds=planned.timeout_seconds, runs=planned.runs)
        desk.budget.commit(desk.numbers, most)
        name = site.name(self.experiment) if planned.kind == RESOURCE else ""
        request = Request(
            run=site.run, number=desk.numbers, experiment=self.experiment, kind=planned.kind, project=site.project,
            region=site.region, folder=site.folder, usd=f"{most:.4f}", name=name,
        )  # fmt: skip
        desk.journal.write(request)
        self.hourly[request.number] = hourly
        try:
            with self._call(step, passes_on=True):
                if planned.kind == RESOURCE:
                    desk.vertex.change_resource(
                        "create", project=site.project, region=site.region, resource_id=name, body=planned.body
                    )
                else:
                    name = desk.vertex.create(
                        planned.kind, project=site.project, region=site.region, body=planned.body
                    ).name
        except VertexError as error:
            if not (isinstance(error, Unavailable) and error.may_have_happened):
                desk.journal.close(request)  # it was refused, so there is nothing to clean up
                desk.budget.commit(request.number, Decimal(0))
            return ""
        request = replace(request, name=name)
        desk.journal.write(request)
        self.requests[name] = request
        return name

    def get(self, name: str, kind: str = "custom_job", step: str = "poll") -> RemoteJob | None:
        """Return the job, or None without a usable answer. Count what it costs while it runs; raise OverBudget."""
        found: RemoteJob | None = None
        with self._call(step):
            found = self.desk.vertex.get(kind, name)
        if not found:
            return None
        is_running = state(found) in ("RUNNING", "CANCELLING")
        before = self.seen_running.pop(name, None)
        if is_running:
            self.seen_running[name] = self.now
        if before is not None and name in self.requests:
            number = self.requests[name].number
            ran = Decimal(str((self.now - before).total_seconds()))
            self.desk.budget.add(number, self.hourly[number] * ran / HOUR)
        return found

    def watch(
        self, name: str, *, until: Sequence[str] = ENDED, kind: str = "custom_job", limit: float = 3_600
    ) -> Iterator[float]:
        """Poll a job until it is in one of these states, has ended, or `limit` seconds are over."""
        began = self.now
        while name:
            job = self.get(name, kind)
            waited = (self.now - began).total_seconds()
            if (job is not None and state(job) in (*until, *ENDED)) or waited > limit:
                return
            yield FINE_SECONDS if waited < FINE_FOR else POLL_SECONDS

    def cancel(self, name: str, kind: str = "custom_job", step: str = "cancel") -> None:
        """Request the end of a job."""
        if name:
            with self._call(step):
                self.desk.vertex.cancel(kind, name)

    def delete(self, name: str, kind: str = "custom_job", step: str = "delete") -> None:
        """Request the deletion of a job."""
        if name:
            with self._call(step):
                self.desk.vertex.delete(kind, name)

    def list(self, step: str, filter: str = "", fields: Sequence[str] = (), kind: str = "custom_job") -> int:  # noqa: A002
        """List the jobs of the run that match a filter, and return their number."""
        terms = " AND ".join(term for term in (self.site.label_filter, filter) if term)
        found: list[RemoteJob] = []
        with self._call(step):
            place = {"project": self.site.project, "region": self.site.region}
            found = self.desk.vertex.list(kind, filter=terms, fields=fields, **place)
        return len(found)

    def resource(self, name: str, step: str = "poll") -> RemoteResource | None:
        """Return the persistent resource of the experiment, or None."""
        found = None
        with self._call(step):
            place = {"project": self.site.project, "region": self.site.region}
            found = self.desk.vertex.persistent_resource(resource_id=name, **place)
        return found  # noqa: RET504 - the call may be left out

    def read_log(self, names: Sequence[str], since: datetime) -> Iterator[float]:
        """Wait until the log is complete and read it."""
        yield LATE_LINES
        ids = [name.rpartition("/")[2] for name in names if name]
        if ids:
            with self._call("log"):
                self.desk.vertex.log(self.site.project, job_ids=ids, after=since, limit=MAX_LOG_LINES)

    def quota_limits(self) -> Mapping[str, int]:
        """Return the limits of training quotas in the region by metric; {} if they could not be read."""
        found: Sequence[QuotaLimit] = ()
        with self._call("quotas"):
            found = self.desk.platform.quota_limits(self.site.project, most=MAX_LIMITS)
        general = {each.metric: each.limit for each in found if not each.region}
        return general | {each.metric: each.limit for each in found if each.region == self.site.region}

    @contextmanager
    def _call(self, step: str, *, passes_on: bool = False) -> Iterator[None]:
        """Make a call of this step. Let a refusal be, because its answer is recorded, unless `passes_on`.

        A lack of credentials or permissions ends the run: raise CannotRun.
        """
        self.desk.doing = (self.experiment, step)
        try:
            yield
        except (AuthFailed, PermissionDenied) as error:
            raise CannotRun(str(error)) from error
        except VertexError as error:
            if error.status is None:
                self.desk.lost(error.words)
            if passes_on:
                raise


def new_run() -> str:
    """Return a new value for the label of a run. It begins with a letter, as labels and ids have to."""
    return f"r{secrets.token_hex(4)}"


def state(job: RemoteJob) -> str:
    """Return the state of a job without its prefix: RUNNING."""
    return job.state.removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_")


_VERBS = {"GET": "get", "POST": "create", "DELETE": "delete", "PATCH": "patch"}


def _method_and_path(exchange: Exchange) -> tuple[str, str]:
    """Return `customJobs.get` and the resource's name, or the API's own method and path."""
    path = exchange.call.url.partition("://")[2].partition("/")[2]
    path = path.partition("/")[2]  # without the version
    last, _, verb = path.rpartition("/")[2].partition(":")
    if exchange.call.url.endswith("/v2/entries:list"):
        return "entries.list", "entries:list"
    for collection in (*COLLECTIONS.values(), "persistentResources"):
        if last == collection:
            return f"{collection}.{'list' if exchange.call.method == 'GET' else 'create'}", path
        if f"/{collection}/" in path:
            return f"{collection}.{verb or _VERBS[exchange.call.method]}", path.partition(":")[0]
    return f"{last}.{'list' if exchange.call.method == 'GET' else verb or _VERBS[exchange.call.method]}", path


def _project_number(body: Mapping[str, Any], method: str) -> str:
    """Return the project's number from the name of a resource of the run, "" if there is none."""
    if not method.endswith((".create", ".get")):
        return ""
    parts = wire.text(body.get("name")).split("/")
    return parts[1] if len(parts) > 3 and parts[0] == "projects" and parts[1].isdigit() else ""


def shell(text: str) -> list[str]:
    """Return the command of a container that runs a shell program."""
    return ["sh", "-c", text]
