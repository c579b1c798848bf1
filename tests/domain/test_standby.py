"""Tests of a PostgreSQL server that becomes read-only, as after a failover: it is an outage, and it is left."""

from collections.abc import Iterator

import pytest
from django.db import InternalError, connection
from django.test import Client

from jobs import steps
from jobs.doctor import Status, site
from jobs.models import Job, SetAsideItem, Team
from jobs.observation.set_aside import SetAside
from jobs.queue import claims
from jobs.submission.ports import Ports
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _is_postgresql(db: None) -> Iterator[None]:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no standby")
    yield
    connection.close()  # a failed test leaves it read-only


def demote() -> None:
    """Let the server refuse writes on this connection. Its health checks pass, and the next connection is another's."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")


def test_a_step_ends_and_the_next_one_reaches_the_new_server(request_job: RequestJob, cloud: Cloud) -> None:
    job = request_job()
    before = job.events.count()
    demote()

    with pytest.raises(InternalError):
        steps.advance(job.pk, clock=cloud.clock)
    assert job.events.count() == before

    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    assert job.remote_name
    assert isinstance(steps.ports(cloud.clock), Ports)


def test_a_demotion_during_a_create_is_no_fault_of_the_job(
    request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is lost, and the new server finds the job by its label once the claim has expired."""
    job = request_job()
    create = steps.VertexRemote.create

    def create_and_demote(self: steps.VertexRemote, row: Job, *, within: float) -> object:
        remote = create(self, row, within=within)
        demote()
        return remote

    monkeypatch.setattr(steps.VertexRemote, "create", create_and_demote)
    with pytest.raises(InternalError):
        steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    assert (job.state, job.remote_name, job.last_error, job.failures) == ("submitting", "", "", 0)
    assert not job.events.filter(kind="step_failed").exists()

    cloud.forward(seconds=claims.JOB_LEASE.total_seconds() + 1)
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    assert [each["name"] for each in cloud.jobs()] == [job.remote_name]


def test_no_item_of_a_poll_is_set_aside(clock: Clock) -> None:
    aside = SetAside("custom_job in us-central1", now=clock.now)
    demote()
    with pytest.raises(InternalError), aside.item("a job"):
        Team.objects.create(name="written by a poll")

    demote()
    with pytest.raises(InternalError):
        aside.store([Team(name="in bulk")], Team.objects.bulk_create, name=str)
    assert aside.count == 0
    assert not SetAsideItem.objects.exists()


def test_readyz_and_the_doctor_show_it(clock: Clock) -> None:
    demote()
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (503, "accepts no writes")

    demote()
    found = {check.name: check for check in site.check_database(clock.now)}
    assert found["database writes"].status is Status.FAIL
    connection.close()
    found = {check.name: check for check in site.check_database(clock.now)}
    assert found["database writes"].status is Status.PASS
