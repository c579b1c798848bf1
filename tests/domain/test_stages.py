"""Tests of the sweep in parts: a stage that raises, hangs or waits for a lock delays nothing else, and is visible."""

import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, InternalError, connection
from django.test import Client

from jobs import messages, stages, steps, tasks
from jobs.doctor import Status, site
from jobs.isolation import RowsFailed, take_each, take_portions
from jobs.models import Installation, Job, Message, Scope, Upkeep
from jobs.stages import PREFIX, STAGES, Stage
from tests.domain.conftest import Cloud, Handed, RequestJob
from tests.support.clock import Clock

FAULTS = (RuntimeError("a bug"), IntegrityError("duplicate key"), DataError("value too long"))
NAMES = [stage.name for stage in STAGES]


def broken(name: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one stage raise."""

    def fail(_clock: Any) -> None:
        raise error

    parts = tuple(replace(stage, run=fail) if stage.name == name else stage for stage in STAGES)
    monkeypatch.setattr(stages, "STAGES", parts)


@pytest.fixture
def work(request_job: RequestJob, cloud: Cloud, owner: User) -> dict[str, Any]:
    """A job to send, one to poll and one to cancel."""
    running, cancelled = request_job(), request_job()
    for job in (running, cancelled):
        steps.advance(job.pk, clock=cloud.clock)
    cancelled.refresh_from_db()
    steps.cancel(cancelled, by=owner, clock=cloud.clock)
    cloud.forward(minutes=1)
    return {"send": request_job(), "cancel": cancelled, "scope": Scope.objects.get(kind="custom_job")}


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "error"), list(zip(NAMES, itertools.cycle(FAULTS), strict=False)))
def test_a_stage_that_raises_stops_nothing_and_is_visible(
    name: str,
    error: Exception,
    work: dict[str, Any],
    sweep: Callable[[], Handed],
    clock: Clock,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        broken(name, error, patch)
        found = sweep()

        assert set(found["advance"]) == {str(work["send"].pk), str(work["cancel"].pk)}
        assert work["scope"].pk in found["observe"]
        for row in Upkeep.objects.filter(name__startswith=PREFIX).exclude(name=PREFIX + name):
            assert (row.answered_at, row.failures, row.claim) == (clock.now, 0, None), row.name
        assert client.get("/readyz").json()["stages"] == f"failing: {name}"
        assert client.get("/readyz?for=stages").status_code == 503
        assert client.get("/readyz").json()["sweep"] == "ok"
        assert f'trainboard_stage_failures{{stage="{name}"}} 1.0' in client.get("/metrics").content.decode()
        (check,) = [each for each in site.check_sweep(clock.now) if each.status is not Status.PASS]
        assert (check.status, check.name) == (Status.FAIL, f"sweep: {name}")
        assert type(error).__name__ in check.detail

    for _ in range(13):
        sweep()

    assert client.get("/readyz").json()["stages"] == "ok"
    assert f'trainboard_stage_failures{{stage="{name}"}} 0.0' in client.get("/metrics").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("name", tasks.HAND_OUTS)
def test_a_hand_out_that_raises_stops_no_other(
    name: str,
    work: dict[str, Any],
    sweep: Callable[[], Handed],
    clock: Clock,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = sweep()

    def fail(_now: Any) -> None:
        raise IntegrityError("odd")

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "HAND_OUTS", tasks.HAND_OUTS | {name: fail})
        clock.forward(minutes=2)
        found = sweep()

        tasks_of = {"due jobs": "advance", "due polls": "observe", "due logs": "read_feed"}
        assert set(usual) - set(found) <= {tasks_of.get(name, "")}
        assert client.get("/readyz").json()["stages"] == f"failing: {name}"
        assert client.get("/readyz").json()["sweep"] != "ok", "it is not complete"
        assert Upkeep.objects.get(name=PREFIX + name).last_error == "IntegrityError: odd"

    sweep()
    assert client.get("/readyz").json()["sweep"] == client.get("/readyz").json()["stages"] == "ok"


@pytest.mark.django_db
@pytest.mark.parametrize("where", ["a stage", "a hand-out", "the question for work", "the time without a sweep"])
def test_an_outage_of_the_database_ends_the_sweep(
    where: str, work: dict[str, Any], sweep: Callable[[], Handed], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that became a standby answers, and refuses every write."""
    refused = InternalError("cannot execute UPDATE in a read-only transaction")
    refused.__cause__ = psycopg.errors.ReadOnlySqlTransaction()

    def fail(*_: Any) -> Any:
        raise refused

    for _ in range(2):
        sweep()
    if where == "a stage":
        broken("budgets", refused, monkeypatch)
    elif where == "a hand-out":
        monkeypatch.setattr(tasks, "HAND_OUTS", tasks.HAND_OUTS | {"due polls": fail})
    elif where == "the question for work":
        monkeypatch.setattr(stages, "questions", fail)
    else:
        monkeypatch.setattr(stages, "extend_open_approvals", fail)
        clock.forward(hours=1)

    with pytest.raises(InternalError):
        sweep()
    assert not Upkeep.objects.filter(failures__gt=0).exists()


@pytest.mark.django_db
def test_each_stage_has_its_own_interval(
    sweep: Callable[[], Handed], team: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: dict[int, int] = {1: 0, 3: 0}

    def count(every: int) -> Callable[[Any], None]:
        return lambda _clock: runs.update({every: runs[every] + 1})

    monkeypatch.setattr(stages, "STAGES", tuple(Stage(f"every {n}", count(n), every=n) for n in runs))
    for _ in range(6):
        sweep()

    assert runs == {1: 6, 3: 2}


@pytest.mark.django_db
def test_a_stage_that_hangs_is_left_alone_until_its_claim_expires(
    sweep: Callable[[], Handed], clock: Clock, team: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    monkeypatch.setattr(stages, "STAGES", (Stage("one", lambda _clock: ran.append(1)),))
    sweep()
    until = clock.now + stages.LEASE
    Upkeep.objects.filter(name="sweep:one").update(claim=uuid.uuid4(), claimed_until=until)

    sweep()
    assert len(ran) == 1
    clock.forward(minutes=1)
    sweep()
    assert len(ran) == 2


@pytest.mark.django_db
def test_a_stage_goes_on_after_the_clock_was_a_day_ahead(
    sweep: Callable[[], Handed], clock: Clock, team: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    monkeypatch.setattr(stages, "STAGES", (Stage("one", lambda _clock: ran.append(1), every=12),))
    clock.forward(days=1)
    sweep()
    clock.forward(days=-1)
    sweep()

    assert len(ran) == 2


@pytest.mark.django_db
def test_stages_have_names_that_fit(team: Any) -> None:
    limit = Upkeep._meta.get_field("name").max_length

    assert len(set(NAMES) | set(tasks.HAND_OUTS)) == len(NAMES) + len(tasks.HAND_OUTS)
    assert all(len(PREFIX + name) <= (limit or 0) for name in [*NAMES, *tasks.HAND_OUTS])


class TestRows:
    def test_a_row_that_raises_delays_no_other_and_is_reported(self) -> None:
        done = []

        def step(row: int) -> int:
            if row == 2:
                raise IntegrityError("odd")
            done.append(row)
            return 1

        with pytest.raises(RowsFailed, match="things failed, 1 in all; the first: IntegrityError: odd"):
            take_each([1, 2, 3], step, what="things")
        assert done == [1, 3]

    def test_of_a_portion_only_the_row_at_fault_is_left_out(self) -> None:
        done: list[int] = []

        def step(rows: Any) -> int:
            if {7, 21} & set(rows):
                raise DataError("odd")
            done.extend(rows)
            return len(rows)

        with pytest.raises(RowsFailed, match="things failed, 2 in all"):
            take_portions(list(range(50)), step, what="things")
        assert sorted(done) == sorted(set(range(50)) - {7, 21})

    @pytest.mark.django_db
    def test_a_message_that_cannot_be_routed_delays_no_other(
        self, team: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept = {
            "kind": Message.Kind.SCHEDULE,
            "team": team,
            "occurred_at": clock.now,
            "created_at": clock.now,
            "detail": {"text": "t"},
        }
        rows = [Message.objects.create(once_key=f"k{n}", **kept) for n in range(5)]
        routed = messages.route._deliveries

        def deliveries(message: Message, *rest: Any) -> Any:
            if message.pk == rows[2].pk:
                raise DataError("odd")
            return routed(message, *rest)

        monkeypatch.setattr(messages.route, "_deliveries", deliveries)
        with pytest.raises(RowsFailed):
            messages.route_messages(clock.now)

        assert list(Message.objects.filter(routed_at=None)) == [rows[2]]


@contextmanager
def held(team_id: int) -> Iterator[None]:
    """Hold a team in a transaction of another process, as a request does."""
    parameters = connection.get_connection_params()
    names = {name: parameters[name] for name in ("dbname", "user", "password", "host", "port") if name in parameters}
    with psycopg.connect(**names) as other:
        other.execute("SELECT 1 FROM jobs_team WHERE id = %s FOR NO KEY UPDATE", [team_id])
        yield
        other.rollback()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"), reason="SQLite has no row locks")
def test_a_team_that_is_locked_delays_no_other(
    request_job: RequestJob, cloud: Cloud, sweep: Callable[[], Handed], other_team: Any, stranger: User
) -> None:
    ours, theirs = request_job(), request_job()
    Job.objects.filter(pk=theirs.pk).update(team=other_team, owner=stranger)
    sweep()
    Job.objects.update(state="succeeded", ended_at=cloud.now, is_counted=False)
    waiting = request_job()
    began = time.monotonic()

    with held(ours.team_id):
        found = sweep()

        assert time.monotonic() - began < 10
        assert str(waiting.pk) in found["advance"]
        assert Job.objects.get(pk=theirs.pk).is_counted
        assert not Job.objects.get(pk=ours.pk).is_counted
        failing = Upkeep.objects.filter(name__startswith=PREFIX, failures__gt=0)
        assert {row.name for row in failing} <= {"sweep:ended jobs", "sweep:budgets"}
        assert failing.exists()

    for _ in range(2):
        sweep()
    assert Job.objects.get(pk=ours.pk).is_counted
    assert not failing.all().exists()


@pytest.mark.django_db
def test_a_sweep_that_is_not_wanted_asks_one_question(team: Any, clock: Clock, django_assert_num_queries: Any) -> None:
    assert steps.begin_sweep(clock.now, interval=timedelta(seconds=5))

    with django_assert_num_queries(1):
        assert not steps.begin_sweep(clock.now + timedelta(seconds=1), interval=timedelta(seconds=5))
    assert Installation.objects.get().swept_at == clock.now
