"""A database like that of a large organization after two years, written in bulk and deterministic.

`fill` writes ten thousand jobs with Django. `multiply` copies the ended ones inside the database with new names, ids
and times, so that a million jobs with twelve million events take some minutes.
"""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import models

from jobs import timeline
from jobs.models import (
    Approval,
    Job,
    JobEvent,
    LastSeen,
    LogLine,
    Membership,
    PersistentResource,
    Policy,
    RunSummary,
    Scope,
    Team,
    Template,
    Trial,
)
from jobs.models.polling import LogFeed
from jobs.states import LOCAL, JobState
from tests.support import samples

TEAMS, PEOPLE = 20, 200
DAYS = 730
REGIONS = ("us-central1", "us-east1", "europe-west4", "asia-southeast1")
REPEATED = ("nightly-eval", "resnet", "retrain", "bert-distil", "tabular-churn")
"""Names shared by several jobs. Every other name is used once."""
STRATEGIES = {"spot": 50, "flex_start": 20, "standard": 20, "persistent": 10}
ENDS = {"succeeded": 830, "failed": 110, "cancelled": 40, "rejected": 10, "expired": 5, "submit_failed": 4, "lost": 1}
OPEN = {"running": 60, "pending": 15, "queued": 12, "awaiting_approval": 8, "approved": 5}
WAY = ("approved", "submitting", "queued", "pending", "running")
LONG_EVENTS = 20_000
FAMILY = uuid.UUID(int=38, version=4)
ERROR = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different region."}
Event = JobEvent.Kind


@dataclass
class World:
    """The users and teams, and the job with LONG_EVENTS events."""

    teams: list[Team]
    people: list[User]
    long: Job | None = None
    jobs: list[Job] = field(default_factory=list)
    family: uuid.UUID = FAMILY
    """The family of all jobs of the first team. Every other job is in one of its own."""


def fill(now: datetime, *, jobs: int = 10_000, unfinished: int = 500, long_events: int = LONG_EVENTS) -> World:
    """Write `jobs` jobs, `unfinished` of them not ended, with all related rows."""
    world, chance = _world(now), random.Random(7)  # the same rows in every run
    rows: dict[type[models.Model], list[Any]] = {model: [] for model in (Job, JobEvent, Approval, Trial, LogLine)}
    rows[RunSummary] = []
    for number in range(jobs):
        is_open = number < unfinished
        _add_job(rows, world, number, chance, now, is_open=is_open)
    world.jobs, world.long = rows[Job], rows[Job][0]
    rows[JobEvent] += _long_story(world.long, now, long_events)
    for model, objects in rows.items():
        model._default_manager.bulk_create(objects, batch_size=500)
    seen = [LastSeen(job=job, at=job.ended_at or now) for job in rows[Job] if job.remote_name]
    LastSeen.objects.bulk_create(seen, batch_size=500)
    _add_targets(rows[Job], now)
    return world


