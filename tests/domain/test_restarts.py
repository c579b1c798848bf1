"""Tests that every restart is found, counted once and explained, whether states or the log show it."""

from collections import Counter
from datetime import datetime, timedelta

import pytest

from jobs import timeline, transitions
from jobs.models import Job, JobEvent, LogLine, Message
from jobs.observation import log_turns, restarts
from tests.domain.conftest import Cloud, Submit, look, watch


def settle(cloud: Cloud, job: Job) -> None:
    """Look on after the end, until the last lines of the log have been read."""
    for _ in range(12):
        cloud.forward(seconds=20)
        look(cloud)
    job.refresh_from_db()


def restart_reasons(job: Job) -> Counter[str]:
    """Return the number of restart events of each cause."""
    return Counter(job.events.filter(kind="restarted").values_list("reason", flat=True))


def used(job: Job) -> dict[str, tuple[int, int | None]]:
    """What is used of each grant, and of how many, where anything is."""
    found = timeline.retry_budget(job, list(job.events.order_by("id")))
    return {budget.name: (budget.used, budget.of) for budget in found if budget.used}


class TestCauses:
    def test_preemptions(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert restart_reasons(job) == {"preempted": cloud.truth(job.remote_name)["preemptions"]}

    def test_of_a_log_whose_first_lines_are_missing(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        watch(cloud, job, minutes=120)
        settle(cloud, job)
        LogLine.objects.filter(job=job, timestamp__lte=job.started_at).delete()
        Message.objects.filter(job=job).delete()
        forgotten = JobEvent.objects.filter(job=job)  # the state of a pipeline shows no restart either
        forgotten._raw_delete("default")
        Job.objects.update(restarts=0)

        restarts.record_restarts(job, now=cloud.now)

        assert restart_reasons(job) == {"preempted": cloud.truth(job.remote_name)["preemptions"]}

    def test_a_worker_that_is_evicted_twice_and_then_succeeds(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("evicted")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert cloud.truth(job.remote_name)["workerRestarts"] == {"workerpool0-0": 2}
        assert restart_reasons(job) == {"worker_restart": 2}
        restart = job.events.filter(kind="restarted").earliest("id")
        assert restart.detail["replica"] == "workerpool0-0"
        assert job.restarts == 0, "only restarts of the whole job count against the strategy's allowance"

    def test_a_worker_that_is_always_evicted(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("always-evicted")
        watch(cloud, job, minutes=240)
        settle(cloud, job)

        truth = cloud.truth(job.remote_name)
        assert restart_reasons(job)["job_retry"] == truth["retries"] == 3
        assert restart_reasons(job)["worker_restart"] == 5 * (1 + truth["retries"])
        assert set(restart_reasons(job)) == {"job_retry", "worker_restart"}
        assert used(job) == {"workerpool0-0": (5, 5), "job retries": (3, 3)}

    def test_a_program_that_exits_with_an_error(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("fails")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        written = job.log_lines.filter(replica="workerpool0-0", message="Training has started.")
        assert written.count() == 2, "its container started once more before the end"
        assert (job.state, restart_reasons(job), used(job)) == ("failed", {}, {})

    def test_a_crash_uses_all_retries_of_the_job(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("segfault")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert restart_reasons(job) == {"job_retry": 3}
        assert used(job) == {"job retries": (3, 3)}
        *_, last = job.events.filter(kind="restarted").order_by("id")
        assert last.detail["exit_code"] == 139
        assert last.message.endswith("the last of three retries. The job fails at the next such failure.")

    @pytest.mark.parametrize(("script", "name", "limit"), [("stockout", "capacity", 3), ("internal", "internal", 2)])
    def test_the_ledger_agrees_with_the_error(
        self, submit: Submit, cloud: Cloud, script: str, name: str, limit: int
    ) -> None:
        job = submit(script, strategy="STANDARD")
        watch(cloud, job, minutes=240)
        settle(cloud, job)

        assert restart_reasons(job) == {script: limit}
        assert all(event.detail["is_certain"] for event in job.events.filter(kind="restarted"))
        assert [counts for budget, counts in used(job).items() if budget.startswith(name)] == [(limit, limit)]

    def test_maintenance(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("maintenance")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert restart_reasons(job) == {"maintenance": 1}

    def test_an_undisturbed_job_has_none(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("happy")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert restart_reasons(job) == {}


class TestSpotsEnd:
    def lost(self, job: Job) -> JobEvent:
        return job.events.get(kind="machines_lost")

    def test_the_seventh_loss_is_an_event_of_its_own(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("always-preempted")
        watch(cloud, job, minutes=240)
        settle(cloud, job)

        assert (job.state, restart_reasons(job), used(job)) == ("failed", {"preempted": 6}, {"Spot restarts": (6, 6)})
        *_, sixth = job.events.filter(kind="restarted").order_by("id")
        assert "the last of six restarts. The job fails if it loses its machines again" in sixth.message
        last = self.lost(job)
        assert (last.reason, last.detail["restarts"]) == ("preempted", {"preempted": 6, "stockout": 0})
        assert "the seventh loss of the job; it had used its six restarts" in last.message
        (taken,) = job.log_lines.filter(message__startswith="Terminated", timestamp__gt=sixth.occurred_at)
        assert last.occurred_at == taken.timestamp < job.ended_at

    def test_stockouts_and_preemptions_share_the_six(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("always-preempted")
        cloud.control("capacity", {"spot": {"us-central1": {"NVIDIA_TESLA_A100": 0}}})
        watch(cloud, job, minutes=7)
        cloud.control("capacity", {"spot": {"us-central1": {"NVIDIA_TESLA_A100": None}}})
        watch(cloud, job, minutes=240)
        settle(cloud, job)

        truth = cloud.truth(job.remote_name)
        assert restart_reasons(job) == {"stockout": truth["stockouts"], "preempted": truth["preemptions"] - 1}
        assert truth["stockouts"] == 2
        assert used(job) == {"Spot restarts": (6, 6)}
        assert "the seventh loss" in self.lost(job).message

    def test_a_job_that_never_ran_lost_nothing_but_found_none(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("stockout")
        watch(cloud, job, minutes=240)
        settle(cloud, job)

        assert (job.started_at, restart_reasons(job)) == (None, {"stockout": 6})
        assert self.lost(job).reason == "stockout"

    def test_it_is_told_without_a_log(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("always-preempted")
        cloud.fail("entries.list", "403", times=10_000)
        watch(cloud, job, minutes=240)

        assert restart_reasons(job) == {"preempted": 6}
        assert (self.lost(job).reason, self.lost(job).occurred_at) == ("preempted", job.ended_at)

    def test_another_failure_of_a_spot_job_is_none(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("oom")
        watch(cloud, job, minutes=120)
        settle(cloud, job)

        assert not job.events.filter(kind="machines_lost").exists()


class TestMachines:
    def write(self, job: Job, at: datetime, message: str, machine: str) -> None:
        LogLine.objects.create(
            job=job, timestamp=at, insert_id=f"{at}{message}", replica="workerpool0-0", severity="INFO",
            message=message, machine=machine,
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("before", "after", "reason"),
        [("vm-1", "vm-1", "worker_restart"), ("vm-1", "vm-2", "maintenance"), ("", "", "replica_unknown")],
    )
    def test_tell_an_eviction_from_maintenance(
        self, submit: Submit, cloud: Cloud, before: str, after: str, reason: str
    ) -> None:
        job = submit("long")
        watch(cloud, job, minutes=10)
        taken = cloud.now
        for seconds, message, machine in ((0, "Terminated by service. ...", before), (3, "saved", before),
                                          (12, "started", after), (40, "epoch 2", after)):  # fmt: skip
            self.write(job, taken + timedelta(seconds=seconds), message, machine)

        restarts.record_restarts(job, now=taken + timedelta(minutes=2))

        assert restart_reasons(job) == {reason: 1}

    def test_what_it_writes_in_its_grace_is_no_start(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("long")
        watch(cloud, job, minutes=10)
        self.write(job, cloud.now, "Terminated by service. ...", "vm-1")
        self.write(job, cloud.now + timedelta(seconds=20), "checkpoint saved", "vm-1")

        restarts.record_restarts(job, now=cloud.now + timedelta(minutes=2))

        assert restart_reasons(job) == {}


class TestSources:
    @pytest.mark.parametrize("minutes", [7, 11, 60])
    def test_the_log_tells_what_the_states_missed(self, submit: Submit, cloud: Cloud, minutes: int) -> None:
        job = submit("preempted")
        watch(cloud, job, minutes=200, every=minutes * 60)
        settle(cloud, job)

        assert job.state == "succeeded"
        assert restart_reasons(job) == {"preempted": cloud.truth(job.remote_name)["preemptions"]}

    def test_the_states_tell_when_the_log_cannot_be_read(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        cloud.fail("entries.list", "403", times=10_000)

        watch(cloud, job, minutes=120)

        assert restart_reasons(job) == {"preempted": 2}
        assert "most likely" in job.events.filter(kind="restarted").earliest("id").message

    def test_the_cause_of_a_preemption_is_certain_though_nobody_looks_at_the_log(
        self, submit: Submit, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_turns, "next_turns", lambda *_, **__: [])  # its turn has not come
        job = submit("preempted")
        while not restart_reasons(job):
            watch(cloud, job, minutes=1)

        assert job.log_cursor_at is None
        restart = job.events.get(kind="restarted")
        assert (restart.reason, restart.detail["is_certain"]) == ("preempted", True)

    def test_a_short_wait_is_told_as_soon_as_the_job_runs_again(self, submitted: Job, cloud: Cloud) -> None:
        job = submitted
        while job.state != "running":
            watch(cloud, job, minutes=1)

        for state, restarts_count in (("pending", 0), ("running", 1)):
            assert transitions.transition(job, state, now=cloud.forward(seconds=6), message=f"It is {state}.")
            restarts.record_restarts(job, now=cloud.now)
            assert sum(restart_reasons(job).values()) == restarts_count
        assert job.events.get(kind="restarted").recorded_at == cloud.now

    def test_a_cause_that_the_log_tells_later_is_added(self, submit: Submit, cloud: Cloud) -> None:
        job = submit("preempted")
        while not restart_reasons(job):
            cloud.fail("entries.list", "503")
            cloud.forward(seconds=10)
            look(cloud)
        assert not job.events.get(kind="restarted").detail["is_certain"]

        watch(cloud, job, minutes=120)

        first = job.events.filter(kind="restarted").earliest("id")
        learned = job.events.filter(kind="explained").earliest("id")
        assert (learned.reason, learned.detail["restart"]) == ("preempted", first.once_key)
        assert restart_reasons(job) == {"preempted": 2}

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
        restarts.record_restarts(job, now=taken + timedelta(seconds=2))
        assert restart_reasons(job) == {}

        write(3, "service", restarts.ATTEMPT_BEGINS)
        write(9, "workerpool0-0", "resuming from epoch 25")
        restarts.record_restarts(job, now=taken + timedelta(minutes=5))

        assert restart_reasons(job) == {"preempted": 1}


def test_a_timeout_is_told_as_such_and_not_as_a_cancellation(submit: Submit, cloud: Cloud) -> None:
    job = submit("long", strategy="STANDARD", scheduling={"timeout": "600s"})
    watch(cloud, job, minutes=60)

    last = job.events.filter(kind="state").latest("id")
    assert (job.state, restart_reasons(job)) == ("cancelled", {})
    assert last.message.startswith("Vertex AI stopped the job because it reached its timeout")
