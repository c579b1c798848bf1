"""Check a job against what is left of its budgets, and check its own cap. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from jobs.cost import format_usd, round_up
from jobs.spec import Finding, Severity
from jobs.texts import month_of
from jobs.texts import translatable as _

SOURCE = "budget of the team"


class Passing(StrEnum):
    """What happens to a job that may exceed a budget; the values are stored."""

    WARN = "warn"
    """People get a message."""
    ASK = "ask"
    """An approver decides."""
    STOP = "stop"
    """The job is refused."""


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    """One budget in one calendar month (UTC), in US dollars.

    `spent_usd` is the cost of jobs in the month. `committed_usd` is what allowed jobs that have not ended may still
    cost: the cost until their timeout, or their cap, less their cost so far.
    """

    name: str
    month: date
    """First day of the month."""
    limit_usd: Decimal
    spent_usd: Decimal
    committed_usd: Decimal
    passing: Passing = Passing.WARN

    @property
    def left_usd(self) -> Decimal:
        """What further jobs may cost; negative if more is spent and committed than the limit."""
        return self.limit_usd - self.spent_usd - self.committed_usd

    @property
    def over_usd(self) -> Decimal:
        """The amount spent and committed above the limit; zero if the budget is not exceeded."""
        return max(-self.left_usd, Decimal(0))


SEVERITIES = {Passing.WARN: Severity.NOTE, Passing.ASK: Severity.APPROVAL, Passing.STOP: Severity.ERROR}


def check(most_usd: Decimal | None, budgets: Iterable[BudgetLeft]) -> tuple[Finding, ...]:
    """Return the findings of budgets about a request that may cost `most_usd`; None means the cost is unknown.

    For a sweep, `most_usd` is the most that all its jobs together may cost. A request that costs nothing gets no
    finding.
    """
    return tuple(found for budget in budgets if (found := _check(most_usd, budget)) is not None)


def _check(most_usd: Decimal | None, budget: BudgetLeft) -> Finding | None:
    if most_usd is None:
        severity = Severity.NOTE if budget.passing is Passing.WARN else Severity.APPROVAL
        message = _("Its cost is not known, so it is not checked against %(budget)s.", budget=_name(budget))
        return Finding("budget_cost_unknown", severity, "", message, source=SOURCE)
    most_usd = round_up(most_usd)
    if not most_usd or most_usd <= budget.left_usd:
        return None
    words = {"usd": format_usd(most_usd), "budget": _name(budget), "left": _left(budget)}
    message = _("It may cost %(usd)s, and of %(budget)s %(left)s.", **words)
    remedy = _("Set a shorter timeout or a cap on its cost, or wait until other jobs have ended.")
    return Finding("over_budget", SEVERITIES[budget.passing], "", message, remedy, source=SOURCE)


MAX_CAP_USD = Decimal(10) ** 11


def is_usable_cap(cap_usd: Decimal) -> bool:
    """Return whether an amount can be the cap of a job."""
    return cap_usd.is_finite() and 0 < cap_usd < MAX_CAP_USD


def check_cap(
    cap_usd: Decimal | None, low_usd: Decimal | None, expected_usd: Decimal | None, *, cancels: bool
) -> tuple[Finding, ...]:
    """Return the findings about a cap, compared with the low and expected cost of the job."""
    if cap_usd is None:
        return ()
    if not is_usable_cap(cap_usd):
        message, remedy = _("A cap is an amount above $0.00."), _("Write another one.")
        return (Finding("cap_not_usable", Severity.ERROR, "", message, remedy),)
    if low_usd is None or expected_usd is None:
        message = _("The price of this job is not known, so its cap cannot be enforced.")
        return (Finding("cap_without_price", Severity.NOTE, "", message),)
    least = low_usd if cap_usd < low_usd else expected_usd
    if cap_usd >= least:
        return ()
    words = {"least": format_usd(least), "cap": format_usd(cap_usd)}
    message = _("It is expected to cost at least %(least)s, more than its cap of %(cap)s.", **words)
    remedy = _("At its cost cap, its team is notified and the job continues, as the team's policy says.")
    if cancels:
        remedy = _("At its cost cap, the job is cancelled.")
    return (Finding("cap_below_estimate", Severity.NOTE, "", message, remedy),)


def _name(budget: BudgetLeft) -> str:
    return _("the budget “%(name)s” for %(month)s", name=budget.name, month=month_of(budget.month))


def _left(budget: BudgetLeft) -> str:
    """Return a sentence with what is left of a budget, or what it lacks, and where the rest went."""
    words = {
        "limit": format_usd(budget.limit_usd),
        "spent": format_usd(budget.spent_usd),
        "committed": format_usd(budget.committed_usd),
        "usd": format_usd(abs(budget.left_usd)),
    }
    if budget.left_usd >= 0:
        return _("%(usd)s is left: of %(limit)s, %(spent)s are spent and %(committed)s committed", **words)
    return _(
        "nothing is left: of %(limit)s, %(spent)s are spent and %(committed)s committed, %(usd)s too much", **words
    )