def _world(now: datetime) -> World:
    """Write teams of ten users. The first ten users are members of five teams each."""
    teams = [Team(name=f"team {number:02d}", project=f"project-{number:02d}") for number in range(TEAMS)]
    teams = Team.objects.bulk_create(teams)
    Policy.objects.bulk_create([Policy(team=team, ask_over_usd=500) for team in teams])
    people = User.objects.bulk_create([User(username=f"person{number:03d}") for number in range(PEOPLE)])
    places = {(number % TEAMS, number) for number in range(PEOPLE)}
    places |= {(team, number) for number in range(10) for team in range(number, number + 5)}
    roles = ["engineer", "engineer", "approver", "lead"]
    Membership.objects.bulk_create(
        [Membership(team=teams[team], user=people[n], role=roles[n // TEAMS % 4]) for team, n in sorted(places)]
    )
    common = {"kind": "custom_job", "spec": samples.body(), "region": REGIONS[0], "expected_seconds": 3600}
    Template.objects.bulk_create(
        [
            Template(team=team, name=f"template {n}", created_by=people[0], created_at=now, updated_at=now, **common)
            for team in teams
            for n in range(25)
        ]
    )
    for team in teams:
        PersistentResource.objects.create(
            project=team.project, region=REGIONS[0], resource_id="shared", state="RUNNING", state_since=now,
            body={"resourcePools": [{"machineSpec": samples.A100, "replicaCount": "4"}]}, seen_at=now,
        )  # fmt: skip
    return World(teams, people)


def _pick(chance: random.Random, weights: dict[str, int]) -> str:
    return chance.choices(list(weights), list(weights.values()))[0]


def _add_job(rows: Any, world: World, number: int, chance: random.Random, now: datetime, *, is_open: bool) -> None:
    owner = chance.randrange(PEOPLE)
    team, strategy = world.teams[owner % TEAMS], _pick(chance, STRATEGIES)
    is_study = chance.random() < 0.03
    name = chance.choice(REPEATED) if chance.random() < 0.3 else f"train-{number}"
    state = "running" if number == 0 else _pick(chance, OPEN if is_open else ENDS)
    age = timedelta(hours=chance.uniform(0.5, 20)) if is_open else timedelta(days=chance.uniform(0.05, DAYS))
    kind = "hyperparameter_tuning_job" if is_study else chance.choice(["custom_job"] * 9 + ["training_pipeline"])
    spec = samples.BODIES[kind](name=name, **({"resource": "shared"} if strategy == "persistent" else {}))
    job = Job(
        id=uuid.UUID(int=chance.getrandbits(128), version=4), team=team, owner=world.people[owner], kind=kind,
        display_name=name, project=team.project, region=chance.choice(REGIONS), strategy=strategy,
        machines="1 × a2-highgpu-1g", spec=spec, request_key=f"key-{number}", expected_seconds=3600,
        hourly_usd=Decimal("4.25"), estimate_usd=Decimal("4.40"), max_usd=Decimal(102), limit_usd=500,
        approved_usd=500, requested_at=now - age, log_complete=not is_open, last_error="",
    )  # fmt: skip
    if rows[Job] and chance.random() < 0.1:
        job.cloned_from = chance.choice(rows[Job][-200:])
    events = list(_story(job, state, chance))
    for place, event in enumerate(events):
        event.once_key = f"{event.kind}:{place}"
    facts = timeline.facts(events)
    job.state, job.state_since, job.started_at = state, facts.state_since, facts.started_at
    job.approved_at, job.ended_at, job.restarts = facts.approved_at, facts.ended_at, facts.restarts
    job.running_seconds, job.running_since = facts.running.total_seconds(), facts.running_since
    job.waited_again_seconds, job.waiting_again_since = facts.waited_again.total_seconds(), facts.waiting_again_since
    if state in {"failed", "submit_failed"}:
        job.error = ERROR
    if any(event.to_state == JobState.QUEUED for event in events):
        job.remote_name = f"projects/1/locations/{job.region}/customJobs/{number:018d}"
        job.submitted_at, job.submit_attempts = job.requested_at + timedelta(seconds=20), 1
    rows[Job].append(job)
    rows[JobEvent] += events
    _add_to_family(rows, job, number, is_first=job.team == world.teams[0])
    _add_parts(rows, job, chance, is_study=is_study)


def _add_to_family(rows: Any, job: Job, number: int, *, is_first: bool) -> None:
    job.family = FAMILY if is_first else job.pk
    if is_first:
        settings, accuracy = {"--lr": number % 7 / 10, "--seed": number}, number % 100 / 100
        rows[RunSummary].append(RunSummary(job=job, settings=settings, results={"accuracy": [accuracy] * 3}))


def _story(job: Job, state: str, chance: random.Random) -> Iterator[JobEvent]:
    """Yield about twelve events of a job on its way to `state`."""
    at = job.requested_at
    asks = state in {"awaiting_approval", "rejected"}
    ways = {"submit_failed": WAY[:2], "expired": WAY[:3]}
    way = ("awaiting_approval",) if asks else ways.get(state, WAY)
    if state in WAY:
        way = WAY[: WAY.index(state)]
    restarts = 0 if "running" not in way else chance.choice([0, 0, 1, 1, 2, 4])
    yield JobEvent(job=job, kind=Event.ASSESSED, actor=job.owner, occurred_at=at, recorded_at=at, message="Assessed.")
    before = ""
    for step in [*way, *["pending", "running"] * restarts, state]:
        at += timedelta(seconds=chance.uniform(5, 1800))
        if step == "submitting":
            yield JobEvent(job=job, kind=Event.SUBMIT_ATTEMPTED, occurred_at=at, recorded_at=at, message="Sent.")
        if before == "running" and step == "pending":
            words = {"message": "It was preempted.", "reason": "preempted"}
            yield JobEvent(job=job, kind=Event.RESTARTED, occurred_at=at, recorded_at=at, **words)
        words = {"from_state": before, "to_state": step, "message": f"It is {step} now."}
        yield JobEvent(job=job, kind=Event.STATE, occurred_at=at, recorded_at=at, **words)
        before = step
    if chance.random() < 0.2:
        yield JobEvent(job=job, kind=Event.STEP_FAILED, occurred_at=at, recorded_at=at, message="It timed out.")


def _add_parts(rows: Any, job: Job, chance: random.Random, *, is_study: bool) -> None:
    if job.state in {"awaiting_approval", "rejected"} or chance.random() < 0.05:
        is_open = job.state == "awaiting_approval"
        decision = "" if is_open else "rejected" if job.state == "rejected" else "approved"
        found = [{"code": "over_ask_limit", "severity": "approval", "message": "It may cost more than the limit."}]
        rows[Approval].append(
            Approval(
                job=job, asked_at=job.requested_at, findings=found, decision=decision,
                decided_by=None if is_open else job.owner, decided_at=None if is_open else job.requested_at,
            )
        )  # fmt: skip
    if job.started_at is None:
        return
    if is_study:
        job.parallel_trials, job.trial_seconds, job.trials_summary = 2, 3600.0, "4 trials succeeded"
        job.trials_counted_at = job.ended_at or job.started_at
        rows[Trial] += [
            Trial(
                job=job, trial_id=str(trial), state="SUCCEEDED", parameters={"learning-rate": 0.01 * trial},
                metrics={"accuracy": chance.random()}, started_at=job.started_at, ended_at=job.state_since,
                custom_job=f"{job.remote_name}{trial}", job_is_settled=True,
            )
            for trial in range(1, 5)
        ]  # fmt: skip
    if chance.random() < 0.1:
        at = job.started_at
        rows[LogLine] += [
            LogLine(
                job=job, timestamp=at + timedelta(seconds=n), insert_id=f"i{n}", severity="INFO",
                replica="workerpool0-0" if n else "service", message=f"epoch {n}: loss 0.{n:03d}",
            )
            for n in range(20)
        ]  # fmt: skip


def _long_story(job: Job, now: datetime, count: int) -> Iterator[JobEvent]:
    """Yield failed steps and restarts of a job that has run for weeks."""
    start = job.started_at or job.requested_at
    for number in range(count):
        at = start + (now - start) * number / count
        is_restart = number % 10 == 0
        kind = Event.RESTARTED if is_restart else Event.STEP_FAILED
        detail = {"replica": "workerpool0-0"} if is_restart else {}
        words = f"workerpool0-0 began again, for the time number {number}." if is_restart else f"Step {number} failed."
        yield JobEvent(
            job=job, kind=kind, occurred_at=at, recorded_at=at, reason="preempted" if is_restart else "",
            message=words, detail=detail, once_key=f"long:{number}",
        )  # fmt: skip


def _add_targets(jobs: list[Job], now: datetime) -> None:
    """Write the polled scopes and feeds, and make one more job of each team due."""
    open_jobs = [job for job in jobs if job.ended_at is None]
    places = sorted({(job.project, job.region, job.kind) for job in open_jobs if job.state not in LOCAL})
    due = now + timedelta(seconds=20)
    Scope.objects.bulk_create([Scope(project=p, region=r, kind=k, due_at=due, answered_at=now) for p, r, k in places])
    LogFeed.objects.bulk_create(
        [LogFeed(project=project, due_at=due) for project in sorted({job.project for job in jobs})]
    )
    waiting = [job.pk for job in open_jobs if job.state == "approved"]
    Job.objects.filter(pk__in=waiting).update(due_at=now)
