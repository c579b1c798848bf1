"""Tests that jobs are observed as they are when Vertex AI's answers have the order and times that were recorded of it.

The emulator answers in that order. Nobody recorded what happens to `startTime` after a restart, so each job is played
once for each thing that may happen. What is known about it afterwards has to be the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import steps, timeline
from jobs.models import Job, JobEvent, Message, Team
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob, watch
from tests.domain.test_adopt import adopted
from tests.domain.test_discovery import make
from tests.support import samples
from tests.support.resources import Resources

Play = Callable[[], Job]
NOTHING = {"machines": {"us-central1": {"NVIDIA_TESLA_A100": 0}}}


@dataclass
class World:
    """What a scenario needs to play a job."""

    cloud: Cloud
    request_job: RequestJob
    team: Team
    owner: User

    def send(self, script: str = "happy", *, times: dict[str, Any] | None = None, **changes: Any) -> Job:
        """Request a job that will follow a script, and send it."""
        self.cloud.script(script, **(times or {}))
        job = self.request_job(**changes)
        steps.advance(job.pk, clock=self.cloud.clock)
        job.refresh_from_db()
        return job

    def cancel(self, job: Job) -> None:
        """Cancel the job at Vertex AI."""
        self.cloud.call("POST", f"{job.remote_name}:cancel", {})


def standard(world: World) -> Job:
    job = world.send(strategy="STANDARD")
    watch(world.cloud, job, minutes=60, every=20)
    return job


def spot_preempted_twice(world: World) -> Job:
    job = world.send("preempted")
    watch(world.cloud, job, minutes=60, every=20)
    return job


def spot_whose_first_run_no_poll_saw(world: World) -> Job:
    job = world.send("preempted-once")
    world.cloud.forward(seconds=150)
    watch(world.cloud, job, minutes=1, every=20)
    world.cloud.forward(seconds=60)
    watch(world.cloud, job, minutes=60, every=20)
    return job


def spot_preempted_until_it_fails(world: World) -> Job:
    job = world.send("always-preempted")
    watch(world.cloud, job, minutes=120, every=20)
    return job


def spot_that_never_got_machines(world: World) -> Job:
    job = world.send("stockout")
    watch(world.cloud, job, minutes=120, every=45)
    return job


def flex_start_whose_wait_runs_out(world: World) -> Job:
    world.cloud.capacity(NOTHING)
    job = world.send(strategy="FLEX_START", scheduling={"maxWaitDuration": "1800s"})
    watch(world.cloud, job, minutes=60)
    world.cloud.capacity({})
    return job


def cancelled_in_the_queue(world: World) -> Job:
    job = world.send("slow-queue")
    watch(world.cloud, job, minutes=1)
    world.cancel(job)
    watch(world.cloud, job, minutes=5)
    return job


def adopted_and_cancelled_in_the_queue(world: World) -> Job:
    world.cloud.script("slow-queue")
    name = f"theirs-{world.cloud.now:%d%H%M}"
    make(world.cloud, name=name, labels={"phase": "two"})
    world.cloud.forward(seconds=60)
    job = adopted(world.cloud, world.team, world.owner, name)
    watch(world.cloud, job, minutes=1)
    world.cancel(job)
    watch(world.cloud, job, minutes=10)
    return job


def cancelled_while_it_runs(world: World) -> Job:
    job = world.send("long")
    watch(world.cloud, job, minutes=10)
    world.cancel(job)
    watch(world.cloud, job, minutes=10)
    return job


def ended_before_anybody_looked(world: World) -> Job:
    job = world.send("fails")
    world.cloud.forward(hours=2)
    watch(world.cloud, job, minutes=5)
    return job


def fails_before_it_runs(world: World) -> Job:
    job = world.send("image")
    watch(world.cloud, job, minutes=30)
    return job


def crashes_until_it_fails(world: World) -> Job:
    job = world.send("segfault")
    watch(world.cloud, job, minutes=60, every=20)
    return job


def tuning_job(world: World) -> Job:
    job = world.send(kind="hyperparameter_tuning_job", hours=0.1, trials=2)
    watch(world.cloud, job, minutes=60, every=20)
    watch(world.cloud, job, minutes=3)
    return job


def tuning_job_cancelled_in_the_queue(world: World) -> Job:
    job = world.send("slow-queue", kind="hyperparameter_tuning_job", hours=0.1)
    watch(world.cloud, job, minutes=2)
    world.cancel(job)
    watch(world.cloud, job, minutes=10)
    return job


def pipeline_preempted_once(world: World) -> Job:
    job = world.send("preempted-once", kind="training_pipeline", strategy="SPOT", hours=1)
    watch(world.cloud, job, minutes=60, every=20)
    return job


def pipeline_that_tunes(world: World) -> Job:
    job = world.send(kind="training_pipeline", tunes=True, hours=0.1, trials=2)
    watch(world.cloud, job, minutes=60, every=20)
    watch(world.cloud, job, minutes=3)
    return job


def on_any_reservation(world: World) -> Job:
    machine = samples.A100 | {"reservationAffinity": {"reservationAffinityType": "ANY_RESERVATION"}}
    job = world.send("internal", strategy="STANDARD", machine=machine)
    watch(world.cloud, job, minutes=120, every=20)
    return job


def on_a_persistent_resource(world: World) -> Job:
    name = f"shift-{world.cloud.now:%d%H%M}"
    Resources(world.cloud._emulator, world.cloud.forward).create(name)
    job = world.send("segfault", resource=name)
    watch(world.cloud, job, minutes=60, every=20)
    return job


def replica_evicted_twice(world: World) -> Job:
    job = world.send("evicted", strategy="STANDARD")
    watch(world.cloud, job, minutes=60, every=20)
    return job


def moved_for_maintenance(world: World) -> Job:
    job = world.send("maintenance", strategy="STANDARD")
    watch(world.cloud, job, minutes=60, every=20)
    return job


SCENARIOS = (
    standard,
    spot_preempted_twice,
    spot_whose_first_run_no_poll_saw,
    spot_preempted_until_it_fails,
    spot_that_never_got_machines,
    flex_start_whose_wait_runs_out,
    cancelled_in_the_queue,
    adopted_and_cancelled_in_the_queue,
    cancelled_while_it_runs,
    ended_before_anybody_looked,
    fails_before_it_runs,
    crashes_until_it_fails,
    tuning_job,
    tuning_job_cancelled_in_the_queue,
    pipeline_preempted_once,
    pipeline_that_tunes,
    on_any_reservation,
    on_a_persistent_resource,
    replica_evicted_twice,
    moved_for_maintenance,
)
NEVER_RAN = {
    spot_that_never_got_machines,
    flex_start_whose_wait_runs_out,
    cancelled_in_the_queue,
    adopted_and_cancelled_in_the_queue,
    fails_before_it_runs,
    tuning_job_cancelled_in_the_queue,
}
FIRST_WAITS = {"approved", "submitting", "queued", "pending"}


def outcome(job: Job, now: datetime) -> dict[str, Any]:
    """Return what is known about a job, with times since it was requested."""
    job.refresh_from_db()
    assert job.is_finished
    assert list(audit(now)) == []
    events = list(job.events.order_by("id"))

    def since(at: datetime | None) -> int | None:
        return None if at is None else round((at - job.requested_at).total_seconds())

    facts = timeline.facts(events)
    runs = [(since(span.start), since(span.end)) for span in timeline.billable(timeline.state_spans(events))]
    told = [event for event in events if event.kind not in {"judged", "submit_attempted", "adopted", "unseen"}]
    return {
        "state": job.state,
        "runs": runs,
        "times": [since(job.started_at), since(job.ended_at), since(facts.started_at)],
        "waited_again": round(job.waited_again_seconds),
        "first_wait": round(timeline.first_wait(job, now).total_seconds()),
        "restarts": [
            (e.reason, since(e.occurred_at), e.message) for e in told if e.kind in {"restarted", "machines_lost"}
        ],
        "cost": timeline.cost_so_far(job, now),
        "trials": [
            [(s.state, since(s.start)) for s in timeline.machine_spans(each)] for each in job.trials.order_by("pk")
        ],
        "messages": list(Message.objects.filter(job=job).order_by("pk").values_list("kind", flat=True)),
        "words": [
            e.message.partition("; best accuracy")[0]
            for e in told
            if e.kind == JobEvent.Kind.STATE and e.to_state not in FIRST_WAITS
        ],
    }


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_what_is_known_of_a_job_does_not_depend_on_its_start_after_a_restart(
    scenario: Callable[[World], Job], cloud: Cloud, request_job: RequestJob, team: Team, owner: User
) -> None:
    world, known = World(cloud, request_job, team, owner), {}
    for start in ("first", "last"):
        cloud.control("settings", {"start_after_restart": start})
        known[start] = outcome(scenario(world), cloud.now)
        cloud.forward(minutes=1)

    assert known["last"] == known["first"]
    assert (known["first"]["runs"] == []) == (scenario in NEVER_RAN)
    if scenario in NEVER_RAN:
        assert not known["first"]["cost"]
        assert {reason for reason, _, _ in known["first"]["restarts"]} <= {"stockout"}
