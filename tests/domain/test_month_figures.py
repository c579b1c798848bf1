"""Sums of months while workers of the version before count too: exact all along, then moved into rows of this one."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Sum
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from jobs import transitions
from jobs.isolation import RowsFailed
from jobs.models import Job, JobEvent, JobFigures, MonthFigures, Team
from jobs.models.figures import IN_COLUMNS, WAITS
from jobs.states import may_follow
from jobs.timeline import wait_bucket
from jobs.timeline.wait_percentiles import LAST_BUCKET
from jobs.upkeep import count_all, count_ended, fold_months, month_figures
from tests.domain.conftest import RequestJob
from tests.domain.test_figures import START, STEPS, made, run
from tests.support.clock import Clock
from tests.support.month_figures import add_as_before, sums_of_jobs, sums_of_months

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
WAY = ("submitting", "queued", "pending", "running")


def count_as_before() -> int:
    """Count as a worker of the version before."""
    with mock.patch.object(month_figures, "add", add_as_before):
        return count_ended()


def preempt(job: Job, clock: Clock, key: str) -> None:
    transitions.record_event(
        job, JobEvent.Kind.MACHINES_LOST, now=clock.now, message="Lost.", reason="preempted", once_key=key
    )


def rows() -> dict[int, tuple[int, int]]:
    """Return {bucket: (jobs, preemptions)} of every row."""
    return {
        bucket: (jobs, preemptions)
        for bucket, jobs, preemptions in MonthFigures.objects.values_list("wait_bucket", "jobs", "preemptions")
    }


def test_every_bucket_has_a_column() -> None:
    assert len(WAITS) == LAST_BUCKET + 1
    assert {field.name for field in MonthFigures._meta.fields} >= {*WAITS}


class TestMixedWorkers(TestCase):
    @given(
        st.lists(
            st.tuples(
                st.integers(0, 3),
                st.sampled_from((*STEPS, "count", "count as before", "again", "fold")),
                st.integers(1, 60 * 24 * 9),
            ),
            max_size=50,
        ),
        st.integers(1, 3),
    )
    @hypothesis_settings(max_examples=60)
    def test_keep_sums_exact_at_every_moment(self, steps: list[tuple[int, str, int]], portion: int) -> None:
        team = Team.objects.create(name="vision", project="vision-research")
        owner, now = User.objects.create_user("owner-of-many"), START
        jobs = [made(team, owner, number, now) for number in range(4)]
        verbs: dict[str, Any] = {
            "count": count_ended,
            "count as before": count_as_before,
            "again": lambda: Job.objects.update(is_counted=False),
            "fold": fold_months,
        }
        with mock.patch.object(month_figures, "PORTION", portion):
            for number, step, minutes in steps:
                now += timedelta(minutes=minutes)
                if step in verbs:
                    verbs[step]()
                    assert sums_of_months() == sums_of_jobs(), step
                elif may_follow(jobs[number].state, step):
                    transitions.transition(jobs[number], step, now=now, message="It went on.")
            sum(count_all())

        assert sums_of_months() == sums_of_jobs()
        assert not MonthFigures.objects.filter(wait_bucket__gt=IN_COLUMNS).exists()
        assert not MonthFigures.objects.filter(jobs__lt=1).exists(), "nothing is left of what was counted elsewhere"
        assert sum(MonthFigures.objects.values_list("jobs", flat=True)) == JobFigures.objects.count()


class TestJobOfBothVersions:
    def test_counted_again_by_this_one(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job(strategy="SPOT")
        run(job, clock, *WAY, "failed")
        bucket = wait_bucket(timedelta(hours=4))
        count_as_before()
        preempt(job, clock, "lost")

        count_ended()

        assert rows() == {bucket: (1, 0), IN_COLUMNS: (0, 1)}
        assert sums_of_months() == sums_of_jobs()
        assert (fold_months(), fold_months()) == (1, 0)
        assert rows() == {IN_COLUMNS: (1, 1)}
        assert MonthFigures.objects.get().__dict__[WAITS[bucket]] == 1

    def test_counted_again_by_the_one_before(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job(strategy="SPOT")
        run(job, clock, *WAY, "failed")
        bucket = wait_bucket(timedelta(hours=4))
        count_ended()
        preempt(job, clock, "lost")

        count_as_before()

        assert rows() == {IN_COLUMNS: (1, 0), bucket: (0, 1)}
        assert sums_of_months() == sums_of_jobs()
        assert (fold_months(), rows()) == (1, {IN_COLUMNS: (1, 1)})

    @pytest.mark.parametrize(("first", "then"), [(count_ended, count_as_before), (count_as_before, count_ended)])
    def test_that_goes_on_is_negative_in_one_row_until_nothing_is_left(
        self, request_job: RequestJob, clock: Clock, first: Any, then: Any
    ) -> None:
        job = request_job()
        run(job, clock, *WAY, "lost")
        first()
        run(job, clock, "running")

        then()

        assert sorted(jobs for jobs, _ in rows().values()) == [-1, 1]
        assert MonthFigures.objects.aggregate(jobs=Sum("jobs"), cents=Sum("cents")) == {"jobs": 0, "cents": 0}
        assert (fold_months(), rows()) == (1, {})


class TestFolding:
    def test_is_done_a_portion_at_a_time(
        self, request_job: RequestJob, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for region in ("us-central1", "us-east1", "europe-west4"):
            run(request_job(region=region), clock, *WAY, "failed")
        count_as_before()
        wanted = sums_of_months()
        monkeypatch.setattr(month_figures, "PORTION", 2)

        folded = []
        while count := fold_months():
            folded.append(count)
            assert sums_of_months() == wanted

        assert folded == [2, 1]
        assert [*rows()] == [IN_COLUMNS]

    def test_that_is_cut_short_changes_nothing(
        self, request_job: RequestJob, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run(request_job(), clock, *WAY, "failed")
        count_as_before()
        before = rows()
        write = month_figures._write

        def stop(changes: Any) -> None:
            write(changes)
            raise KeyboardInterrupt

        monkeypatch.setattr(month_figures, "_write", stop)
        with pytest.raises(KeyboardInterrupt):
            fold_months()

        assert rows() == before

    def test_of_all_is_part_of_counting_all(self, request_job: RequestJob, clock: Clock) -> None:
        for region in ("us-central1", "us-east1"):
            run(request_job(region=region), clock, *WAY, "failed")
        count_as_before()

        assert sum(count_all()) == 0
        assert [*rows()] == [IN_COLUMNS]


@pytest.mark.django_db(transaction=True)
def test_folding_waits_for_a_worker_that_is_about_to_add_to_a_row(request_job: RequestJob, clock: Clock) -> None:
    """Its row is there, so it inserts none; were the row deleted now, its update would find none and be lost."""
    job = request_job(strategy="SPOT")
    run(job, clock, *WAY, "failed")
    count_as_before()
    preempt(job, clock, "lost")
    refused = []

    def fold_impatiently() -> None:
        with connection.cursor() as cursor:
            is_postgres = connection.vendor == "postgresql"
            cursor.execute("SET lock_timeout = '50ms'" if is_postgres else "PRAGMA busy_timeout = 50")
        try:
            fold_months()
        except RowsFailed as error:
            refused.append(error.reason)
        finally:
            connection.close()

    def add_slowly(before: Iterable[JobFigures], after: Iterable[JobFigures]) -> None:
        with ThreadPoolExecutor(1) as other:
            other.submit(fold_impatiently).result()
        add_as_before(before, after)

    with mock.patch.object(month_figures, "add", add_slowly):
        assert count_ended() == 1

    assert len(refused) == 1
    assert "lock" in refused[0]
    assert (fold_months(), sums_of_months()) == (1, sums_of_jobs())
