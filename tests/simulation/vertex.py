"""A Vertex AI whose calls are slow, lost or late, whose lists lag, and which cancels at any time."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jobs import vertex
from jobs.clients import JOB_LABEL
from jobs.queue.rate_limit import OverRateLimit
from tests.simulation.kernel import EPOCH, Kernel

LIVE = ("JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_CANCELLING")


@dataclass
class Life:
    """One job at Vertex AI. Times are seconds of the run; `listed_at`: from when on lists show it."""

    name: str
    request: str
    created_at: float
    listed_at: float
    runs_at: float
    ends_at: float
    end: str
    cancelled_at: float = float("inf")

    def state(self, seconds: float) -> str:
        """Return its state at a second of the run."""
        if seconds >= min(self.ends_at, self.cancelled_at + 20):
            return self.end if self.ends_at <= self.cancelled_at + 20 else "JOB_STATE_CANCELLED"
        if seconds >= self.cancelled_at:
            return "JOB_STATE_CANCELLING"
        return "JOB_STATE_RUNNING" if seconds >= self.runs_at else "JOB_STATE_PENDING"

    def is_live(self, seconds: float) -> bool:
        """Return whether the job costs money now or will soon."""
        return self.state(seconds) in LIVE

    def remote(self, seconds: float) -> vertex.RemoteJob:
        """Return it as an answer of the API."""
        created = (EPOCH + timedelta(seconds=self.created_at)).isoformat()
        return vertex.RemoteJob(
            self.name, self.state(seconds), {"createTime": created, "labels": {JOB_LABEL: self.request}}
        )


@dataclass
class Cloud:
    """Everything that exists. `faults`: share of calls that go wrong; `is_late`: answers come beyond every window."""

    kernel: Kernel
    faults: float = 0.0
    is_late: bool = False
    outages: list[tuple[float, float]] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)

    def of(self, request: str) -> list[Life]:
        """Return all jobs of one request."""
        return [life for life in self.lives if life.request == request]

    def live(self, request: str) -> list[Life]:
        """Return the jobs of one request that have not ended."""
        return [life for life in self.of(request) if life.is_live(self.kernel.seconds)]

    def is_out(self) -> bool:
        """Return whether the service answers no call now."""
        return any(begins <= self.kernel.seconds < ends for begins, ends in self.outages)

    def make(self, request: str, delay: float) -> list[Life]:
        """Create a job after a delay, whoever still waits for the answer; it is put into the list that is returned."""
        kernel, random = self.kernel, self.kernel.random
        made: list[Life] = []

        def create() -> None:
            now, lag = kernel.seconds, random.choice([0.0, 0.0, 2.0, 20.0, 29.0])
            lag += random.choice([0.0, 60.0, 120.0]) if self.is_late else 0.0
            runs_at = now + random.choice([1, 5, 60, 200])
            end = random.choice(["JOB_STATE_SUCCEEDED", "JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"])
            name = f"projects/p/locations/r/customJobs/{len(self.lives) + 1}"
            life = Life(name, request, now, now + lag, runs_at, runs_at + random.choice([1, 60, 900, 9000]), end)
            self.lives.append(life)
            made.append(life)
            kernel.log("Vertex AI creates job {} for {}; lists show it {:.0f} s later.", len(self.lives), request, lag)

        kernel.start(create, at=kernel.seconds + delay)
        return made


@dataclass
class SimulatedRemote:
    """`ports.Remote` of one worker."""

    cloud: Cloud
    clock: Any

    def find(self, job: Any) -> list[vertex.RemoteJob]:
        cloud, kernel = self.cloud, self.cloud.kernel
        self._call(job.pk, "find", slow=25.0)
        return [life.remote(kernel.seconds) for life in cloud.of(job.pk) if life.listed_at <= kernel.seconds]

    def reserve_create(self, job: Any) -> None:
        if self.cloud.faults and self.cloud.kernel.random.random() < 0.05:
            raise OverRateLimit("our own limit is used up", retry_after=timedelta(seconds=7))

    def create(self, job: Any, *, within: float) -> vertex.RemoteJob:
        cloud, kernel, random = self.cloud, self.cloud.kernel, self.cloud.kernel.random
        self._count(job.pk)
        is_odd = random.random() < cloud.faults
        connect = random.choice([0.1, 5.0, 40.0]) if is_odd else 0.1
        kernel.work(connect)
        if connect >= within or cloud.is_out():
            raise _unavailable("could not be reached", may_have_happened=False)
        left = within - connect
        odd = ["ok", "lost", "reset", "429", "400", "slow", "late"] + ["late", "lost", "lost"] * 4 * cloud.is_late
        answer = random.choice(odd) if is_odd else "ok"
        kernel.log("A create of {} leaves; its outcome is {}.", job.pk, answer)
        if answer == "429":
            kernel.work(0.2)
            raise vertex.RateLimited("too many calls", retry_after=timedelta(seconds=random.choice([1, 30])))
        if answer == "400":
            kernel.work(0.2)
            raise vertex.Refused("no such machine")
        if answer == "reset":
            kernel.work(min(1.0, left))
            raise _unavailable("the connection broke")
        delay = {"ok": 0.5, "lost": 0.5, "slow": left * 0.9, "late": left * random.random()}[answer]
        if answer == "late" and cloud.is_late:
            delay = left + random.uniform(0, 120)
        made = cloud.make(job.pk, delay)
        kernel.work(left if answer in {"lost", "late"} else min(delay + 0.1, left))
        if answer in {"lost", "late"} or not made:
            raise _unavailable("no answer in time")
        return made[0].remote(kernel.seconds)

    def cancel(self, job: Any) -> None:
        cloud, kernel = self.cloud, self.cloud.kernel
        self._call(str(getattr(job, "job", None) or job.pk), "cancel", slow=10.0)
        life = next(life for life in cloud.lives if life.name == job.remote_name)
        if not life.is_live(kernel.seconds) or (cloud.faults and kernel.random.random() < 0.2):
            kernel.log("Vertex AI refuses to cancel {}.", life.name)
            raise vertex.Refused("It cannot be cancelled in its state.")
        if not cloud.faults or kernel.random.random() < 0.7:  # the others are accepted and not carried out
            life.cancelled_at = min(life.cancelled_at, kernel.seconds)
            kernel.log("Vertex AI begins to cancel {}.", life.name)

    def listed(self) -> list[vertex.RemoteJob]:
        """Return the active jobs, as a poll of the scope lists them."""
        self._call("poll", "list", slow=10.0)
        seconds = self.cloud.kernel.seconds
        return [
            life.remote(seconds) for life in self.cloud.lives if life.listed_at <= seconds and life.is_live(seconds)
        ]

    def get(self, job: Any) -> vertex.RemoteJob:
        self._call(job.pk, "get", slow=10.0)
        seconds = self.cloud.kernel.seconds
        return next(life for life in self.cloud.lives if life.name == job.remote_name).remote(seconds)

    def delete(self, job: Any) -> bool:
        raise AssertionError("nothing is deleted here")

    def _call(self, request: str, what: str, *, slow: float) -> None:
        kernel, random = self.cloud.kernel, self.cloud.kernel.random
        if what not in {"get", "list"}:
            self._count(request)
        is_odd = random.random() < self.cloud.faults
        kernel.work(random.uniform(1, slow) if is_odd else 0.1)
        if self.cloud.is_out() or (is_odd and random.random() < 0.4):
            raise _unavailable(f"{what} failed")

    def _count(self, request: str) -> None:
        self.cloud.calls[request] = self.cloud.calls.get(request, 0) + 1


def _unavailable(words: str, *, may_have_happened: bool = True) -> vertex.Unavailable:
    error = vertex.Unavailable(words)
    error.may_have_happened = may_have_happened
    return error
