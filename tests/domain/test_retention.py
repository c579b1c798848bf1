"""Tests that old rows are deleted in small batches, but never unfinished jobs, costs or what the audit needs."""

import io
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.management.commands.prune import OLD_TABLES
from jobs import observation, outbox, tasks, transitions
from jobs.messages.route import new_delivery
from jobs.models import (
    AuditedTeam,
    AuditSeal,
    Delivery,
    Discovery,
    Draft,
    ExternalJob,
    Job,
    JobEvent,
    LogLine,
    Message,
    PersistentResource,
    RetentionSetting,
    SetAsideItem,
    Team,
    Upkeep,
)  # fmt: skip
from jobs.observation.set_aside import SetAside
from jobs.queue import claims
from jobs.states import FINISHED
from jobs.timeline import facts
from jobs.upkeep import retention
from jobs.upkeep.audit import audit
from jobs.upkeep.seals import broken_seals, seal_audit_log
from tests.domain.conftest import Cloud, RequestJob, Submit, watch
from tests.support.resources import seen

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
YEARS = timedelta(days=400)


@pytest.fixture
def ended(submit: Submit, cloud: Cloud) -> Job:
    """A job that was preempted, had trouble, and succeeded; its log is complete."""
    job = submit("preempted-once")
    observation.follow_log(job, now=cloud.now)
    watch(cloud, job, minutes=200)
    assert job.state == "succeeded"
    Job.objects.filter(pk=job.pk).update(log_complete=True)
    note(job, cloud)
    return job


@pytest.fixture
def unfinished(submit: Submit, cloud: Cloud) -> Job:
    """A job that runs as long as it is watched, with trouble and lines of its own."""
    job = submit("long")
    watch(cloud, job, minutes=5)
    note(job, cloud)
    return job


def note(job: Job, cloud: Cloud) -> None:
    """Leave one row of each sort that may be old one day."""
    for kind in (JobEvent.Kind.STEP_FAILED, JobEvent.Kind.REPAIRED, JobEvent.Kind.UNSEEN):
        transitions.record_event(
            job, kind, now=cloud.now, message="s", once_key=f"x:{kind}", detail={"from": cloud.now.isoformat()}
        )
    for replica in ("workerpool0-0", "service"):
        LogLine.objects.create(job=job, timestamp=cloud.now, insert_id=f"x{replica}", replica=replica, message="m")


def prune(now: Any) -> Counter[str]:
    counts = Counter[str]()
    for name, count in retention.prune(now):
        counts[name] += count
    return counts


class TestJobs:
    def test_of_an_ended_job_only_what_passed_and_lines_of_replicas_go(self, ended: Job, cloud: Cloud) -> None:
        before = {event.pk: event.kind for event in ended.events.all()}
        row = Job.objects.filter(pk=ended.pk).values().get()

        counts = prune(cloud.now + YEARS)

        left = {event.pk: event.kind for event in ended.events.all()}
        gone = [before[pk] for pk in before.keys() - left.keys()]
        assert set(gone) == {"trouble", "repaired"}
        assert counts["events"] == len(gone)
        assert set(ended.log_lines.values_list("replica", flat=True)) == {"service"}
        after = Job.objects.filter(pk=ended.pk).values().get()
        assert {name for name in row if row[name] != after[name]} == {"log_kept_from"}
        told = facts(ended.events.order_by("id"))
        assert (told.restarts, told.running.total_seconds()) == (ended.restarts, pytest.approx(ended.running_seconds))
        assert list(audit(cloud.now)) == []

    def test_an_unfinished_job_keeps_everything_however_old(self, unfinished: Job, cloud: Cloud) -> None:
        assert unfinished.state not in FINISHED
        events, lines = unfinished.events.count(), unfinished.log_lines.count()

        prune(cloud.now + 10 * YEARS)

        assert (unfinished.events.count(), unfinished.log_lines.count()) == (events, lines)

    def test_nothing_goes_before_its_time(self, ended: Job, unfinished: Job, cloud: Cloud) -> None:
        assert prune(cloud.now + timedelta(days=89)) == Counter()

    def test_lines_that_are_still_read_stay(self, ended: Job, cloud: Cloud) -> None:
        Job.objects.filter(pk=ended.pk).update(log_complete=False)

        assert "log lines" not in prune(cloud.now + YEARS)

    def test_events_have_no_other_way_out(self, ended: Job) -> None:
        for refused in (ended.events.all().delete, ended.events.all()[0].delete):
            with pytest.raises(TypeError):
                refused()
        pks = list(ended.events.values_list("pk", flat=True))

        assert JobEvent.objects.forget_passing(pks) == 2
        assert ended.events.count() == len(pks) - 2


