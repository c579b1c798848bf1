"""Fixtures for domain tests: requests, and an emulator whose clock moves with theirs."""

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from jobs import observation, requests, stages, steps, tasks
from jobs.models import Job, Policy, Team
from jobs.queue import installation
from tests.conftest import PASSWORD, person
from tests.support import samples
from tests.support.attacker import LIMIT, World
from tests.support.clock import Clock, DatabaseTime, watch_from
from tests.support.replayed import Replayed, replayed
from tests.support.running_emulator import Running, running

RequestJob = Callable[..., Job]
Handed = dict[str, list[Any]]
"""What a sweep has handed out, by the name of the task."""
MAX_LEFT_OUT = 7
"""Looks at a Vertex AI at which nothing happens."""
SECONDS_UNTIL_CANCELLED = 4
"""A job that waits reads as before until about three seconds after its cancellation was accepted (recorded 2026-07)."""


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, "lead")


@pytest.fixture
def second(team: Team) -> User:
    """Another approver."""
    return person("second", team, "approver")


@pytest.fixture
def request_job(team: Team, owner: User, clock: Clock) -> RequestJob:
    """`request_job(hours=2, name=..., strategy=...)` is what the compose page does for the owner.

    Here the team asks over 175 dollars, so that a job has the four hours that the emulator's scripts take (a trial one)
    as often as Google may restart it.
    """
    keys = itertools.count()
    watch_from(clock.now)
    installation.load_installation(clock.now)
    Policy.objects.filter(team=team).update(ask_over_usd=175)

    def ask(*, hours: float = 0.1, by: User = owner, key: str = "", **changes: Any) -> Job:
        return requests.request_job(
            submission=samples.submission(**samples.limited(hours, changes, least=1 if "kind" in changes else 4)),
            team=Team.objects.get(pk=team.pk),  # with its policy of now, as every request of a page loads it
            by=by,
            expected=timedelta(hours=hours),
            request_key=key or f"click-{next(keys)}",
            now=clock.now,
        )

    return ask


class Cloud:
    """The emulator in scripted mode: jobs follow scripts, and time is what the test says."""

    def __init__(self, emulator: Running, clock: Clock) -> None:
        self._emulator = emulator
        self._clock = clock

    @property
    def now(self) -> datetime:
        """The time of the test and of the emulator."""
        return self._clock.now

    @property
    def clock(self) -> DatabaseTime:
        """The same time as a step of a worker is given it."""
        return self._clock.clock

    def forward(self, **span: float) -> datetime:
        """Move both clocks by a span given as for `timedelta`."""
        self._clock.forward(**span)
        self._emulator.set_clock(self._clock.now.timestamp())
        return self._clock.now

    def script(self, name: str, match: str = "*", **times: Any) -> None:
        """Let jobs created from now on that match follow a script (emulator.lifecycle.scripts), with these times."""
        self._emulator.script(name, match, **times)

    def fail(self, method: str, kind: str, *, times: int = 1, **plan: Any) -> None:
        """Let the next `times` calls of a method such as `customJobs.create` fail (emulator.scenarios.faults)."""
        self._emulator.fault(kind, method, times=times, **plan)

    def forget_faults(self) -> None:
        """Let calls go right again."""
        self._emulator.forget_faults()

    def capacity(self, plan: dict[str, Any]) -> None:
        """Let there be only so many machines or so much quota (emulator.capacity.ledger)."""
        self._emulator.call("POST", "/_emulator/capacity", plan)

    def jobs(self) -> list[dict[str, Any]]:
        """What exists at Vertex AI, oldest first, as its documents."""
        return [job["document"] for job in self._emulator.truth()["jobs"]]

    def job(self, name: str) -> dict[str, Any]:
        """One job's document."""
        return next(document for document in self.jobs() if document["name"] == name)

    def cancelled(self) -> list[str]:
        """Move on until accepted cancellations show, and return the names of the cancelled or cancelling jobs."""
        self.forward(seconds=SECONDS_UNTIL_CANCELLED)
        states = {"JOB_STATE_CANCELLING", "JOB_STATE_CANCELLED"}
        return [document["name"] for document in self.jobs() if document["state"] in states]

    def create(self, document: dict[str, Any]) -> dict[str, Any]:
        """Create a job behind Trainboard's back."""
        inputs = {key: document[key] for key in ("displayName", "jobSpec", "labels") if key in document}
        parent = document["name"].partition("/customJobs/")[0]
        return self._emulator.call("POST", f"/v1/{parent}/customJobs", inputs)

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """Call Vertex AI behind Trainboard's back; `path` begins after `/v1/`."""
        return self._emulator.call(verb, f"/v1/{path}", body)

    def listed(self, path: str) -> Any:
        """Return what Google answers at a path of any of its services."""
        return self._emulator.call("GET", path)

    def control(self, name: str, body: Any) -> Any:
        """Call the emulator's control plane, such as `capacity` or `evict`."""
        return self._emulator.call("POST", f"/_emulator/{name}", body)

    def delete(self, name: str) -> None:
        """Delete an ended job, or one that is made to end first, behind Trainboard's back."""
        self._emulator.call("POST", f"/v1/{name}:cancel", {})
        self.forward(minutes=3)
        self._emulator.call("DELETE", f"/v1/{name}")

    def truth(self, name: str) -> dict[str, Any]:
        """Return the emulator's own record of a job: attempts, preemptions, restarts of workers."""
        (job,) = self._emulator.truth(name)["jobs"]
        return dict(job)

    def quiet_seconds(self) -> float:
        """Return for how long nothing will happen to any job; 0 when it is not known."""
        timers = [timer for job in self._emulator.truth()["jobs"] for timer in job["timers"].items()]
        due = [datetime.fromisoformat(at) for name, at in timers if name != "watch"]
        return max((min(due) - self.now).total_seconds(), 0) if due else 0

    def calls(self) -> dict[str, int]:
        """How often each method was called."""
        told = self._emulator.truth()["calls"]
        return {method: count for method, count in told.items() if not method.startswith("_emulator.")}

    @staticmethod
    def moment(stamp: str) -> datetime:
        """Read one of Vertex AI's timestamps."""
        return datetime.fromisoformat(stamp)


