"""Tests of a job's page: each state, live parts, JSON files, cancelling, and strangers."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.drawing.timeline import ASSUMED
from jobs import requests, transitions
from jobs.models import Job, JobEvent, LogFeed, LogLine, Membership, Scope
from jobs.states import JobState
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock


def at(job: Job, below: str = "") -> str:
    """Return the address of a job, or of a page below it."""
    return f"/jobs/{job.pk}/{below}"


def write(job: Job, clock: Clock, *messages: str, replica: str = "workerpool0-0", severity: str = "INFO") -> None:
    """Keep lines of a job's log."""
    for number, message in enumerate(messages):
        LogLine.objects.create(
            job=job, timestamp=clock.now, insert_id=f"{replica}{number}{message}", replica=replica,
            severity=severity, message=message,
        )  # fmt: skip


class TestWhatItTells:
    def test_the_head_names_state_strategy_machines_and_place(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("running", name="resnet")

        text = text_of(signed_in(owner).get(at(job)))

        assert re.search(r"vision · custom job · us-central1 · \d+ resnet RUNNING .*Spot 1 × a2-highgpu-1g", text)

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            ("awaiting_approval", "Awaiting approval"),
            ("approved", "Queued in Trainboard"),
            ("submitting", "Being sent to Vertex AI"),
            ("queued", "Waiting for quota or capacity"),
            ("pending", "Preparing machines"),
            ("running", "left of the expected run time"),
            ("cancelling", "Vertex AI is cancelling the job"),
            ("succeeded", "It ran 10 s. It had no output folder."),
            ("cancelled", "Vertex AI stopped its replicas"),
            ("JOB_STATE_HIBERNATING", "unknown (JOB_STATE_HIBERNATING)"),
        ],
    )
    def test_every_state_says_what_it_means(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, state: str, words: str
    ) -> None:
        assert words in text_of(signed_in(owner).get(at(make_job(state))))

    def test_a_known_failure_says_what_happened_and_what_to_do(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("failed", error={"code": 8, "message": "Replicas low on memory: workerpool0."})

        text = text_of(signed_in(owner).get(at(job)))

        assert "Out of memory" in text
        assert "Choose a machine with more memory" in text
        assert "Source:" in text

    def test_words_of_vertex_ai_are_shown_and_never_run(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": "<script>alert(1)</script> is new"})

        page = signed_in(owner).get(at(job)).content.decode()

        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page

    def test_it_counts_cost_and_run_time(self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=3)
        clock.forward(hours=2)

        text = text_of(signed_in(owner).get(at(job)))

        assert "So far $6.00" in text
        assert "Ran 2 h of 6 min expected" in text
        assert "Running longer than expected" in text

    def test_it_says_when_no_price_is_known(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=None, estimate_usd=None)

        assert "So far no price known Expected no price known" in text_of(signed_in(owner).get(at(job)))

    def test_it_tells_each_event_with_actor_and_both_times(
        self, make_job: MakeJob, owner: User, approver: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("awaiting_approval")
        requests.approve(job, by=approver, comment="worth it", now=clock.forward(minutes=3))

        text = text_of(signed_in(owner).get(at(job)))

        assert re.search(r"09:03:00 approver approved it: worth it.* approver 09:03:00", text)
        assert "approval 3 min" in text

    def test_the_request_stands_there_as_rest(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(owner).get(at(make_job("running"))))

        assert "POST …/v1/projects/vision-research/locations/us-central1/customJobs" in text
        assert '"machineType": "a2-highgpu-1g"' in text

    def test_an_unreachable_vertex_ai_never_changes_the_state(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        Scope.objects.create(
            project=job.project, region=job.region, kind=job.kind, failing_since=clock.now, last_error="timed out"
        )
        clock.forward(seconds=40)

        text = text_of(signed_in(owner).get(at(job)))

        assert "RUNNING last seen 40 s ago" in text
        assert "Vertex AI has not answered for us-central1" in text


class TestFailure:
    """Vertex AI returns the reason of a failure about a minute after the failure."""

    EXIT = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error."

    def test_until_the_reason_comes_the_page_says_that_it_is_asked_for(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job, browser = make_job("failed"), signed_in(owner)

        fresh = text_of(browser.get(at(job)))
        clock.forward(minutes=6)
        later = text_of(browser.get(at(job)))

        assert "reason not known yet" in fresh
        assert "Failed for an unknown reason Vertex AI gave no reason." in later

    def test_until_then_the_service_log_explains_it(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job, browser = make_job("failed"), signed_in(owner)
        write(job, clock, self.EXIT, "Job failed.", replica="service", severity="ERROR")
        write(job, clock, "CUDA out of memory", severity="ERROR")

        fresh = text_of(browser.get(at(job)))
        clock.forward(minutes=6)
        later = text_of(browser.get(at(job)))

        assert "The GPU ran out of memory" in fresh
        assert "workerpool0-0 ended with exit code 1" in fresh
        assert "Vertex AI has not given its reason yet; this is from the log." in fresh
        assert "Vertex AI gave no reason; this is from the log." in later

    def test_the_reason_counts_more_than_the_log(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 8, "message": "Replicas low on memory: workerpool0."})
        write(job, clock, self.EXIT, replica="service", severity="ERROR")

        text = text_of(signed_in(owner).get(at(job)))

        assert "used more memory than the machine has" in text
        assert "what its log says" not in text


class TestTimeline:
    def test_draws_lanes_preemptions_and_what_nobody_saw(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        seen = clock.now
        transitions.record_event(
            job, JobEvent.Kind.UNSEEN, now=clock.forward(minutes=9), message="Nobody looked.", once_key="u",
            detail={"from": (seen + timedelta(minutes=4)).isoformat()},
        )  # fmt: skip
        transitions.transition(job, JobState.PENDING, now=clock.forward(minutes=5), message="It is pending again.")
        transitions.record_event(
            job, JobEvent.Kind.RESTARTED, now=clock.now, message="Preempted.", once_key="r", reason="preempted"
        )

        page = signed_in(owner).get(at(job)).content.decode()

        assert 'aria-label="Trainboard: our queue 10 s, submitting 10 s"' in page
        told = "QUEUED 10 s, PENDING 10 s, RUNNING 14 min, PENDING 0 s, not observed 5 min, Preempted at 09:14:40"
        assert f'aria-label="Vertex AI: {told}"' in page
        assert f'aria-label="workerpool0-0: attempt 1 · 14 min, {ASSUMED}"' in page.replace("&#x27;", "'")
        assert "url(#hatch)" in page

    def test_is_there_as_a_table_too(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("succeeded")
        client = signed_in(owner)

        plain, table = text_of(client.get(at(job))), text_of(client.get(at(job, "?as=table")))

        assert "Lane State From To Length" not in plain
        assert "Lane State From To Length Trainboard approved 2 Mar 2026, 09:00:00 UTC" in table

    def test_is_there_as_json(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("succeeded")

        answer = signed_in(owner).get(at(job, "events.json")).json()

        states = [event["to_state"] for event in answer["events"] if event["kind"] == "state"]
        assert states == ["approved", "submitting", "queued", "pending", "running", "succeeded"]
        first = next(event for event in answer["events"] if event["kind"] == "state")
        assert first["actor"] == "owner"
        assert first["occurred_at"] == "2026-03-02T09:00:00Z"
        assert answer["state"] == "succeeded"


class TestLiveParts:
    def test_ask_again_while_the_job_lives(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("running")

        page = signed_in(owner).get(at(job, "live/")).content.decode()

        assert page.lstrip().startswith('<div id="live"')
        assert f'hx-get="/jobs/{job.pk}/live/?state=running"' in page

    def test_stop_asking_when_it_has_ended(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("succeeded")
        Job.objects.filter(pk=job.pk).update(log_complete=True)
        client = signed_in(owner)

        for below in ("live/", "log/"):
            assert "hx-trigger" not in client.get(at(job, below)).content.decode()
        assert "hx-trigger" not in client.get(at(job)).text.partition("<main")[2].partition("</main>")[0]

    def test_keep_asking_for_the_log_until_it_was_read_to_its_end(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("succeeded")

        assert "hx-trigger" in signed_in(owner).get(at(job, "log/")).content.decode()

    def test_announce_a_change_of_state_once(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("running", name="resnet")
        client = signed_in(owner)

        same = client.get(at(job, "live/?state=running"), headers={"HX-Request": "true"}).content.decode()
        other = client.get(at(job, "live/?state=pending")).content.decode()

        assert "hx-swap-oob" not in same
        assert "resnet is RUNNING now." in other
        assert same.lstrip().startswith("<title>RUNNING · resnet · Trainboard</title>")

    def test_say_the_same_as_the_page(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("running")
        client = signed_in(owner)

        part, page = text_of(client.get(at(job, "live/"))), text_of(client.get(at(job)))

        assert part in page


class TestLog:
    def test_shows_the_newest_lines_of_all_replicas_in_order(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        write(job, clock, "epoch 1")
        clock.forward(seconds=5)
        write(job, clock, "Waiting for training program to start.", replica="service")
        clock.forward(seconds=5)
        write(job, clock, "epoch 2")

        text = text_of(signed_in(owner).get(at(job, "log/")))

        assert re.search(r"workerpool0-0 epoch 1 .*service Waiting .*workerpool0-0 epoch 2", text)

    def test_narrows_to_one_replica(self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock) -> None:
        job = make_job("running")
        write(job, clock, "mine")
        write(job, clock, "theirs", replica="service")

        text = text_of(signed_in(owner).get(at(job, "log/?replica=service")))

        assert "theirs" in text
        assert "mine" not in text

    def test_pauses_without_forgetting_how_to_follow(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        write(job, clock, "epoch 1")

        page = signed_in(owner).get(at(job, "?follow=no")).content.decode()

        log = page[page.index('<section id="log"') : page.index("</main>")]
        assert "hx-trigger" not in log
        assert "Follow" in log

    def test_is_read_by_a_worker_while_somebody_looks(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        signed_in(stranger).get(at(job, "log/"))
        job.refresh_from_db()
        assert job.log_wanted_until is None

        signed_in(owner).get(at(job))

        job.refresh_from_db()
        assert job.log_wanted_until > clock.now
        assert LogFeed.objects.get(project=job.project).due_at == clock.now

    def test_says_when_cloud_logging_does_not_answer(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        LogFeed.objects.create(project=job.project, failing_since=clock.now, last_error="timed out")

        text = text_of(signed_in(owner).get(at(job, "log/")))

        assert "Cloud Logging has not answered since 09:00:40 UTC" in text
        assert "timed out" in text


class TestCancel:
    def test_asks_first_and_changes_nothing(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("running")

        page = signed_in(owner).get(at(job, "cancel/"))

        job.refresh_from_db()
        assert "Vertex AI sends SIGTERM" in text_of(page)
        assert job.cancel_requested_at is None

    def test_records_the_wish_and_says_so(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("running", name="resnet")

        page = signed_in(owner).post(at(job, "cancel/"), follow=True)

        job.refresh_from_db()
        assert job.cancel_requested_at is not None
        assert "Cancellation of resnet requested." in text_of(page)
        assert "owner asked to cancel the job." in text_of(page)

    def test_a_second_click_says_that_it_was_done(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("running")
        client = signed_in(owner)
        client.post(at(job, "cancel/"))

        page = client.post(at(job, "cancel/"), follow=True)

        assert "its cancellation is on its way" in text_of(page)
        assert job.events.filter(kind="cancel_requested").count() == 1

    def test_withdraws_what_was_not_submitted(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("approved")

        page = signed_in(owner).post(at(job, "cancel/"), follow=True)

        assert "withdrawn" in text_of(page)

    def test_is_not_for_viewers(self, make_job: MakeJob, teammate: User, signed_in: SignIn) -> None:
        job = make_job("running")
        Membership.objects.filter(user=teammate).update(role="viewer")
        client = signed_in(teammate)

        answer = client.post(at(job, "cancel/"))

        assert answer.status_code == 403
        assert "Your role in this team lets you look at jobs" in text_of(answer)
        assert f'{at(job, "cancel/")}"' not in client.get(at(job)).content.decode()


class TestStranger:
    @pytest.mark.parametrize("below", ["", "live/", "log/", "cancel/", "delete/", "events.json", "spec.json"])
    def test_finds_nothing_anywhere(self, make_job: MakeJob, stranger: User, signed_in: SignIn, below: str) -> None:
        job = make_job("running", name="secret-job")

        answer = signed_in(stranger).get(at(job, below))

        assert answer.status_code == 404
        assert "secret-job" not in answer.content.decode()

    @pytest.mark.parametrize("below", ["cancel/", "decide/", "delete/"])
    def test_changes_nothing(self, make_job: MakeJob, stranger: User, signed_in: SignIn, below: str) -> None:
        job = make_job("awaiting_approval")

        answer = signed_in(stranger).post(at(job, below), {"decision": "approve"})

        job.refresh_from_db()
        assert answer.status_code == 404
        assert job.state == "awaiting_approval"
