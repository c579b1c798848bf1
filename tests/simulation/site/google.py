"""Vertex AI behind the network: custom jobs, persistent resources, and calls that are slow, lost, late or refused."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests

from jobs.clients import JOB_LABEL
from jobs.queue.claims import JOB_LEASE
from tests.simulation.kernel import Killed
from tests.simulation.site.network import Answer, Request, refusal
from tests.simulation.site.process import Process, SiteKernel, moment_of

LIVE = ("JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_CANCELLING")
ENDED = {
    "stockout": (8, "Resources are insufficient in region: us-central1. Please try a different region."),
    "internal": (13, "Internal error occurred. Please retry in a few minutes."),
    "program": (3, "The replica workerpool0-0 exited with a non-zero status of 1."),
}
TERM = re.compile(r'(labels\.(?P<label>\w+)="(?P<value>[^"]*)"|state!="(?P<state>\w+)"|createTime>="(?P<since>[^"]*)")')
CANCEL_SECONDS = 20.0
PROVISIONAL_SECONDS = 0.15
"""From the creation to the `startTime` of a job that waits, which is replaced when it runs (recorded in July 2026)."""


@dataclass
class Life:
    """One custom job at Vertex AI. Times are seconds of the run; `listed_at`: from when on lists show it.

    `runs_at` is a whole second, at least one after the creation: a `startTime` with a fraction counts as provisional.
    `end` is "" for success, else a key of ENDED. A stockout never runs.
    """

    name: str
    body: dict[str, Any]
    created_at: float
    listed_at: float
    runs_at: float
    ends_at: float
    end: str = ""
    cancelled_at: float = float("inf")
    deleted_at: float = float("inf")

    @property
    def request(self) -> str:
        """The id of the job that it was created for; "" if it was made outside Trainboard."""
        return str(self.body.get("labels", {}).get(JOB_LABEL, ""))

    @property
    def over_at(self) -> float:
        """The second in which it ends."""
        return min(self.ends_at, max(self.cancelled_at, self.created_at) + CANCEL_SECONDS)

    def state(self, seconds: float) -> str:
        """Return its state at a second of the run."""
        if seconds >= self.over_at:
            if self.ends_at > self.over_at:
                return "JOB_STATE_CANCELLED"
            return "JOB_STATE_FAILED" if self.end else "JOB_STATE_SUCCEEDED"
        if seconds >= self.cancelled_at:
            return "JOB_STATE_CANCELLING"
        return "JOB_STATE_RUNNING" if seconds >= self.runs_at else "JOB_STATE_PENDING"

    def has_run(self, seconds: float) -> bool:
        """Return whether its machines have begun to work."""
        return self.runs_at <= min(seconds, self.over_at, self.cancelled_at)

    def is_live(self, seconds: float) -> bool:
        """Return whether the job costs money now or will soon."""
        return self.state(seconds) in LIVE

    def document(self, seconds: float) -> dict[str, Any]:
        """Return it as an answer of the API."""
        state, changes = self.state(seconds), [self.created_at, self.runs_at, self.cancelled_at, self.over_at]
        found = self.body | {
            "name": self.name,
            "state": state,
            "createTime": _stamp(self.created_at),
            "updateTime": _stamp(max(at for at in changes if at <= seconds)),
        }
        if self.has_run(seconds):
            found["startTime"] = _stamp(self.runs_at)
        elif seconds >= self.created_at + PROVISIONAL_SECONDS:
            found["startTime"] = _stamp(self.created_at + PROVISIONAL_SECONDS)
        if state not in LIVE:
            found["endTime"] = _stamp(self.over_at)
        if state == "JOB_STATE_FAILED":
            code, message = ENDED[self.end]
            found["error"] = {"code": code, "message": message}
        return found


@dataclass
class Google:
    """Everything that exists. `faults`: share of calls that go wrong; `is_late`: answers come beyond every window.

    `leads` gives the `end` of the next jobs in order, before chance decides.
    """

    kernel: SiteKernel
    faults: float = 0.0
    is_late: bool = False
    outages: list[tuple[float, float]] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    reboots: int = 0
    creates: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    overlaps: list[str] = field(default_factory=list)
    """Times at which two processes worked on one job, in words."""
    _steps: dict[str, list[Process]] = field(default_factory=dict)

    def __call__(self, request: Request) -> Answer:
        """Answer one request, after its time."""
        self.calls += 1
        with self._step_of(request):
            return self._answer(request)

    def _answer(self, request: Request) -> Answer:
        if "customJobs" in request.path and request.method == "POST" and not request.path.endswith(":cancel"):
            return self._on_create(request)
        self._travel(request)
        if request.path.endswith("entries:list"):
            return Answer(200, {})
        if "/persistentResources" in request.path:
            return self._on_resource(request)
        if "customJobs" in request.path:
            return self._on_job(request)
        return Answer(200, {}) if request.method == "GET" else refusal(404, "NOT_FOUND", f"No {request.path} here.")

    def of(self, request: str) -> list[Life]:
        """Return all jobs of one request."""
        return [life for life in self.lives if life.request == request]

    def make(self, body: dict[str, Any], delay: float, *, lasts: float | None = None) -> list[Life]:
        """Create a job after a delay, whoever still waits for the answer; it is put into the list that is returned."""
        kernel, random = self.kernel, self.kernel.random
        made: list[Life] = []

        def create() -> None:
            kernel.current = None
            now, lag = kernel.seconds, random.choice([0.0, 0.0, 2.0, 20.0, 29.0])
            lag += random.choice([0.0, 60.0, 120.0]) if self.is_late else 0.0
            end = random.choice(["", "", "", "stockout", "internal", "program"])
            waits = random.choice([1, 5, 60, 200])
            starts_at = float(max(math.floor(now + waits), math.ceil(now + 1)))
            runs_at = float("inf") if end == "stockout" else starts_at
            ends_at = starts_at + (0 if end == "stockout" else lasts or random.choice([1, 60, 900, 9000]))
            name = f"projects/vision-research/locations/us-central1/customJobs/{len(self.lives) + 1}"
            self.lives.append(Life(name, body, now, now + lag, runs_at, ends_at, end))
            made.append(self.lives[-1])
            words = "Vertex AI creates job {} for {}; lists show it {:.0f} s later."
            kernel.log(words, len(self.lives), self.lives[-1].request or "somebody else", lag)

        kernel.start(create, at=kernel.seconds + delay)
        return made

    # ------------------------------------------------------------ custom jobs
    def _on_create(self, request: Request) -> Answer:
        kernel, random = self.kernel, self.kernel.random
        key = str(request.body.get("labels", {}).get(JOB_LABEL, ""))
        self.creates[key] = self.creates.get(key, 0) + 1
        is_odd = random.random() < self.faults
        connect = random.choice([0.1, 3.0, 4.9, 40.0]) if is_odd else 0.1
        kernel.sleep(min(connect, request.within))
        if connect >= request.within or self._is_out():
            raise requests.ConnectTimeout("could not be reached")
        left = request.within - connect
        odd = ["ok", "lost", "reset", "429", "400", "503", "slow", "late"] + ["late", "lost", "lost"] * 4 * self.is_late
        outcome = random.choice(odd) if is_odd else "ok"
        kernel.log("A create of {} leaves; its outcome is {}.", key, outcome)
        self._die_sometimes()
        refused = {
            "429": refusal(429, "RESOURCE_EXHAUSTED", "Too many calls.", random.choice([1, 30])),
            "400": refusal(400, "INVALID_ARGUMENT", "There is no such machine."),
            "503": refusal(503, "UNAVAILABLE", "The service is currently unavailable."),
        }
        if outcome in refused:
            kernel.sleep(0.2)
            return refused[outcome]
        if outcome == "reset":
            kernel.sleep(min(1.0, left))
            raise requests.ConnectionError("the connection broke")
        delay = {"ok": 0.5, "lost": 0.5, "slow": left * 0.9, "late": left * random.random()}[outcome]
        if outcome == "late" and self.is_late:
            delay = left + random.uniform(0, 120)
        made = self.make(request.body, delay)
        kernel.sleep(left if outcome in {"lost", "late"} else min(delay + 0.1, left))
        self._die_sometimes()
        if outcome in {"lost", "late"} or not made:
            raise requests.ReadTimeout("no answer in time")
        return Answer(200, made[0].document(kernel.seconds))

    def _on_job(self, request: Request) -> Answer:
        now = self.kernel.seconds
        if request.method == "GET" and request.path.endswith("/customJobs"):
            shown = [life for life in self.lives if life.listed_at <= now < life.deleted_at]
            documents = [life.document(now) for life in shown if _matches(life, request.query.get("filter", ""), now)]
            return Answer(200, {"customJobs": documents})
        name = request.path.removeprefix("/v1/").removesuffix(":cancel")
        life = next((life for life in self.lives if life.name == name and now < life.deleted_at), None)
        if life is None:
            return refusal(404, "NOT_FOUND", f"{name} is not found.")
        if request.method == "GET":
            return Answer(200, life.document(now))
        if request.method == "DELETE":
            return self._on_delete(life)
        if not life.is_live(now) or (self.faults and self.kernel.random.random() < 0.2):
            self.kernel.log("Vertex AI refuses to cancel {}.", life.name)
            return refusal(400, "FAILED_PRECONDITION", "It cannot be cancelled in its state.")
        if not self.faults or self.kernel.random.random() < 0.7:  # the others are accepted and not carried out
            life.cancelled_at = min(life.cancelled_at, now)
            self.kernel.log("Vertex AI begins to cancel {}.", life.name)
        return Answer(200, {})

    def _on_delete(self, life: Life) -> Answer:
        now = self.kernel.seconds
        if life.is_live(now):
            return refusal(400, "FAILED_PRECONDITION", "A job that runs cannot be deleted.")
        life.deleted_at = now + self.kernel.random.choice([0.0, 0.0, 40.0])
        return Answer(200, {"name": "operations/1", "done": life.deleted_at <= now})

    # ------------------------------------------------------------ persistent resources
    def _on_resource(self, request: Request) -> Answer:
        name, verb = re.fullmatch(r".*/persistentResources/?([^:]*):?(\w*)", request.path).groups()  # type: ignore[union-attr]
        if request.method == "POST" and not name:
            name = request.query["persistentResourceId"]
            if name in self.resources:
                return refusal(409, "ALREADY_EXISTS", f"{name} exists.")
            where = "projects/vision-research/locations/us-central1/persistentResources"
            stamp = {"name": f"{where}/{name}", "state": "RUNNING", "createTime": _stamp(self.kernel.seconds)}
            self.resources[name] = request.body | stamp
        elif request.method == "GET" and not name:
            return Answer(200, {"persistentResources": list(self.resources.values())})
        elif name not in self.resources:
            return refusal(404, "NOT_FOUND", f"{name} is not found.")
        elif request.method == "GET":
            return Answer(200, self.resources[name])
        elif request.method == "DELETE":
            del self.resources[name]
        elif verb == "reboot":
            self.reboots += 1
        else:
            self.resources[name] |= request.body
        return self._after(request, Answer(200, {"name": "operations/2", "done": True}))

    def _after(self, request: Request, answer: Answer) -> Answer:
        """Lose the answer of a change sometimes."""
        if self.kernel.random.random() < self.faults * 0.3:
            self.kernel.sleep(request.within)
            raise requests.ReadTimeout("no answer in time")
        return answer

    # ------------------------------------------------------------ every call
    @contextmanager
    def _step_of(self, request: Request) -> Iterator[None]:
        """Note whether two processes create or look up one job at once although the first may still hold its claim.

        A claim ends by the database's clock. If that steps forward, another process takes the job, and only what both
        then do is judged.
        """
        found = re.search(f'labels.{JOB_LABEL}="([^"]+)"', request.query.get("filter", ""))
        key = found[1] if found else str(request.body.get("labels", {}).get(JOB_LABEL, ""))
        process = self.kernel.current
        if not key or process is None:
            yield
            return
        now = self.kernel.database_now
        # A process that a slow statement kept beyond its own claim may still look the job up: it can write nothing.
        is_harmless = request.method == "GET" and now >= process.task_began_at + JOB_LEASE
        for other in self._steps.setdefault(key, []):
            if now < other.task_began_at + JOB_LEASE and not is_harmless:
                self.overlaps.append(f"{other.name} and {process.name} work on job {key} at once.")
        self._steps[key].append(process)
        try:
            yield
        finally:
            self._steps[key].remove(process)

    def _travel(self, request: Request) -> None:
        kernel, random = self.kernel, self.kernel.random
        is_odd = random.random() < self.faults
        self._die_sometimes()
        kernel.sleep(min(random.uniform(1, 25) if is_odd else 0.1, request.within))
        self._die_sometimes()
        if self._is_out() or (is_odd and random.random() < 0.4):
            raise requests.ConnectionError("the connection broke")

    def _die_sometimes(self) -> None:
        process = self.kernel.current
        if process is not None:
            share = process.faults.kill_share
            if process.is_killed or (share and self.kernel.random.random() < share):
                process.is_killed = True
                raise Killed

    def _is_out(self) -> bool:
        return any(begins <= self.kernel.seconds < ends for begins, ends in self.outages)


def _stamp(seconds: float) -> str:
    return moment_of(seconds).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _matches(life: Life, wanted: str, seconds: float) -> bool:
    """Return whether a job matches a list's filter, of the terms that Trainboard uses. Raise ValueError for others."""
    for term in filter(None, wanted.split(" AND ")):
        found = TERM.fullmatch(term)
        if found is None:
            raise ValueError(f"The imitation of Vertex AI does not know the filter {term}.")
        if found["label"] and life.body.get("labels", {}).get(found["label"]) != found["value"]:
            return False
        if found["state"] and life.state(seconds) == found["state"]:
            return False
        if found["since"] and _stamp(life.created_at) < found["since"]:
            return False
    return True
