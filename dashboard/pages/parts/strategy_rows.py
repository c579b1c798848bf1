"""The strategies side by side, as the compose page shows them: one row each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from jobs.assessment import Alternative
from jobs.cost import Quota
from jobs.cost.learned import Wait
from jobs.strategies import STRATEGIES, Strategy

NAMED = {"resource_is_named": _("Name the persistent resource first.")}
"""What is no obstacle but a field that belongs to the strategy itself and is still empty."""
PAID_FOR = frozenset({"reservation", "persistent"})
"""Strategies whose machines somebody pays for already, used or not, so that a price means little."""
SAFEST_FIRST = ("reservation", "persistent", "standard", "flex_start", "spot")
"""Machines that are held, then those that no restart waits for, then those whose wait ends, then preemptible ones."""
MIN_WAITS = 3
"""Jobs of a strategy that are enough of its waits to call it the fastest."""


@dataclass(frozen=True, slots=True)
class RowWait:
    """The wait for machines that `count` jobs of the team lead to expect, and the range of 9 in 10."""

    count: int
    usual: timedelta
    low: timedelta
    high: timedelta


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """What a row shows: the strategy's key, why it is not possible, what it still needs, its price if it has one.

    Amounts are in USD and of the whole job unless a field has another description; None where no price is known.
    `axis_usd` is the right end of the drawing of all ranges. `tags` are "cheapest", "fastest", "safest". `break_even`:
    how many times as long machines that are preempted may be billed until Standard costs less.
    """

    key: str
    is_priced: bool = False
    expected_usd: Decimal | None = None
    low_usd: Decimal | None = None
    high_usd: Decimal | None = None
    most_usd: Decimal | None = None
    usd_per_hour: Decimal | None = None
    axis_usd: Decimal = Decimal(0)
    saving_percent: int = 0
    kill_percent: float | None = None
    preemptions: float = 0.0
    break_even: float | None = None
    gives_up_after: timedelta | None = None
    wait: RowWait | None = None
    tags: tuple[str, ...] = ()
    quotas: tuple[Quota, ...] = ()
    obstacles: tuple[str, ...] = ()
    needs: str = ""

    @property
    def strategy(self) -> Strategy:
        """The strategy that the row stands for."""
        return STRATEGIES[self.key]

    @property
    def is_paid_for(self) -> bool:
        """Whether somebody pays for the machines already, used or not."""
        return self.key in PAID_FOR

    @property
    def is_possible(self) -> bool:
        """Whether it has a price and nothing keeps the job from it."""
        return self.is_priced and not self.obstacles and not self.needs

    @property
    def html(self) -> str:
        """The cells drawn, once for the same facts: most of what one types changes no row."""
        return _drawn(self, "compose/strategy_row.html", get_language())

    @property
    def name_html(self) -> str:
        """What stands beside and below the strategy's name: its tags and its price per hour."""
        return _drawn(self, "compose/strategy_name.html", get_language())


@lru_cache(maxsize=512)
def _drawn(row: StrategyRow, template: str, language: str | None) -> str:
    del language  # which makes a drawing of its own
    return render_to_string(template, {"row": row, "strategy": row.strategy})


def strategy_rows(alternatives: Sequence[Alternative], *, chosen: str = "") -> list[StrategyRow]:
    """Return a row for every strategy, without prices where there are no alternatives.

    What refuses the job under every strategy is no reason against one of them: it stands at its field already.
    `chosen` is the key of the form's strategy.
    """
    if not alternatives:
        return [StrategyRow(key) for key in STRATEGIES]
    everywhere = set.intersection(*({(each.code, each.field) for each in one.errors} for one in alternatives))
    rows = [_row(each, everywhere) for each in alternatives]
    standard = next((row.usd_per_hour for row in rows if row.key == "standard"), None)
    rows = [replace(row, break_even=_break_even(row, standard)) for row in rows]
    axis = axis_end(max((row.high_usd or Decimal(0) for row in rows if not row.obstacles), default=Decimal(0)))
    tags = _tags(rows, chosen)
    return [replace(row, axis_usd=axis, tags=tuple(tag for tag, key in tags.items() if key == row.key)) for row in rows]


def axis_end(usd: Decimal) -> Decimal:
    """Return at least `usd`, with two significant digits."""
    return usd.quantize(Decimal(1).scaleb(usd.adjusted() - 1), ROUND_CEILING) if usd else usd


def _tags(rows: Sequence[StrategyRow], chosen: str) -> dict[str, str]:
    """Return {tag: key of the strategy that has it} among those that are possible.

    Machines that are paid for already count only where they are chosen, for nothing else shows that there are any; and
    they are never called the cheapest.
    """
    able = {row.key: row for row in rows if not row.obstacles and not row.needs}
    able = {key: row for key, row in able.items() if key not in PAID_FOR or key == chosen}
    prices = {key: row.expected_usd for key, row in able.items() if row.expected_usd and key not in PAID_FOR}
    waits = {key: row.wait.usual for key, row in able.items() if row.wait and row.wait.count >= MIN_WAITS}
    tags = {}
    if len(prices) > 1:
        tags["cheapest"] = min(prices, key=lambda key: prices[key])
    if len(waits) > 1:
        tags["fastest"] = min(waits, key=lambda key: waits[key])
    if len(able) > 1:
        tags["safest"] = min(able, key=SAFEST_FIRST.index)
    return tags


def _row(one: Alternative, everywhere: set[tuple[str, str]]) -> StrategyRow:
    own = [each for each in one.errors if (each.code, each.field) not in everywhere]
    key, estimate, scheduling = one.strategy.key, one.estimate, one.submission.job_spec.scheduling
    saved = one.saving if key not in PAID_FOR else None
    outlook, default_wait = estimate.restarts, one.strategy.default_wait
    given = scheduling.max_wait_duration
    return StrategyRow(
        key=key,
        is_priced=True,
        expected_usd=estimate.expected_usd,
        low_usd=estimate.low_usd,
        high_usd=estimate.high_usd,
        most_usd=estimate.most_usd,
        usd_per_hour=estimate.usd_per_hour,
        saving_percent=max(0, round(saved * 100)) if saved is not None else 0,
        kill_percent=100 * (1 - outlook.survival) if outlook is not None else None,
        preemptions=outlook.preemptions if outlook is not None else 0.0,
        gives_up_after=(default_wait if given is None else given) if default_wait is not None else None,
        wait=_wait(estimate.wait),
        quotas=one.quotas,
        obstacles=tuple(each.message for each in own if each.code not in NAMED),
        needs=next((str(NAMED[each.code]) for each in own if each.code in NAMED), ""),
    )


def _wait(wait: Wait | None) -> RowWait | None:
    if wait is None:
        return None
    return RowWait(wait.jobs, *(timedelta(seconds=round(each)) for each in (wait.usual, wait.low, wait.high)))


def _break_even(row: StrategyRow, standard: Decimal | None) -> float | None:
    """Return the ratio of the prices of machines that are not preempted and of those that are; None elsewhere."""
    if not row.strategy.preemptible or not row.usd_per_hour or not standard or standard <= row.usd_per_hour:
        return None
    return float(standard / row.usd_per_hour)
