"""A job's log written by a test, and the log that a page shows."""

import re
from datetime import datetime, timedelta
from typing import Any

from django.test import Client

from jobs import transitions
from jobs.models import Job, JobEvent, LogLine
from jobs.states import JobState
from jobs.timeline import ATTEMPT_BEGINS
from tests.support.clock import Clock

SPOT = "machine preempted (Spot)"


class Log:
    """Writes a job's log and restarts it, at seconds since the start of the log."""

    def __init__(self, job: Job, clock: Clock) -> None:
        self.job, self.clock, self.began, self.count = job, clock, clock.now, 0

    def at(self, seconds: float) -> datetime:
        return self.began + timedelta(seconds=seconds)

    def write(self, seconds: float, message: str, replica: str = "workerpool0-0", severity: str = "INFO") -> LogLine:
        self.count += 1
        return LogLine.objects.create(
            job=self.job, timestamp=self.at(seconds), insert_id=f"i{self.count}", replica=replica, severity=severity,
            message=message,
        )  # fmt: skip

    def restart(self, seconds: float, reason: str = "preempted", *, replica: str = "", **detail: Any) -> JobEvent:
        key = f"restart:{replica}:{seconds}"
        transitions.record_event(
            self.job, JobEvent.Kind.RESTARTED, now=self.clock.now, occurred_at=self.at(seconds), reason=reason,
            message="It was restarted.", once_key=key, detail={"replica": replica, "is_certain": True} | detail,
        )  # fmt: skip
        return self.job.events.get(once_key=key)

    def move(self, seconds: float, state: str) -> None:
        assert transitions.transition(self.job, state, now=self.at(seconds), message=f"It is {state}.")

    def live_twice(self) -> "Log":
        """Write two attempts of two replicas: preempted after 60 s, running again after 300 s."""
        self.write(0, ATTEMPT_BEGINS, "service")
        self.write(10, "epoch 1")
        self.write(11, "batch a", "workerpool1-0")
        self.write(60, "saved while being stopped")
        self.move(60, JobState.PENDING)
        self.restart(60)
        self.write(62, ATTEMPT_BEGINS, "service")
        self.move(300, JobState.RUNNING)
        self.write(310, "epoch 2")
        self.write(311, "batch b", "workerpool1-0")
        return self


def at(job: Job, below: str = "log/") -> str:
    """Return the address of a job's log, or of another path below the job."""
    return f"/jobs/{job.pk}/{below}"


def shown(answer: Any) -> list[str]:
    """Return headings and messages in the order of the page, without time and replica."""
    found = re.findall(r'<p(?: class="turn"| id="l\d+"[^>]*)>(.*?)</p>', answer.content.decode(), re.S)
    return [re.sub(r"<b>.*?</b> |<i>.*?</i> ", "", each, flags=re.S) for each in found]


def poll(client: Client, page: Any) -> Any:
    """Request new lines as the page does."""
    address = re.search(r'id="log-poll" hx-get="([^"]+)"', page.content.decode())
    assert address, "the page does not follow the log"
    return client.get(address[1].replace("&amp;", "&"), headers={"HX-Request": "true"})
