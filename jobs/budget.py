"""Check a job against what is left of its budgets, and check its own cap. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

from jobs.cost import Estimate, format_usd, round_up
from jobs.spec import Finding, Severity
from jobs.texts import month_of
from jobs.texts import translatable as _

SOURCE = "budget of the team"
SECOND = timedelta(seconds=1)


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
    cost if nobody but Google ends them, less their cost so far.
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


def timeout_for_cap(cap_usd: Decimal, cost: Estimate) -> timedelta | None:
    """Return the longest timeout, in whole minutes, at which Google keeps a job within its cap.

    None if the job keeps its timeout: it is short enough already, no price is known, or the job would be stopped before
    it has run for the expected time.
    """
    most = cost.most_usd
    if most is None or not is_usable_cap(cap_usd) or most <= cap_usd:
        return None
    billed = cap_usd / most * (cost.longest_billed() // SECOND)
    minutes = int((billed - cost.beyond // SECOND) / 60)
    return timedelta(minutes=minutes) if minutes > 0 and minutes >= cost.hours * 60 else None


def check_cap(cap_usd: Decimal | None, cost: Estimate, *, cancels: bool, is_approvers: bool) -> tuple[Finding, ...]:
    """Return the findings about a cap: who enforces it, and whether it is below what the job is expected to cost.

    A cap below the low estimate needs an approval: the job will most likely be cancelled, or the cap was written to
    pass a limit.
    """
    if cap_usd is None:
        return ()
    if not is_usable_cap(cap_usd):
        message, remedy = _("A cap is an amount above $0.00."), _("Write another one.")
        return (Finding("cap_not_usable", Severity.ERROR, "", message, remedy),)
    if cost.low_usd is None or cost.expected_usd is None:
        message = _("The price of this job is not known, so its cap cannot be enforced.")
        return (Finding("cap_without_price", Severity.NOTE, "", message),)
    found = [] if is_approvers or not cancels else _who_enforces(cap_usd, cost)
    least = cost.low_usd if cap_usd < cost.low_usd else cost.expected_usd
    if cap_usd < least:
        words = {"least": format_usd(least), "cap": format_usd(cap_usd)}
        message = _("It is expected to cost at least %(least)s, more than its cap of %(cap)s.", **words)
        remedy = _("At its cap, its team is notified and the job continues, as the team's policy says.")
        if cancels:
            remedy = _("At its cap, the job is cancelled.")
        asks = cap_usd < cost.low_usd and cancels and not is_approvers
        severity = Severity.APPROVAL if asks else Severity.NOTE
        found.append(Finding("cap_below_estimate", severity, "", message, remedy))
    return tuple(found)


def _who_enforces(cap_usd: Decimal, cost: Estimate) -> list[Finding]:
    """Return a note on what stops the job at its cap: Google's timeout, or only Trainboard."""
    cap, most = format_usd(cap_usd), cost.most_usd
    if most is not None and most <= cap_usd:
        message = _(
            "With its timeout of %(hours)s h, Google itself stops it before it costs more than its cap of %(cap)s, "
            "also while Trainboard is down; Google may run it up to %(attempts)s times.",
            hours=f"{cost.timeout_hours:.2f}", cap=cap, attempts=cost.attempts,
        )  # fmt: skip
        remedy = _("The timeout cannot be changed after submission. For a longer one, raise the cap.")
        return [Finding("cap_enforced_by_timeout", Severity.NOTE, "", message, remedy)] if most else []
    message = _(
        "Only Trainboard stops it at its cap of %(cap)s: a timeout that makes Google stop it there would be shorter "
        "than its expected run. Policy and budgets therefore count what it may cost without the cap.",
        cap=cap,
    )
    return [Finding("cap_not_enforced", Severity.NOTE, "", message, _("Raise the cap, or expect a shorter run."))]


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
