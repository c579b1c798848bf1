"""Jobs of all strategies and kinds that follow drawn scripts in the emulator, and the emulator's truth of them.

Waits, run times and preemptions are drawn from distributions that no estimate knows, and scripted in the emulator; the
site knows them by its polling only. What each job cost is counted here by none of the product's code.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from django.contrib.auth.models import User

from jobs import requests, steps
from jobs.models import Job, Price, Team
from jobs.prices.record import record_price
from tests.domain.conftest import Cloud, look
from tests.support import samples
from tests.support.played_jobs import KINDS, PLANS

POLL, INCREMENT = 30, 30
RATE = 0.25
"""Preemptions per machine and hour: the jobs are short, and begin anew after each."""
WAITS = {"standard": 90, "spot": 300, "flex_start": 1200, "reservation": 60, "persistent": 1}
FEE, DISK = Decimal("0.15"), 100 * Decimal("0.1955") / 730
ON_DEMAND = {"a2-highgpu-1g": Decimal("3.673385"), "g2-standard-8": Decimal("0.853624271")}
LISTED = {
    ("a2-highgpu-1g", "spot"): Decimal("2.20401"),
    ("g2-standard-8", "spot"): Decimal("0.479872"),
    ("a2-highgpu-1g", "flex_start"): Decimal("2.02038"),
    ("a2-highgpu-1g", "reservation"): ON_DEMAND["a2-highgpu-1g"],
}
"""Compute Engine's prices in us-central1, which the price book holds too (reference: its data files)."""
NEW_SPOT = Decimal("2.75")
"""Of an A100 machine, once `Sender.raise_price` was called."""
FEW = 20
"""Unfinished jobs, of which the emulator is asked when something happens to them next."""


@dataclass
class Sent:
    """A job that was sent, and what one of its machines cost an hour at that moment."""

    job: Job
    strategy: str
    replicas: int
    machine_usd: Decimal


def machine_usd(machine: str, strategy: str, *, is_late: bool) -> Decimal:
    """Return what an hour of a machine with its boot disk costs, by the rules of docs/cost.md, section 1."""
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
    """Draws jobs, scripts what happens to them in the emulator, and requests and sends them as the site does."""

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
        """Record another price, which counts for the jobs that are sent from now on."""
        record_price(
            ("a2-highgpu-1g", "us-central1", "spot", Price.Basis.COMPUTE_ENGINE), NEW_SPOT, source="a bill",
            source_url="", as_of=self.cloud.now.date(), is_official=False, reason="It rose.",
            by=User.objects.create_superuser("price-admin"), now=self.cloud.now,
        )  # fmt: skip
        self.is_late = True

    def _script(self, name: str, strategy: str, preemptible: int, expected: int) -> None:
        """Draw a wait, a run that is a quarter longer than expected, and when it is preempted and begins anew."""
        wait = math.exp(self.chance.gauss(math.log(WAITS[strategy]), 0.7))
        run = round(expected * math.exp(self.chance.gauss(math.log(1.25), 0.2)))
        cuts: list[int] = []
        rate = RATE * preemptible / 3600 if strategy == "spot" else 0.0
        while rate and (until := self.chance.expovariate(rate)) < run:
            cuts.append(max(POLL, round(until)))  # a shorter run may fall between two polls
        self.cloud.script("happy", f"{name}*", queue_seconds=round(wait), run_seconds=run, preempt_after=cuts)


def watch_all(cloud: Cloud) -> None:
    """Poll after everything that happens at the emulator, until all jobs have ended; others are left out."""
    while count := Job.objects.unfinished().count():
        wait = cloud.quiet_seconds() if count <= FEW else 0
        cloud.forward(seconds=(wait // POLL + 1) * POLL)
        look(cloud)
    for _ in range(4):  # what the log still tells
        cloud.forward(minutes=3)
        look(cloud)


def truth(cloud: Cloud) -> dict[str, Any]:
    """What the emulator knows."""
    return dict(cloud._emulator.truth())


def true_seconds(history: Iterable[dict[str, str]]) -> int:
    """Return the whole seconds in RUNNING, by the emulator's own record."""
    moments = [(datetime.fromisoformat(each["at"]), each["state"]) for each in history]
    ran = sum((end - at for (at, state), (end, _) in pairwise(moments) if state == "JOB_STATE_RUNNING"), timedelta())
    return math.ceil(ran.total_seconds())


def true_cents(sent: Sent, runs: dict[str, list[int]]) -> int:
    """Return US cents: each job's or trial's time in whole half minutes, at the price of its submission."""
    increments = sum(-(-seconds // INCREMENT) for seconds in runs[sent.job.remote_name])
    usd = sent.machine_usd * sent.replicas * increments * INCREMENT / 3600
    return int((usd * 100).to_integral_value())


def true_runs(cloud: Cloud) -> dict[str, list[int]]:
    """Return the billed seconds of each custom job, of a tuning job those of its trials, of a pipeline its job's."""
    runs: dict[str, list[int]] = {}
    for job in truth(cloud)["jobs"]:
        runs.setdefault(job["owner"] or job["name"], []).append(true_seconds(job["history"]))
    return runs
