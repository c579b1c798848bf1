"""Tests that items which cannot be stored are set aside, others are made to fit, and unexpected errors are recorded."""

import io
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import OperationalError, models

from jobs import observation, steps, storable, transitions
from jobs.models import Discovery, Job, LogFeed, LogLine, Scope, SetAsideItem, Trial
from jobs.observation import discovery, log_feeds, observe, persistent_resources
from jobs.observation import set_aside as asides
from jobs.observation.set_aside import SetAside
from jobs.queue import claims
from jobs.vertex import logs, wire
from tests.domain.conftest import Cloud, RequestJob, Submit, look
from tests.support import hostile

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
MOMENTS = [
    datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC), datetime(2026, 1, 1),  # noqa: DTZ001
    datetime.max.replace(tzinfo=UTC),
]  # fmt: skip
NUMBERS = [-1, 0, 2**15, 2**31, 2**63, 2**70, -(2**70)]
FLOATS = [float("nan"), float("inf"), -1e308, 1e308, 0.5]
VALUES: tuple[tuple[type[Any], Sequence[Any]], ...] = (
    (models.JSONField, hostile.VALUES),
    (models.DateTimeField, MOMENTS),
    (models.DateField, [date.min, date(2026, 2, 28), date.max]),
    (models.CharField, [each for each in hostile.VALUES if isinstance(each, str)]),
    (models.TextField, [each for each in hostile.VALUES if isinstance(each, str)]),
    (models.DecimalField, [Decimal(each) for each in ("NaN", "1e30", "-1e30", "999999999999.999999", "0.1")]),
    (models.FloatField, FLOATS),
    (models.IntegerField, NUMBERS),
)


class TestEveryColumn:
    def test_holds_any_value_that_was_made_to_fit(self, submitted: Job, owner: User) -> None:
        """All columns of a row are changed at once. Without a row the database still checks the values."""
        for model in apps.get_app_config("jobs").get_models():
            values = dict[Any, Any]()
            for field in model._meta.concrete_fields:
                if isinstance(field, storable.OURS):
                    continue
                values[field] = next((some for kind, some in VALUES if isinstance(field, kind)), None)
                assert values[field] is not None, f"{field} is of a kind that no test has values for"
            for at in range(max(map(len, values.values()), default=0)):
                fitted = {field: storable.fitted_value(field, of[at % len(of)]) for field, of in values.items()}
                given = {field: value for field, value in fitted.items() if value is not None or field.null}
                self._write_and_read(model, given)

    def _write_and_read(self, model: type[models.Model], fitted: dict[Any, Any]) -> None:
        keys = {field.name: value for field, value in fitted.items() if field.primary_key or storable._is_key(field)}
        columns = {field.name: value for field, value in fitted.items() if field.name not in keys}
        for name, value in keys.items():
            list(model._base_manager.filter(**{name: value}))
        if columns:
            rows = model._base_manager.filter(pk=getattr(model._base_manager.first(), "pk", None))
            models.QuerySet.update(rows, **columns)
            list(rows.values_list(*columns))

    def test_bounds_of_the_wire_are_those_of_the_columns(self) -> None:
        def longest(model: type[models.Model], name: str) -> int | None:
            return model._meta.get_field(name).max_length  # type: ignore[union-attr]

        assert longest(Job, "state") == wire.MAX_STATE_CHARACTERS
        assert longest(Job, "remote_name") == wire.MAX_NAME_CHARACTERS
        assert longest(LogLine, "insert_id") == logs.MAX_INSERT_ID_CHARACTERS

    def test_keys_that_differ_still_do_when_they_were_cut(self) -> None:
        field = LogLine._meta.get_field("insert_id")

        first, second = (storable.fitted_value(field, "x" * 200 + end) for end in "ab")

        assert first != second
        assert len(first) == len(second) == 128


class TestEvents:
    def test_with_long_keys_and_reasons_are_written_once(self, submitted: Job, cloud: Cloud) -> None:
        def note(key: str) -> bool:
            return transitions.record_event(
                submitted,
                "trouble",
                now=cloud.now,
                message="s\x00",
                once_key=key,
                reason="r" * 99,
                last_error="\ud800",
            )

        assert [note("k" * 200), note("k" * 200), note("k" * 199 + "l")] == [True, False, True]
        event = submitted.events.filter(kind="trouble").order_by("pk")[0]
        assert (len(event.once_key), len(event.reason), event.message) == (120, 48, "s\ufffd")
        assert event.detail["cut"] == ["reason (99 characters)", "message (2 characters)", "once_key (200 characters)"]
        submitted.refresh_from_db()
        assert submitted.last_error == "\ufffd"


