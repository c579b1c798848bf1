"""The strategies side by side, as the compose page shows them: one card each."""

from dataclasses import dataclass
from datetime import timedelta

from dashboard.forms.job_form import OFFERED
from jobs import cost
from jobs.cost import Offer
from jobs.spec import Finding, Submission
from jobs.strategies import STRATEGIES, Strategy


@dataclass(frozen=True, slots=True)
class Way:
    """A card: the strategy, its offer where one could be made, and why it is not possible."""

    strategy: Strategy
    offer: Offer | None = None
    obstacles: tuple[Finding, ...] = ()


def has_machines(submission: Submission | None) -> bool:
    """Tell whether every pool names its machine type, without which nothing can be priced."""
    return submission is not None and all(pool.machine_spec.machine_type for _, pool in submission.pools)


def offers_of(submission: Submission | None, expected: timedelta | None) -> list[Way]:
    """Return the cards of the offered strategies, without offers while no machine or run time is known.

    What refuses the job under every strategy is no reason against one of them: it stands at its field already.
    """
    if submission is None or expected is None or not has_machines(submission):
        return [Way(STRATEGIES[key]) for key in OFFERED]
    made = cost.offers(
        submission,
        expected=expected,
        book=cost.PriceBook.load(),
        strategies={key: STRATEGIES[key] for key in OFFERED},
    )
    everywhere = set.intersection(*({(each.code, each.field) for each in offer.refusals} for offer in made))
    return [
        Way(
            offer.strategy,
            offer,
            tuple(each for each in offer.refusals if (each.code, each.field) not in everywhere),
        )
        for offer in made
    ]
