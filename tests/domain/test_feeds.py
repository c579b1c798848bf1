"""Tests of the kept log: lines that Cloud Logging receives late, the newest of many, and what is known of others."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs.models import Job, LogLine
from jobs.observation import log_feeds
from jobs.vertex import LogEntry
from tests.domain.conftest import Cloud

pytestmark = pytest.mark.both_databases


class Logging:
    """Cloud Logging as its reader sees it: entries become readable when they are put there, whatever their time."""

    def __init__(self, job: Job) -> None:
        self.number = job.remote_id
        self.entries: list[LogEntry] = []
        self.limits: list[int] = []

    def put(self, *moments: datetime, replica: str = "workerpool0-0", word: str = "line") -> None:
        self.entries += [
            LogEntry(at, f"{word}{len(self.entries)}-{number}", replica, "INFO", word, self.number)
            for number, at in enumerate(moments)
        ]

    def log(
        self, _project: str, *, job_ids: Sequence[str], after: datetime, limit: int, newest: bool, **_: Any
    ) -> list[LogEntry]:
        assert list(job_ids) == [self.number]
        assert newest
        self.limits.append(limit)
        found = sorted((each for each in self.entries if each.timestamp >= after), key=lambda each: each.timestamp)
        return found[-limit:]

    def service_log(self, _project: str, *, after: datetime, limit: int, **_: Any) -> list[LogEntry]:
        own = [each for each in self.entries if each.replica == "service" and each.timestamp >= after]
        return sorted(own, key=lambda each: each.timestamp)[:limit]


@pytest.fixture
def logging(submitted: Job, monkeypatch: pytest.MonkeyPatch) -> Logging:
    """A log that the test writes."""
    Job.objects.filter(pk=submitted.pk).update(log_sources={submitted.remote_id: ""})
    made = Logging(submitted)
    monkeypatch.setattr(log_feeds, "client", lambda _acts_as: made)
    return made


def read(cloud: Cloud, job: Job) -> list[str]:
    """Read the log as if a person looks at it. Return the text of the stored lines, in order of time."""
    cloud.forward(seconds=15)
    job.refresh_from_db()
    log_feeds.follow_log(job, now=cloud.now)
    log_feeds.claims.wake_feed(job.project, due_at=cloud.now)
    (feed_id,) = log_feeds.LogFeed.objects.due(cloud.now).values_list("pk", flat=True)
    log_feeds.read_feed(feed_id, now=cloud.now)
    job.refresh_from_db()
    return list(LogLine.objects.filter(job=job).order_by("timestamp", "pk").values_list("message", flat=True))


def test_a_line_that_comes_late_takes_its_place(submitted: Job, cloud: Cloud, logging: Logging) -> None:
    began = cloud.now
    logging.put(began + timedelta(seconds=2), word="first")
    logging.put(began + timedelta(seconds=10), word="third")
    assert read(cloud, submitted) == ["first", "third"]

    logging.put(began + timedelta(seconds=5), word="second")
    logging.put(began + timedelta(seconds=20), word="fourth")

    assert read(cloud, submitted) == ["first", "second", "third", "fourth"]


def test_a_line_of_the_service_that_comes_late_is_kept_too(submitted: Job, cloud: Cloud, logging: Logging) -> None:
    began = cloud.now
    logging.put(began + timedelta(seconds=10), replica="service", word="Job is running.")
    read(cloud, submitted)
    submitted.log_wanted_until = None
    Job.objects.filter(pk=submitted.pk).update(log_wanted_until=None, log_cursor_at=cloud.now)
    logging.put(began + timedelta(seconds=5), replica="service", word="Job is preparing.")

    cloud.forward(seconds=15)
    log_feeds.claims.wake_feed(submitted.project, due_at=cloud.now)
    log_feeds.read_feed(log_feeds.LogFeed.objects.get().pk, now=cloud.now)

    assert sorted(LogLine.objects.values_list("message", flat=True)) == ["Job is preparing.", "Job is running."]


def test_what_was_read_before_is_not_kept_twice(submitted: Job, cloud: Cloud, logging: Logging) -> None:
    logging.put(*(cloud.now + timedelta(seconds=second) for second in range(10)))

    assert len(read(cloud, submitted)) == len(read(cloud, submitted)) == 10
    submitted.refresh_from_db()
    assert submitted.log_kept_from is None


def test_of_a_long_log_the_newest_lines_are_kept_and_from_when_on(
    submitted: Job, cloud: Cloud, logging: Logging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_feeds, "KEPT_LINES", 20)
    moments = [cloud.now + timedelta(seconds=second / 10) for second in range(50)]
    logging.put(*moments)

    assert len(read(cloud, submitted)) == 20
    assert submitted.log_kept_from == moments[30]
    assert LogLine.objects.order_by("timestamp").first().timestamp == moments[30]


def test_a_log_that_grows_slowly_loses_its_beginning_and_says_so(
    submitted: Job, cloud: Cloud, logging: Logging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_feeds, "KEPT_LINES", 20)
    logging.put(*(cloud.now + timedelta(seconds=second) for second in range(15)))
    assert len(read(cloud, submitted)) == 15
    assert submitted.log_kept_from is None

    cloud.forward(minutes=2)
    late = [cloud.now + timedelta(seconds=second) for second in range(15)]
    logging.put(*late)

    assert len(read(cloud, submitted)) == 20
    assert submitted.log_kept_from == LogLine.objects.order_by("timestamp").first().timestamp < late[0]


def test_in_a_flood_what_is_new_comes_before_what_is_late(
    submitted: Job, cloud: Cloud, logging: Logging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_feeds, "LINES_PER_READ", 10)
    for batch in range(3):
        began = cloud.now
        logging.put(*(began + timedelta(seconds=second / 100) for second in range(25)), replica="service")
        log_feeds.claims.wake_feed(submitted.project, due_at=cloud.forward(seconds=5))
        for _ in range(4):
            log_feeds.read_feed(log_feeds.LogFeed.objects.get().pk, now=cloud.now)

        assert LogLine.objects.count() == 25 * (batch + 1)


def test_what_is_known_is_not_looked_at_again(
    submitted: Job, cloud: Cloud, logging: Logging, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Job] = []
    monkeypatch.setattr(log_feeds.restarts, "record_restarts", lambda job, now: looked.append(job))
    logging.put(cloud.now + timedelta(seconds=1), replica="service")

    for _ in range(3):
        log_feeds.claims.wake_feed(submitted.project, due_at=cloud.forward(seconds=10))
        log_feeds.read_feed(log_feeds.LogFeed.objects.get().pk, now=cloud.now)

    assert looked == [submitted]
