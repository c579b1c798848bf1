"""Every restart is found, counted once and explained, whichever of states and log told it."""

from collections import Counter
from datetime import timedelta

import pytest

from jobs.lifecycle import door
from jobs.lifecycle.watching import restarts
from jobs.models import Job, LogLine
from tests.domain.conftest import Cloud, Submit, look, watch


def settle(cloud: Cloud, job: Job) -> None:
    """Look on after the end, until the last lines of the log have been read."""
    for _ in range(12):
        cloud.forward(seconds=20)
        look(cloud)
    job.refresh_from_db()


def told(job: Job) -> Counter[str]:
    """How many restarts of each cause the events tell."""
    return Counter(job.events.filter(kind="restarted").values_list("reason", flat=True))


class TestCauses:
    def test_preemptions(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert told(job) == {"preempted": cloud.truth(job.remote_name)["preemptions"]}

    def test_a_worker_that_fails_twice_and_then_succeeds(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("flaky")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert cloud.truth(job.remote_name)["workerRestarts"] == {"workerpool0-0": 2}
        assert told(job) == {"worker_exit": 2}
        restart = job.events.filter(kind="restarted").earliest("id")
        assert (restart.detail["replica"], restart.detail["exit_code"]) == ("workerpool0-0", 1)
        assert job.restarts == 0, "only restarts of the whole job count against the strategy's allowance"

    def test_a_worker_that_always_fails(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("fails")
        watch(cloud, job, minutes=240)
        settle(cloud, job)

        truth = cloud.truth(job.remote_name)
        assert told(job)["job_retry"] == truth["retries"] == 3
        assert told(job)["worker_exit"] == 5 * (1 + truth["retries"])
        assert set(told(job)) == {"job_retry", "worker_exit"}

    def test_maintenance(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("maintenance")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert told(job) == {"maintenance": 1}

    def test_internal_errors(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("internal")
        watch(cloud, job, minutes=240)
        settle(cloud, job)

        assert job.state == "failed"
        assert sum(told(job).values()) == cloud.truth(job.remote_name)["attempt"] - 1 == 2

    def test_an_undisturbed_job_has_none(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("happy")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert told(job) == {}


class TestSources:
    @pytest.mark.parametrize("minutes", [7, 11, 60])
    def test_the_log_tells_what_the_states_missed(self, submit: Submit, cloud: Cloud, minutes: int) -> None:
        job = submit("preempted")
        watch(cloud, job, minutes=200, every=minutes * 60)
        settle(cloud, job)

        assert job.state == "succeeded"
        assert told(job) == {"preempted": cloud.truth(job.remote_name)["preemptions"]}

    def test_the_states_tell_when_the_log_cannot_be_read(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        cloud.fail("entries.list", "403", times=10_000)

        watch(cloud, job, minutes=120)

        assert told(job) == {"preempted": 2}
        assert "most likely" in job.events.filter(kind="restarted").earliest("id").sentence

    def test_the_cause_of_a_preemption_is_certain_though_nobody_looks_at_the_log(
        self, submit: Submit, cloud: Cloud
    ) -> None:
        job = submit("preempted")
        while not told(job):
            watch(cloud, job, minutes=1)

        assert job.log_cursor_at is None
        restart = job.events.get(kind="restarted")
        assert (restart.reason, restart.detail["is_certain"]) == ("preempted", True)

    def test_a_short_wait_is_told_as_soon_as_the_job_runs_again(self, submitted: Job, cloud: Cloud) -> None:
        job = submitted
        while job.state != "running":
            watch(cloud, job, minutes=1)

        for state, restarts_count in (("pending", 0), ("running", 1)):
            assert door.move(job, state, now=cloud.forward(seconds=6), sentence=f"It is {state}.")
            restarts.reconcile(job, now=cloud.now)
            assert sum(told(job).values()) == restarts_count
        assert job.events.get(kind="restarted").recorded_at == cloud.now

    def test_a_cause_that_the_log_tells_later_is_added(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        while not told(job):
            cloud.fail("entries.list", "503")
            cloud.forward(seconds=10)
            look(cloud)
        assert not job.events.get(kind="restarted").detail["is_certain"]

        watch(cloud, job, minutes=120)

        first = job.events.filter(kind="restarted").earliest("id")
        learned = job.events.filter(kind="explained").earliest("id")
        assert (learned.reason, learned.detail["restart"]) == ("preempted", first.once_key)
        assert told(job) == {"preempted": 2}

    def test_looking_again_and_again_adds_nothing(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        watch(cloud, job, minutes=120)
        settle(cloud, job)
        before = job.events.count()
        Job.objects.update(log_complete=False, log_cursor_at=cloud.now - timedelta(hours=3))

        settle(cloud, job)

        assert job.events.count() == before


class TestGrace:
    def test_what_a_replica_writes_while_it_is_taken_away_is_no_sign_of_a_move(
        self, submit: Submit, cloud: Cloud
    ) -> None:
        job = submit("long")
        watch(cloud, job, minutes=10)
        taken = cloud.now

        def write(seconds: float, replica: str, message: str) -> None:
            at = taken + timedelta(seconds=seconds)
            LogLine.objects.create(
                job=job, timestamp=at, insert_id=message, replica=replica, severity="INFO", message=message
            )

        write(0, "workerpool0-0", "Terminated by service. It will be restarted shortly.")
        write(1, "workerpool0-0", "checkpoint saved")
        restarts.reconcile(job, now=taken + timedelta(seconds=2))
        assert told(job) == {}

        write(3, "service", restarts.ATTEMPT_BEGINS)
        write(9, "workerpool0-0", "resuming from epoch 25")
        restarts.reconcile(job, now=taken + timedelta(minutes=5))

        assert told(job) == {"preempted": 1}
