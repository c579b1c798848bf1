"""Jobs of all strategies and kinds with random waits, run times and preemptions, written as observation writes them.

The machine time of each job is counted here in whole seconds, without the product's code, to check its cost. Work is
saved after every CHECKPOINT of it, and a preemption loses the work done since.
"""

import math
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from jobs import requests, timeline
from jobs.models import Job, JobEvent, JobMetrics, PersistentResource, Team, Trial
from jobs.spec import Submission
from tests.support import samples

CHECKPOINT, STARTUP = 1800, 120
"""Seconds of work between checkpoints, and run time of each attempt before work begins."""
RATE = 0.03
"""Preemptions per machine and hour: seven times the documented rate."""
FACTOR, SPREAD = 1.25, 0.22
"""Median of the ratio of actual to expected run time, and the deviation of its logarithm."""
WAITS = {"standard": 90, "spot": 600, "flex_start": 5400, "reservation": 60, "persistent": 30}
"""Median wait for machines under each strategy, in seconds."""
WAIT_SPREAD = 0.7
L4 = {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
RESERVED = samples.A100 | {
    "reservationAffinity": {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["projects/vision-research/zones/us-central1-a/reservations/night"],
    }
}
KINDS = ("custom_job",) * 6 + ("training_pipeline", "hyperparameter_tuning_job")
PLANS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("spot", {"strategy": "SPOT"}),
    ("spot", {"strategy": "SPOT"}),
    ("spot", {"strategy": "SPOT", "machine": L4}),
    ("standard", {"strategy": "STANDARD"}),
    ("flex_start", {"strategy": "FLEX_START"}),
    ("reservation", {"strategy": "STANDARD", "machine": RESERVED}),
    ("persistent", {"resource": "shared"}),
)


@dataclass
class Played:
    """An ended job with its true billed seconds per run, and the work lost to preemptions."""

    job: Job
    succeeded: bool
    billed: list[int]
    lost: int = 0
    preemptions: int = 0


@dataclass
class Player:
    """Requests jobs for one team and writes their events. The same seed gives the same jobs."""

    team: Team
    by: User
    now: datetime
    chance: random.Random = field(default_factory=lambda: random.Random(20261123))
    count: int = 0

    def play(self) -> Played:
        """Request the next job at a later time of the day, and write everything until its end."""
        self.now += timedelta(minutes=self.chance.randrange(20, 300))
        self.count += 1
        strategy, changes = self.chance.choice(PLANS)
        kind = "custom_job" if strategy == "persistent" else self.chance.choice(KINDS)
        replicas = 1 if kind != "custom_job" else self.chance.choice((1, 1, 2, 4))
        if strategy != "persistent" and replicas > 1:
            changes = changes | {"extra_replicas": replicas - 1}
        expected = self.chance.randrange(1800, 8 * 3600)
        job = self._request(samples.submission(kind=kind, name=f"job-{self.count}", **changes), expected)
        useful = round(expected * math.exp(self.chance.gauss(math.log(FACTOR), SPREAD)))
        wait = round(math.exp(self.chance.gauss(math.log(WAITS[strategy]), WAIT_SPREAD)))
        if kind == "hyperparameter_tuning_job":
            return self._tune(job, useful, wait)
        return self._run(job, useful, wait, RATE * replicas / 3600 if strategy == "spot" else 0.0)

    def run(self, submission: Submission, *, expected: int, useful: int, wait: int = 60) -> Played:
        """Request this job five minutes later; it succeeds after `useful` seconds, without a preemption."""
        self.now += timedelta(minutes=5)
        self.count += 1
        return self._run(self._request(submission, expected), useful, wait, 0.0)

    def _request(self, submission: Submission, expected: int) -> Job:
        return requests.request_job(
            submission=submission,
            team=self.team,
            by=self.by,
            expected=timedelta(seconds=expected),
            request_key=f"played-{self.count}",
            now=self.now,
        )

    def _run(self, job: Job, useful: int, wait: int, rate: float) -> Played:
        """Write the attempts of a job until its work is done or a seventh preemption ends it."""
        at = self.now + timedelta(seconds=wait)
        events, saved, checkpoints = _sent(job, self.now), 0, []
        played = Played(job, succeeded=True, billed=[])
        while True:
            events.append(_state(job, "running", at))
            needed = STARTUP * bool(played.billed) + useful - saved
            until = self.chance.expovariate(rate) if rate else math.inf
            ran = needed if until >= needed else max(1, int(until))
            played.billed.append(ran)
            if ran == needed:
                break
            done = saved + max(0, ran - STARTUP * (len(played.billed) > 1))
            kept = done // CHECKPOINT * CHECKPOINT
            start = at + timedelta(seconds=STARTUP * (len(played.billed) > 1) - saved)
            checkpoints += [start + timedelta(seconds=each) for each in range(saved + CHECKPOINT, kept + 1, CHECKPOINT)]
            lost = ran - (STARTUP * (len(played.billed) > 1) + kept - saved) if kept > saved else ran
            saved, at = max(saved, kept), at + timedelta(seconds=ran)
            played.preemptions += 1
            if played.preemptions == 7:
                played.succeeded = False
                break
            played.lost += lost
            events += [_state(job, "pending", at), _restart(job, at, played.preemptions)]
            at += timedelta(seconds=self.chance.randrange(60, 1200))
        end = at if not played.succeeded else at + timedelta(seconds=played.billed[-1])
        events.append(_state(job, "succeeded" if played.succeeded else "failed", end))
        if checkpoints:
            rows = [[moment.timestamp(), f"checkpoint-{n}", 1] for n, moment in enumerate(checkpoints)]
            JobMetrics.objects.create(job=job, checkpoints=rows)
        _write(job, events, self.now)
        return played

    def _tune(self, job: Job, useful: int, wait: int) -> Played:
        """Write the four trials of a tuning job, two at a time. Each waits for its own machines."""
        start = self.now + timedelta(seconds=wait)
        places, billed, trials = [start, start], [], []
        for number in range(1, 5):
            ran = max(1, round(useful * math.exp(self.chance.gauss(0, 0.1))))
            places.sort()
            begun = places[0] + timedelta(seconds=self.chance.randrange(30, 600))
            ended = begun + timedelta(seconds=ran)
            states = [
                ["queued", places[0].isoformat()],
                ["running", begun.isoformat()],
                ["succeeded", ended.isoformat()],
            ]
            trials.append(
                Trial(
                    job=job, trial_id=str(number), state="SUCCEEDED", started_at=places[0], ended_at=ended,
                    job_states=states, job_is_settled=True,
                )
            )  # fmt: skip
            places[0] = ended
            billed.append(ran)
        Trial.objects.bulk_create(trials)
        end = max(places)
        time = timeline.trial_time(trials, end)
        _write(
            job, [*_sent(job, self.now), _state(job, "running", start), _state(job, "succeeded", end)], self.now,
            parallel_trials=2, trial_seconds=time.total.total_seconds(), trials_running=0, trials_counted_at=end,
        )  # fmt: skip
        return Played(job, succeeded=True, billed=billed)


