"""The gate that everything which creates cost passes: jobs, sweeps, further attempts, schedules, persistent resources.

A `Charge` has one figure: the most that can be spent if Trainboard dies right now, so that only Google ends anything.
`check` compares it with budgets and with ceilings, which only site admins set. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from jobs import budget
from jobs.budget import BudgetLeft
from jobs.cost import Estimate, format_usd, round_up
from jobs.cost.lines import total
from jobs.spec import Finding, Severity
from jobs.texts import translatable as _

SOURCE = "ceilings of the site"


class CeilingKind(StrEnum):
    """What a ceiling limits; the values are stored."""

    JOB = "job"
    """US dollars that one job, or one change of a persistent resource, may cost."""
    HOUR = "hour"
    """US dollars per hour of everything that runs or is allowed to."""
    PERSON_DAY = "person_day"
    """US dollars of one person's requests that run, or that ended within a day."""
    GPUS = "gpus"
    """GPUs and other accelerators of everything that runs or is allowed to."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a request adds. An amount that is not known is None, and exceeds every ceiling in dollars."""

    each_usd: Decimal | None
    """The most that one of its jobs can cost if nobody but Google ends it."""
    usd_per_hour: Decimal | None
    gpus: int
    jobs: int = 1

    @property
    def usd(self) -> Decimal | None:
        """The most that all its jobs can cost."""
        return None if self.each_usd is None else self.each_usd * self.jobs


@dataclass(frozen=True, slots=True)
class CeilingUse:
    """One ceiling and how much of it is used, without the request in question. `used` is None if it is not known."""

    kind: CeilingKind
    limit: Decimal
    used: Decimal | None
    team: str = ""
    """Name of the team; "" for a ceiling of the whole site."""


def charge_of(estimate: Estimate, gpus: int, jobs: int = 1) -> Charge:
    """Return the charge of `jobs` jobs that each cost `estimate` and use `gpus` GPUs."""
    all_of_them = estimate.times(jobs)
    hourly = total((all_of_them.usd_per_hour, all_of_them.adds_usd_per_hour))
    return Charge(estimate.most_usd, hourly, gpus * jobs, jobs)


def check(charge: Charge, budgets: Iterable[BudgetLeft], ceilings: Iterable[CeilingUse]) -> tuple[Finding, ...]:
    """Return the findings of budgets and ceilings about a request. A ceiling that would be exceeded is an error."""
    found = (_check(charge, ceiling) for ceiling in ceilings)
    return (*budget.check(charge.usd, budgets), *(each for each in found if each is not None))


def _check(charge: Charge, ceiling: CeilingUse) -> Finding | None:
    """Return an error if the charge would exceed a ceiling."""
    adds = {
        CeilingKind.JOB: charge.each_usd,
        CeilingKind.HOUR: charge.usd_per_hour,
        CeilingKind.PERSON_DAY: charge.usd,
        CeilingKind.GPUS: Decimal(charge.gpus),
    }[ceiling.kind]
    if adds is not None and (not adds or (ceiling.used is not None and adds + ceiling.used <= ceiling.limit)):
        return None
    words = [_ceiling(ceiling)]
    if adds is None:
        words += [_("What this request may cost is not known, so it exceeds every ceiling in dollars.")]
    elif ceiling.used is None:
        words += [_("The cost of something that is running is not known, so nothing more is allowed until it ends.")]
    else:
        words += [_asks_and_uses(ceiling, adds)]
    message = _("%(ceiling)s. %(why)s", ceiling=words[0], why=words[1])
    remedy = _("Ask for less, or wait until other jobs have ended. Only a site admin can change a ceiling.")
    if adds is None:
        remedy = _("A site admin can record a price for it, or change the ceiling.")
    return Finding("over_ceiling", Severity.ERROR, "", message, remedy, source=SOURCE)


def _ceiling(ceiling: CeilingUse) -> str:
    """Return what a ceiling is, as the beginning of a sentence."""
    limit = format_amount(ceiling.kind, ceiling.limit)
    whose = _("the team %(name)s", name=ceiling.team) if ceiling.team else _("this site")
    words = {"whose": whose, "limit": limit}
    return {
        CeilingKind.JOB: _("The ceiling of %(whose)s for one job is %(limit)s", **words),
        CeilingKind.HOUR: _("The ceiling of %(whose)s for everything at once is %(limit)s an hour", **words),
        CeilingKind.PERSON_DAY: _("The ceiling of %(whose)s for one person and day is %(limit)s", **words),
        CeilingKind.GPUS: _("The ceiling of %(whose)s for GPUs at once is %(limit)s", **words),
    }[ceiling.kind]


def _asks_and_uses(ceiling: CeilingUse, adds: Decimal) -> str:
    assert ceiling.used is not None
    words = {"adds": format_amount(ceiling.kind, adds), "used": format_amount(ceiling.kind, ceiling.used)}
    return {
        CeilingKind.JOB: _("It can cost up to %(adds)s if nobody but Google ends it.", **words),
        CeilingKind.HOUR: _("In use: %(used)s. It adds %(adds)s.", **words),
        CeilingKind.PERSON_DAY: _(
            "Requests of this person that run, or ended within a day, use %(used)s, and this one can cost up to "
            "%(adds)s if nobody but Google ends it.",
            **words,
        ),
        CeilingKind.GPUS: _("In use: %(used)s. It needs %(adds)s.", **words),
    }[ceiling.kind]


def format_amount(kind: str, amount: Decimal) -> str:
    """Return an amount of a ceiling: US dollars, or a number of GPUs."""
    return f"{int(amount):,}" if kind == CeilingKind.GPUS else format_usd(round_up(amount))