class TestOtherRows:
    def test_each_goes_when_it_is_old(self, team: Team, owner: User, clock: Any) -> None:
        now = clock.now
        discovery = observation.request_discovery(project=team.project, region="us-central1", by=owner, now=now)
        discovery.found.create(kind="custom_job", remote_name="x", display_name="x", state="x", body={})
        Discovery.objects.update(due_at=None)
        SetAside("a place", now=now).put("an item", "why")
        seen("gone", now=now, gone_at=now)
        seen("there", now=now)
        Draft.objects.create(owner=owner, team=team, kind="custom_job", spec={}, created_at=now)
        Session.objects.create(session_key="old", session_data="", expire_date=now + timedelta(hours=1))
        Session.objects.create(session_key="new", session_data="", expire_date=now + 2 * YEARS)

        counts = prune(now + YEARS)

        names = ("found jobs", "discoveries", "set aside items", "persistent resources", "drafts", "sessions")
        assert counts == Counter(dict.fromkeys(names, 1))
        assert [row.resource_id for row in PersistentResource.objects.all()] == ["there"]
        assert [row.session_key for row in Session.objects.all()] == ["new"]
        assert not any(model.objects.exists() for model in (ExternalJob, Discovery, SetAsideItem, Draft))
        assert prune(now + YEARS) == Counter(), "a second time finds nothing"

    def test_a_survey_that_is_asked_for_and_a_resource_in_use_stay(
        self, team: Team, owner: User, request_job: RequestJob, clock: Any
    ) -> None:
        observation.request_discovery(project=team.project, region="us-central1", by=owner, now=clock.now)
        seen("gone", now=clock.now, gone_at=clock.now)
        seen("gone", now=clock.now, gone_at=clock.now, region="europe-west4")
        request_job(resource="gone", scheduling={"strategy": None}, machine={"machineType": "n1-standard-4"})

        assert prune(clock.now + YEARS) == Counter({"persistent resources": 1})
        assert PersistentResource.objects.get().region == "us-central1"
        assert Discovery.objects.exists()


class TestMessages:
    def test_are_kept_for_90_days_and_while_they_wait(self, team: Team, owner: User, clock: Any) -> None:
        for key in ("old", "waiting", "unrouted"):
            outbox.announce("test", team=team, once_key=key, now=clock.now)
        Message.objects.exclude(once_key="unrouted").update(routed_at=clock.now)
        for message in Message.objects.filter(once_key__in=["old", "waiting"]):
            via = "browser" if message.once_key == "old" else "email"
            new_delivery(message, clock.now, via=via, person=owner).save()

        assert prune(clock.now + timedelta(days=89)) == Counter()
        assert prune(clock.now + timedelta(days=91)) == Counter({"messages": 1})
        assert set(Message.objects.values_list("once_key", flat=True)) == {"waiting", "unrouted"}
        assert Delivery.objects.count() == 1


class TestAuditLog:
    def test_entries_are_kept_for_three_years_or_as_long_as_is_set(self, team: Team, clock: Any) -> None:
        LogEntry.objects.all().delete()
        for bucket in ("gs://old", "gs://new"):
            team.bucket = bucket
            team.save()
        old, new = LogEntry.objects.order_by("pk")
        LogEntry.objects.filter(pk=old.pk).update(timestamp=clock.now)
        LogEntry.objects.filter(pk=new.pk).update(timestamp=clock.now + timedelta(days=10))

        assert prune(clock.now + timedelta(days=1_096)) == Counter(), "what is not sealed yet is kept"
        assert seal_audit_log(clock.now + timedelta(days=11)) == 2
        assert prune(clock.now + timedelta(days=1_095)) == Counter()
        assert prune(clock.now + timedelta(days=1_096)) == Counter({"audit log": 1})
        assert list(LogEntry.objects.all()) == [new]
        assert list(AuditedTeam.objects.values_list("entry", flat=True)) == [new.pk]

        RetentionSetting.objects.create(kind="audit_log", days=30)
        LogEntry.objects.exclude(pk=new.pk).delete()
        assert prune(clock.now + timedelta(days=42)) == Counter({"audit log": 1})
        assert [(seal.number, seal.removed_at is None) for seal in AuditSeal.objects.order_by("number")] == [
            (1, False), (2, False),
        ]  # fmt: skip
        assert list(broken_seals()) == [], "the chain can still be verified"


class TestSettings:
    def test_an_administrator_changes_the_days(self, ended: Job, cloud: Cloud) -> None:
        RetentionSetting.objects.create(kind="log_lines", days=5)

        counts = prune(cloud.now + timedelta(days=6))

        assert set(counts) == {"log lines"}

    def test_every_kind_has_a_default(self, db: None) -> None:
        assert retention.days_kept().keys() == set(RetentionSetting.Kind)


