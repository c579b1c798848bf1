"""Tests of observation: every observable state is recorded, none is invented, and no failure changes a job."""

import pytest
from django.contrib.auth.models import User

from jobs import observation, steps
from jobs.models import Job, LastSeen, LogFeed, LogLine, Scope
from jobs.observation.record import BLIND_AFTER, LOST_AFTER, record_absence
from jobs.observation.watched import ERROR_LATEST, ERROR_WINDOW, list_watched
from tests.domain.conftest import Cloud, Submit, look, watch

pytestmark = pytest.mark.both_databases


def path(job: Job) -> list[str]:
    """Return the states in the job's events, in order."""
    return list(job.events.filter(kind="state").order_by("id").values_list("to_state", flat=True))


class TestStates:
    def test_follows_a_job_to_its_end(self, submitted: Job, cloud: Cloud) -> None:

        watch(cloud, submitted, minutes=60)

        assert path(submitted) == ["approved", "submitting", "pending", "running", "succeeded"]
        remote = cloud.job(submitted.remote_name)
        assert submitted.ended_at is not None
        assert submitted.started_at is not None
        assert cloud.moment(remote["startTime"]) == submitted.started_at
        assert cloud.moment(remote["endTime"]) == submitted.ended_at
        ran = submitted.ended_at - submitted.started_at
        assert submitted.running_seconds == pytest.approx(ran.total_seconds())

    def test_a_second_look_changes_nothing(self, submitted: Job, cloud: Cloud) -> None:
        watch(cloud, submitted, minutes=5)
        before = list(submitted.events.values_list("id", flat=True))

        Scope.objects.update(due_at=cloud.now)
        look(cloud)

        assert list(submitted.events.values_list("id", flat=True)) == before

    def test_a_start_that_nobody_saw_is_taken_from_its_start_time(self, submitted: Job, cloud: Cloud) -> None:
        cloud.forward(hours=2)

        look(cloud)

        submitted.refresh_from_db()
        assert path(submitted)[-2:] == ["running", "succeeded"]
        assert submitted.started_at == cloud.moment(cloud.job(submitted.remote_name)["startTime"])
        assert submitted.running_seconds > 0

    def test_a_preemption_is_a_restart_with_its_cause(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("preempted")

        watch(cloud, submitted, minutes=120)

        assert submitted.state == "succeeded"
        restarts = submitted.events.filter(kind="restarted")
        assert submitted.restarts == restarts.count() > 0
        assert {event.reason for event in restarts} == {"preempted"}
        assert path(submitted).count("running") == submitted.restarts + 1

    def test_time_between_two_runs_is_not_billed(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("preempted")

        watch(cloud, submitted, minutes=120)

        assert submitted.ended_at is not None
        assert submitted.started_at is not None
        whole = (submitted.ended_at - submitted.started_at).total_seconds()
        assert 0 < submitted.running_seconds < whole

    def test_a_failure_tells_its_reason_with_its_end(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("fails")

        watch(cloud, submitted, minutes=120)

        assert submitted.state == "failed"
        assert submitted.error is not None
        assert "non-zero status" in submitted.error["message"]
        (scope,) = Scope.objects.all()
        assert list_watched(scope, cloud.now) == []

    def test_a_failure_tells_its_reason_even_when_that_comes_later(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("late-error")

        watch(cloud, submitted, minutes=120)
        assert (submitted.state, submitted.error) == ("failed", None)
        for _ in range(30):
            cloud.forward(seconds=10)
            look(cloud)

        submitted.refresh_from_db()
        assert submitted.state == "failed"
        assert submitted.error is not None
        assert "low on memory" in submitted.error["message"]

    def test_a_reason_that_nobody_could_ask_for_in_time_is_asked_for_later(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("late-error")
        watch(cloud, submitted, minutes=120)
        assert (submitted.state, submitted.error) == ("failed", None)

        cloud.forward(hours=2)
        look(cloud)

        submitted.refresh_from_db()
        assert submitted.error is not None

    def test_a_failure_without_a_reason_is_not_asked_for_ever(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("late-error")
        watch(cloud, submitted, minutes=120)
        (scope,) = Scope.objects.all()
        assert [known.pk for known in list_watched(scope, cloud.now)] == [submitted.pk]

        assert list_watched(scope, cloud.now + ERROR_LATEST) == []
        LastSeen.objects.update(at=submitted.ended_at + ERROR_WINDOW)
        assert list_watched(scope, cloud.now) == []

    def test_an_unknown_state_is_kept_as_it_was_sent(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("strange")

        watch(cloud, submitted, minutes=120)

        assert "JOB_STATE_REBALANCING" in path(submitted)
        assert submitted.state == "succeeded"


class TestTrouble:
    @pytest.mark.parametrize("fault", ["503", "html", "truncated", "reset", "429", "403"])
    def test_a_failing_endpoint_never_changes_a_job(self, submitted: Job, cloud: Cloud, fault: str) -> None:
        watch(cloud, submitted, minutes=1)
        before = (submitted.state, submitted.seen_at, submitted.events.count())
        cloud.fail("customJobs.list", fault, times=3)

        cloud.forward(minutes=2)
        look(cloud)

        submitted.refresh_from_db()
        assert (submitted.state, submitted.seen_at, submitted.events.count()) == before
        scope = Scope.objects.get()
        assert scope.failing_since == cloud.now
        assert scope.last_error
        assert scope.due_at is not None
        assert scope.due_at > cloud.now

    def test_after_the_trouble_everything_is_caught_up(self, submitted: Job, cloud: Cloud) -> None:
        cloud.fail("customJobs.list", "503", times=3)

        watch(cloud, submitted, minutes=120)

        assert submitted.state == "succeeded"
        scope = Scope.objects.get()
        assert (scope.failing_since, scope.failures, scope.last_error) == (None, 0, "")

    def test_a_long_blind_stretch_is_written_down(self, submitted: Job, cloud: Cloud) -> None:
        look(cloud)
        cloud.forward(seconds=BLIND_AFTER.total_seconds() + 30)

        look(cloud)

        unseen = submitted.events.get(kind="unseen")
        assert unseen.occurred_at == cloud.now

    def test_none_is_written_about_a_job_that_has_ended(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("fails")
        watch(cloud, job, minutes=60)
        known = job.error
        Job.objects.update(error=None)  # its reason is still looked for
        Scope.objects.update(due_at=cloud.now + BLIND_AFTER)
        cloud.forward(seconds=BLIND_AFTER.total_seconds() + 30)

        look(cloud)

        job.refresh_from_db()
        assert (job.state, job.error) == ("failed", known)
        assert not job.events.filter(kind="unseen").exists()

    def test_logs_that_cannot_be_read_do_not_stop_the_observation(self, submitted: Job, cloud: Cloud) -> None:
        cloud.fail("entries.list", "403", times=1000)

        watch(cloud, submitted, minutes=120)

        assert submitted.state == "succeeded"
        assert LogFeed.objects.get().last_error
        assert Scope.objects.get().last_error == ""

    def test_a_job_deleted_at_vertex_is_given_up_after_a_while(self, submitted: Job, cloud: Cloud) -> None:
        look(cloud)
        cloud.delete(submitted.remote_name)

        cloud.forward(minutes=1)
        look(cloud)
        submitted.refresh_from_db()
        assert not submitted.is_finished, "one 404 is no proof"
        watch(cloud, submitted, minutes=LOST_AFTER.total_seconds() / 60 + 2, every=30)

        assert submitted.state == "lost"

    def test_two_passing_404s_far_apart_are_no_proof(self, submit: Submit, cloud: Cloud) -> None:
        submitted = submit("long")
        watch(cloud, submitted, minutes=5)
        for _ in range(2):
            absent = Job.objects.get(pk=submitted.pk)
            record_absence(absent, now=cloud.forward(minutes=1))
            watch(cloud, submitted, minutes=4)
            cloud.forward(minutes=LOST_AFTER.total_seconds() / 60)

        submitted.refresh_from_db()
        assert not submitted.is_finished
        assert submitted.events.filter(reason="not_found").count() == 2


class TestCancel:
    def test_a_cancellation_is_sent_once_and_its_end_is_vertex_s(
        self, submitted: Job, cloud: Cloud, owner: User
    ) -> None:
        watch(cloud, submitted, minutes=4)

        assert steps.cancel(submitted, by=owner, clock=cloud.clock)
        assert not steps.cancel(submitted, by=owner, clock=cloud.clock)
        steps.advance(submitted.pk, clock=cloud.clock)
        watch(cloud, submitted, minutes=10)

        assert submitted.state == "cancelled"
        kinds = list(submitted.events.order_by("id").values_list("kind", flat=True))
        assert kinds.count("cancel_requested") == kinds.count("cancel_sent") == 1

    @pytest.mark.parametrize("fault", ["503", "409", "reset"])
    def test_a_cancellation_that_does_not_arrive_is_sent_again(
        self, submitted: Job, cloud: Cloud, owner: User, fault: str
    ) -> None:
        steps.cancel(submitted, by=owner, clock=cloud.clock)
        cloud.fail("customJobs.cancel", fault)

        steps.advance(submitted.pk, clock=cloud.clock)
        submitted.refresh_from_db()
        assert submitted.cancel_sent_at is None
        assert submitted.last_error
        cloud.forward(minutes=1)
        steps.advance(submitted.pk, clock=cloud.clock)

        submitted.refresh_from_db()
        assert submitted.cancel_sent_at == cloud.now
        assert submitted.last_error == ""

    def test_the_error_of_a_cancelled_job_is_kept_when_it_comes_later(
        self, submit: Submit, cloud: Cloud, owner: User
    ) -> None:
        submitted = submit("late-error")
        watch(cloud, submitted, minutes=2)
        steps.cancel(submitted, by=owner, clock=cloud.clock)
        steps.advance(submitted.pk, clock=cloud.clock)
        watch(cloud, submitted, minutes=10)
        assert (submitted.state, submitted.error) == ("cancelled", None)

        for _ in range(20):
            cloud.forward(seconds=10)
            look(cloud)

        submitted.refresh_from_db()
        assert submitted.state == "cancelled"
        assert submitted.error is not None
        assert submitted.error["code"] == 1

    def test_an_ended_job_cannot_be_cancelled(self, submitted: Job, cloud: Cloud, owner: User) -> None:
        watch(cloud, submitted, minutes=120)

        assert not steps.cancel(submitted, by=owner, clock=cloud.clock)


class TestLogs:
    def test_keeps_what_the_job_wrote_without_doubles(self, submitted: Job, cloud: Cloud) -> None:

        watch(cloud, submitted, minutes=120)
        for _ in range(20):
            cloud.forward(seconds=15)
            look(cloud)

        messages = list(LogLine.objects.filter(replica="service").values_list("message", flat=True))
        assert "Job is running." in messages
        assert len(messages) == len(set(messages))
        submitted.refresh_from_db()
        assert submitted.log_complete
        assert Scope.objects.get().due_at is None, "nothing is left to watch"
        assert LogFeed.objects.get().due_at is None, "nor to read"

    def test_follows_the_lines_of_a_running_job_while_somebody_looks(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("long")
        watch(cloud, job, minutes=10)
        written_by_replicas = LogLine.objects.exclude(replica="service")
        written_by_replicas.delete()
        Job.objects.update(log_read_at=cloud.now, log_cursor_at=None)  # it has had its turn
        look(cloud)
        assert not written_by_replicas.exists()

        observation.follow_log(job, now=cloud.now)
        look(cloud)

        assert written_by_replicas.exists()
        assert LogFeed.objects.get().due_at is not None

    def test_one_read_serves_all_jobs_of_a_project(self, submit: Submit, cloud: Cloud) -> None:
        for _ in range(5):
            submit("long")
        watch(cloud, Job.objects.latest("submitted_at"), minutes=5)
        Job.objects.update(log_read_at=cloud.now)  # all have had their turn
        before = cloud.calls()

        cloud.forward(seconds=20)
        look(cloud)

        after = cloud.calls()
        assert {method: after[method] - before[method] for method in after if after[method] != before[method]} == {
            "customJobs.list": 1,
            "entries.list": 1,
        }
