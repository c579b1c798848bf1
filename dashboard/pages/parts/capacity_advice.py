"""Compute Engine's advice about the machines of a composed job, beside the strategies."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.drawing.figures import ago
from jobs import known_advice, tasks
from jobs.cost.advice import LIKELY, POSSIBLE, Advice, Method, PreemptionRates, Vms, least_likely, rates_of
from jobs.spec import Submission


@dataclass(frozen=True, slots=True)
class SpotAdvice:
    """The advice on Spot VMs for a row of the table. `chance` is "likely", "possible" or "unlikely", "" if unknown."""

    chance: str = ""
    uptime: timedelta | None = None
    age: str = ""
    is_awaited: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class ShownAdvice:
    """The advice on a composed job, and whether a worker has been asked for any of it."""

    spot: SpotAdvice | None = None
    is_awaited: bool = False
    is_off: bool = False


def load_advice(submission: Submission | None, *, now: datetime) -> ShownAdvice:
    """Return what is known about the VMs of a job, and ask a worker for the rest. Nothing waits for Google."""
    if not known_advice.is_on():
        return ShownAdvice(is_off=True)
    if submission is None:
        return ShownAdvice()
    questions = known_advice.questions_of(submission, *known_advice.OF_A_FORM)
    known = known_advice.known_advice(submission.project, questions, now=now)
    if known.is_asked:
        tasks.enqueue_advice()
    about = [known.advice.get(each, Advice()) for each in questions if each.method is Method.CAPACITY]
    found = least_likely(about)
    spot = spot_advice(found, now) if found is not None else None
    return ShownAdvice(spot, any(each.is_awaited for each in known.advice.values()))


def spot_advice(found: Advice, now: datetime) -> SpotAdvice:
    """Return the advice for a table."""
    if found.obtainability is None:
        return SpotAdvice(is_awaited=found.is_awaited, error=found.error)
    uptime = timedelta(seconds=found.uptime_seconds) if found.uptime_seconds else None
    return SpotAdvice(chance_of(found.obtainability), uptime, str(ago(found.read_at, now)), error=found.error)


@dataclass(frozen=True, slots=True)
class AdvisedMachine:
    """Compute Engine's advice about some VMs in a project and region."""

    project: str
    vms: Vms
    spot: SpotAdvice
    rates: PreemptionRates | None = None
    rates_age: str = ""


def advised_machines(projects: Iterable[str], region: str, *, now: datetime) -> list[AdvisedMachine]:
    """Return what is known about the VMs that teams of these projects use or compose in a region. One query."""
    if not region or not known_advice.is_on():
        return []
    rows = known_advice.load_readings(projects, region)
    found, rates = dict[tuple[str, Vms], Advice](), dict[tuple[str, Vms], Advice]()
    for row in rows:
        vms = known_advice.question_of(row).vms
        part = rates if row.method == Method.HISTORY else found
        part[row.project, vms._replace(size=1) if part is rates else vms] = known_advice.advice_of(row, now=now)
    listed = []
    for (project, vms), advice in found.items():
        history = rates.get((project, vms._replace(size=1)))
        share = rates_of(history, vms, region)
        age = str(ago(history.read_at, now)) if history is not None and share is not None else ""
        shown = AdvisedMachine(project, vms, spot_advice(advice, now), share, age)
        if shown.rates is not None or shown.spot != SpotAdvice():
            listed.append(shown)
    return listed


def chance_of(obtainability: float) -> str:
    """Return the word for a score, with Google's limits."""
    if obtainability >= LIKELY:
        return "likely"
    return "possible" if obtainability >= POSSIBLE else "unlikely"
