"""Tests of training on a job's page: metrics, progress, attempts, work lost to restarts, waits and zooms."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs import transitions
from jobs.models import Job, JobEvent, JobMetrics, LogLine
from jobs.observation import log_metrics
from tests.pages.conftest import MakeJob, SignIn, text_of, with_timeout
from tests.support.clock import Clock


def train(job: Job, clock: Clock, first: int, last: int, *, minutes: float = 10) -> None:
    """Let a program log epochs `first` to `last` of 20, one every `minutes`."""
    for epoch in range(first, last + 1):
        clock.forward(minutes=minutes)
        message = f"epoch {epoch}/20 loss {4 / epoch:.4f} lr 0.001"
        LogLine.objects.create(
            job=job, timestamp=clock.now, insert_id=f"{clock.now}", replica="workerpool0-0", severity="INFO",
            message=message,
        )  # fmt: skip
    log_metrics.fold_new_lines(job)


def preempt(job: Job, clock: Clock, *, wait: float = 8) -> None:
    """Let Compute Engine take the machine back and give another after `wait` minutes."""
    clock.forward(minutes=4)
    transitions.transition(job, "pending", now=clock.now, message="It is pending again.")
    transitions.record_event(
        job, JobEvent.Kind.RESTARTED, now=clock.now, message="Preempted.", once_key=str(clock.now), reason="preempted"
    )
    transitions.transition(job, "running", now=clock.forward(minutes=wait), message="It runs again.")


@pytest.fixture
def trained(make_job: MakeJob, clock: Clock) -> Job:
    """A job that was preempted once after six epochs, began again with the fourth, and is at the tenth of 20."""
    job = make_job("running", name="clip")
    Job.objects.filter(pk=job.pk).update(hourly_usd=6)
    train(job, clock, 1, 6)
    preempt(job, clock)
    train(job, clock, 4, 10)
    return job


class TestTraining:
    def test_the_strip_tells_progress_metric_and_cost(
        self, trained: Job, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        text = text_of(signed_in(owner).get(f"/jobs/{trained.pk}/"))

        assert "50 % epoch 10 of 20 1 h 40 min left" in text
        assert "0.4 loss, falling best 0.4" in text
        assert "1 of 6 restarts used" in text
        assert signed_in(stranger).get(f"/jobs/{trained.pk}/").status_code == 404

    def test_no_time_is_left_without_news_after_the_expected_end(
        self, trained: Job, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        clock.forward(hours=3)

        text = text_of(signed_in(owner).get(f"/jobs/{trained.pk}/"))

        assert "50 % epoch 10 of 20 from its log" in text
        assert "0 s left" not in text

    def test_curves_lie_on_the_axis_of_the_lanes_and_say_what_they_show(
        self, trained: Job, owner: User, signed_in: SignIn
    ) -> None:
        page = signed_in(owner).get(f"/jobs/{trained.pk}/").content.decode()

        assert 'aria-label="loss: between 0.4 and 4, at last 0.4"' in page
        assert re.search(
            r'aria-label="cost: \$13\.\d+ after 2 h 14 min of running, \$\d+\.\d+ at the expected end"', page
        )
        assert page.count('class="curve metric"') == 2, "one in each attempt; the learning rate stays the same"
        assert 'class="now-line"' in page
        assert page.count('class="mark bolt"') == 1

    def test_a_restart_tells_what_it_lost(self, trained: Job, owner: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(owner).get(f"/jobs/{trained.pk}/"))

        assert "from the progress logged after the restart" in text
        assert re.search(r"Lost to restarts (\d+) min · \$\d\.\d\d", text)
        assert (
            "If preempted now Work lost 1 h 10 min · $7.00 the whole attempt: it has no known checkpoint of its own"
            in text
        )
        assert "Wait after restarts so far 8 min" in text

    def test_a_restart_that_only_the_log_shows_loses_no_more_than_its_attempt(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running", name="unseen")
        Job.objects.filter(pk=job.pk).update(hourly_usd=6)
        restarted_at = clock.forward(minutes=30)
        transitions.record_event(
            job, JobEvent.Kind.RESTARTED, now=restarted_at, message="-", once_key="x", reason="preempted"
        )
        transitions.transition(job, "succeeded", now=clock.forward(hours=4), message="It succeeded.")

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "Lost to restarts 30 min · $3.00" in text
        assert "UTC 30 min machine preempted (Spot) 30 min · $3.00" in text
        assert "UTC 4 h – –" in text

    def test_a_checkpoint_shortens_what_a_preemption_would_lose(
        self, trained: Job, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        saved = (clock.now - timedelta(minutes=5)).timestamp()
        JobMetrics.objects.filter(job=trained).update(checkpoints=[[saved, "ckpt-9", 1_000]])

        text = text_of(signed_in(owner).get(f"/jobs/{trained.pk}/"))

        assert "Work lost 5 min · $0.50 since the newest checkpoint" in text
        assert "Newest checkpoint 5 min ago" in text

    def test_at_the_end_it_sums_up(self, trained: Job, owner: User, signed_in: SignIn, clock: Clock) -> None:
        Job.objects.filter(pk=trained.pk).update(estimate_usd=10)
        transitions.transition(trained, "succeeded", now=clock.now, message="It succeeded.")

        text = text_of(signed_in(owner).get(f"/jobs/{trained.pk}/"))

        assert "Final cost Total $13.40 Against the estimate +$3.40" in text
        assert "Lost to restarts 24 min · $2.40" in text
        assert "If preempted now" not in text

    def test_a_zoom_narrows_the_axis_and_an_unknown_one_does_not(
        self, trained: Job, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)
        pages = {
            zoom: client.get(f"/jobs/{trained.pk}/?zoom={zoom}").content.decode() for zoom in ("attempt", "x", "all")
        }

        assert pages["x"].count('class="mark bolt"') == 1
        assert 'aria-current="true">This attempt' in pages["attempt"]
        assert pages["attempt"].count('class="curve metric"') == 1, "the first attempt lies before the axis"

    def test_the_live_part_answers_204_until_something_happens(
        self, trained: Job, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        client = signed_in(owner)
        address = f"/jobs/{trained.pk}/live/?state=running"
        found = re.search(r'X-Shown-Version": "(\w+)"', client.get(address).content.decode())
        assert found
        headers = {"X-Shown-Version": found[1], "HX-Request": "true"}

        assert client.get(address, headers=headers).status_code == 204
        transitions.record_event(trained, "repaired", now=clock.now, message="It was repaired.", once_key="x")
        assert client.get(address, headers=headers).status_code == 200

    def test_a_secret_in_a_metrics_name_is_not_kept(self, make_job: MakeJob, clock: Clock) -> None:
        job = make_job("running")
        env = [{"name": "API_TOKEN", "value": "hunter2loss"}]
        job.spec["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"] = env
        job.save()
        LogLine.objects.create(
            job=job, timestamp=clock.now, insert_id="1", replica="workerpool0-0", severity="INFO",
            message="epoch 1/2 hunter2loss=3 loss=1",
        )  # fmt: skip
        log_metrics.fold_new_lines(job)

        names = [series["name"] for series in JobMetrics.objects.get(job=job).record["series"]]
        assert "loss" in names
        assert "hunter2loss" not in names


class TestWaiting:
    def test_tells_how_long_such_jobs_waited_before(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        for minutes in (4, 10, 60):
            job = make_job("pending")
            transitions.transition(job, "running", now=clock.forward(minutes=minutes), message="It runs.")

        text = text_of(signed_in(owner).get(f"/jobs/{make_job('queued').pk}/"))

        assert re.search(r"Usual first wait 10 min 4 min \d+ s – 1 h", text)
        assert "3 jobs of vision with the same strategy, machines and region, last 90 days." in text
        assert "Vertex AI does not report a position in its queue." in text

    def test_tells_the_place_in_our_own_queue(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        make_job("approved")
        clock.forward(seconds=5)
        second = make_job("approved")

        text = text_of(signed_in(owner).get(f"/jobs/{second.pk}/"))

        assert "Position in Trainboard's queue 2 of 2" in text
        assert "No job of vision with this strategy has run in the last 90 days." in text
        assert "Vertex AI does not report a position" not in text

    def test_waits_of_another_team_are_told_to_nobody(
        self, make_job: MakeJob, stranger: User, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("running")
        other = stranger.memberships.get().team
        Job.objects.filter(pk=job.pk).update(team=other)

        assert "No job of vision" in text_of(signed_in(owner).get(f"/jobs/{make_job('queued').pk}/"))


class TestTimeout:
    def test_work_done_again_after_a_preemption_may_miss_the_timeout(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        """Expected for 100 minutes with a timeout of two hours, and 30 minutes are not saved yet."""
        job = with_timeout(make_job("running"), 2)
        Job.objects.filter(pk=job.pk).update(expected_seconds=6_000)
        browser, at = signed_in(owner), f"{clock.now + timedelta(hours=2):%H:%M}"
        clock.forward(minutes=10)
        assert "it would then not finish before" not in text_of(browser.get(f"/jobs/{job.pk}/"))

        clock.forward(minutes=20)

        assert f"Timeout {at} UTC it would then not finish before" in text_of(browser.get(f"/jobs/{job.pk}/"))
