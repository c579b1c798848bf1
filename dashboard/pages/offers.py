"""The strategies side by side, as the compose page shows them: one card each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from jobs import cost
from jobs.cost import Offer
from jobs.spec import Finding, Submission
from jobs.strategies import STRATEGIES, Strategy

NAMED = {"resource_is_named": "Name the persistent resource first."}
"""What is no obstacle but a field that belongs to the strategy itself and is still empty."""
PAID_FOR = frozenset({"reservation", "persistent"})


@dataclass(frozen=True, slots=True)
class Way:
    """A card: the strategy, its offer where one could be made, why it is not possible, and what it still needs."""

    strategy: Strategy
    offer: Offer | None = None
    obstacles: tuple[Finding, ...] = ()
    needs: str = ""

    @property
    def is_paid_for(self) -> bool:
        """Whether somebody pays for the machines already, used or not, so that a price says little."""
        return self.strategy.key in PAID_FOR

    @property
    def saving_percent(self) -> int:
        """How much is saved against standard, in percent; 0 where nothing is, or nobody knows."""
        saved = self.offer.saving if self.offer is not None and not self.is_paid_for else None
        return max(0, round(saved * 100)) if saved is not None else 0


def has_machines(submission: Submission | None) -> bool:
    """Tell whether every pool names its machine type, without which nothing can be priced."""
    if submission is None or not submission.pools:
        return False
    return all(pool.machine_spec.machine_type for _, pool in submission.pools)


def offers_of(
    submission: Submission | None, expected: timedelta | None, weights: Mapping[str, str] | None = None
) -> list[Way]:
    """Return a card for every strategy, without offers while no machine or run time is known.

    What refuses the job under every strategy is no reason against one of them: it stands at its field already.
    """
    if submission is None or expected is None or not has_machines(submission):
        return [Way(strategy) for strategy in STRATEGIES.values()]
    made = cost.offers(submission, expected=expected, book=cost.PriceBook.load(), severities=weights)
    everywhere = set.intersection(*({(each.code, each.field) for each in offer.refusals} for offer in made))
    return [_way(offer, everywhere) for offer in made]


def _way(offer: Offer, everywhere: set[tuple[str, str]]) -> Way:
    own = [each for each in offer.refusals if (each.code, each.field) not in everywhere]
    return Way(
        strategy=offer.strategy,
        offer=offer,
        obstacles=tuple(each for each in own if each.code not in NAMED),
        needs=next((NAMED[each.code] for each in own if each.code in NAMED), ""),
    )
