"""Where should this run? The regions for a composed job side by side, and what forbids each of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from dashboard.pages.parts.assessed_form import AssessedForm
from dashboard.pages.parts.capacity_advice import SpotAdvice, spot_advice
from jobs import known_advice, known_quotas, tasks
from jobs.assessment import Assessment, Context, Outcome, assess
from jobs.catalog import CARBON, REGIONS, Carbon, accelerators_in
from jobs.cost import Quota, quotas, with_states
from jobs.cost.advice import Advice, Method, PreemptionRates, Question, least_likely, rates_of
from jobs.cost.learned import NOTHING, Wait
from jobs.policy_rules import accelerators_of
from jobs.requests.learned_figures import waits_by_region
from jobs.spec import Submission
from jobs.strategies import STRATEGIES, Strategy, strategy_of

MAX_REGIONS = 12
"""Rows of the table: the chosen region, and the cheapest of the others."""
PRICED = ("standard", "spot", "flex_start")
"""Strategies whose machines nobody holds."""


class Price(NamedTuple):
    """The expected cost under a strategy; None if a price is not known."""

    strategy: Strategy
    usd: Decimal | None
    is_lowest: bool = False


@dataclass(frozen=True, slots=True)
class RegionRow:
    """A region for the job. `forbids` is why it cannot run there, and `asks` whether it needs an approval there."""

    name: str
    is_chosen: bool
    prices: tuple[Price, ...]
    forbids: tuple[str, ...] = ()
    asks: bool = False
    quota: Quota | None = None
    wait: timedelta | None = None
    wait_jobs: int = 0
    spot: SpotAdvice | None = None
    rates: PreemptionRates | None = None
    carbon: Carbon | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """The table. `strategy` is that of the form, whose quota and waits it has. `left_out` counts further regions."""

    rows: tuple[RegionRow, ...] = ()
    strategy: Strategy | None = None
    left_out: int = 0
    is_awaited: bool = False
    carbon: Carbon | None = None
    """The source of the figures on electricity."""


def compare_regions(assessed: AssessedForm, *, now: datetime) -> Where:
    """Return the regions that have the accelerators of a job. Empty while the form has no job or run time."""
    submission, context, expected = assessed.submission, assessed.inputs, assessed.form.expected
    if submission is None or context is None or expected is None:
        return Where()
    strategy = strategy_of(submission)
    wanted = {name for name in accelerators_of(submission)[0] if name}
    names = [name for name in REGIONS if name == submission.region or wanted <= accelerators_in(name)]
    here = _assess(submission, context, submission.region, expected)
    found = [
        _row(name, submission, context, expected, here=here) for name in dict.fromkeys((submission.region, *names))
    ]
    ordered = sorted(found, key=lambda row: (not row.is_chosen, bool(row.forbids), _usd(row, strategy), row.name))
    shown = ordered[:MAX_REGIONS]
    rows, is_awaited = _with_readings(shown, assessed, submission, strategy, now)
    carbon = next(iter(CARBON.values()), None)
    return Where(tuple(_marked(rows)), strategy, len(ordered) - len(shown), is_awaited, carbon)


def _row(name: str, submission: Submission, context: Context, expected: timedelta, *, here: Assessment) -> RegionRow:
    there = replace(submission, region=name)
    known = context
    if name != submission.region:  # preemptions are those of the chosen region
        learned = {key: replace(each, machines=NOTHING, google=None) for key, each in context.learned.items()}
        known = replace(context, learned=learned)
    prices = tuple(
        Price(strategy, known.estimate(strategy.apply(there), strategy, expected).expected_usd)
        for strategy in (STRATEGIES[key] for key in PRICED)
    )
    assessment = here if name == submission.region else _assess(submission, context, name, expected)
    usual = {(each.code, each.field) for each in here.errors} if name != submission.region else set()
    forbids = tuple(each.message for each in assessment.errors if (each.code, each.field) not in usual)
    asks = assessment.outcome is Outcome.NEEDS_APPROVAL
    return RegionRow(name, name == submission.region, prices, forbids, asks, carbon=CARBON.get(name))


def _assess(submission: Submission, context: Context, region: str, expected: timedelta) -> Assessment:
    """Assess the job in a region, with its rules, policy and budgets; what is known of its region is left out."""
    known = replace(context, resources=(), quota_states={}, learned={}, identical=(), in_folder=())
    return assess(replace(submission, region=region), known, expected=expected)


def _with_readings(
    rows: Sequence[RegionRow], assessed: AssessedForm, submission: Submission, strategy: Strategy, now: datetime
) -> tuple[list[RegionRow], bool]:
    """Return the rows with quotas, waits and Google's advice, and whether a worker was asked for any. Three queries."""
    states = known_quotas.quotas_by_region(submission.project, now=now)
    waits = waits_by_region(assessed.team, submission, strategy.key, now)
    asked = {
        row.name: known_advice.questions_of(replace(submission, region=row.name), *known_advice.OF_A_FORM)
        for row in rows
    }
    known = known_advice.known_advice(submission.project, [each for some in asked.values() for each in some], now=now)
    if known.is_asked:
        tasks.enqueue_advice()
    needed = quotas(submission, strategy)
    full = []
    for row in rows:
        wait: Wait | None = waits.get(row.name)
        quota = _scarcest(with_states(needed, states.get(row.name, {})))
        spot, rates = _advice(asked[row.name], known, now)
        full.append(
            replace(
                row, quota=quota, spot=spot, rates=rates, wait_jobs=wait.jobs if wait else 0,
                wait=timedelta(seconds=round(wait.usual)) if wait else None,
            )
        )  # fmt: skip
    return full, any(each.is_awaited for each in known.advice.values())


def _advice(
    questions: Sequence[Question], known: known_advice.Known, now: datetime
) -> tuple[SpotAdvice | None, PreemptionRates | None]:
    found = least_likely(known.advice.get(each, Advice()) for each in questions if each.method is Method.CAPACITY)
    shares = [
        rates_of(known.advice.get(each), each.vms, each.region) for each in questions if each.method is Method.HISTORY
    ]
    return spot_advice(found, now) if found is not None else None, shares[0] if len(shares) == 1 else None


def _scarcest(needed: Sequence[Quota]) -> Quota | None:
    """Return the quota with the smallest free share of what the job needs, None if no use is known."""
    known = [each for each in needed if each.state is not None and each.state.free is not None and each.amount]
    return min(known, key=lambda each: _free(each) / (each.amount or 1), default=None)


def _free(quota: Quota) -> int:
    return quota.state.free or 0 if quota.state is not None else 0


def _usd(row: RegionRow, strategy: Strategy) -> Decimal:
    """Return the price by which a region is ordered: that of the job's strategy, else of Standard."""
    usd = {price.strategy.key: price.usd for price in row.prices}
    found = usd.get(strategy.key, usd["standard"])
    return Decimal("Infinity") if found is None else found


def _marked(rows: Sequence[RegionRow]) -> Iterator[RegionRow]:
    """Yield the rows with the lowest price of each strategy marked, among regions that nothing forbids."""
    lowest: dict[str, Decimal] = {}
    for price in (price for row in rows if not row.forbids for price in row.prices):
        if price.usd:
            key = price.strategy.key
            lowest[key] = min(lowest.get(key, price.usd), price.usd)
    for row in rows:
        prices = (
            price._replace(is_lowest=not row.forbids and price.usd == lowest.get(price.strategy.key, -1))
            for price in row.prices
        )
        yield replace(row, prices=tuple(prices))
