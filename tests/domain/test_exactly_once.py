"""Tests that no job is doubled or lost with slow databases, lost claims, second jobs, older backups and bugs."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from jobs import observation, steps
from jobs.clients import INSTANCE_LABEL, JOB_LABEL
from jobs.errors import NotPermitted
from jobs.models import Discovery, ExternalJob, Installation, Job, JobEvent, Policy, Scope, Team, UnmatchedJob
from jobs.queue import installation
from jobs.steps import ports, take_step
from jobs.submission import submit
from jobs.submission.adapters import DatabaseStore, VertexRemote
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob, look
from tests.support import samples
from tests.support.clock import watch_from

pytestmark = pytest.mark.both_databases


def second_job(cloud: Cloud, first: dict[str, Any]) -> dict[str, Any]:
    """Let Vertex AI have one more job with the same labels, as after a create that arrived late."""
    cloud.forward(seconds=5)
    return cloud.create(first | {"displayName": "late"})


def labelled(cloud: Cloud, job_id: str) -> dict[str, Any]:
    """Let Vertex AI have a job with our labels and the id of a request."""
    labels = {JOB_LABEL: job_id, INSTANCE_LABEL: "trainboard"}
    body = samples.body(name="unknown", labels=labels)
    return dict(cloud.call("POST", "projects/vision-research/locations/us-central1/customJobs", body))


class TestSlowDatabase:
    def test_nothing_is_sent_when_writing_the_attempt_down_took_too_long(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, begin_create = request_job(), submit.begin_create

        def stalls(*args: Any) -> Any:
            change = begin_create(*args)
            cloud.forward(seconds=62)  # between the reading of the clock and the commit
            return change

        monkeypatch.setattr(submit, "begin_create", stalls)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert cloud.jobs() == []
        assert "took 62 s" in job.last_error
        assert job.events.filter(reason="database_slow").count() == 1

        monkeypatch.undo()
        cloud.forward(minutes=1)
        steps.advance(job.pk, clock=cloud.clock)
        assert len(cloud.jobs()) == 1

    def test_a_claim_that_has_expired_is_nobodys(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = request_job()
        monkeypatch.setattr(VertexRemote, "reserve_create", lambda *_: cloud.forward(minutes=2))

        steps.advance(job.pk, clock=cloud.clock)

        assert cloud.jobs() == []
        assert Job.objects.get().submit_attempts == 0


class TestLostClaim:
    def test_a_job_that_was_created_is_followed_whoever_holds_the_claim(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, create = request_job(), VertexRemote.create

        def slow(self: VertexRemote, row: Job, *, within: float) -> Any:
            remote = create(self, row, within=within)
            Job.objects.update(claim=row.pk, claimed_until=cloud.now + timedelta(seconds=40))  # another worker's
            return remote

        monkeypatch.setattr(VertexRemote, "create", slow)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.remote_name == cloud.jobs()[0]["name"]
        assert job.claim == job.pk, "the other worker gives its claim back itself"

    def test_a_second_create_is_noticed_and_cancelled_at_once(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, create = request_job(), VertexRemote.create

        def overtaken(self: VertexRemote, row: Job, *, within: float) -> Any:
            remote = create(self, row, within=within)
            other = create(self, row, within=within)
            monkeypatch.undo()
            ports(cloud.clock).store.apply(row, submit.created(other), needs_claim=False)
            return remote

        monkeypatch.setattr(VertexRemote, "create", overtaken)
        steps.advance(job.pk, clock=cloud.clock)

        first, second = cloud.jobs()
        job.refresh_from_db()
        assert job.remote_name == second["name"]
        assert cloud.cancelled() == [first["name"]]
        assert cloud.calls()["customJobs.cancel"] == 1
        assert job.events.get(kind="duplicate").detail["remote_name"] == first["name"]


@pytest.mark.usefixtures("submitted")  # one that is followed, for which its scope is polled
class TestListedBeforeAnAnswer:
    def test_a_poll_follows_a_job_whose_create_had_no_answer(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        assert Job.objects.get(pk=job.pk).remote_name == ""

        cloud.forward(seconds=60)
        look(cloud)

        job.refresh_from_db()
        assert job.remote_name == cloud.jobs()[1]["name"]
        assert job.attempted_at is None
        assert job.submitted_at == cloud.moment(cloud.jobs()[1]["createTime"])
        assert "no create was answered" in job.events.get(kind="submit_adopted").message

    def test_a_job_that_a_list_has_shown_is_not_created_by_the_holder_of_the_claim(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = request_job()

        def meanwhile(*_: Any) -> None:
            labelled(cloud, str(job.pk))
            cloud.forward(seconds=60)
            look(cloud)

        monkeypatch.setattr(VertexRemote, "reserve_create", meanwhile)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert [each["name"] for each in cloud.jobs()][1:] == [job.remote_name]
        assert job.claim is None


class TestWithdrawal:
    def test_one_while_the_job_is_assessed_once_more_leaves_it_withdrawn(
        self, request_job: RequestJob, cloud: Cloud, owner: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, objection = request_job(), DatabaseStore.reassess

        def meanwhile(self: DatabaseStore, row: Job) -> Any:
            assert steps.cancel(Job.objects.get(pk=row.pk), by=owner, clock=cloud.clock)
            Policy.objects.update(regions=["europe-west4"])
            return objection(self, Job.objects.select_related("team").get(pk=row.pk))

        monkeypatch.setattr(DatabaseStore, "reassess", meanwhile)
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert (job.state, job.due_at, job.claim) == ("withdrawn", None, None)
        assert not job.events.filter(reason="internal_fault").exists()
        assert cloud.jobs() == []


class TestSecondJobs:
    def test_one_that_appears_later_is_told_and_cancelled_within_one_poll(self, submitted: Job, cloud: Cloud) -> None:
        (first,) = cloud.jobs()
        second = second_job(cloud, first)
        cloud.forward(seconds=30)

        look(cloud)

        assert cloud.cancelled() == [second["name"]]
        assert cloud.calls()["customJobs.cancel"] == 1
        assert "a second job for this request" in submitted.events.get(kind="duplicate").message
        assert [broken.rule for broken in audit(cloud.now)] == ["duplicate"]

    def test_it_is_cancelled_again_until_it_has_ended_and_then_the_audit_is_content(
        self, submit: Any, cloud: Cloud
    ) -> None:
        submit("long")
        second_job(cloud, cloud.jobs()[0])
        cloud.fail("customJobs.cancel", "400", times=2)
        for _ in range(8):
            cloud.forward(seconds=45)
            look(cloud)

        row = UnmatchedJob.objects.get()
        assert row.cancel_sent_at is not None
        assert row.ended_at is not None
        assert list(audit(cloud.now)) == []
        assert JobEvent.objects.filter(kind="duplicate").count() == 1

    def test_one_of_a_request_that_ended_here_is_cancelled_as_well(
        self, request_job: RequestJob, cloud: Cloud, owner: User
    ) -> None:
        job, other = request_job(), request_job()
        steps.advance(other.pk, clock=cloud.clock)
        steps.cancel(job, by=owner, clock=cloud.clock)
        late = labelled(cloud, str(job.pk))
        cloud.forward(seconds=30)

        look(cloud)

        assert cloud.cancelled() == [late["name"]]
        assert cloud.calls()["customJobs.cancel"] == 1
        assert Job.objects.get(pk=job.pk).state == "withdrawn"

    def test_one_without_a_request_is_shown_and_left_alone(self, submitted: Job, cloud: Cloud) -> None:
        unknown = labelled(cloud, "00000000-0000-4000-8000-000000000000")
        cloud.forward(seconds=30)

        look(cloud)

        assert UnmatchedJob.objects.get().job is None
        assert cloud.cancelled() == []
        assert "customJobs.cancel" not in cloud.calls()
        assert [broken.row for broken in audit(cloud.now)] == [unknown["name"]]

    def test_one_that_ended_before_any_poll_is_found_by_a_last_look_up(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "503")
        steps.advance(job.pk, clock=cloud.clock)
        cloud.forward(minutes=3)
        steps.advance(job.pk, clock=cloud.clock)
        second = second_job(cloud, cloud.jobs()[0])
        cloud.call("POST", f"{second['name']}:cancel", {})
        cloud.forward(minutes=6)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.submit_attempts == 2
        assert "It has ended" in job.events.get(kind="duplicate").message
        assert job.duplicates_checked_at == cloud.now
        assert (job.state, cloud.job(job.remote_name)["state"]) == ("running", "JOB_STATE_RUNNING")  # as it showed
        assert job.due_at is None

    def test_one_that_cannot_be_cancelled_does_not_keep_the_request_from_being_settled(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        second = second_job(cloud, cloud.jobs()[0])
        cloud.call("POST", f"{second['name']}:cancel", {})
        cloud.forward(minutes=6)

        steps.advance(job.pk, clock=cloud.clock)

        assert Job.objects.get().remote_name == cloud.jobs()[0]["name"]


class TestAdoption:
    def external(self, cloud: Cloud, team: Team, owner: User) -> ExternalJob:
        """Return what a discovery finds of the only job."""
        asked = {"asked_by": owner, "asked_at": cloud.now, "answered_at": cloud.now, "reaches_back_to": cloud.now}
        place = Discovery.objects.create(project=team.project, region="europe-west4", **asked)
        body = cloud.jobs()[0]
        told = {"remote_name": body["name"], "display_name": "x", "state": body["state"], "body": body}
        return ExternalJob.objects.create(discovery=place, kind="custom_job", **told)

    def test_a_job_that_a_request_made_is_not_adopted_from_outside(
        self, request_job: RequestJob, cloud: Cloud, team: Team, owner: User
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        external = self.external(cloud, team, owner)

        with pytest.raises(NotPermitted, match="already follows it"):
            observation.adopt(external, team=team, by=owner, now=cloud.now)

    def test_one_that_was_adopted_first_is_followed_by_the_request(
        self, request_job: RequestJob, cloud: Cloud, team: Team, owner: User
    ) -> None:
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        external = self.external(cloud, team, owner)
        external.body = {name: value for name, value in external.body.items() if name != "labels"}
        adopted = observation.adopt(external, team=team, by=owner, now=cloud.now)
        cloud.forward(minutes=1)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        adopted.refresh_from_db()
        assert job.remote_name == cloud.jobs()[0]["name"]
        assert (adopted.state, adopted.remote_name) == ("lost", "")
        assert "follows it from now on" in adopted.events.latest("id").message
        assert list(audit(cloud.now)) == []


class TestOlderCopies:
    def forget_submission(self, job: Job) -> None:
        """Put the row back to what it was before it was sent, as a backup has it."""
        gone = JobEvent.objects.filter(job=job).exclude(kind="judged").exclude(to_state="approved")
        gone._raw_delete("default")
        columns = {"state": "approved", "remote_name": "", "attempted_at": None, "submit_attempts": 0}
        Job.objects.filter(pk=job.pk).update(**columns, due_at=job.requested_at, submitted_at=None)

    def test_a_worker_that_starts_later_follows_what_was_sent(self, submitted: Job, cloud: Cloud) -> None:
        self.forget_submission(submitted)
        cloud.forward(minutes=5)
        watch_from(cloud.now)

        steps.advance(submitted.pk, clock=cloud.clock)

        submitted.refresh_from_db()
        assert submitted.remote_name == cloud.jobs()[0]["name"]
        assert len(cloud.jobs()) == 1

    def test_a_worker_that_runs_notices_that_events_are_gone(
        self, submitted: Job, request_job: RequestJob, cloud: Cloud
    ) -> None:
        steps.begin_sweep(cloud.now, interval=timedelta(seconds=5))
        self.forget_submission(submitted)
        cloud.forward(seconds=30)

        assert steps.begin_sweep(cloud.now, interval=timedelta(seconds=5))
        submitted.refresh_from_db()
        assert submitted.attempted_at == cloud.now
        cloud.fail("customJobs.list", "stale", seconds=80)
        steps.advance(submitted.pk, clock=cloud.clock)
        cloud.forward(seconds=61)
        steps.advance(submitted.pk, clock=cloud.clock)

        assert len(cloud.jobs()) == 1

    def test_a_worker_that_starts_on_another_server_puts_requests_in_doubt(
        self, submitted: Job, request_job: RequestJob, cloud: Cloud
    ) -> None:
        """The worker remembers nothing, but the row names the server on which the backup was made."""
        self.forget_submission(submitted)
        Installation.objects.update(identity="the server of the backup")
        cloud.forward(seconds=6)
        watch_from(cloud.now)
        cloud.fail("customJobs.list", "stale", seconds=20)

        steps.advance(submitted.pk, clock=cloud.clock)
        submitted.refresh_from_db()
        assert (len(cloud.jobs()), submitted.attempted_at) == (1, cloud.now)

        cloud.forward(seconds=61)
        steps.advance(submitted.pk, clock=cloud.clock)
        submitted.refresh_from_db()
        assert submitted.remote_name == cloud.jobs()[0]["name"]
        assert installation.trusted_since(cloud.now) < cloud.now, "it is noticed once"

    def test_a_copy_with_another_name_sends_nothing_until_told_to(
        self, request_job: RequestJob, cloud: Cloud, settings: Any
    ) -> None:
        job = request_job()
        settings.INSTANCE = "staging"

        assert steps.due_jobs(cloud.now) == []
        steps.advance(job.pk, clock=cloud.clock)
        assert cloud.calls() == {}

        with pytest.raises(CommandError, match="belongs to the instance “trainboard”"):
            call_command("restored", skip_checks=True)
        said = StringIO()
        call_command("restored", take_over=True, skip_checks=True, stdout=said)
        assert "1 request is looked up" in said.getvalue()
        Job.objects.update(attempted_at=cloud.now - timedelta(minutes=5))
        for _ in range(2):  # a minute must pass by the clock of the process too
            cloud.forward(minutes=1)
            steps.advance(job.pk, clock=cloud.clock)
        assert len(cloud.jobs()) == 1
        assert "customJobs.list" in cloud.calls()


class TestSweeps:
    def test_of_several_sweeps_at_once_one_counts(self, team: Team, cloud: Cloud) -> None:
        interval = timedelta(seconds=5)
        begun = [steps.begin_sweep(cloud.now, interval=interval) for _ in range(3)]
        cloud.forward(seconds=5)

        assert begun == [True, False, False]
        assert steps.begin_sweep(cloud.now, interval=interval)
        assert steps.begin_sweep(cloud.now - timedelta(days=1), interval=interval), "the clock was set back"


def test_the_world_is_the_database_and_vertex_ai(request_job: RequestJob, cloud: Cloud) -> None:
    take_step(request_job().pk, ports(cloud.clock))

    assert len(cloud.jobs()) == 1
    assert Scope.objects.count() == 1
