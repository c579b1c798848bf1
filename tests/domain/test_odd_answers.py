"""Tests of answers that no recording shows: they are recorded as seen, none is dropped, and no figure is invented."""

from typing import Any

import pytest

from jobs import messages, timeline
from jobs.models import Job, Message, Scope
from jobs.observation.starts import machines_started
from jobs.observation.trial_jobs import with_answer
from jobs.observation.watched import list_watched
from jobs.vertex.wire import remote_job
from tests.domain.conftest import RequestJob
from tests.domain.test_recorded_jobs import CREATED, PROVISIONAL, after, begin, poll_at, poll_through, states, waiting
from tests.support.replayed import Answer, Replayed, answer_at, rfc3339

pytestmark = pytest.mark.both_databases
STOCKOUT = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different region."}


def without(answer: Answer, *names: str) -> Answer:
    return Answer(answer.since, {key: value for key, value in answer.fields.items() if key not in names})


def test_a_stockout_while_a_job_waits_is_no_end(service: Replayed, request_job: RequestJob) -> None:
    waits = answer_at(after(60), "PENDING", CREATED, startTime=PROVISIONAL, error=STOCKOUT)
    runs = answer_at(after(4000), "RUNNING", CREATED, startTime=rfc3339(after(3988)))
    ends = answer_at(after(4610), "SUCCEEDED", CREATED, startTime=rfc3339(after(3988)), endTime=rfc3339(after(4600)))
    job = begin(service, request_job, waiting(waits, runs, ends))
    for minute in range(1, 65):
        service.service_line(after(60 * minute), STOCKOUT["message"], "ERROR")  # type: ignore[arg-type]

    poll_at(service, job, *(after(each) for each in range(5, 3900, 120)))
    assert (job.state, job.error, job.restarts, job.is_finished) == ("pending", None, 0, False)
    told = job.events.get(kind="error_learned")
    assert told.message.startswith("Vertex AI reported while the job waited: Resources are insufficient")
    poll_at(service, job, after(4010), after(4620), after(4700))

    assert (job.state, job.error, job.restarts) == ("succeeded", None, 0)
    assert job.running_seconds == 612


def test_an_answer_without_create_time(service: Replayed, request_job: RequestJob) -> None:
    runs = answer_at(after(171.5), "RUNNING", CREATED, startTime=rfc3339(after(158)))
    ends = answer_at(after(410), "FAILED", CREATED, startTime=rfc3339(after(158)), endTime=rfc3339(after(400)))
    job = begin(service, request_job, [without(each, "createTime") for each in waiting(runs, ends)])

    poll_through(service, job)

    assert states(job)[2:] == ["pending", "running", "failed"]
    assert (job.started_at, job.restarts) == (after(171.5), 0), "a start cannot be settled without the creation"


@pytest.mark.parametrize("start", [rfc3339(after(500)), rfc3339(after(864_000)), "0001-01-01T00:00:00Z", "soon", 7])
def test_an_impossible_start_of_a_job_that_was_seen_running(
    start: Any, service: Replayed, request_job: RequestJob
) -> None:
    runs = answer_at(after(171.5), "RUNNING", CREATED, startTime=PROVISIONAL)
    ends = answer_at(after(410), "SUCCEEDED", CREATED, startTime=start, endTime=rfc3339(after(400)))
    job = begin(service, request_job, waiting(runs, ends))

    poll_through(service, job)

    assert job.started_at == after(171.5)
    assert (job.state, job.running_seconds, job.restarts) == ("succeeded", 228.5, 0)


def test_times_in_the_future_are_left_out(service: Replayed, request_job: RequestJob) -> None:
    ahead = rfc3339(after(90 * 86_400))
    runs = answer_at(after(171), "RUNNING", CREATED, startTime=ahead, updateTime=ahead)
    ends = answer_at(after(410), "SUCCEEDED", CREATED, startTime=ahead, endTime=ahead, updateTime=ahead)
    job = begin(service, request_job, waiting(runs, ends))

    poll_at(service, job, after(3), after(180), after(420))

    assert job.state == "succeeded"
    assert job.started_at is not None
    assert job.ended_at is not None
    assert after(171) <= job.started_at <= job.ended_at <= service.clock.now


@pytest.mark.parametrize("state", ["REBALANCING", "HIBERNATED", "PAUSED"])
def test_a_state_that_does_not_exist_yet(state: str, service: Replayed, request_job: RequestJob) -> None:
    odd = answer_at(after(60), state, CREATED, startTime=PROVISIONAL)
    ends = answer_at(after(410), "CANCELLED", CREATED, startTime=PROVISIONAL, endTime=rfc3339(after(410)))
    job = begin(service, request_job, waiting(odd, ends))

    poll_through(service, job)

    assert any(state.lower() in each.lower() for each in states(job))
    assert (job.state, job.started_at, job.running_seconds, job.restarts) == ("cancelled", None, 0, 0)


def test_a_job_that_partially_succeeded_has_ended(service: Replayed, request_job: RequestJob) -> None:
    runs = answer_at(after(171), "RUNNING", CREATED, startTime=rfc3339(after(158)))
    ends = answer_at(
        after(410), "PARTIALLY_SUCCEEDED", CREATED, startTime=rfc3339(after(158)), endTime=rfc3339(after(400))
    )
    job = begin(service, request_job, waiting(runs, ends))

    poll_through(service, job)

    assert (job.state, job.ended_at, job.running_seconds) == ("partially_succeeded", after(400), 242)
    assert not Job.objects.unfinished().exists()
    assert list_watched(Scope.objects.get(), service.clock.now) == []
    assert 'state!="JOB_STATE_PARTIALLY_SUCCEEDED"' in service.filters[-1], "no list contains it"


