"""Tests that replay recorded answers with other times and in another order, and read everything that the site shows.

Each seed draws one life of a job: of jobs that never ran the times, the number of polls, repeated and stale answers
and reports of the wait; of jobs that ran when they settled and ended. Nothing of the site is changed.
"""

import html
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs import messages, timeline
from jobs.models import Job, Message
from jobs.upkeep import count_ended
from jobs.upkeep.start_repair import repair_starts
from tests.domain.conftest import RequestJob
from tests.domain.test_recorded_jobs import begin, poll_at
from tests.support.api import caller
from tests.support.examples import examples
from tests.support.replayed import Answer, Replayed, rfc3339

STOCKOUT = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different region."}
INTERNAL = {"code": 13, "message": "Internal error occurred for the current attempt."}
KINDS = {
    "CustomJob": "custom_job",
    "HyperparameterTuningJob": "hyperparameter_tuning_job",
    "TrainingPipeline": "training_pipeline",
}
STRATEGIES = ("STANDARD", "SPOT", "FLEX_START")
SEEDS = range(examples(8, least=3))
NEVER = re.compile(
    r"\bran [1-9]\d* (s|min|h)\b|It ran|[1-9] of \d+ restarts used|Preempted|preempted it|restarts the job"
    r"|lost to restarts|saved against|cost not known|run time not known|\$0\.0[1-9] of|All replicas (are|were) running"
)
"""Words that no page of a job that never ran may have."""


@dataclass
class Life:
    """What Vertex AI answers about one job. `started` and `ended` are its true run, None if it never ran."""

    answers: list[Answer]
    started: datetime | None = None
    ended: datetime | None = None


class Drawn:
    """Draws the answers about one job."""

    def __init__(self, seed: int, kind: str) -> None:
        self.chance, self.kind = random.Random(f"{kind}-{seed}"), kind
        self.created = datetime(2026, 7, 8, 3, 0, tzinfo=UTC) + timedelta(seconds=self.chance.uniform(0, 60_000))
        self.provisional = self.created + timedelta(seconds=self.chance.uniform(0.12, 2.2 if "Hyper" in kind else 0.17))
        self.at = self.created
        self.answers: list[Answer] = []

    def add(self, after: float, state: str, **fields: Any) -> datetime:
        """Add an answer `after` seconds after the one before. `startTime` is the provisional one if not given."""
        self.at += timedelta(seconds=after)
        prefix = "PIPELINE_STATE_" if self.kind == "TrainingPipeline" else "JOB_STATE_"
        known = {"createTime": rfc3339(self.created), "updateTime": rfc3339(self.at), "state": prefix + state}
        known |= {"startTime": rfc3339(self.provisional)} if self.answers else {}
        self.answers.append(Answer(self.at, known | fields))
        return self.at

    def wait(self) -> None:
        """Add the answers of a wait: created, queued, prepared, in any number, and sometimes what it waits for."""
        self.add(0, "PENDING")
        if self.kind == "TrainingPipeline":
            self.add(self.chance.uniform(0.23, 0.27), "RUNNING")
            return
        self.add(self.chance.uniform(0.3, 0.6), "QUEUED")
        for _ in range(self.chance.randrange(4)):
            error = {"error": STOCKOUT} if self.chance.random() < 0.3 else {}
            self.add(self.chance.uniform(2, 3000), self.chance.choice(("PENDING", "PENDING", "QUEUED")), **error)
        if self.chance.random() < 0.3:  # a stale answer, as of a list that lags
            earlier = self.chance.choice(self.answers)
            self.at += timedelta(seconds=5)
            self.answers.append(Answer(self.at, earlier.fields))

    def never_ran(self) -> Life:
        """A job that is cancelled or fails in its wait."""
        self.wait()
        last = self.chance.choice(("CANCELLED", "CANCELLED", "FAILED", "EXPIRED"))
        if self.kind == "TrainingPipeline" and last == "EXPIRED":
            last = "FAILED"
        pause = self.chance.uniform(3, 90_000)
        end = self.at + timedelta(seconds=pause)
        error = {"CANCELLED": {"code": 1, "message": "CANCELED"}, "FAILED": self.chance.choice((STOCKOUT, INTERNAL))}
        fields = {"error": error[last]} if last in error else {}
        written = rfc3339(end if last == "CANCELLED" else end.replace(microsecond=0))
        self.add(pause, last, endTime=written, **fields)
        return Life(self.answers)

    def ran(self) -> Life:
        """A custom job that runs."""
        self.wait()
        started = (self.at + timedelta(seconds=self.chance.uniform(15, 800))).replace(microsecond=0)
        late = self.chance.uniform(10, 13)
        self.add((started - self.at).total_seconds() + late, "RUNNING", startTime=rfc3339(started))
        ended = (self.at + timedelta(seconds=self.chance.uniform(30, 9_000))).replace(microsecond=0)
        state = self.chance.choice(("SUCCEEDED", "FAILED"))
        error = {} if state == "SUCCEEDED" else {"error": {"code": 3, "message": "The replica workerpool0-0 exited."}}
        lag = self.chance.uniform(0.6, 29)
        times = {"startTime": rfc3339(started), "endTime": rfc3339(ended)}
        self.add((ended - self.at).total_seconds() + lag, state, **times, **error)
        return Life(self.answers, started, ended)

    def moments(self) -> list[datetime]:
        """Return when the site polls: at some of the answers, sometimes only at the end, and for a while after it."""
        looks = [answer.since + timedelta(seconds=self.chance.uniform(0, 9)) for answer in self.answers]
        if self.chance.random() < 0.3:
            looks = looks[-1:]
        span = (self.answers[-1].since - self.created).total_seconds()
        looks += [self.created + timedelta(seconds=self.chance.uniform(1, span)) for _ in range(6)]
        return sorted(looks) + [self.answers[-1].since + timedelta(seconds=30 * each) for each in range(1, 16)]


