"""Tests that nothing known of a job changes if log entries arrive 4 to 28 seconds late, as Cloud Logging's do."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, JobEvent, LogLine, Team
from tests.domain.conftest import Cloud, RequestJob, look, watch
from tests.domain.test_recorded_order import (
    World,
    crashes_until_it_fails,
    ended_before_anybody_looked,
    outcome,
    pipeline_preempted_once,
    spot_preempted_twice,
    spot_preempted_until_it_fails,
    spot_that_never_got_machines,
    spot_whose_first_run_no_poll_saw,
    tuning_job,
)
from tests.support.clock import Clock
from tests.support.running_emulator import Running, running

LATE = (4.0, 28.0)
SCENARIOS = (
    spot_preempted_twice,
    spot_whose_first_run_no_poll_saw,
    spot_preempted_until_it_fails,
    spot_that_never_got_machines,
    ended_before_anybody_looked,
    crashes_until_it_fails,
    tuning_job,
    pipeline_preempted_once,
)


@pytest.fixture
def late(tmp_path: Path, clock: Clock, db: None) -> Iterator[Running]:
    """A second emulator at the same time, whose log is late."""
    state = tmp_path / "late"
    with running(state, scripted=True, start=clock.now.timestamp(), is_waited_for=False, log_lateness=LATE) as emulator:
        yield emulator


def read_rest(cloud: Cloud) -> None:
    """Read the log until no more lines of a job that has ended can come."""
    for _ in range(12):
        cloud.forward(seconds=20)
        look(cloud)


def lines(job: Job) -> list[tuple[str, str]]:
    """Return who wrote what, in the order of the log, without the numbers of jobs."""
    found = LogLine.objects.filter(job=job).order_by("timestamp", "insert_id").values_list("replica", "message")
    return [(replica, re.sub(r"\d{12,}", "NUMBER", message)) for replica, message in found]


def causes(job: Job) -> list[str]:
    """Return the cause of each restart, as pages show it: what the log explained later replaces a guess."""
    rows = list(job.events.order_by("id"))
    learned = {row.detail["restart"]: row.reason for row in rows if row.kind == row.Kind.EXPLAINED}
    lost = (row for row in rows if row.kind in {JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST})
    return [learned.get(row.once_key, row.reason) for row in lost]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_what_is_known_of_a_job_does_not_depend_on_it(
    scenario: Callable[[World], Job],
    cloud: Cloud,
    late: Running,
    request_job: RequestJob,
    team: Team,
    owner: User,
    settings: Any,
    clock: Clock,
) -> None:
    known: list[dict[str, Any]] = []
    for emulator in (cloud._emulator, late):
        settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = emulator.url
        settings.MONITORING_ENDPOINT = emulator.url
        emulator.set_clock(clock.now.timestamp())
        world = World(Cloud(emulator, clock), request_job, team, owner)
        job = scenario(world)
        read_rest(world.cloud)
        found = outcome(job, clock.now)
        del found["restarts"]  # a guess that the log replaces later has another message
        known.append(found | {"causes": causes(job), "log": lines(job), "restarts": job.restarts})
        world.cloud.forward(minutes=1)

    logs = [each.pop("log") for each in known]
    assert known[1] == known[0]
    assert sorted(logs[1]) == sorted(logs[0])


def test_every_entry_is_read_in_the_end(
    cloud: Cloud, late: Running, request_job: RequestJob, team: Team, owner: User, settings: Any, clock: Clock
) -> None:
    settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = late.url
    late.set_clock(clock.now.timestamp())
    world = World(Cloud(late, clock), request_job, team, owner)

    job = world.send("preempted", times={"queue_seconds": 30, "run_seconds": 900})
    watch(world.cloud, job, minutes=60, every=15)
    read_rest(world.cloud)

    body = {"resourceNames": ["projects/vision-research"], "filter": 'resource.type="ml_job"', "pageSize": 1000}
    entries = late.call("POST", "/v2/entries:list", body)["entries"]
    lags = [Cloud.moment(each["receiveTimestamp"]) - Cloud.moment(each["timestamp"]) for each in entries]
    assert 4 <= min(lags).total_seconds() < max(lags).total_seconds() <= 28
    assert LogLine.objects.filter(job=job).count() == len(entries) > 20
