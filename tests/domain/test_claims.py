"""Tests of claims and of the row of the installation: each touches its own row only, and the holder's only."""

from datetime import timedelta
from typing import Any
from unittest.mock import MagicMock
from uuid import uuid4

import pytest
from django.db import OperationalError, connection

from jobs import steps
from jobs.models import Installation, Job, JobEvent, ResourceChange, Scope, Upkeep
from jobs.queue import claims, installation
from jobs.queue.rate_limit import OverRateLimit
from jobs.vertex import Unavailable
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock, watch_from

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


@pytest.fixture
def scopes(clock: Clock) -> tuple[Scope, Scope]:
    """Two scopes that are due."""
    common = {"project": "vision-research", "kind": "custom_job", "due_at": clock.now}
    one, other = (Scope.objects.create(region=region, **common) for region in ("us-central1", "europe-west4"))
    return one, other


def columns(scope: Scope) -> tuple[Any, ...]:
    """Return what claims write of a scope."""
    scope.refresh_from_db()
    return scope.claim, scope.claimed_until, scope.due_at, scope.failures, scope.last_error


class TestPolls:
    def test_one_worker_claims_one_row(self, scopes: tuple[Scope, Scope], clock: Clock) -> None:
        before = columns(scopes[1])

        held = claims.claim_poll(Scope, scopes[0].pk, clock.now)

        assert held is not None
        assert (held.claim is not None, held.claimed_until) == (True, clock.now + claims.LEASE)
        assert claims.claim_poll(Scope, scopes[0].pk, clock.now) is None
        assert columns(scopes[1]) == before

    def test_only_the_holder_renews_and_releases(self, scopes: tuple[Scope, Scope], clock: Clock) -> None:
        late = claims.claim_poll(Scope, scopes[0].pk, clock.now)
        assert late is not None
        assert claims.renew_poll(late, now=clock.forward(seconds=20))
        claims.keep_poll(late, now=clock.now)
        assert columns(scopes[0])[1] == clock.now + claims.LEASE
        holder = claims.claim_poll(Scope, scopes[0].pk, clock.forward(seconds=31))
        assert holder is not None
        before = columns(scopes[0])

        assert not claims.renew_poll(late, now=clock.now)
        with pytest.raises(claims.ClaimLost):
            claims.keep_poll(late, now=clock.now)
        claims.release_poll(late, due_at=None, answered_at=clock.now)
        claims.release_failed(late, Unavailable("no answer"), now=clock.now)
        assert columns(scopes[0]) == before

        claims.release_poll(holder, due_at=clock.now, answered_at=clock.now)
        assert columns(scopes[0]) == (None, None, clock.now, 0, "")

    def test_a_full_rate_limit_is_no_failure(self, scopes: tuple[Scope, Scope], clock: Clock) -> None:
        for error, failures in ((OverRateLimit("full", retry_after=timedelta(seconds=3)), 0), (Unavailable("no"), 1)):
            held = claims.claim_poll(Scope, scopes[0].pk, clock.forward(minutes=1))
            assert held is not None
            claims.release_failed(held, error, now=clock.now)
            scopes[0].refresh_from_db()
            assert (scopes[0].failures, scopes[0].failing_since) == (failures, clock.now if failures else None)

    def test_a_wake_only_brings_forward(self, scopes: tuple[Scope, Scope], clock: Clock) -> None:
        soon, later = clock.now + timedelta(minutes=1), clock.now + timedelta(minutes=2)

        def wake(due_at: Any, to: Any) -> Any:
            Scope.objects.update(due_at=due_at)
            claims.wake_scope(project="vision-research", region="us-central1", kind="custom_job", due_at=to)
            return [columns(scope)[2] for scope in scopes]

        assert wake(later, soon) == [soon, later]
        assert wake(soon, later) == [soon, soon]
        assert wake(None, soon) == [soon, None]

        stale = Scope.objects.get(pk=scopes[0].pk)
        stale.due_at = later
        Scope.objects.update(due_at=clock.now)  # by another worker, since the row was read
        claims._wake(stale, soon)
        assert columns(scopes[0])[2] == clock.now

    def test_the_last_run_is_that_of_the_name(self, clock: Clock) -> None:
        for name in ("prune", "quotas"):
            Upkeep.objects.create(name=name, due_at=clock.now)

        found = claims.last_run("quotas")

        assert found is not None
        assert found.name == "quotas"
        assert claims.last_run("doctor") is None


