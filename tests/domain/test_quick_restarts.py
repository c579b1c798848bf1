"""Tests of restarts that follow each other within seconds: each is counted once, whatever the polls saw of it.

A persistent resource has its machines already, so a job there is restarted as quickly as this.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from jobs import messages, timeline
from jobs.models import Job, Message
from tests.domain.conftest import Cloud, Submit, watch
from tests.domain.test_restarts import restart_reasons, settle, used
from tests.pages.conftest import SignIn, text_of
from tests.support.api import caller
from tests.support.clock import Clock
from tests.support.running_emulator import running

SPEED = 100
"""Machines are provisioned in 1.5 s, and a job that lost them is queued again after 0.3 s."""


@pytest.fixture
def cloud(tmp_path: Path, clock: Clock, settings: Any) -> Iterator[Cloud]:
    """A Vertex AI whose machines are ready within seconds."""
    start = clock.now.timestamp()
    with running(tmp_path / "emulator", scripted=True, speed=SPEED, start=start, is_waited_for=False) as emulator:
        settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = emulator.url
        settings.MONITORING_ENDPOINT = emulator.url
        settings.POLL_INTERVAL = timedelta(seconds=1)
        cloud = Cloud(emulator, clock)
        cloud.script("happy")
        yield cloud


@pytest.mark.parametrize("every", [1, 2, 5, 20, 90])
class TestSpot:
    def test_seven_losses_within_seconds(self, submit: Submit, cloud: Cloud, every: float) -> None:
        job = submit("always-preempted", times={"preempt_after": [1.0] * 7})
        watch(cloud, job, minutes=20, every=every)
        settle(cloud, job)

        truth = cloud.truth(job.remote_name)
        assert (job.state, truth["preemptions"]) == ("failed", 7)
        assert restart_reasons(job) == {"preempted": 6}
        assert used(job) == {"Spot restarts": (6, 6)}
        assert timeline.last_loss(list(job.events.all())) == "preempted"

    def test_it_is_used_up_whatever_was_seen(self, submit: Submit, cloud: Cloud, every: float) -> None:
        cloud.fail("entries.list", "403", times=10_000)
        job = submit("always-preempted", times={"preempt_after": [1.0] * 7})
        watch(cloud, job, minutes=20, every=every)
        settle(cloud, job)

        assert sum(restart_reasons(job).values()) <= 6
        assert used(job) == {"Spot restarts": (6, 6)}
        lost = job.events.get(kind="machines_lost")
        assert "the seventh loss of the job; it had used its six restarts" in lost.message

    def test_three_losses_and_then_it_succeeds(self, submit: Submit, cloud: Cloud, every: float) -> None:
        job = submit("always-preempted", times={"preempt_after": [3.0, 1.0, 2.0]})
        watch(cloud, job, minutes=30, every=every)
        settle(cloud, job)

        assert (job.state, restart_reasons(job)) == ("succeeded", {"preempted": 3})
        assert used(job) == {"Spot restarts": (3, 6)}


@pytest.mark.parametrize("every", [1, 2, 5, 20, 90])
def test_a_replica_that_restarts_every_few_seconds(submit: Submit, cloud: Cloud, every: float) -> None:
    job = submit("always-evicted", strategy="STANDARD", times={"exit_seconds": 2.0})
    watch(cloud, job, minutes=20, every=every)
    settle(cloud, job)

    truth = cloud.truth(job.remote_name)
    assert truth["retries"] == 3
    assert restart_reasons(job) == Counter({"worker_restart": 20, "job_retry": 3})
    assert used(job) == {"workerpool0-0": (5, 5), "job retries": (3, 3)}


class TestTitle:
    """The title of what happened is the same wherever it is shown."""

    ADDRESSES = ("/", "/history/", "/jobs/{pk}/")

    @pytest.fixture(autouse=True)
    def _pages_read_the_tests_clock(self, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
        monkeypatch.setattr(timezone, "now", lambda: clock.now)
        monkeypatch.setattr("jobs.clock.read_database_clock", lambda: clock.now)
        monkeypatch.setattr("jobs.clock.DISPLAY_SECONDS", -1)

    def check(self, job: Job, title: str, owner: User, stranger: User, signed_in: SignIn, clock: Clock) -> None:
        job.refresh_from_db()
        client = signed_in(owner)
        for address in self.ADDRESSES:
            assert title in text_of(client.get(address.format(pk=job.pk))), address
            assert title not in text_of(signed_in(stranger).get(address.format(pk=job.pk)))
        shown = caller(owner).get(f"/jobs/{job.pk}").json()
        assert (shown["reason"], shown["diagnosis"]["title"]) == (title, title)
        message = Message.objects.select_related("job__team", "job__owner", "event").get(job=job, kind="failed")
        assert messages.headline_of(message).endswith(title)
        assert title in messages.content_of(message, clock.now).subject

    def test_of_a_job_that_never_got_a_machine(
        self, submit: Submit, cloud: Cloud, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = submit("stockout")
        watch(cloud, job, minutes=60, every=20)
        settle(cloud, job)

        self.check(job, "Found no machines seven times", owner, stranger, signed_in, clock)

    @pytest.mark.parametrize("every", [2, 20, 90])
    def test_of_a_job_that_lost_its_machine_seven_times(
        self, submit: Submit, cloud: Cloud, owner: User, stranger: User, signed_in: SignIn, clock: Clock, every: float
    ) -> None:
        job = submit("always-preempted", times={"preempt_after": [1.0] * 7})
        watch(cloud, job, minutes=20, every=every)
        settle(cloud, job)

        self.check(job, "Preempted seven times", owner, stranger, signed_in, clock)

    def test_of_a_job_that_found_none_once(
        self, submit: Submit, cloud: Cloud, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = submit("always-preempted", times={"preempt_after": [1.0] * 7})
        cloud.control("capacity", {"spot": {"us-central1": {"NVIDIA_TESLA_A100": 0}}})
        watch(cloud, job, minutes=0.03, every=1)
        cloud.control("capacity", {"spot": {"us-central1": {"NVIDIA_TESLA_A100": None}}})
        watch(cloud, job, minutes=20, every=2)
        settle(cloud, job)

        assert cloud.truth(job.remote_name)["stockouts"] == 1
        self.check(job, "Preempted six times, found no machines once", owner, stranger, signed_in, clock)