@pytest.fixture
def cloud(tmp_path: Path, clock: Clock, settings: Any, db: None) -> Iterator[Cloud]:
    """A Vertex AI of the test's own, at the test's time, which the site's settings point to.

    The process has watched the database from its first moment, whatever it did in the tests before.
    """
    watch_from(clock.now)
    installation.load_installation(clock.now)
    with running(tmp_path / "emulator", scripted=True, start=clock.now.timestamp(), is_waited_for=False) as emulator:
        settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = emulator.url
        settings.MONITORING_ENDPOINT = emulator.url
        settings.POLL_INTERVAL = timedelta(seconds=10)
        cloud = Cloud(emulator, clock)
        cloud.script("happy")
        yield cloud


@pytest.fixture
def world(team: Team, owner: User, approver: User, admin: User, cloud: Cloud, tmp_path: Path) -> World:
    """A person who wants no approval, in a team that asks above LIMIT on a site with two admins."""
    Policy.objects.filter(team=team).update(ask_over_usd=LIMIT)
    User.objects.create_superuser("root", password=PASSWORD)
    return World(team, cloud, tmp_path, owner, approver)


@pytest.fixture
def unreachable(cloud: Cloud, settings: Any) -> None:
    """Point the site at a port on which no server listens."""
    settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = "http://127.0.0.1:9"


Submit = Callable[..., Job]


@pytest.fixture
def submit(request_job: RequestJob, cloud: Cloud) -> Submit:
    """`submit("preempted")` is a job that Vertex AI has just accepted and that will follow that script.

    `times` replace those of the script.
    """

    def start(script: str, *, times: dict[str, Any] | None = None, **changes: Any) -> Job:
        cloud.script(script, **times or {})
        job = request_job(**changes)
        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        return job

    return start


@pytest.fixture
def submitted(submit: Submit) -> Job:
    """A job that Vertex AI has just accepted and that will succeed."""
    return submit("happy")


def look(cloud: Cloud) -> None:
    """What the sweep does: observe every scope and read every feed that is due."""
    for scope_id in steps.due_scopes(cloud.now):
        steps.observe(scope_id, clock=cloud.clock)
    for feed_id in steps.due_feeds(cloud.now):
        observation.read_feed(feed_id, now=cloud.now)


def pass_time(cloud: Cloud, until: datetime, every: float = 45) -> None:
    """Move the clock to the next look, `every` seconds later.

    Where nothing happens at Vertex AI for longer, some looks before `until` are left out, but no more than
    MAX_LEFT_OUT in a row: time alone has to change nothing, and what is due after a time is done.
    """
    quiet = min(cloud.quiet_seconds() // every, (until - cloud.now).total_seconds() // every, MAX_LEFT_OUT)
    cloud.forward(seconds=(max(quiet, 0) + 1) * every)


def watch(cloud: Cloud, job: Job, *, minutes: float, every: float = 45) -> None:
    """Look again and again for so many minutes, or until the job has ended; see `pass_time`."""
    until = cloud.now + timedelta(minutes=minutes)
    while cloud.now < until and not job.is_finished:
        pass_time(cloud, until, every)
        look(cloud)
        job.refresh_from_db()


@pytest.fixture
def service(clock: Clock, settings: Any) -> Iterator[Replayed]:
    """A service that replays recorded answers, to which the site points."""
    with replayed(clock) as service:
        settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = service.url
        settings.MONITORING_ENDPOINT = service.url
        settings.POLL_INTERVAL = timedelta(seconds=10)
        yield service


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> Handed:
    """What sweeps have handed out, by the name of the task."""
    found: Handed = {}

    def send(task: Any, _now: Any, **kwargs: Any) -> None:
        found.setdefault(task.name.rpartition(".")[2], []).extend(kwargs.values())

    monkeypatch.setattr(tasks, "_send", send)
    monkeypatch.setattr(tasks, "_waiting", lambda _task: 0)
    return found


@pytest.fixture
def sweep(clock: Clock, handed: Handed, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Handed]:
    """`sweep()` is a sweep one interval after the one before. It returns what it has handed out."""
    monkeypatch.setattr("jobs.clock.read_database_clock", lambda: clock.now)

    def run() -> Handed:
        handed.clear()
        clock.forward(seconds=settings.SWEEP_INTERVAL.total_seconds())
        assert steps.begin_sweep(clock.now, interval=settings.SWEEP_INTERVAL)
        stages.sweep(clock.clock, tasks.HAND_OUTS)
        return dict(handed)

    return run
