"""Tests that the audit finds every broken invariant, and nothing in healthy rows."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction

from jobs import requests, steps
from jobs.models import Job, JobEvent, Message
from jobs.upkeep import repair
from jobs.upkeep.audit import PORTION, audit
from tests.domain.conftest import Cloud, RequestJob, Submit, look, watch

pytestmark = pytest.mark.both_databases


def sql(statement: str, *values: Any) -> None:
    """Write around the domain, as a bug would."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def rules(cloud: Cloud) -> set[str]:
    """The names of the rules that are broken now."""
    return {broken.rule for broken in audit(cloud.now)}


@pytest.fixture
def running(submit: Submit, cloud: Cloud) -> Job:
    """A job that runs."""
    job = submit("long")
    watch(cloud, job, minutes=5)
    assert job.state == "running"
    return job


@pytest.fixture
def ended(submit: Submit, cloud: Cloud) -> Job:
    """A job that was lost twice to preemption and succeeded."""
    job = submit("preempted")
    watch(cloud, job, minutes=120)
    assert job.state == "succeeded"
    return job


class TestHealthy:
    def test_nothing_is_found_in_any_life(
        self, request_job: RequestJob, submit: Submit, cloud: Cloud, approver: User, owner: User
    ) -> None:
        jobs = [
            submit(script) for script in ("happy", "preempted", "fails", "strange", "oom", "late-error", "stockout")
        ]
        asked = [request_job(hours=10) for _ in range(4)]
        requests.approve(asked[0], by=approver, comment="", now=cloud.now)
        requests.reject(asked[1], by=approver, comment="no", now=cloud.now)
        steps.cancel(asked[2], by=owner, clock=cloud.clock)
        cloud.fail("customJobs.create", "lost")
        steps.advance(asked[0].pk, clock=cloud.clock)

        for job in jobs:
            assert rules(cloud) == set()
            watch(cloud, job, minutes=60, every=60)

        assert rules(cloud) == set()

    def test_memory_does_not_grow_with_the_number_of_jobs(
        self, request_job: RequestJob, cloud: Cloud, django_assert_max_num_queries: Any
    ) -> None:
        for _ in range(3):
            request_job()

        with django_assert_max_num_queries(20):
            assert list(audit(cloud.now)) == []
        assert PORTION <= 500


BREAKS: list[tuple[str, str, Callable[[Job], str]]] = [
    ("state", "running", lambda job: "UPDATE jobs_job SET state = 'pending'"),
    ("state", "running", lambda job: f"DELETE FROM jobs_jobevent WHERE id = {job.events.latest('id').pk}"),
    ("history", "ended", lambda job: "UPDATE jobs_jobevent SET from_state = 'queued' WHERE to_state = 'succeeded'"),
    (
        "history",
        "ended",
        lambda job: "UPDATE jobs_jobevent SET to_state = 'running', from_state = 'x' WHERE to_state = 'succeeded'",
    ),
    ("derived", "running", lambda job: "UPDATE jobs_job SET running_since = NULL"),
    ("derived", "running", lambda job: "UPDATE jobs_job SET state_since = '2020-01-01 00:00:00+00:00'"),
    ("derived", "ended", lambda job: "UPDATE jobs_job SET running_seconds = running_seconds + 1"),
    ("derived", "running", lambda job: "UPDATE jobs_job SET waiting_again_since = state_since"),
    ("derived", "ended", lambda job: "UPDATE jobs_job SET waited_again_seconds = 60"),
    ("derived", "ended", lambda job: "UPDATE jobs_job SET restarts = restarts + 1"),
    ("derived", "ended", lambda job: "UPDATE jobs_job SET started_at = NULL"),
    ("derived", "ended", lambda job: "UPDATE jobs_job SET ended_at = NULL"),
    ("next step", "ended", lambda job: "UPDATE jobs_job SET due_at = state_since"),
    ("next step", "approved", lambda job: "UPDATE jobs_job SET due_at = NULL"),
    ("remote name", "running", lambda job: "UPDATE jobs_job SET remote_name = ''"),
    ("remote name", "approved", lambda job: "UPDATE jobs_job SET remote_name = 'projects/1/customJobs/1'"),
    ("watched", "running", lambda job: "UPDATE jobs_scope SET due_at = NULL"),
    ("watched", "running", lambda job: "DELETE FROM jobs_scope"),
    ("approval", "awaiting", lambda job: "UPDATE jobs_approval SET decision = 'approved', decided_at = asked_at"),
    ("approval", "awaiting", lambda job: "DELETE FROM jobs_approval"),
    ("approval", "rejected", lambda job: "UPDATE jobs_approval SET decision = 'approved'"),
    ("approval", "rejected", lambda job: "UPDATE jobs_approval SET decided_at = NULL"),
    (
        "once keys",
        "running",
        lambda job: f"UPDATE jobs_jobevent SET once_key = '' WHERE id = {job.events.latest('id').pk}",
    ),
    ("attempts", "running", lambda job: "UPDATE jobs_job SET submit_attempts = submit_attempts + 1"),
    ("claim", "running", lambda job: "UPDATE jobs_job SET claimed_until = '2020-01-01 00:00:00+00:00'"),
    (
        "claim",
        "running",
        lambda job: "UPDATE jobs_scope SET claimed_until = '2020-01-01 00:00:00+00:00', claim = claim",
    ),
]


