"""Tests that logs without readers are read in turns, a few at a time, so that the board shows every job's progress."""

from datetime import timedelta

import pytest
from django.conf import LazySettings

from jobs.models import Job, LogFeed, LogLine
from jobs.observation import log_feeds, log_turns
from tests.domain.conftest import Cloud, Submit, look, watch

MINUTE = timedelta(minutes=1)


def running(submit: Submit, cloud: Cloud, count: int) -> list[Job]:
    jobs = [submit("long") for _ in range(count)]
    watch(cloud, jobs[-1], minutes=10)
    Job.objects.update(log_read_at=None)
    return jobs


def test_a_running_job_at_which_nobody_looks_has_its_lines_read(submit: Submit, cloud: Cloud) -> None:
    (job,) = running(submit, cloud, 1)

    cloud.forward(minutes=1)
    look(cloud)

    job.refresh_from_db()
    assert job.log_wanted_until is None
    assert job.log_read_at == cloud.now
    assert LogLine.objects.filter(job=job).exclude(replica="service").exists()


def test_those_come_first_that_were_read_longest_ago(submit: Submit, cloud: Cloud) -> None:
    first, second, third = running(submit, cloud, 3)
    now = cloud.now
    for job, ago in ((first, 9), (second, 30), (third, 1)):
        Job.objects.filter(pk=job.pk).update(log_read_at=now - ago * MINUTE)
    unread = log_feeds.unread_jobs(first.project)

    assert log_turns.next_turns(unread, now, room=9) == [second, first]
    assert log_turns.next_turns(unread, now, room=1) == [second]
    assert log_turns.next_turns(unread, now, room=0) == []


@pytest.mark.parametrize(("rate", "count"), [(60, 3), (4, 1), (24, 3)])
def test_turns_take_a_part_of_the_reads_of_a_minute(
    submit: Submit, cloud: Cloud, settings: LazySettings, rate: int, count: int
) -> None:
    job, *_ = running(submit, cloud, 3)
    settings.LOG_READS_PER_MINUTE, settings.POLL_INTERVAL = rate, timedelta(seconds=30)

    assert len(log_turns.next_turns(log_feeds.unread_jobs(job.project), cloud.now, room=20)) == count


def test_a_log_that_is_looked_at_and_a_job_that_waits_have_no_turn(submit: Submit, cloud: Cloud) -> None:
    (job,) = running(submit, cloud, 1)
    unread = log_feeds.unread_jobs(job.project)

    Job.objects.update(log_wanted_until=cloud.now + MINUTE)
    assert log_turns.next_turns(unread, cloud.now, room=9) == []
    Job.objects.update(log_wanted_until=None, running_since=None)
    assert log_turns.next_turns(unread, cloud.now, room=9) == []
    assert LogFeed.objects.get().due_at is not None


def test_a_watched_job_is_assessed_once_in_each_turn(
    submit: Submit, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,), assessed = running(submit, cloud, 1), list[timedelta]()
    start = cloud.now
    monkeypatch.setattr(
        log_feeds.health, "assess_each", lambda keys, *_, now: assessed.extend([now - start] * len(keys))
    )
    for _ in range(40):
        log_feeds.follow_log(job, now=cloud.now)
        cloud.forward(seconds=15)
        look(cloud)
        job.refresh_from_db()

    assert job.log_read_at == cloud.now
    assert len(assessed) in (5, 6), "in ten minutes"
