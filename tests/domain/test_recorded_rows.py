"""Tests of single answers of Vertex AI about a job: which row and event each writes, and with which time and words."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobs import transitions
from jobs.models import Job
from jobs.observation.record import BLIND_AFTER, LOST_AFTER, mark_seen, record, record_absence
from jobs.vertex import timestamp
from jobs.vertex.wire import remote_job
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
Answer = Callable[..., None]
ERROR = {"code": 3, "message": "The replica workerpool0-0 exited with a non-zero status of 1."}
TIMEOUT = {"code": 4, "message": "The job ran for longer than its timeout."}
COLLECTIONS = {
    "custom_job": "customJobs",
    "hyperparameter_tuning_job": "hyperparameterTuningJobs",
    "training_pipeline": "trainingPipelines",
}


@pytest.fixture
def sent(request_job: RequestJob, clock: Clock) -> Callable[..., Job]:
    """`sent(kind=...)` is a job that Vertex AI has just accepted and that waits."""

    def send(**changes: Any) -> Job:
        job = request_job(**changes)
        name = f"projects/1/locations/us-central1/{COLLECTIONS[job.kind]}/{job.pk.int}"
        transitions.transition(job, "submitting", now=clock.now, message="x")
        transitions.transition(
            job, "pending", now=clock.now, message="x", remote_name=name, submitted_at=clock.now
        )  # fmt: skip
        return Job.objects.get(pk=job.pk)

    return send


@pytest.fixture
def answer(clock: Clock) -> Answer:
    """`answer(job, "RUNNING", startTime=...)` records an answer of now about a job. A field that is None is absent."""

    def give(job: Job, state: str, **fields: Any) -> None:
        prefix = "PIPELINE_STATE" if job.kind == "training_pipeline" else "JOB_STATE"
        given = {"createTime": job.submitted_at, "updateTime": clock.now} | fields
        told = {key: value for key, value in given.items() if value is not None}
        told = {key: timestamp(value) if key.endswith("Time") else value for key, value in told.items()}
        remote = remote_job(job.kind, {"name": job.remote_name, "state": f"{prefix}_{state}"} | told)
        record(job, remote, now=clock.now)

    return give


def test_an_answer_changes_the_row_of_its_job_only(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job, other = sent(), sent()

    answer(job, "PENDING")

    job.refresh_from_db()
    other.refresh_from_db()
    assert (job.state, job.remote_updated_at, job.seen_at) == ("pending", clock.now, clock.now)
    assert (other.remote_updated_at, other.seen_at) == (None, None)


def test_an_answer_without_times_is_used_and_forgets_none(
    sent: Callable[..., Job], answer: Answer, clock: Clock
) -> None:
    job = sent()
    answer(job, "PENDING")
    updated_at, later = clock.now, clock.forward(minutes=1)

    answer(job, "QUEUED", updateTime=None, createTime=None)

    job.refresh_from_db()
    assert (job.state, job.remote_updated_at) == ("queued", updated_at)
    assert job.events.get(to_state="queued").occurred_at == later


@pytest.mark.parametrize(
    ("state", "fields", "minute"),
    [
        ("QUEUED", {}, 5),
        ("QUEUED", {"updateTime": None}, 0),
        ("FAILED", {"endTime": 3}, 3),
        ("QUEUED", {"updateTime": 4}, 4),
        ("FAILED", {"updateTime": 4}, 4),
        ("RUNNING", {"startTime": 2}, 2),
        ("CANCELLING", {"startTime": 2, "endTime": 3}, 5),
    ],
)
def test_a_state_begins_when_vertex_ai_says(
    sent: Callable[..., Job], answer: Answer, clock: Clock, state: str, fields: dict[str, int | None], minute: int
) -> None:
    job, sent_at = sent(), clock.now
    clock.forward(minutes=5)

    answer(job, state, **{key: at and sent_at + timedelta(minutes=at) for key, at in fields.items()})

    assert job.events.get(to_state=state.lower()).occurred_at == sent_at + timedelta(minutes=minute)


def test_only_the_first_run_of_a_custom_job_begins_at_its_start(
    sent: Callable[..., Job], answer: Answer, clock: Clock
) -> None:
    job, pipeline, start = sent(), sent(kind="training_pipeline"), clock.forward(minutes=2)
    clock.forward(minutes=1)
    answer(pipeline, "RUNNING", startTime=start, updateTime=None)
    assert pipeline.events.get(to_state="running").occurred_at == pipeline.submitted_at, "when it was created"

    answer(job, "RUNNING", startTime=start)
    clock.forward(minutes=1)
    answer(job, "UPDATING", startTime=start)

    assert job.events.get(to_state="running").reason == "observed"
    assert job.events.get(to_state="updating").occurred_at == clock.now


@pytest.mark.parametrize("is_late", [False, True])
def test_an_older_answer_is_dropped(sent: Callable[..., Job], answer: Answer, clock: Clock, is_late: bool) -> None:
    """With `is_late`, its worker has read the row before the newer answer was recorded."""
    job = sent()
    reader, before = Job.objects.get(pk=job.pk), clock.now
    clock.forward(minutes=1)
    answer(job, "PENDING")
    job.refresh_from_db()

    answer(reader if is_late else job, "RUNNING", updateTime=before)

    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.remote_updated_at) == ("pending", clock.now)
    assert not job.events.filter(to_state="running").exists()


def test_a_run_that_nobody_saw_is_recorded_with_its_end(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job, start = sent(), clock.forward(minutes=2)
    clock.forward(minutes=1)

    answer(job, "SUCCEEDED", startTime=start, endTime=clock.now, webAccessUris={"workerpool0-0": "https://example.com"})

    ran = job.events.get(to_state="running")
    assert (ran.occurred_at, ran.reason) == (start, "backfilled")
    assert ran.message == "All replicas were running (recorded later, from its start time)."
    assert Job.objects.get(pk=job.pk).web_access_uris == {"workerpool0-0": "https://example.com"}


def test_a_run_that_is_known_is_not_recorded_again(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job, start = sent(), clock.forward(minutes=2)
    clock.forward(minutes=1)
    answer(job, "RUNNING")
    for _ in range(2):
        record_absence(job, now=clock.now)
        assert job.state == "running", "a 404 may be temporary"
        clock.forward(seconds=LOST_AFTER.total_seconds())
    record_absence(job, now=clock.forward(seconds=1))
    assert job.state == "lost"

    answer(job, "SUCCEEDED", startTime=start, endTime=clock.now)

    assert list(job.events.filter(to_state="running").values_list("reason", flat=True)) == ["observed"]


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        ("FAILED", None, "The job failed. Vertex AI has not given a reason yet."),
        ("FAILED", ERROR, f"The job failed: {ERROR['message']}"),
        ("CANCELLED", None, "The job was cancelled at Vertex AI."),
        ("CANCELLED", ERROR, "The job was cancelled at Vertex AI."),
        ("CANCELLED", TIMEOUT, f"Vertex AI stopped the job because it reached its timeout: {TIMEOUT['message']}"),
        ("EXPIRED", TIMEOUT, "The job expired at Vertex AI."),
    ],
)
def test_the_words_of_an_end(
    sent: Callable[..., Job], answer: Answer, state: str, error: dict[str, Any] | None, words: str
) -> None:
    job = sent()

    answer(job, state, error=error)

    assert job.events.get(to_state=state.lower()).message == words


def test_a_pipeline_that_tunes_ends_as_a_tuning_job(sent: Callable[..., Job], answer: Answer) -> None:
    job = sent(kind="training_pipeline")
    job.spec = job.spec | {"trainingTaskInputs": {"studySpec": {}}}

    answer(job, "SUCCEEDED")

    assert job.events.get(to_state="succeeded").message.startswith("The tuning job succeeded.")


def test_an_error_while_a_job_waits_is_not_its_end(sent: Callable[..., Job], answer: Answer) -> None:
    job = sent()

    answer(job, "PENDING", error=ERROR)

    assert Job.objects.get(pk=job.pk).error is None
    assert job.events.get(kind="error_learned").message.startswith("Vertex AI reported while the job waited")


def test_a_pause_after_the_end_hides_nothing(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    """An ended job is read again for its error."""
    job = sent()
    answer(job, "FAILED")
    clock.forward(seconds=BLIND_AFTER.total_seconds() + 1)

    answer(job, "FAILED", updateTime=None, error=ERROR)

    assert not job.events.filter(kind="unseen").exists()
    assert job.events.get(kind="error_learned").detail["error"]["message"] == ERROR["message"]


def test_a_pause_while_a_job_waits_is_told(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job = sent()
    answer(job, "PENDING")
    clock.forward(seconds=BLIND_AFTER.total_seconds())
    answer(job, "PENDING")
    assert not job.events.filter(kind="unseen").exists()
    clock.forward(seconds=BLIND_AFTER.total_seconds() + 1)

    answer(job, "PENDING")

    since = clock.now - BLIND_AFTER - timedelta(seconds=1)
    assert job.events.get(kind="unseen").detail == {"from": since.isoformat()}


def test_an_error_is_told_once_and_not_taken_back(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job = sent()
    for error in (ERROR, ERROR, None):
        answer(job, "FAILED", error=error)
        clock.forward(seconds=10)

    job.refresh_from_db()
    assert job.error == ERROR
    assert not job.events.filter(kind="error_learned").exists(), "the event of the state tells it"


def test_a_pipeline_that_nobody_saw_running_ran(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job, sent_at = sent(kind="training_pipeline"), clock.now
    clock.forward(minutes=5)

    answer(job, "CANCELLED", startTime=sent_at + timedelta(minutes=1), endTime=clock.now)

    ran = job.events.get(to_state="running")
    assert ran.occurred_at == sent_at + timedelta(minutes=1)
    assert ran.message == "The pipeline was running (recorded later, from its start time)."


def test_a_study_without_trials_has_no_summary(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job = sent(kind="hyperparameter_tuning_job")

    answer(job, "CANCELLED")

    assert job.events.get(to_state="cancelled").message == "The job was cancelled at Vertex AI."


def test_trials_are_counted_when_they_or_the_job_change(sent: Callable[..., Job], answer: Answer, clock: Clock) -> None:
    job, counted = sent(kind="hyperparameter_tuning_job"), list[Any]()
    trial = {"id": "1", "state": "ACTIVE", "startTime": timestamp(clock.now)}
    for state, trials in (("RUNNING", []), ("RUNNING", [trial]), ("RUNNING", [trial]), ("CANCELLED", [trial])):
        answer(job, state, trials=trials)
        job.refresh_from_db()
        counted.append(job.trials_counted_at)
        clock.forward(minutes=1)

    began = counted[0]
    assert counted == [began, *(began + timedelta(minutes=minute) for minute in (1, 1, 3))]


class TestSeen:
    def test_each_job_once(self, sent: Callable[..., Job], clock: Clock, django_assert_num_queries: Any) -> None:
        job, other = sent(), sent()
        for _ in range(2):
            mark_seen([job.pk], now=clock.forward(minutes=1))

        seen = {each.pk: each.seen_at for each in Job.objects.select_related("last_seen")}
        assert seen == {job.pk: clock.now, other.pk: None}
        with django_assert_num_queries(1):
            mark_seen([job.pk], now=clock.now)

    def test_no_job_costs_no_query(self, clock: Clock, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            mark_seen([], now=clock.now)