def add_resource(team: Team, now: datetime) -> None:
    """Write the persistent resource that some of the jobs run on."""
    pool = {
        "machineSpec": samples.A100,
        "replicaCount": "4",
        "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
    }
    PersistentResource.objects.create(
        project=team.project, region="us-central1", resource_id="shared", state="RUNNING", state_since=now,
        body={"state": "RUNNING", "resourcePools": [pool]}, seen_at=now,
    )  # fmt: skip


def _state(job: Job, state: str, at: datetime) -> JobEvent:
    return JobEvent(
        job=job, kind=JobEvent.Kind.STATE, to_state=state, occurred_at=at, recorded_at=at, message=f"It is {state}.",
        once_key=f"state:{state}:{at.isoformat()}",
    )  # fmt: skip


def _sent(job: Job, now: datetime) -> list[JobEvent]:
    return [_state(job, "submitting", now), _state(job, "queued", now)]


def _restart(job: Job, at: datetime, number: int) -> JobEvent:
    return JobEvent(
        job=job, kind=JobEvent.Kind.RESTARTED, reason="preempted", occurred_at=at, recorded_at=at,
        message="Its machine was preempted.", detail={"replica": ""}, once_key=f"restart:{number}",
    )  # fmt: skip


def _write(job: Job, events: list[JobEvent], sent: datetime, **columns: Any) -> None:
    """Write the events and the dependent columns, as `jobs.transitions` does for each event."""
    earlier = list(job.events.order_by("id"))
    before = job.state
    for event in events:
        if event.kind == JobEvent.Kind.STATE:
            event.from_state, before = before, event.to_state
    JobEvent.objects.bulk_create(events)
    facts = timeline.facts([*earlier, *events])
    Job.objects.filter(pk=job.pk).update(
        state=before, state_since=facts.state_since, started_at=facts.started_at, ended_at=facts.ended_at,
        running_seconds=facts.running.total_seconds(), running_since=facts.running_since, restarts=facts.restarts,
        waited_again_seconds=facts.waited_again.total_seconds(), waiting_again_since=facts.waiting_again_since,
        submitted_at=sent, due_at=None, is_counted=False, remote_name=f"projects/1/locations/r/customJobs/{job.pk.int}",
        **columns,
    )  # fmt: skip
