"""Run experiments one beside the other in one thread, and check their claims."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from jobs import cost
from jobs.conformance.catalogue import WHOLE_RUN
from jobs.conformance.claims import Claim, Outcome, Result, as_row, check_claim
from jobs.conformance.experiments import Experiment
from jobs.conformance.lab import Desk, Lab, Site
from jobs.conformance.recording import Recording
from jobs.conformance.spending import OverBudget, RunBudget
from jobs.cost import PriceBook

Report = Callable[[str], object]
RESULTS: tuple[Result, ...] = ("holds", "differs", "not observed")


def check_budget(experiments: Sequence[Experiment], *, site: Site, book: PriceBook, budget: Decimal) -> Decimal:
    """Return the most that these experiments can cost together. Raise OverBudget if that is more than the budget."""
    most = {each.name: most_of(each, site=site, book=book) for each in experiments}
    total = sum(most.values(), Decimal(0))
    if total > budget:
        parts = ", ".join(f"{name} {cost.format_usd(usd)}" for name, usd in most.items() if usd)
        raise OverBudget(
            f"These experiments can cost {cost.format_usd(total)}, over the budget of {cost.format_usd(budget)}:"
            f" {parts}. Raise --budget or leave some out with --skip."
        )
    return total


def most_of(experiment: Experiment, *, site: Site, book: PriceBook) -> Decimal:
    """Return the most that an experiment can cost. Raise NoPrice if a price is not known in the region."""
    return sum((planned.most(site.region, book) for planned in experiment.plan(site)), Decimal(0))


def run(desk: Desk, experiments: Sequence[Experiment], *, parallel: int, report: Report) -> None:
    """Run the experiments, `parallel` at a time, until all have ended.

    Raise OverBudget, CannotRun or KeyboardInterrupt in the middle; the journal then shows what has to be cleaned up.
    """
    queue, count = list(experiments), 0
    waiting: list[tuple[float, int, Experiment, Iterator[float]]] = []
    while queue or waiting:
        while queue and len(waiting) < parallel:
            experiment = queue.pop(0)
            for planned in experiment.plan(desk.site):
                desk.scrubber.keep(*_own_words(planned.body))
            report(f"{experiment.name}: {experiment.title}")
            steps = experiment.steps(Lab(desk, experiment.name), experiment.plan(desk.site))
            count += 1
            heapq.heappush(waiting, (desk.clock.now().timestamp(), count, experiment, steps))
        due, number, experiment, steps = heapq.heappop(waiting)
        if (pause := due - desk.clock.now().timestamp()) > 0:
            desk.clock.sleep(pause)
        try:
            seconds = next(steps)
        except StopIteration:
            report(f"{experiment.name}: done")
        else:
            heapq.heappush(waiting, (desk.clock.now().timestamp() + seconds, number, experiment, steps))


def _own_words(value: object) -> Iterator[str]:
    """Yield the names and programs of a body, which are ours and report nothing about the project."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("displayName", "command", "parameterId", "metricId"):
                yield from (each for each in ([item] if isinstance(item, str) else item))
            elif key == "labels":
                yield from (*item, *item.values())
            else:
                yield from _own_words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _own_words(item)


def check_all(recording: Recording, experiments: Sequence[Experiment]) -> list[tuple[str, Claim, Outcome]]:
    """Return (experiment, claim, outcome) of all claims, and put the outcomes into the recording."""
    found = [
        (each.name, claim, check_claim(claim, each.name, recording)) for each in experiments for claim in each.claims
    ]
    found += [("", claim, check_claim(claim, "", recording)) for claim in WHOLE_RUN]
    recording.outcomes = [as_row(claim, name, outcome) for name, claim, outcome in found]
    return found


def summary(outcomes: Sequence[tuple[str, Claim, Outcome]]) -> str:
    """Return one line: `38 of 41 claims hold; 3 differ.` Claims that were not observed are counted apart."""
    results = [outcome.result for _, _, outcome in outcomes]
    counts = {result: results.count(result) for result in RESULTS}
    shown = counts["holds"] + counts["differs"]
    unseen = f"; {counts['not observed']} not observed" if counts["not observed"] else ""
    verb = "differs" if counts["differs"] == 1 else "differ"
    return f"{counts['holds']} of {shown} claims hold; {counts['differs']} {verb}{unseen}."


def spent(budget: RunBudget) -> str:
    """Return what the run has cost, as far as its polls show."""
    return f"About {cost.format_usd(budget.spent_usd)} of {cost.format_usd(budget.limit)} spent."