class TestStoring:
    def test_a_row_that_fails_takes_no_other_with_it_and_is_set_aside(self, submitted: Job, cloud: Cloud) -> None:
        rows = [Trial(job=submitted, trial_id=str(number), state="ACTIVE") for number in range(5)]
        rows[2].job_id = None  # type: ignore[assignment]
        aside = SetAside("a place", now=cloud.now)

        aside.store(rows, Trial.objects.bulk_create, name=lambda row: f"trial {row.trial_id}")

        assert sorted(submitted.trials.values_list("trial_id", flat=True)) == ["0", "1", "3", "4"]
        item = SetAsideItem.objects.get()
        assert (item.place, item.item, item.count, item.is_kept) == ("a place", "trial 2", 1, False)
        assert "IntegrityError" in item.reason
        assert "1 item" in aside.words

    def test_what_was_cut_is_told_and_not_counted_as_left_out(self, submitted: Job, cloud: Cloud) -> None:
        row = Trial(job=submitted, trial_id="1", state="S" * 40, infeasible_reason="a\x00")
        aside = SetAside("a place", now=cloud.now)

        aside.store([row], Trial.objects.bulk_create, name=lambda row: "it")

        assert (aside.count, aside.words) == (0, "")
        item = SetAsideItem.objects.get()
        assert item.is_kept
        assert "state (40 characters), infeasible_reason" in item.reason

    def test_a_database_that_does_not_answer_is_no_fault_of_an_item(self, db: None, cloud: Cloud) -> None:
        def fail(_rows: object) -> None:
            raise OperationalError("canceling statement due to lock timeout")

        with pytest.raises(OperationalError):
            SetAside("a place", now=cloud.now).store([Trial()], fail, name=str)
        assert not SetAsideItem.objects.exists()

    def test_the_number_of_rows_is_bounded_and_the_oldest_go(
        self, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(asides, "MAX_ITEMS", 3)
        for number in range(6):
            SetAside("a place", now=cloud.forward(minutes=1)).put(f"item {number}", "no")

        assert sorted(SetAsideItem.objects.values_list("item", flat=True)) == ["item 3", "item 4", "item 5"]

    def test_the_same_item_is_one_row_that_counts(self, cloud: Cloud) -> None:
        for reason in ("first", "second"):
            SetAside("p" * 300, now=cloud.forward(minutes=1)).put("i" * 300, reason + "\x00")

        item = SetAsideItem.objects.get()
        assert (item.count, item.reason, item.last_at - item.first_at) == (2, "second\ufffd", timedelta(minutes=1))


class TestUnforeseenErrors:
    def test_in_one_job_are_set_aside_told_and_stop_no_other(
        self, submit: Submit, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        odd, good = submit("happy"), submit("happy")
        whole = observe.record

        def record(job: Job, *args: Any, **kwargs: Any) -> None:
            if job.pk == odd.pk:
                raise KeyError("nobody thought of this")
            whole(job, *args, **kwargs)

        monkeypatch.setattr(observe, "record", record)
        cloud.forward(minutes=20)

        look(cloud)

        good.refresh_from_db()
        assert good.state != "pending"
        item = SetAsideItem.objects.get()
        assert (item.item, item.reason) == (odd.remote_name, "KeyError: 'nobody thought of this'")
        scope = Scope.objects.get()
        assert scope.failures == 0
        assert "1 item could not be read or stored" in scope.last_error
        said = io.StringIO()
        call_command("audit", stdout=said)
        assert "Set aside, since they could not be stored or read: 1" in said.getvalue()

    @pytest.mark.parametrize(
        ("module", "name", "rows"),
        [
            (observe, "list_watched", Scope.objects.filter(kind="custom_job")),
            (log_feeds, "unread_jobs", LogFeed.objects.all()),
            (persistent_resources, "_watch_regions_of_jobs", Scope.objects.filter(kind="persistent_resource")),
            (discovery, "Walk", Discovery.objects.all()),
        ],
    )
    def test_of_a_whole_look_leave_a_trace_and_back_off(
        self,
        submitted: Job,
        owner: User,
        cloud: Cloud,
        monkeypatch: pytest.MonkeyPatch,
        module: Any,
        name: str,
        rows: Any,
    ) -> None:
        observation.request_discovery(project=submitted.project, region=submitted.region, by=owner, now=cloud.now)
        observation.follow_resources([submitted.project], region=submitted.region, now=cloud.now)
        claims.wake_feed(submitted.project, due_at=cloud.now)
        monkeypatch.setattr(module, name, boom)
        pauses = []
        for _ in range(8):
            row = rows.get()
            if row.due_at is None:
                break
            cloud.forward(seconds=(row.due_at - cloud.now).total_seconds())
            look(cloud)
            for discovery_id in steps.due_discoveries(cloud.now):
                observation.discover(discovery_id, now=cloud.now)
            row = rows.get()
            assert row.claim is None
            assert "unexpected error (ZeroDivisionError)" in row.last_error
            pauses += [row.due_at - cloud.now] if row.due_at else []

        assert row.failures >= 6
        assert pauses == [min(timedelta(seconds=10) * 2**number, timedelta(minutes=5)) for number in range(len(pauses))]
        assert len(pauses) >= 5


def boom(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("nobody thought of this either")


def test_a_restart_that_cannot_be_worked_out_stops_no_feed(
    submit: Submit, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [submit("happy") for _ in range(2)]
    whole: Callable[..., None] = log_feeds.restarts.record_restarts
    monkeypatch.setattr(
        log_feeds.restarts,
        "record_restarts",
        lambda job, **more: boom() if job.pk == jobs[0].pk else whole(job, **more),
    )
    cloud.forward(minutes=20)
    for job in jobs:
        observation.follow_log(job, now=cloud.now)
    look(cloud)
    look(cloud)

    assert LogFeed.objects.get().failures == 0
    assert LogLine.objects.filter(job=jobs[1]).exists()
    assert SetAsideItem.objects.filter(item=f"restarts of job {jobs[0].pk}").exists()
