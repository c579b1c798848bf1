"""Tests of counts made by processes: none is lost if the database fails, and two processes may add at once."""

import threading

import pytest
from django.db import DatabaseError, connection

from dashboard.heartbeat import HeartbeatThread
from jobs import counts
from jobs.models import Heartbeat, MetricCount
from jobs.upkeep import heartbeats
from tests.domain.conftest import Cloud, Submit

pytestmark = pytest.mark.both_databases


@pytest.fixture(autouse=True)
def _nothing_counted_before() -> None:
    counts.take()


def test_what_could_not_be_stored_is_counted_on(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DatabaseError

    counts.count_call("Vertex AI", 200)
    with monkeypatch.context() as broken:
        broken.setattr(heartbeats, "_add", fail)
        with pytest.raises(DatabaseError):
            heartbeats.store_counts()
    counts.count_call("Vertex AI", 200)
    heartbeats.store_counts()

    assert MetricCount.objects.get().value == 2
    assert counts.take() == {}


def test_a_submission_and_its_calls_are_counted(submit: Submit, cloud: Cloud) -> None:
    job = submit("happy")
    counted = counts.take()

    assert job.state == "pending"
    assert counted["api_calls", "Vertex AI|2xx"] >= 1


@pytest.mark.django_db(transaction=True)
def test_two_processes_add_to_one_number() -> None:
    def add() -> None:
        try:
            for _ in range(20):
                counts.count_call("Vertex AI", 200)
                counts.count_call("Cloud Logging", 500)
                heartbeats.store_counts()
        finally:
            connection.close()

    threads = [threading.Thread(target=add) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert set(MetricCount.objects.values_list("value", flat=True)) == {40}


@pytest.mark.django_db(transaction=True)
def test_a_thread_writes_at_once_and_at_the_end_and_only_while_its_process_works() -> None:
    working = HeartbeatThread("worker@a", "worker", queues=["celery", "sending"])
    silent = HeartbeatThread("beat@a", "beat", runs=lambda: False)
    for each in (working, silent):
        each.start()
        counts.count_submission(1)
        each.stop()

    assert list(Heartbeat.objects.values_list("process", "queues")) == [("worker@a", "celery,sending")]
    assert MetricCount.objects.get(metric="submit_bucket").value == 2
