"""Tests of what is written with a change of state."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs import transitions
from jobs.models import Job, JobEvent
from jobs.observation import observe
from jobs.observation.record import record, record_absence
from jobs.upkeep.audit import audit
from jobs.vertex import RemoteJob, timestamp
from jobs.vertex.wire import remote_job
from tests.domain.conftest import Cloud, RequestJob, Submit, look
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


def test_nothing_is_learned_before_it_happens(request_job: RequestJob, clock: Clock) -> None:
    """A step takes some time, and a state may change after the step began."""
    job, later = request_job(), clock.now + timedelta(seconds=3)

    transitions.record_event(
        job, JobEvent.Kind.STEP_FAILED, now=clock.now, occurred_at=later, message="It took a while.", once_key="a"
    )
    transitions.transition(job, "submitting", now=clock.now, occurred_at=later, message="A worker began.")

    assert [event.recorded_at for event in job.events.order_by("id")][-2:] == [later, later]


def test_what_happened_long_ago_is_learned_now(request_job: RequestJob, clock: Clock) -> None:
    job, before = request_job(), clock.now - timedelta(hours=3)

    transitions.record_event(
        job, JobEvent.Kind.STEP_FAILED, now=clock.now, occurred_at=before, message="It was slow.", once_key="a"
    )

    assert job.events.order_by("id").last().recorded_at == clock.now


def test_events_and_revisions_are_those_of_one_job(request_job: RequestJob, clock: Clock) -> None:
    jobs = [request_job(), request_job()]
    revisions = [job.revision for job in jobs]

    for _ in range(2):
        for job in jobs[1:] * 3 + jobs:
            transitions.record_event(
                job, JobEvent.Kind.STEP_FAILED, now=clock.now, message="It was slow.", once_key="a"
            )

    assert [job.events.filter(once_key="a").count() for job in jobs] == [1, 1]
    assert [Job.objects.get(pk=job.pk).revision for job in jobs] == [each + 1 for each in revisions]


def test_only_a_request_that_is_given_up_after_an_attempt_is_looked_up(request_job: RequestJob, clock: Clock) -> None:
    later = clock.now + timedelta(minutes=5)
    for attempted_at, to, due_at in (
        (None, "withdrawn", None), (clock.now, "withdrawn", clock.now), (clock.now, "submitting", later),
    ):  # fmt: skip
        job = request_job()
        Job.objects.filter(pk=job.pk).update(attempted_at=attempted_at, due_at=later)
        job.refresh_from_db()

        assert transitions.transition(job, to, now=clock.now, message="x")

        assert Job.objects.get(pk=job.pk).due_at == due_at


@pytest.mark.parametrize(
    ("columns", "is_asked"),
    [
        ({"state": "running", "remote_name": "r"}, True),
        ({"state": "running", "remote_name": "r", "cancel_requested_at": Clock().now}, False),
        ({"state": "approved"}, False),
        ({"state": "failed", "remote_name": "r"}, False),
    ],
)
def test_the_end_of_what_runs_is_asked_for_once(
    request_job: RequestJob, clock: Clock, columns: dict[str, Any], is_asked: bool
) -> None:
    job = request_job()
    Job.objects.filter(pk=job.pk).update(**columns)
    job.refresh_from_db()

    assert transitions.request_end(job, now=clock.now, message="x") == is_asked

    assert job.events.filter(kind="cancel_requested").exists() == is_asked


def test_an_ended_row_that_a_request_follows_keeps_its_state(submit: Submit, cloud: Cloud) -> None:
    by, ended = submit("short"), submit("short")
    cloud.forward(hours=3)
    look(cloud)
    ended.refresh_from_db()

    for _ in range(2):
        transitions.supersede(ended, by=by, now=cloud.now)

    ended.refresh_from_db()
    assert (ended.state, ended.remote_name, ended.hourly_usd) == ("succeeded", "", 0)
    assert ended.events.get(kind="repaired").reason == "superseded"


def test_an_answer_that_is_recorded_late_changes_nothing(
    submit: Submit, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An observer reads a row without locking it. This one stalls then, and after its claim another sees the end.

    No poll would correct the row: the event of the end exists already.
    """
    job = submit("slow-queue")
    stalls = iter([True])

    def record_late(row: Job, remote: RemoteJob, *, now: datetime) -> None:
        if next(stalls, False):
            cloud.forward(hours=3)
            look(cloud)
        record(row, remote, now=now)

    monkeypatch.setattr(observe, "record", record_late)
    cloud.forward(seconds=30)
    look(cloud)

    job.refresh_from_db()
    assert next(stalls, None) is None
    assert (job.state, job.events.filter(to_state="queued").count()) == ("succeeded", 0)
    assert list(audit(cloud.now)) == []


def test_an_absence_that_is_recorded_late_loses_no_end(submit: Submit, cloud: Cloud) -> None:
    """An observer has read the row and stalls. Another one records the end, then the first writes that it is lost."""
    job = submit("short")
    late = Job.objects.get(pk=job.pk)
    record_absence(late, now=cloud.now)
    cloud.forward(hours=3)
    look(cloud)

    record_absence(late, now=cloud.now)

    job.refresh_from_db()
    assert (job.state, job.events.filter(to_state="lost").count()) == ("succeeded", 0)


def test_an_older_answer_that_is_recorded_late_takes_nothing_back(submit: Submit, cloud: Cloud) -> None:
    """Two observers have read the same row, and the one with the older answer writes last. The state is the same."""
    job = submit("slow-queue")
    answer = cloud.job(job.remote_name)
    older, newer = (
        remote_job("custom_job", answer | {"updateTime": timestamp(cloud.forward(seconds=5)), **more})
        for more in ({"state": "JOB_STATE_PENDING"}, {})
    )
    late, first = Job.objects.get(pk=job.pk), Job.objects.get(pk=job.pk)

    record(first, newer, now=cloud.now)
    record(late, older, now=cloud.now)

    job.refresh_from_db()
    assert (job.state, job.remote_updated_at) == (first.state, newer.update_time)
    assert not job.events.filter(to_state="pending", recorded_at=cloud.now).exists()