def test_a_job_that_goes_back_to_the_queue_is_recorded_as_seen(service: Replayed, request_job: RequestJob) -> None:
    start = rfc3339(after(158))
    job = begin(
        service,
        request_job,
        waiting(
            answer_at(after(171), "RUNNING", CREATED, startTime=start),
            answer_at(after(400), "QUEUED", CREATED, startTime=start),
            answer_at(after(700), "RUNNING", CREATED, startTime=start),
            answer_at(after(910), "FAILED", CREATED, startTime=start, endTime=rfc3339(after(900))),
        ),
    )

    poll_through(service, job)

    assert states(job)[-4:] == ["running", "queued", "running", "failed"]
    assert (job.started_at, job.running_seconds, job.waited_again_seconds) == (after(158), 242 + 200, 300)
    assert job.restarts == 1
    assert timeline.cost_so_far(job, service.clock.now)


class TestReportsOfAWait:
    """What Vertex AI reports while a job waits is a reason to wait, wherever it reports it."""

    def words(self, job: Job) -> str:
        reason = timeline.wait_reason(job)
        return "" if reason is None else reason.words

    def test_the_error_of_an_answer(self, service: Replayed, request_job: RequestJob) -> None:
        waits = answer_at(after(60), "PENDING", CREATED, startTime=PROVISIONAL, error=STOCKOUT)
        runs = answer_at(after(900), "RUNNING", CREATED, startTime=rfc3339(after(888)))
        job = begin(service, request_job, waiting(waits, runs))

        poll_at(service, job, after(5))
        assert self.words(job) == "machines are being prepared"
        poll_at(service, job, after(65), after(600))
        assert self.words(job) == f"Vertex AI reports while it waits: {STOCKOUT['message']}"
        poll_at(service, job, after(905))

        assert (job.wait_error, timeline.wait_reason(job)) == ("", None)

    def test_a_line_of_the_log(self, service: Replayed, request_job: RequestJob) -> None:
        runs = answer_at(after(900), "RUNNING", CREATED, startTime=rfc3339(after(888)))
        back = answer_at(after(1500), "PENDING", CREATED, startTime=rfc3339(after(888)))
        job = begin(service, request_job, waiting(runs, back))
        service.service_line(after(2), "Waiting for job to be provisioned.")
        for minute in range(1, 14):
            service.service_line(after(60 * minute), str(STOCKOUT["message"]), "ERROR")
        service.service_line(after(61), "Job is preparing.")
        service.service_line(after(880), "Job is running.")
        service.service_line(after(1499), "Waiting for job to be provisioned.")

        poll_at(service, job, after(5), after(30))
        assert job.wait_error == ""
        poll_at(service, job, *(after(each) for each in range(70, 800, 60)))
        assert self.words(job) == f"Vertex AI reports while it waits: {STOCKOUT['message']}"
        event = job.events.get(kind="error_learned")
        assert (event.occurred_at, event.message) == (
            after(60), f"Vertex AI reported while the job waited: {STOCKOUT['message']}"
        )  # fmt: skip
        poll_at(service, job, after(905), after(1000))
        assert (job.wait_error, job.restarts, job.error) == ("", 0, None)
        poll_at(service, job, after(1510), after(1560), after(1620))
        assert (job.wait_error, job.restarts) == ("", 1), "that was reported in an earlier wait"
        service.service_line(after(1625), str(STOCKOUT["message"]), "ERROR")
        poll_at(service, job, after(1640), after(1670))

        assert job.wait_error == STOCKOUT["message"]
        assert job.events.filter(kind="error_learned").count() == 2

    def test_a_line_of_the_log_that_is_no_reason_to_wait(self, service: Replayed, request_job: RequestJob) -> None:
        job = begin(service, request_job, waiting())
        service.service_line(after(2), "Waiting for job to be provisioned.")
        service.service_line(after(60), "The replica workerpool0-0 exited with a non-zero status of 1.", "ERROR")
        service.service_line(after(5000), str(STOCKOUT["message"]), "ERROR")  # dated in the future

        poll_at(service, job, after(5), after(70), after(130))

        assert (job.wait_error, job.events.filter(kind="error_learned").count()) == ("", 0)

    def test_an_error_of_a_job_that_runs_is_none(self, service: Replayed, request_job: RequestJob) -> None:
        runs = answer_at(after(171), "RUNNING", CREATED, startTime=rfc3339(after(158)), error=STOCKOUT)
        job = begin(service, request_job, waiting(runs))
        service.service_line(after(200), str(STOCKOUT["message"]), "ERROR")

        poll_at(service, job, after(5), after(175), after(240), after(300))

        assert (job.state, job.wait_error) == ("running", "")
        assert job.events.get(kind="error_learned").message.startswith("Vertex AI reported while the job was running: ")

    def test_the_message_about_a_long_wait_has_it(self, service: Replayed, request_job: RequestJob) -> None:
        waits = answer_at(after(60), "PENDING", CREATED, startTime=PROVISIONAL, error=STOCKOUT)
        job = begin(service, request_job, waiting(waits))
        poll_at(service, job, *(after(each) for each in range(5, 4000, 120)))

        assert messages.watch_waits(service.clock.now) == 1

        text = Message.objects.get(job=job, kind="waiting_long").detail["text"]
        assert text == (
            "It has waited for 1 h. Nothing is billed while it waits. Vertex AI reports: “Resources are insufficient in"
            " region: us-central1. Please try a different region”."
        )


def test_a_running_job_without_any_time_runs_since_it_was_seen() -> None:
    remote = remote_job("custom_job", {"name": "projects/1/locations/r/customJobs/7", "state": "JOB_STATE_RUNNING"})

    assert machines_started(remote, after(30)) == after(30)
    assert with_answer([("pending", after(10))], remote, after(30))[-1] == ("running", after(30))