@pytest.mark.parametrize("kind", dict.fromkeys(kind for _, kind, _ in BREAKS))
def test_each_broken_rule_is_found(kind: str, request: pytest.FixtureRequest, cloud: Cloud) -> None:
    """Each statement is undone before the next, so that one job serves all of its kind."""
    job = request.getfixturevalue(kind)
    Message.objects.all().delete()  # the database keeps an event that a message names
    found = {}

    for rule, statement in [(rule, statement(job)) for rule, of, statement in BREAKS if of == kind]:
        assert rules(cloud) == set(), "nothing is broken before"
        with transaction.atomic():
            sql(statement)
            found[statement] = (rule, rules(cloud))
            transaction.set_rollback(True)

    assert {statement: rule for statement, (rule, broken) in found.items() if rule not in broken} == {}


@pytest.fixture
def approved(request_job: RequestJob) -> Job:
    """A job that waits for a worker."""
    return request_job()


@pytest.fixture
def awaiting(request_job: RequestJob) -> Job:
    """A job that waits for an approver."""
    return request_job(hours=10)


@pytest.fixture
def rejected(awaiting: Job, approver: User, cloud: Cloud) -> Job:
    """A job that was refused."""
    assert requests.reject(awaiting, by=approver, comment="no", now=cloud.now)
    return awaiting


def test_a_claim_without_an_end_and_one_that_ran_out_are_found(running: Job, cloud: Cloud) -> None:
    cloud.forward(minutes=1)
    sql("UPDATE jobs_scope SET claim = %s, claimed_until = %s", running.pk.hex, str(cloud.now))
    assert rules(cloud) == set()

    cloud.forward(minutes=5)

    assert rules(cloud) == {"claim"}
    assert repair(cloud.now) == 1
    assert rules(cloud) == set()


def test_two_jobs_with_one_remote_name_are_found(submit: Submit, cloud: Cloud) -> None:
    first, second = submit("happy"), submit("happy")
    sql("DROP INDEX one_job_per_remote_name")

    sql("UPDATE jobs_job SET remote_name = %s", first.remote_name)

    found = [broken for broken in audit(cloud.now) if broken.rule == "one remote name"]
    assert [broken.row for broken in found] == [first.remote_name]
    assert str(second.pk) in found[0].words


class TestCommand:
    def test_says_that_all_is_well(self, running: Job) -> None:
        said = io.StringIO()

        call_command("audit", stdout=said)

        assert said.getvalue() == "All rows keep their invariants.\n"

    def test_says_what_is_broken_and_exits_with_1(self, running: Job) -> None:
        sql("UPDATE jobs_job SET restarts = 3")
        said = io.StringIO()

        with pytest.raises(SystemExit) as end:
            call_command("audit", stdout=said)

        assert end.value.code == 1
        assert "restarts is 3, but the events show 0" in said.getvalue()

    def test_speaks_json(self, running: Job) -> None:
        sql("UPDATE jobs_job SET restarts = 3")
        said = io.StringIO()

        with pytest.raises(SystemExit):
            call_command("audit", "--json", stdout=said)

        (line,) = map(json.loads, said.getvalue().splitlines())
        assert line["pk"] == str(running.pk)
        assert line["rule"] == "derived"


class TestRepair:
    def test_a_dead_worker_s_claim_is_taken_back_and_told(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        sql("UPDATE jobs_job SET claim = %s, claimed_until = %s", job.pk.hex, str(cloud.now + timedelta(seconds=30)))
        assert repair(cloud.now) == 0
        cloud.forward(seconds=31)

        assert repair(cloud.now) == 1

        event = JobEvent.objects.get(kind="repaired")
        assert event.reason == "dead_claim"
        assert "did not finish in time" in event.message
        assert steps.due_jobs(cloud.now) == [job.pk]
        assert rules(cloud) == set()

    @pytest.mark.parametrize("state", ["approved", "submitting"])
    def test_a_job_without_a_next_step_gets_one_and_says_so(
        self, request_job: RequestJob, cloud: Cloud, state: str
    ) -> None:
        job = request_job()
        if state == "submitting":
            cloud.fail("customJobs.create", "503")
            steps.advance(job.pk, clock=cloud.clock)
        sql("UPDATE jobs_job SET due_at = NULL")
        cloud.forward(minutes=2)

        assert repair(cloud.now) == 1
        assert repair(cloud.now) == 0
        steps.advance(job.pk, clock=cloud.clock)

        assert JobEvent.objects.get(kind="repaired").reason == "no_next_step"
        assert len(cloud.jobs()) == 1
        assert rules(cloud) == set()

    def test_a_cancellation_that_was_forgotten_is_sent(self, running: Job, owner: User, cloud: Cloud) -> None:
        steps.cancel(running, by=owner, clock=cloud.clock)
        sql("UPDATE jobs_job SET due_at = NULL")

        assert repair(cloud.now) == 1
        steps.advance(running.pk, clock=cloud.clock)
        cloud.forward(minutes=2)
        look(cloud)

        running.refresh_from_db()
        assert running.state == "cancelled"