class TestPortions:
    def test_each_transaction_removes_a_bounded_number(self, ended: Job, cloud: Cloud, settings: Any) -> None:
        ended.log_lines.all().delete()
        stamp = {"job": ended, "timestamp": cloud.now, "replica": "workerpool0-0", "severity": "INFO", "message": ""}
        LogLine.objects.bulk_create([LogLine(insert_id=str(number), **stamp) for number in range(2_500)])

        with CaptureQueriesContext(connection) as queries:
            portions = [count for name, count in retention.prune(cloud.now + YEARS) if name == "log lines"]

        assert portions == [1000, 1000, 500]
        assert len(queries) < 120

    def test_a_run_that_takes_too_long_goes_on_soon(self, ended: Job, cloud: Cloud, monkeypatch: Any) -> None:
        monkeypatch.setattr(retention.cadence.Stopwatch, "has_run_out", property(lambda _: True))
        now = cloud.now + YEARS

        retention.prune_when_due(now)

        row = Upkeep.objects.get()
        assert row.due_at == now + timedelta(minutes=10)
        assert set(row.result) == {"events"}


class TestWhenDue:
    def test_is_once_a_day_by_the_database(self, ended: Job, cloud: Cloud) -> None:
        now = cloud.now + YEARS
        retention.prune_when_due(now)
        row = Upkeep.objects.get()
        assert (row.due_at, row.claim, row.failures) == (now + timedelta(days=1), None, 0)
        assert row.result["log lines"] >= 1
        cloud.forward(seconds=1)
        note(ended, cloud)
        lines = ended.log_lines.count()

        retention.prune_when_due(now + timedelta(hours=23))
        assert ended.log_lines.count() == lines
        retention.prune_when_due(now + timedelta(hours=24))
        assert ended.log_lines.count() < lines

    def test_another_worker_at_it_keeps_this_one_away(self, ended: Job, cloud: Cloud) -> None:
        now = cloud.now + YEARS
        row = Upkeep.objects.create(name="prune", due_at=now)
        claims.claim_poll(Upkeep, row.pk, now)

        retention.prune_when_due(now)

        assert ended.events.filter(kind="trouble").exists()

    def test_a_failure_is_told_and_backs_off(self, ended: Job, cloud: Cloud, monkeypatch: Any) -> None:
        monkeypatch.setattr(retention, "_forget_lines", lambda *_: 1 / 0)
        now = cloud.now + YEARS

        retention.prune_when_due(now)

        row = Upkeep.objects.get()
        assert "ZeroDivisionError" in row.last_error
        assert row.due_at is not None
        assert row.due_at > now

    def test_the_task_looks_at_the_clock(self, ended: Job) -> None:
        tasks.prune()

        assert Upkeep.objects.get().answered_at is not None


class TestCommand:
    @pytest.fixture
    def old(self, ended: Job) -> Job:
        """The job as it is after years, by the clock that the command reads."""
        models.QuerySet.update(Job.objects.filter(pk=ended.pk), ended_at=timezone.now() - YEARS)
        return ended

    def test_says_what_it_removed(self, old: Job) -> None:
        said = io.StringIO()

        call_command("prune", stdout=said)

        assert "events: 2 removed\n" in said.getvalue()
        assert not old.events.filter(kind="trouble").exists()
        said = io.StringIO()
        call_command("prune", stdout=said)
        assert said.getvalue() == "Nothing is old enough to be removed.\n"

    def test_drops_the_tables_that_the_ledger_replaced(self, old: Job) -> None:
        before = set(connection.introspection.table_names())

        for _ in range(2):
            call_command("prune", "--old-tables", stdout=io.StringIO())

        assert before - set(connection.introspection.table_names()) == set(OLD_TABLES)
        assert old.events.filter(kind="trouble").exists()
        with pytest.raises(CommandError, match="not allowed with"):
            call_command("prune", "--old-tables", "--dry-run")

    def test_only_counts_with_dry_run(self, old: Job) -> None:
        said = io.StringIO()

        call_command("prune", "--dry-run", stdout=said)

        assert "events: 2 would be removed (older than 365 days)\n" in said.getvalue()
        assert "sessions: 0 would be removed\n" in said.getvalue()
        assert old.events.filter(kind="trouble").exists()


@pytest.mark.django_db
def test_the_command_uses_the_clock_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    Session.objects.create(session_key="valid", session_data="", expire_date=now + timedelta(days=14))
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=365))  # of the machine

    call_command("prune", stdout=io.StringIO())

    assert Session.objects.filter(session_key="valid").exists()
