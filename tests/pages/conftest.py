"""Fixtures for page tests: the pages' clock, jobs in any state, and users' browsers."""

import html
import itertools
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs import requests, transitions
from jobs.models import Job, Policy, Team
from jobs.observation.record import mark_seen
from jobs.states import LOCAL, JobState
from tests.support import samples
from tests.support.clock import Clock
from tests.support.person import compose_form
from tests.support.written_log import Log

MakeJob = Callable[..., Job]
SignIn = Callable[[User], Client]
WAY = ("submitting", "queued", "pending", "running")
STUDY = {
    "kind": "hyperparameter_tuning_job",
    "metric_id": "accuracy",
    "max_trials": "4",
    "parallel_trials": "2",
    "algorithm": "RANDOM_SEARCH",
    "stopping": "median",
    "parameter-TOTAL_FORMS": "3",
    "parameter-0-parameter_id": "lr",
    "parameter-0-low": "1e-4",
    "parameter-0-high": "0.1",
    "parameter-0-scale": "UNIT_LOG_SCALE",
    "parameter-1-parameter_id": "optimizer",
    "parameter-1-kind": "categorical",
    "parameter-1-words": "adam, sgd",
    "parameter-2-parameter_id": "batch",
    "parameter-2-kind": "discrete",
    "parameter-2-numbers": "16, 32",
    "run_time": "6 min",
}
"""What the compose form posts of a study with three parameters, beside the example."""


@pytest.fixture(autouse=True)
def _pages_read_the_tests_clock(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(timezone, "now", lambda: clock.now)
    monkeypatch.setattr("jobs.clock.read_database_clock", lambda: clock.now)
    monkeypatch.setattr("jobs.clock.DISPLAY_SECONDS", -1)  # the test's clock stands, and goes back with the next test


def with_timeout(job: Job, hours: int) -> Job:
    """Give a job a timeout that would have needed an approval."""
    job.spec["jobSpec"]["scheduling"]["timeout"] = f"{hours * 3600}s"
    Job.objects.filter(pk=job.pk).update(spec=job.spec)
    return job


@pytest.fixture
def make_job(team: Team, owner: User, clock: Clock) -> MakeJob:
    """`make_job("running")` is a job of the owner that went the usual way to that state, ten seconds a step.

    `hours=0.1` is cheap enough to need no approval; `awaiting_approval` is asked for 12 hours. An end such as
    "succeeded" follows running; a state of Vertex AI that is unknown follows queued. The clock stands at the end.
    """
    keys = itertools.count()

    def make(state: str = "running", *, by: User = owner, of: Team = team, error: Any = None, **changes: Any) -> Job:
        hours = changes.pop("hours", 12 if state == "awaiting_approval" else 0.1)
        if hours < 0.1 or "resource" in changes:  # each trial counts minutes, each run on a resource an hour
            Policy.objects.filter(team=of).update(ask_over_usd=20)
            of = Team.objects.get(pk=of.pk)
        job = requests.request_job(
            submission=samples.submission(**samples.limited(hours, changes)),
            team=of,
            by=by,
            expected=timedelta(hours=hours),
            request_key=f"made-{next(keys)}",
            now=clock.now,
        )
        for step in way_to(state):
            at = clock.forward(seconds=10)
            known = {"error": error} if error and step == state else {}
            if step == "queued":
                number = f"48190{job.pk.int % 10**12}"
                name = f"projects/1/locations/{job.region}/customJobs/{number}"
                known |= {"remote_name": name, "submitted_at": at}
            moved = transitions.transition(job, step, now=at, message=f"It is {step} now.", **known)
            assert moved, step
            if step not in LOCAL:
                mark_seen([job.pk], now=at)
        return job

    return make


@pytest.fixture
def engineer(owner: User, signed_in: SignIn) -> Client:
    """The owner's browser."""
    return signed_in(owner)


@pytest.fixture
def example(engineer: Client) -> dict[str, str]:
    """The example as the compose form shows it."""
    return fields_of(engineer.get("/jobs/new/?example=1").content.decode())


def fields_of(page: str) -> dict[str, str]:
    """Return what the compose form of a page would post, without its button."""
    return compose_form(page).values


def way_to(state: str) -> Sequence[str]:
    """Return the states that a requested job passes on its way to `state`."""
    if state in {JobState.AWAITING_APPROVAL, JobState.APPROVED}:
        return ()
    if state == JobState.SUBMIT_FAILED:
        return ("submitting", state)
    if state in WAY:
        return WAY[: WAY.index(state) + 1]
    return (*WAY, state) if state in set(JobState) else ("submitting", "queued", state)


def text_of(answer: Any) -> str:
    """Return a page's text without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


class _Inside(HTMLParser):
    """Collects the words inside the element with an id; void elements do not nest."""

    VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})

    def __init__(self, wanted: str) -> None:
        super().__init__()
        self.wanted, self.depth, self.words, self.is_found = wanted, 0, [""], False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID and (self.depth or dict(attrs).get("id") == self.wanted):
            self.depth, self.is_found = self.depth + 1, True

    def handle_endtag(self, tag: str) -> None:
        self.depth -= bool(self.depth)

    def handle_data(self, data: str) -> None:
        if self.depth:
            self.words.append(data)


def text_in(page: str, element: str) -> str:
    """Return the words inside the element with the id `element`; fail if there is none."""
    reader = _Inside(element)
    reader.feed(page)
    assert reader.is_found, f"no element has the id {element}"
    return " ".join(" ".join(reader.words).split())


@pytest.fixture
def log(make_job: MakeJob, clock: Clock) -> Log:
    """The empty log of a running job."""
    return Log(make_job("running", name="resnet"), clock)


@pytest.fixture
def restarted(log: Log) -> Log:
    """A log of two attempts; see `Log.live_twice`."""
    return log.live_twice()
