"""The strategies side by side, as the compose page shows them: one card each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache

from django.template.loader import render_to_string

from jobs import cost
from jobs.cost import Offer
from jobs.spec import Submission
from jobs.strategies import STRATEGIES, Known, Strategy

NAMED = {"resource_is_named": "Name the persistent resource first."}
"""What is no obstacle but a field that belongs to the strategy itself and is still empty."""
PAID_FOR = frozenset({"reservation", "persistent"})


@dataclass(frozen=True, slots=True)
class Way:
    """What a card says: the strategy's key, why it is not possible, what it still needs, its price if it has one.

    Amounts are in USD, those of the whole job unless a field says otherwise; None where no price is known.
    """

    key: str
    is_priced: bool = False
    expected_usd: Decimal | None = None
    low_usd: Decimal | None = None
    high_usd: Decimal | None = None
    usd_per_hour: Decimal | None = None
    saving_percent: int = 0
    quota_metrics: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    needs: str = ""

    @property
    def strategy(self) -> Strategy:
        """The strategy that the card stands for."""
        return STRATEGIES[self.key]

    @property
    def is_paid_for(self) -> bool:
        """Whether somebody pays for the machines already, used or not, so that a price says little."""
        return self.key in PAID_FOR

    @property
    def html(self) -> str:
        """The card drawn, once for the same facts: most of what one types changes no card."""
        return _drawn(self)


@lru_cache(maxsize=256)
def _drawn(way: Way) -> str:
    return render_to_string("compose/way.html", {"way": way, "strategy": way.strategy})


def has_machines(submission: Submission | None) -> bool:
    """Tell whether every pool names its machine type, without which nothing can be priced."""
    if submission is None or not submission.pools:
        return False
    return all(pool.machine_spec.machine_type for _, pool in submission.pools)


def offers_of(
    submission: Submission | None,
    expected: timedelta | None,
    weights: Mapping[str, str] | None = None,
    pools: Known = (),
) -> list[Offer]:
    """Return the job under every strategy; nothing while no machine or run time is known."""
    if submission is None or expected is None or not has_machines(submission):
        return []
    return cost.offers(submission, expected=expected, book=cost.PriceBook.load(), severities=weights, pools=pools)


def ways_of(offers: Sequence[Offer]) -> list[Way]:
    """Return a card for every strategy, without prices where there are no offers.

    What refuses the job under every strategy is no reason against one of them: it stands at its field already.
    """
    if not offers:
        return [Way(key) for key in STRATEGIES]
    everywhere = set.intersection(*({(each.code, each.field) for each in offer.refusals} for offer in offers))
    return [_way(offer, everywhere) for offer in offers]


def _way(offer: Offer, everywhere: set[tuple[str, str]]) -> Way:
    own = [each for each in offer.refusals if (each.code, each.field) not in everywhere]
    key, estimate = offer.strategy.key, offer.estimate
    saved = offer.saving if key not in PAID_FOR else None
    return Way(
        key=key,
        is_priced=True,
        expected_usd=estimate.expected_usd,
        low_usd=estimate.low_usd,
        high_usd=estimate.high_usd,
        usd_per_hour=estimate.usd_per_hour,
        saving_percent=max(0, round(saved * 100)) if saved is not None else 0,
        quota_metrics=offer.quota_metrics,
        obstacles=tuple(each.message for each in own if each.code not in NAMED),
        needs=next((NAMED[each.code] for each in own if each.code in NAMED), ""),
    )