@dataclass
class Shown:
    """Everything that the site shows about a job."""

    pages: dict[str, str]
    api: dict[str, Any]
    listed: dict[str, Any]
    events: list[dict[str, Any]]
    exported: dict[str, Any]
    messages: list[str]


@pytest.fixture
def play(
    service: Replayed, request_job: RequestJob, owner: User, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Job, Shown]]:
    """`play(drawn, strategy)` replays a life and returns the job and what the site shows of it."""
    monkeypatch.setattr(timezone, "now", lambda: service.clock.now)
    monkeypatch.setattr("jobs.clock.read_database_clock", lambda: service.clock.now)
    monkeypatch.setattr("jobs.clock.DISPLAY_SECONDS", -1)

    def run(drawn: Drawn, strategy: str) -> tuple[Job, Shown]:
        service.kind = drawn.kind
        job = begin(service, request_job, drawn.answers, kind=KINDS[drawn.kind], strategy=strategy, name="the-job")
        poll_at(service, job, *drawn.moments())
        now = service.clock.now
        messages.watch_waits(now)
        repair_starts(now)
        while count_ended(now):
            pass
        job.refresh_from_db()
        return job, shown_of(job, owner)

    return run


def shown_of(job: Job, owner: User) -> Shown:
    browser, api = Client(), caller(owner)
    browser.force_login(owner)
    paths = {"job": f"/jobs/{job.pk}/", "board": "/?who=all", "history": "/history/", "messages": "/messages/"}
    answers = {name: browser.get(path) for name, path in paths.items()}
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(paths, 200)
    pages = {name: words_of(answer.content.decode()) for name, answer in answers.items()}
    exported = json.loads(browser.get("/history/jobs.json").getvalue())
    return Shown(
        pages,
        api.get(f"/jobs/{job.pk}").json(),
        next(each for each in api.get("/jobs").json()["items"] if each["id"] == str(job.pk)),
        api.get(f"/jobs/{job.pk}/events").json()["items"],
        exported[0],
        list(Message.objects.filter(job=job).order_by("pk").values_list("kind", flat=True)),
    )


def words_of(page: str) -> str:
    """Return the text of a page's main part."""
    found = re.search(r"<main.*?</main>", page, re.DOTALL)
    assert found is not None
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found[0])).split())


@pytest.mark.search
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_that_never_ran(seed: int, kind: str, play: Callable[..., tuple[Job, Shown]]) -> None:
    drawn = Drawn(seed, kind)
    life = drawn.never_ran()

    job, shown = play(drawn, STRATEGIES[seed % 3])

    state = life.answers[-1].fields["state"].partition("_STATE_")[2].lower()
    assert (job.state, job.started_at, job.running_seconds, job.restarts) == (state, None, 0, 0)
    assert (job.waited_again_seconds, timeline.cost_so_far(job, drawn.at)) == (0, 0)
    for words in shown.pages.values():
        found = NEVER.search(words)
        assert found is None, words[max(found.start() - 90, 0) : found.end() + 60]
    assert "never ran" in shown.pages["job"]
    assert "nothing was billed" in shown.pages["job"]
    for values in (shown.api, shown.listed):
        names = ("state", "started_at", "ran_seconds", "restarts", "cost_usd")
        assert [values[name] for name in names] == [state, None, 0, 0, None]
    assert (shown.exported["ran_seconds"], shown.exported["restarts"], shown.exported["cost_usd"]) == (0, 0, None)
    assert set(shown.messages) <= {"cancelled", "failed", "waiting_long"}
    lost = [each for each in shown.events if each["kind"] in {"restarted", "machines_lost"}]
    assert {each["reason"] for each in lost} <= {"stockout"}, lost
    running = [each for each in shown.events if each["to_state"] == "running"]
    assert len(running) == (kind == "TrainingPipeline")


@pytest.mark.search
@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_that_ran(seed: int, play: Callable[..., tuple[Job, Shown]]) -> None:
    drawn = Drawn(seed, "CustomJob")
    life = drawn.ran()
    assert life.started is not None
    assert life.ended is not None

    job, shown = play(drawn, STRATEGIES[seed % 3])

    ran = (life.ended - life.started).total_seconds()
    assert (job.started_at, job.ended_at, job.restarts, job.running_seconds) == (life.started, life.ended, 0, ran)
    assert (shown.api["ran_seconds"], shown.api["restarts"], shown.exported["ran_seconds"]) == (ran, 0, ran)
    assert not re.search(r"Preempted|[1-9] of \d+ restarts used|lost to restarts|never ran", shown.pages["job"])
    assert not {each["kind"] for each in shown.events} & {"restarted", "machines_lost"}
    assert not set(shown.messages) & {"restarted"}
