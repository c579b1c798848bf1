"""Jobs of all strategies and kinds that follow random scripts in the emulator, with the emulator's record of them.

Waits, run times and preemptions come from distributions that no estimate knows, and are scripted in the emulator. The
site learns of them only by polling. The cost of each job is computed here without the product's code.
"""

import math
import random
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from jobs import requests, steps
from jobs.models import Job, Price, Team
from jobs.prices.record import record_price
from tests.domain.conftest import Cloud, look
from tests.support import samples
from tests.support.played_jobs import KINDS, PLANS
from tests.support.truth import machine_spans

POLL, INCREMENT = 30, 30
RATE = 0.25
"""Preemptions per machine and hour. It is high because the jobs are short and start over after each."""
WAITS = {"standard": 90, "spot": 300, "flex_start": 1200, "reservation": 60, "persistent": 1}
FEE, DISK = Decimal("0.15"), 100 * Decimal("0.1955") / 730
ON_DEMAND = {"a2-highgpu-1g": Decimal("3.673385"), "g2-standard-8": Decimal("0.853624271")}
LISTED = {
    ("a2-highgpu-1g", "spot"): Decimal("2.20401"),
    ("g2-standard-8", "spot"): Decimal("0.479872"),
    ("a2-highgpu-1g", "flex_start"): Decimal("2.02038"),
    ("a2-highgpu-1g", "reservation"): ON_DEMAND["a2-highgpu-1g"],
}
"""Compute Engine prices in us-central1, also in the price book (source: its data files)."""
NEW_SPOT = Decimal("2.75")
"""Spot price of an A100 machine after `Sender.raise_price`."""
FEW = 20
"""With this few unfinished jobs, the emulator is asked for the time of their next event."""


@dataclass
class Sent:
    """A job that was sent, and the hourly price of one of its machines at that time."""

    job: Job
    strategy: str
    replicas: int
    machine_usd: Decimal


def machine_usd(machine: str, strategy: str, *, is_late: bool) -> Decimal:
    """Return the hourly price of a machine with its boot disk, by the rules of docs/cost.md, section 1."""
    if strategy == "persistent":
        return Decimal(0)
    if strategy == "standard":
        return ON_DEMAND[machine] * (1 + FEE) + DISK
    listed = LISTED[machine, strategy]
    if is_late and (machine, strategy) == ("a2-highgpu-1g", "spot"):
        listed = NEW_SPOT
    return listed + ON_DEMAND[machine] * FEE + DISK


@dataclass
class Sender:
    """Draws random jobs, scripts them in the emulator, and requests and sends them as the site does."""

    team: Team
    by: User
    cloud: Cloud
    chance: random.Random
    count: int = 0
    is_late: bool = False

    def send(self) -> Sent:
        """Send the next job."""
        self.count += 1
        strategy, changes = self.chance.choice(PLANS)
        kind, name = self.chance.choice(KINDS), f"job-{self.count:03}"
        replicas = self.chance.choice((1, 1, 2)) if kind == "custom_job" and strategy != "persistent" else 1
        if replicas > 1:
            changes = changes | {"extra_replicas": replicas - 1}
        expected = self.chance.randrange(1200, 5400)
        for trial in (f"{name}_trial_{n}" for n in range(1, 5)) if kind == "hyperparameter_tuning_job" else (name,):
            self._script(trial, strategy, replicas, expected)
        job = requests.request_job(
            submission=samples.submission(kind=kind, name=name, **changes), team=self.team, by=self.by,
            expected=timedelta(seconds=expected), request_key=name, now=self.cloud.now,
        )  # fmt: skip
        steps.advance(job.pk, clock=self.cloud.clock)
        job.refresh_from_db()
        assert job.is_remote, (name, strategy, kind, job.state, job.last_error)
        machine = changes.get("machine", samples.A100)["machineType"]
        return Sent(job, strategy, replicas, machine_usd(machine, strategy, is_late=self.is_late))

    def raise_price(self) -> None:
        """Record another price, which applies to jobs sent from now on."""
        record_price(
            ("a2-highgpu-1g", "us-central1", "spot", Price.Basis.COMPUTE_ENGINE), NEW_SPOT, source="a bill",
            source_url="", as_of=self.cloud.now.date(), is_official=False, reason="It rose.",
            by=User.objects.create_superuser("price-admin"), now=self.cloud.now,
        )  # fmt: skip
        self.is_late = True

    def _script(self, name: str, strategy: str, preemptible: int, expected: int) -> None:
        """Draw a wait, a run with a median of 1.25 times the expected time, and its preemptions."""
        wait = math.exp(self.chance.gauss(math.log(WAITS[strategy]), 0.7))
        run = round(expected * math.exp(self.chance.gauss(math.log(1.25), 0.2)))
        cuts: list[int] = []
        rate = RATE * preemptible / 3600 if strategy == "spot" else 0.0
        while rate and (until := self.chance.expovariate(rate)) < run:
            cuts.append(max(POLL, round(until)))  # a shorter run may fall between two polls
        self.cloud.script("happy", f"{name}*", queue_seconds=round(wait), run_seconds=run, preempt_after=cuts)


def watch_all(cloud: Cloud) -> None:
    """Poll after every event in the emulator until all jobs have ended."""
    while count := Job.objects.unfinished().count():
        wait = cloud.quiet_seconds() if count <= FEW else 0
        cloud.forward(seconds=(wait // POLL + 1) * POLL)
        look(cloud)
    for _ in range(4):  # reads log lines that arrive later
        cloud.forward(minutes=3)
        look(cloud)


def truth(cloud: Cloud) -> dict[str, Any]:
    """Return the emulator's record."""
    return dict(cloud._emulator.truth())


def true_seconds(life: dict[str, Any]) -> int:
    """Return the whole seconds in which the machines of a job ran, by the emulator's record."""
    ran = sum((end - start for start, end in machine_spans(life)), timedelta())
    return math.ceil(ran.total_seconds())


def true_micros(sent: Sent, runs: dict[str, list[int]]) -> int:
    """Return the cost in micro-dollars: whole half minutes of each job or trial, at the price when the job was sent.

    The price of an hour, of all that runs at once, is rounded once to a micro-dollar.
    """
    increments = sum(-(-seconds // INCREMENT) for seconds in runs[sent.job.remote_name])
    at_once = int(sent.job.spec.get("parallelTrialCount") or 1)
    price = round(sent.machine_usd * sent.replicas * at_once * 1_000_000) * increments * INCREMENT
    return (2 * price + 3600 * at_once) // (2 * 3600 * at_once)  # rounded half up


def true_runs(cloud: Cloud) -> dict[str, list[int]]:
    """Return the billed seconds by job: of a custom job, of a tuning job's trials, of a pipeline's job."""
    runs: dict[str, list[int]] = {}
    for job in truth(cloud)["jobs"]:
        runs.setdefault(job["owner"] or job["name"], []).append(true_seconds(job))
    return runs
