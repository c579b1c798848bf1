"""The strategies side by side on the compose page, one row each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from dashboard.pages.parts.capacity_advice import SpotAdvice
from jobs.assessment import Alternative
from jobs.cost import Quota
from jobs.strategies import STANDARD, STRATEGIES, Strategy

NAMED = {"resource_is_named": _("Choose a persistent resource.")}
"""Errors that are no obstacle: a field of the strategy itself is still empty."""
MIN_WAITS = 3
"""Minimum jobs of a strategy before its waits can make it the fastest."""


@dataclass(frozen=True, slots=True)
class RowWait:
    """The expected wait for machines, learned from `count` jobs of the team, and its 90 % range."""

    count: int
    usual: timedelta
    low: timedelta
    high: timedelta


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A row: the key of the strategy, why it is not possible, what it still needs, and its price if it has one.

    Amounts are in USD for the whole job unless a field has another unit, and None if no price is known. `axis_usd` is
    the right end of the drawing of all ranges. `own_usd` is the cost by the run time that the person expects. `tags`
    are "cheapest", "fastest", "safest". `break_even` is how many times as long preempted machines may be billed before
    Standard costs less.
    """

    key: str
    is_priced: bool = False
    expected_usd: Decimal | None = None
    low_usd: Decimal | None = None
    high_usd: Decimal | None = None
    own_usd: Decimal | None = None
    most_usd: Decimal | None = None
    usd_per_hour: Decimal | None = None
    axis_usd: Decimal = Decimal(0)
    saving_percent: int = 0
    kill_risk: float | None = None
    preemptions: float = 0.0
    break_even: float | None = None
    gives_up_after: timedelta | None = None
    wait: RowWait | None = None
    tags: tuple[str, ...] = ()
    quotas: tuple[Quota, ...] = ()
    obstacles: tuple[str, ...] = ()
    needs: str = ""
    spot: SpotAdvice | None = None
    """Compute Engine's advice about Spot VMs, in the row of machines that can be preempted."""

    @property
    def strategy(self) -> Strategy:
        """The strategy of the row."""
        return STRATEGIES[self.key]

    @property
    def is_corrected(self) -> bool:
        """Whether earlier jobs move the expected cost by more than a hundredth of what the person's figure makes."""
        if self.own_usd is None or self.expected_usd is None:
            return False
        return abs(self.expected_usd - self.own_usd) * 100 > self.own_usd

    @property
    def is_possible(self) -> bool:
        """Whether the strategy has a price and no obstacle."""
        return self.is_priced and not self.obstacles and not self.needs

    @property
    def html(self) -> str:
        """The rendered cells. Cached, because few edits change a row."""
        return _drawn(self, "compose/strategy_row.html", get_language())

    @property
    def name_html(self) -> str:
        """The rendered tags and hourly price beside and below the strategy's name."""
        return _drawn(self, "compose/strategy_name.html", get_language())


@lru_cache(maxsize=512)
def _drawn(row: StrategyRow, template: str, language: str | None) -> str:
    del language  # only part of the cache key
    return render_to_string(template, {"row": row, "strategy": row.strategy})


def strategy_rows(
    alternatives: Sequence[Alternative], *, chosen: str = "", spot: SpotAdvice | None = None
) -> list[StrategyRow]:
    """Return a row for every strategy, without prices if there are no alternatives.

    An error under every strategy is no obstacle of one of them; its field shows it already. `chosen` is the key of the
    form's strategy. `spot` is Compute Engine's advice about Spot VMs.
    """
    if not alternatives:
        return [StrategyRow(key) for key in STRATEGIES]
    everywhere = set.intersection(*({(each.code, each.field) for each in one.errors} for one in alternatives))
    rows = [_row(each, everywhere) for each in alternatives]
    rows = [replace(row, spot=spot if row.strategy.preemptible else None) for row in rows]
    standard = next((row.usd_per_hour for row in rows if row.strategy is STANDARD), None)
    rows = [replace(row, break_even=_break_even(row, standard)) for row in rows]
    axis = axis_end(max((row.high_usd or Decimal(0) for row in rows if not row.obstacles), default=Decimal(0)))
    tags = _tags(rows, chosen)
    return [replace(row, axis_usd=axis, tags=tuple(tag for tag, key in tags.items() if key == row.key)) for row in rows]


def axis_end(usd: Decimal) -> Decimal:
    """Return `usd` rounded up to two significant digits."""
    return usd.quantize(Decimal(1).scaleb(usd.adjusted() - 1), ROUND_CEILING) if usd else usd


def _tags(rows: Sequence[StrategyRow], chosen: str) -> dict[str, str]:
    """Return {tag: key of the strategy that has it} for the possible strategies.

    Strategies whose machines are held are included only if chosen, because nothing else shows that such
    machines exist. They are never the cheapest.
    """
    able = {row.key: row for row in rows if not row.obstacles and not row.needs}
    able = {key: row for key, row in able.items() if not row.strategy.is_held or key == chosen}
    prices = {key: row.expected_usd for key, row in able.items() if row.expected_usd and not row.strategy.is_held}
    waits = {key: row.wait.usual for key, row in able.items() if row.wait and row.wait.count >= MIN_WAITS}
    tags = {}
    if len(prices) > 1:
        tags["cheapest"] = min(prices, key=lambda key: prices[key])
    if len(waits) > 1:
        tags["fastest"] = min(waits, key=lambda key: waits[key])
    if len(able) > 1:
        tags["safest"] = min(able, key=lambda key: STRATEGIES[key].safety)
    return tags


def _row(one: Alternative, everywhere: set[tuple[str, str]]) -> StrategyRow:
    own = [each for each in one.errors if (each.code, each.field) not in everywhere]
    key, estimate, scheduling = one.strategy.key, one.estimate, one.submission.job_spec.scheduling
    saved = one.saving if not one.strategy.is_held else None
    outlook, default_wait = estimate.restarts, one.strategy.default_wait
    given = scheduling.max_wait_duration
    wait = None
    if (known := estimate.wait) is not None:
        usual, low, high = (timedelta(seconds=round(each)) for each in (known.usual, known.low, known.high))
        wait = RowWait(known.jobs, usual, low, high)
    return StrategyRow(
        key=key,
        is_priced=True,
        expected_usd=estimate.expected_usd,
        low_usd=estimate.low_usd,
        high_usd=estimate.high_usd,
        own_usd=estimate.own_usd,
        most_usd=estimate.most_usd,
        usd_per_hour=estimate.usd_per_hour,
        saving_percent=max(0, round(saved * 100)) if saved is not None else 0,
        kill_risk=1 - outlook.survival if outlook is not None else None,
        preemptions=outlook.preemptions if outlook is not None else 0.0,
        gives_up_after=(default_wait if given is None else given) if default_wait is not None else None,
        wait=wait,
        quotas=one.quotas,
        obstacles=tuple(each.message for each in own if each.code not in NAMED),
        needs=next((str(NAMED[each.code]) for each in own if each.code in NAMED), ""),
    )


def _break_even(row: StrategyRow, standard: Decimal | None) -> float | None:
    """Return the price of Standard divided by that of the row; None unless the row is preemptible and cheaper."""
    if not row.strategy.preemptible or not row.usd_per_hour or not standard or standard <= row.usd_per_hour:
        return None
    return float(standard / row.usd_per_hour)
