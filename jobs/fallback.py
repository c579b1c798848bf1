"""Fallback plans: the further attempts of a request whose job gets no capacity or is stopped by Vertex AI. Pure.

The first attempt is the job as requested. Each further attempt is the same job, unchanged or with another strategy or
region.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from jobs.spec import Submission
from jobs.strategies import STRATEGIES, strategy_label
from jobs.texts import translatable as _

MAX_FURTHER = 4
"""Further attempts of one request, so a request makes at most five jobs."""
MAX_WAIT_HOURS = 24 * 14
SAME = ""
"""The strategy or region of the request."""
FREE_STRATEGIES = sorted(
    (key for key, each in STRATEGIES.items() if not each.is_held), key=lambda key: -STRATEGIES[key].safety
)
"""Strategies that need no reservation and no persistent resource, the riskiest first."""


class Reason(StrEnum):
    """Why an attempt ended, as far as another attempt can help; the values are stored."""

    CAPACITY = "capacity"
    """It did not run: no capacity, no quota, or it waited longer than the request allows."""
    PREEMPTED = "preempted"
    """It ran and was preempted more often than Vertex AI restarts such a job."""
    INTERNAL = "internal"
    """Vertex AI failed."""


REASON_WORDS = {
    Reason.CAPACITY: _("it got no capacity"),
    Reason.PREEMPTED: _("it was preempted until no restart was left"),
    Reason.INTERNAL: _("Vertex AI failed"),
}
CAUSES = {
    "stockout": Reason.CAPACITY,
    "quota": Reason.CAPACITY,
    "flex_wait": Reason.CAPACITY,
    "preempted": Reason.PREEMPTED,
    "internal": Reason.INTERNAL,
    "unavailable": Reason.INTERNAL,
}
"""Causes of `jobs.diagnosis` that another attempt can help with. Other causes lie in the program or the request."""


@dataclass(frozen=True, slots=True)
class Step:
    """One further attempt: a strategy and a region; SAME means that of the request."""

    strategy: str = SAME
    region: str = SAME


@dataclass(frozen=True, slots=True)
class Plan:
    """The further attempts of a request.

    `reasons` are the reasons that start the next attempt. An attempt that has waited `wait_hours` for its first run is
    cancelled if another can follow; None means no limit. All attempts together cost at most `max_usd`.
    """

    steps: tuple[Step, ...]
    reasons: frozenset[Reason] = frozenset(Reason)
    wait_hours: int | None = None
    max_usd: Decimal | None = None

    @property
    def size(self) -> int:
        """The number of attempts, the first included."""
        return len(self.steps) + 1

    def cap(self, cap_usd: Decimal | None, spent_usd: Decimal = Decimal(0)) -> Decimal | None:
        """Return the cap of an attempt after others have cost `spent_usd`; `cap_usd` is the cap of the request."""
        left = None if self.max_usd is None else self.max_usd - spent_usd
        return min((usd for usd in (cap_usd, left) if usd is not None), default=None)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "steps": [{"strategy": step.strategy, "region": step.region} for step in self.steps],
            "reasons": sorted(self.reasons),
            "wait_hours": self.wait_hours,
            "max_usd": None if self.max_usd is None else str(self.max_usd),
        }


def plan_of(kept: Mapping[str, Any]) -> Plan:
    """Return the plan from the JSON of `Plan.as_dict`."""
    return Plan(
        tuple(Step(each["strategy"], each["region"]) for each in kept["steps"]),
        frozenset(map(Reason, kept["reasons"])),
        kept["wait_hours"],
        None if kept["max_usd"] is None else Decimal(kept["max_usd"]),
    )


def problems_of(plan: Plan) -> list[str]:
    """Return sentences with what is wrong with a plan; empty if it is valid."""
    found: list[str] = []
    if not 0 < len(plan.steps) <= MAX_FURTHER:
        found.append(_("A request has one to %(limit)s further attempts.", limit=MAX_FURTHER))
    if any(len(step.region) > 40 or not (step.region.isascii() and step.region.isprintable()) for step in plan.steps):
        found.append(_("A region is a name such as europe-west4, of at most 40 characters."))
    if any(step.strategy not in (SAME, *FREE_STRATEGIES) for step in plan.steps):
        found.append(
            _(
                "The strategy of a further attempt is that of the request or one of %(names)s.",
                names=", ".join(FREE_STRATEGIES),
            )
        )
    if not plan.reasons:
        found.append(_("Choose at least one reason for a further attempt."))
    if plan.wait_hours is not None and not 0 < plan.wait_hours <= MAX_WAIT_HOURS:
        found.append(_("An attempt may wait 1 to %(limit)s hours.", limit=MAX_WAIT_HOURS))
    if plan.max_usd is not None and not (plan.max_usd.is_finite() and 0 < plan.max_usd < Decimal(10) ** 11):
        found.append(_("The most that all attempts may cost is an amount above $0.00."))
    return found


def apply(submission: Submission, step: Step) -> Submission:
    """Return the job of a further attempt; `submission` is the first attempt."""
    changed = STRATEGIES[step.strategy].apply(submission) if step.strategy else submission
    return replace(changed, region=step.region) if step.region else changed


def attempts_of(submission: Submission, plan: Plan) -> list[Submission]:
    """Return the job of each attempt, in order."""
    return [submission, *(apply(submission, step) for step in plan.steps)]


def worst_case(most: Sequence[Decimal | None], plan: Plan) -> Decimal | None:
    """Return the most that all attempts may cost, from the most of each; None if that is not known.

    Every attempt may run almost to its end before it is preempted. One begins only while less than `max_usd` is spent,
    but nothing stops it there if Trainboard is down.
    """
    spent = worst = Decimal(0)
    for usd in most:
        if usd is None:
            return None
        before = spent if plan.max_usd is None else min(spent, plan.max_usd)
        worst, spent = max(worst, before + usd), spent + usd
    return worst


def path_words(strategy: str, region: str, plan: Plan) -> str:
    """Return the attempts in one line, such as "Spot → Standard → Standard · europe-west4".

    `strategy` is that of the first attempt.
    """
    words = []
    for step in (Step(strategy, region), *plan.steps):
        key = step.strategy or strategy
        label = strategy_label(key)
        words.append(f"{label} · {step.region}" if step.region and step.region != region else label)
    return " → ".join(words)


def reason_of(cause: str, *, has_run: bool) -> Reason | None:
    """Return the reason for another attempt, from the cause of a diagnosis; None if another attempt cannot help.

    A Spot job that never ran and has used its restarts found no capacity each time.
    """
    found = CAUSES.get(cause)
    if found is Reason.PREEMPTED and not has_run:
        return Reason.CAPACITY
    return Reason.PREEMPTED if cause == "stockout" and has_run else found
