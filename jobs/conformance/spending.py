"""The budget of a run. Every create passes `RunBudget.commit` with the most that it can cost if this process ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from jobs import cost, spec, strategies
from jobs.cost import PriceBook

SURPLUS_SECONDS = 180
"""Added to the timeout of each run, because machines are also billed while the service stops a job."""
HOUR = Decimal(3600)


class OverBudget(Exception):
    """A create, or a job that runs longer than planned, would exceed the budget."""


class NoPrice(OverBudget):
    """The price of a machine is not known, so no budget can be kept."""


@dataclass
class RunBudget:
    """The limit in USD, the most that each request can cost, and what the polls show that it has cost."""

    limit: Decimal
    committed: dict[int, Decimal] = field(default_factory=dict)
    spent: dict[int, Decimal] = field(default_factory=dict)

    @property
    def spent_usd(self) -> Decimal:
        """What all requests have cost, as far as the polls show."""
        return sum(self.spent.values(), Decimal(0))

    def commit(self, number: int, usd: Decimal) -> None:
        """Reserve the most that a request can cost, in place of what was reserved for it before.

        Raise OverBudget, and reserve nothing, if that is too much.
        """
        total = sum(self.committed.values(), Decimal(0)) - self.committed.get(number, Decimal(0)) + usd
        if total > self.limit:
            words = f"Another {cost.format_usd(usd)} could bring the cost to {cost.format_usd(total)}"
            raise OverBudget(f"{words}, over the budget of {cost.format_usd(self.limit)}.")
        self.committed[number] = usd

    def add(self, number: int, usd: Decimal) -> None:
        """Add what a request has cost. Raise OverBudget if that is more than was reserved for it."""
        self.spent[number] = self.spent.get(number, Decimal(0)) + usd
        if self.spent[number] > self.committed.get(number, Decimal(0)):
            words = f"A job has cost {cost.format_usd(self.spent[number])} by now, more than it could by its timeout"
            raise OverBudget(f"{words}, so everything is cancelled.")


def hourly_usd(kind: str, body: Mapping[str, Any], *, region: str, book: PriceBook) -> Decimal:
    """Return what a job's machines cost per hour, for all trials that run at once. Raise NoPrice if not known."""
    read, _ = spec.read(kind, dict(body))
    if read is None:
        raise NoPrice("The body of an experiment cannot be read.")
    submission = spec.Submission(kind=kind, project="", region=region, job=read)
    key = strategies.strategy_of(submission).price_key
    rate = cost.rate_of(submission, price_key=key, book=book)
    if rate.usd_per_hour is None:
        raise NoPrice(f"No price is known in {region}: {' '.join(rate.notes)}")
    return rate.usd_per_hour * submission.parallel_trials


def most_usd(hourly: Decimal, *, timeout_seconds: float, runs: int) -> Decimal:
    """Return the most that a job can cost if each of its runs lasts until the timeout."""
    return hourly * (Decimal(str(timeout_seconds)) + SURPLUS_SECONDS) / HOUR * runs
