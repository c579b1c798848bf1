"""Compute Engine's advice about VMs like those of a job: the question, the answer, and what an estimate takes of it.

The answers are about Spot VMs of Compute Engine in a project, not about training; docs/cost.md, section 5. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from jobs.catalog import ACCELERATORS, MACHINES, REGIONS
from jobs.spec import Submission

MAX_KINDS = 3
"""Kinds of machines of one job that are asked about."""
MAX_SIZE = 1_000
"""More VMs are not asked about."""
LIKELY, POSSIBLE = 0.7, 0.4
"""From these scores on, Google calls the chance high and medium ("View the availability of Spot VMs",
docs.cloud.google.com/compute/docs/instances/view-vm-availability, read 2026-11-28)."""
MIN_DAYS = 3
"""Days that a history needs before it replaces the documented rate."""
MIN_SHARE, MAX_SHARE = 0.001, 0.95
"""Limits of a day's share in an estimate: nothing is never preempted, and a rate must stay finite."""


class Method(StrEnum):
    """A method of Compute Engine's collection `advice`; the values are stored."""

    CAPACITY = "capacity"
    """How likely Spot VMs can be had now, and how long most of them run."""
    HISTORY = "capacityHistory"
    """How many of the Spot VMs were preempted on each of the last days."""
    CALENDAR = "calendarMode"
    """When and in which zone VMs could be reserved for some days."""


class Vms(NamedTuple):
    """Equal VMs to ask about; the accelerator is Vertex AI's name, "" for a machine type with GPUs of its own."""

    machine_type: str
    accelerator: str = ""
    accelerator_count: int = 0
    size: int = 1
    days: int = 0
    """Days of a reservation; 0 for other questions."""


class Question(NamedTuple):
    """One question about VMs in a region."""

    region: str
    method: Method
    vms: Vms


@dataclass(frozen=True, slots=True)
class Advice:
    """What is known of one question: the last answer if it is recent, why there is none, or that it is awaited."""

    answer: Mapping[str, Any] | None = None
    read_at: datetime | None = None
    error: str = ""
    is_awaited: bool = False

    @property
    def obtainability(self) -> float | None:
        """How likely Spot VMs can be had, 0 to 1; None if that is not known."""
        return None if self.answer is None else self.answer.get("obtainability")

    @property
    def uptime_seconds(self) -> int | None:
        """How long most such VMs run at least before they are preempted; None if the answer has none."""
        return None if self.answer is None else self.answer.get("uptime_seconds")

    @property
    def rates(self) -> list[float]:
        """The preemption rate of each of the last days, oldest first; [] if they are not known."""
        return [float(rate) for _day, rate in self.answer.get("rates", ())] if self.answer is not None else []


@dataclass(frozen=True, slots=True)
class PreemptionRates:
    """The share of Spot VMs that was preempted on a day, over the last `days` days: least, mean and most."""

    low: float
    usual: float
    high: float
    days: int
    read_at: datetime
    machine: str
    region: str


def vms_of(submission: Submission) -> tuple[Vms, ...]:
    """Return the VMs of a job, with the count of all its pools; () if one of them cannot be asked about.

    These are TPUs, machines and regions that the catalogue does not have, and very many machines.
    """
    counts: dict[Vms, int] = {}
    if submission.region not in REGIONS:
        return ()
    for _index, pool in submission.pools:
        spec, known = pool.machine_spec, MACHINES.get(pool.machine_spec.machine_type)
        if known is None or known.is_tpu or not known.trainable:
            return ()
        one = Vms(known.machine_type)
        if spec.accelerator and known.gpu_attach != "fixed":
            if spec.accelerator not in ACCELERATORS or not known.takes(spec.accelerator, spec.accelerator_count):
                return ()
            one = Vms(known.machine_type, spec.accelerator, spec.accelerator_count)
        counts[one] = counts.get(one, 0) + max(pool.replicas, 0) * submission.parallel_trials
    found = tuple(one._replace(size=count) for one, count in counts.items() if count)
    return found if len(found) <= MAX_KINDS and all(one.size <= MAX_SIZE for one in found) else ()


def rates_of(advice: Advice | None, vms: Vms, region: str) -> PreemptionRates | None:
    """Return the preemption rates of a history, or None if it is not known or has less than MIN_DAYS days."""
    if advice is None or advice.read_at is None or len(rates := advice.rates) < MIN_DAYS:
        return None
    low, usual, high = (
        min(max(share, MIN_SHARE), MAX_SHARE) for share in (min(rates), sum(rates) / len(rates), max(rates))
    )
    return PreemptionRates(low, usual, high, len(rates), advice.read_at, vms.machine_type, region)


def least_likely(found: Iterable[Advice]) -> Advice | None:
    """Return the advice that decides for a job with several kinds of machines: it needs all of them."""
    every: Sequence[Advice] = list(found)
    known = [each for each in every if each.obtainability is not None]
    if len(known) < len(every):
        return next(each for each in every if each.obtainability is None)
    return min(known, key=lambda each: each.obtainability or 0.0, default=None)