def test_a_copy_of_the_database_hands_out_no_job(request_job: RequestJob, clock: Clock, settings: Any) -> None:
    job = request_job()
    assert steps.due_jobs(clock.now) == [job.pk]
    settings.INSTANCE = "staging"

    assert steps.due_jobs(clock.now) == []


class TestInstallation:
    def test_before_the_first_worker_the_database_is_nobody_else_s(self) -> None:
        assert not Installation.objects.exists()
        assert installation.owner_instance() == ""
        assert not installation.is_external()
        assert installation.restored_at() is None

    def test_a_restore_marks_what_may_be_forgotten_and_nothing_else(
        self, request_job: RequestJob, clock: Clock, settings: Any
    ) -> None:
        unsent, running = request_job(), request_job()
        Job.objects.filter(pk=running.pk).update(state="running")
        common = {
            "team": unsent.team, "asked_by": unsent.owner, "asked_at": clock.now, "project": "p", "region": "r",
            "action": "reboot",
        }  # fmt: skip
        ended, still_open = (
            ResourceChange.objects.create(resource_id=name, ended_at=at, **common)
            for name, at in (("a", clock.now), ("b", None))
        )
        assert installation.restored_at() is None
        settings.INSTANCE = "staging"

        assert installation.mark_restored("a test", now=clock.forward(minutes=1)) == 1

        for row, at in ((ended, None), (still_open, clock.now), (unsent, clock.now), (running, None)):
            row.refresh_from_db()
            assert row.attempted_at == at
        assert installation.restored_at() == clock.now
        assert installation.is_external()
        installation.mark_restored("a test", now=clock.now, take_over=True)
        assert not installation.is_external()

    def test_an_event_is_known_by_its_number_its_job_and_its_time(self, request_job: RequestJob, clock: Clock) -> None:
        """An older copy gives the same numbers again."""
        event = request_job().events.latest("pk")
        mark = (event.pk, event.job_id, event.recorded_at)

        assert installation._is_known(mark)
        for other in ((event.pk + 1, *mark[1:]), (mark[0], uuid4(), mark[2]), (*mark[:2], clock.forward(days=1))):
            assert not installation._is_known(other)

    def test_events_that_retention_deletes_are_no_sign_of_a_restore(
        self, request_job: RequestJob, clock: Clock
    ) -> None:
        job = request_job()
        JobEvent.objects.create(
            job=job, kind=JobEvent.Kind.STEP_FAILED, occurred_at=clock.now, recorded_at=clock.now, once_key="x"
        )
        installation.load_trust(clock.now)
        job.events.filter(kind=JobEvent.Kind.STEP_FAILED)._raw_delete("default")

        trust = installation.load_trust(clock.forward(minutes=1))

        assert (trust.is_complete, trust.restored_at) == (True, None)

    def test_a_worker_remembers_a_restore_that_it_could_not_mark(
        self, request_job: RequestJob, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request_job()
        installation.load_trust(clock.now)
        JobEvent.objects.filter(pk=JobEvent.objects.filter(kind="state").latest("pk").pk)._raw_delete("default")
        with monkeypatch.context() as patch:
            patch.setattr(installation, "mark_restored", MagicMock(side_effect=OperationalError))
            with pytest.raises(OperationalError):
                installation.load_trust(clock.forward(minutes=1))

        trust = installation.load_trust(clock.forward(minutes=1))

        assert (trust.since, trust.is_complete) == (clock.now - timedelta(minutes=1), False)

    def test_a_worker_watches_from_its_first_look(self, request_job: RequestJob, clock: Clock) -> None:
        request_job()
        watch_from(clock.forward(minutes=1))
        installation._watch.began_at = None

        assert installation.load_trust(clock.now).since == clock.now
        assert installation.load_trust(clock.forward(minutes=1)).since == clock.now - timedelta(minutes=1)

    def test_a_row_without_an_identity_gets_one_unless_another_worker_gives_it(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        installation.load_installation(clock.now)
        Installation.objects.update(identity="")
        installation.load_installation(clock.now)
        assert Installation.objects.get().identity == installation._identity()

        def given_meanwhile() -> str:
            Installation.objects.update(identity="of another server")
            return "of this server"

        Installation.objects.update(identity="")
        monkeypatch.setattr(installation, "_identity", given_meanwhile)
        installation.load_installation(clock.now)
        assert Installation.objects.get().identity == "of another server"

    def test_the_identity_is_that_of_the_server_and_the_table(self) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite is identified by its file")
        started, *numbers = installation._identity().split()
        assert float(started) > 0
        assert [number.isdigit() for number in numbers] == [True, True]
