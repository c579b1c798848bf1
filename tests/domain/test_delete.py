"""Tests of deletion at Vertex AI: only of ended resources, repeatable, and without deleting anything of the site."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import requests, steps, transitions
from jobs.errors import NotPermitted
from jobs.models import Job, LogLine, Membership
from jobs.permissions import role_of
from jobs.queue import rate_limit
from jobs.submission import delete_job, may_delete
from jobs.upkeep import repair
from jobs.upkeep.audit import audit
from jobs.vertex import VertexClient
from tests.domain.conftest import Cloud, RequestJob, Submit, look, watch


@pytest.fixture
def ended(submit: Submit, cloud: Cloud) -> Job:
    """A job that succeeded, with its log read to the end."""
    job = submit("short")
    watch(cloud, job, minutes=120, every=60)
    for _ in range(5):
        cloud.forward(minutes=1)
        look(cloud)
    job.refresh_from_db()
    assert job.state == "succeeded"
    return job


def step(job: Job, cloud: Cloud) -> Job:
    """Let a worker take the job one step."""
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    return job


class TestRequest:
    def test_is_recorded_and_due(self, ended: Job, owner: User, cloud: Cloud) -> None:
        assert may_delete(ended, by=owner, role="engineer")

        assert delete_job(ended, by=owner, now=cloud.now)

        ended.refresh_from_db()
        assert (ended.deletion_requested_at, ended.due_at) == (cloud.now, cloud.now)
        assert steps.due_jobs(cloud.now) == [ended.pk]
        assert list(audit(cloud.now)) == []

    def test_a_second_one_is_too_late(self, ended: Job, owner: User, approver: User, cloud: Cloud) -> None:
        stale = Job.objects.get(pk=ended.pk)
        assert delete_job(ended, by=owner, now=cloud.now)

        assert not delete_job(ended, by=owner, now=cloud.now)
        assert not delete_job(stale, by=approver, now=cloud.now)
        assert ended.events.filter(kind="delete_requested").count() == 1

    @pytest.mark.parametrize("state", ["approved", "queued", "withdrawn"])
    def test_is_only_for_what_ended_at_vertex_ai(
        self, request_job: RequestJob, owner: User, cloud: Cloud, state: str
    ) -> None:
        job = request_job()
        if state == "queued":
            steps.advance(job.pk, clock=cloud.clock)
        elif state == "withdrawn":
            steps.cancel(job, by=owner, clock=cloud.clock)
        job.refresh_from_db()

        assert not may_delete(job, by=owner, role="engineer")
        assert not delete_job(job, by=owner, now=cloud.now)
        assert not job.events.filter(kind="delete_requested").exists()

    @pytest.mark.parametrize("who", ["teammate", "stranger"])
    def test_is_not_for_everybody(self, ended: Job, cloud: Cloud, request: pytest.FixtureRequest, who: str) -> None:
        by = request.getfixturevalue(who)
        assert not may_delete(ended, by=by, role=role_of(by, team_id=ended.team_id))

        with pytest.raises(NotPermitted, match="owner, approvers and leads of vision"):
            delete_job(ended, by=by, now=cloud.now)

    @pytest.mark.parametrize("who", ["approver", "admin"])
    def test_may_come_from_those_who_answer_for_the_team(
        self, ended: Job, cloud: Cloud, request: pytest.FixtureRequest, who: str
    ) -> None:
        assert delete_job(ended, by=request.getfixturevalue(who), now=cloud.now)

    def test_an_owner_who_only_looks_on_by_now_may_not(self, ended: Job, owner: User, cloud: Cloud) -> None:
        Membership.objects.filter(user=owner).update(role="viewer")

        with pytest.raises(NotPermitted):
            delete_job(ended, by=owner, now=cloud.now)

    def test_an_adopted_job_refuses_with_words(self, ended: Job, owner: User, approver: User, cloud: Cloud) -> None:
        Job.objects.update(is_adopted=True)
        ended.refresh_from_db()

        assert not may_delete(ended, by=owner, role="engineer")
        with pytest.raises(NotPermitted, match="read only here"):
            delete_job(ended, by=owner, now=cloud.now)
        with pytest.raises(NotPermitted, match="read only here"):
            steps.cancel(ended, by=owner, clock=cloud.clock)
        with pytest.raises(NotPermitted, match="read only here"):
            requests.approve(ended, by=approver, comment="", now=cloud.now)


class TestSending:
    def test_vertex_ai_forgets_and_trainboard_does_not(self, ended: Job, owner: User, cloud: Cloud) -> None:
        before = {name: getattr(ended, name) for name in ("state", "ended_at", "running_seconds", "remote_name")}
        lines = LogLine.objects.filter(job=ended).count()
        delete_job(ended, by=owner, now=cloud.now)

        step(ended, cloud)

        assert cloud.jobs() == []
        assert ended.deleted_at == cloud.now
        assert (ended.due_at, ended.claim, ended.last_error) == (None, None, "")
        assert {name: getattr(ended, name) for name in before} == before
        assert LogLine.objects.filter(job=ended).count() == lines > 0
        assert ended.events.latest("id").message.endswith("Trainboard keeps its own.")
        assert list(audit(cloud.now)) == []

    def test_nothing_follows_from_its_absence(self, submit: Submit, owner: User, cloud: Cloud) -> None:
        job = submit("fails")
        watch(cloud, job, minutes=60)
        Job.objects.update(error=None)  # its reason is still looked for
        job.refresh_from_db()
        delete_job(job, by=owner, now=cloud.now)
        step(job, cloud)

        for _ in range(40):
            cloud.forward(seconds=30)
            look(cloud)
            repair(cloud.now)

        job.refresh_from_db()
        assert job.state == "failed"
        assert not job.events.filter(reason="not_found").exists()

    @pytest.mark.parametrize("fault", ["503", "409", "429", "reset", "html", "truncated", "lost"])
    def test_a_failure_on_the_way_is_repeated_and_counts_once(
        self, ended: Job, owner: User, cloud: Cloud, fault: str
    ) -> None:
        delete_job(ended, by=owner, now=cloud.now)
        cloud.fail("customJobs.delete", fault)

        step(ended, cloud)
        assert ended.deleted_at is None
        assert ended.last_error
        assert ended.due_at > cloud.now
        assert list(audit(cloud.now)) == []
        cloud.forward(minutes=6)
        step(ended, cloud)

        assert ended.deleted_at == cloud.now
        assert ended.events.filter(kind="deleted").count() == 1
        assert ended.events.filter(kind="delete_requested").count() == 1
        assert cloud.jobs() == []

    @pytest.mark.parametrize("fault", [None, "400"])
    def test_a_second_job_of_the_request_is_looked_for_after_it(
        self, request_job: RequestJob, cloud: Cloud, owner: User, fault: str | None
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "503")
        for _ in range(2):
            steps.advance(job.pk, clock=cloud.clock)
            cloud.forward(minutes=3)
        for each in (cloud.jobs()[0], cloud.create(cloud.jobs()[0])):
            cloud.call("POST", f"{each['name']}:cancel", {})
        cloud.forward(minutes=1)
        job.refresh_from_db()
        transitions.transition(job, "cancelled", now=cloud.now, message="It was cancelled elsewhere.")
        delete_job(job, by=owner, now=cloud.now)
        if fault:
            cloud.fail("customJobs.delete", fault)
        step(job, cloud)
        assert (job.deleted_at is None) == bool(fault)
        assert list(audit(cloud.now)) == []

        cloud.forward(minutes=6)
        step(job, cloud)

        assert job.events.filter(kind="duplicate").count() == 1
        assert (job.duplicates_checked_at, job.due_at) == (cloud.now, None)

    def test_what_somebody_else_deleted_is_deleted(self, ended: Job, owner: User, cloud: Cloud) -> None:
        cloud.call("DELETE", ended.remote_name)
        delete_job(ended, by=owner, now=cloud.now)

        assert step(ended, cloud).deleted_at == cloud.now

    def test_the_pause_grows_while_vertex_ai_does_not_answer(self, ended: Job, owner: User, cloud: Cloud) -> None:
        delete_job(ended, by=owner, now=cloud.now)
        cloud.fail("customJobs.delete", "503", times=50)
        pauses = []
        for _ in range(10):
            step(ended, cloud)
            pauses.append((ended.due_at - cloud.now).total_seconds())
            cloud.forward(seconds=pauses[-1])

        assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]

    def test_a_job_that_still_runs_there_is_kept_and_may_be_asked_for_again(
        self, submit: Submit, owner: User, cloud: Cloud
    ) -> None:
        job = submit("long")
        transitions.transition(job, "succeeded", now=cloud.now, message="We were told so.")
        delete_job(job, by=owner, now=cloud.now)

        step(job, cloud)

        event = job.events.latest("id")
        assert event.reason == "delete_refused"
        assert "cancel it before it is deleted" in event.message
        assert (job.deletion_requested_at, job.due_at, job.deleted_at) == (None, None, None)
        assert len(cloud.jobs()) == 1
        assert list(audit(cloud.now)) == []
        assert delete_job(job, by=owner, now=cloud.now)
        step(job, cloud)
        assert job.events.filter(reason="delete_refused").count() == 2

    def test_an_operation_that_takes_its_time_is_followed(
        self, ended: Job, owner: User, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(VertexClient, "delete", lambda self, kind, name: False)
        delete_job(ended, by=owner, now=cloud.now)
        step(ended, cloud)
        assert ended.events.latest("id").reason == "taken"
        cloud.forward(seconds=6)
        assert step(ended, cloud).deleted_at is None

        cloud.call("DELETE", ended.remote_name)
        cloud.forward(seconds=6)

        assert step(ended, cloud).deleted_at == cloud.now
        assert list(audit(cloud.now)) == []

    def test_an_operation_that_never_ends_is_given_up(
        self, ended: Job, owner: User, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(VertexClient, "delete", lambda self, kind, name: False)
        delete_job(ended, by=owner, now=cloud.now)
        for _ in range(12):
            step(ended, cloud)
            cloud.forward(minutes=1)

        assert "still has the job after 10 minutes" in ended.events.latest("id").message
        assert may_delete(ended, by=owner, role="engineer")

    def test_it_shares_the_budget_of_creations(self, ended: Job, owner: User, cloud: Cloud, settings: Any) -> None:
        settings.CREATES_PER_MINUTE = 5
        rate_limit.forget()
        delete_job(ended, by=owner, now=cloud.now)
        step(ended, cloud)  # without Redis a process allows itself a fifth
        Job.objects.update(deleted_at=None, due_at=cloud.now)

        step(ended, cloud)

        assert "create calls a minute" in ended.last_error
        assert (cloud.jobs(), cloud.calls()["customJobs.delete"]) == ([], 1)

    def test_a_request_without_a_next_step_is_repaired(self, ended: Job, owner: User, cloud: Cloud) -> None:
        delete_job(ended, by=owner, now=cloud.now)
        Job.objects.update(due_at=None)
        assert {broken.rule for broken in audit(cloud.now)} == {"next step"}

        assert repair(cloud.now) == 1

        assert step(ended, cloud).deleted_at == cloud.now

    def test_a_dead_worker_s_claim_ends(self, ended: Job, owner: User, cloud: Cloud) -> None:
        delete_job(ended, by=owner, now=cloud.now)
        Job.objects.update(claim=ended.pk, claimed_until=cloud.now + timedelta(seconds=30))
        assert step(ended, cloud).deleted_at is None
        cloud.forward(seconds=31)

        repair(cloud.now)

        assert step(ended, cloud).deleted_at == cloud.now


@pytest.mark.parametrize(
    "statement",
    [
        {"deleted_at": None},
        {"deletion_requested_at": None},
        {"is_adopted": True},
        {"state": "running"},
    ],
)
def test_the_audit_finds_what_cannot_be(ended: Job, owner: User, cloud: Cloud, statement: dict[str, Any]) -> None:
    delete_job(ended, by=owner, now=cloud.now)
    step(ended, cloud)

    Job.objects.update(**statement)

    assert "deletion" in {broken.rule for broken in audit(cloud.now)}
