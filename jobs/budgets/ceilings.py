"""Load the ceilings that apply to a request, with what is used of each, set them, and check what was approved.

Whoever allows something holds the lock of the team and, if the site has ceilings, of their rows, from before it reads
what is used until its own use is written. So two requests at once cannot both pass.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from jobs import gate
from jobs.bounds import is_storable
from jobs.budgets.committed import Place
from jobs.budgets.groups import groups_of_job
from jobs.budgets.left import left_for
from jobs.budgets.spent import Spent, gpus_of, hourly_of, spent
from jobs.cache import Recent
from jobs.errors import NotAllowed
from jobs.gate import CeilingKind, CeilingUse, Charge
from jobs.models import Ceiling, Job, Team
from jobs.permissions import check_is_admin
from jobs.spec import Severity

MAX_AMOUNT = Decimal(10) ** 11


def load_ceilings(
    team: Team,
    person_id: int,
    now: datetime,
    *,
    apart_from: Collection[UUID] = (),
    apart_from_resource: Place | None = None,
    is_locked: bool = False,
) -> tuple[CeilingUse, ...]:
    """Return the ceilings of the team and the site for a request of a person, with their use.

    Makes one query if there are none. `is_locked` locks those of the site until the transaction ends; the caller has
    locked the team. `apart_from` and `apart_from_resource` are not counted as use.
    """
    rows = Ceiling.objects.filter(Q(team=team.pk) | Q(team=None)).order_by("team", "kind")
    if is_locked:
        list(Ceiling.objects.select_for_update().filter(team=None).order_by("pk"))
    used: dict[tuple[bool, bool], Spent] = {}

    def use_of(row: Ceiling) -> Decimal | None:
        kind, is_team = row.kind, row.team_id is not None
        if kind == CeilingKind.JOB:
            return Decimal(0)
        is_person = kind == CeilingKind.PERSON_DAY
        if (is_team, is_person) not in used:
            used[is_team, is_person] = spent(
                now,
                team_id=team.pk if is_team else None,
                person_id=person_id if is_person else None,
                apart_from=apart_from,
                apart_from_resource=apart_from_resource,
            )
        found = used[is_team, is_person]
        return {
            CeilingKind.HOUR: found.usd_per_hour,
            CeilingKind.PERSON_DAY: found.usd,
            CeilingKind.GPUS: Decimal(found.gpus),
        }[CeilingKind(kind)]

    return tuple(
        CeilingUse(CeilingKind(row.kind), row.amount, use_of(row), team.name if row.team_id is not None else "")
        for row in rows
    )


def has_ceilings(team: Team) -> bool:
    """Return whether a ceiling of the team or the site exists."""
    return Ceiling.objects.filter(Q(team=team.pk) | Q(team=None)).exists()


def ceilings_for(
    team: Team, by: User | None, now: datetime | None, *, is_preview: bool = False, is_locked: bool = False
) -> tuple[CeilingUse, ...]:
    """Return the ceilings for a submission requested by `by`; empty if `by` or `now` is None.

    For a preview they may be ten seconds old.
    """
    if by is None or now is None:
        return ()
    return _recent.get((team, by.pk), now) if is_preview else load_ceilings(team, by.pk, now, is_locked=is_locked)


_recent: Recent[tuple[Team, int], tuple[CeilingUse, ...]] = Recent(lambda of, now: load_ceilings(*of, now))
_recent.forget_when_saved(Ceiling)


def set_ceiling(
    team: Team | None, kind: str, amount: Decimal | None, *, by: User, reason: str, now: datetime
) -> Ceiling | None:
    """Set a ceiling of a team, or of the site if `team` is None; an amount of None removes it.

    Raise NotPermitted unless `by` is a site admin. Raise ValueError with a message for people if the ceiling is
    invalid.
    """
    check_is_admin(by)
    check_ceiling(kind, amount, reason)
    with transaction.atomic():
        row = Ceiling.objects.select_for_update().filter(team=team, kind=kind).first()
        if amount is None:
            if row is not None:
                row.delete()
            return None
        row = row or Ceiling(team=team, kind=kind)
        row.amount, row.set_by, row.set_at, row.reason = round(amount, 2), by, now, reason.strip()[:200]
        row.save()
    return row


def check_ceiling(kind: str, amount: Decimal | None, reason: str) -> None:
    """Raise ValueError with a message for people if a ceiling cannot be set like this."""
    if kind not in Ceiling.Kind.values:
        raise ValueError(_("There is no such ceiling."))
    if amount is not None and not (amount.is_finite() and 0 <= amount < MAX_AMOUNT and amount == round(amount, 2)):
        raise ValueError(_("A ceiling is an amount from 0 up to 99,999,999,999.99, in whole cents."))
    if amount is not None and kind == Ceiling.Kind.GPUS and amount != int(amount):
        raise ValueError(_("A number of GPUs is a whole number."))
    if not reason.strip() or not is_storable(reason):
        raise ValueError(_("A change of a ceiling needs a reason."))


def check_approved(jobs: Sequence[Job], now: datetime) -> None:
    """Check the highest cost of jobs of one team that were just approved. The caller has locked the team.

    From then on it is committed. Raise NotAllowed if they would exceed a ceiling, or a budget that stops jobs; the
    caller then rolls back. A budget that asks is covered by the approval.
    """
    # There is one job, or all jobs of a sweep, which have the same groups.
    first, own = jobs[0], [job.pk for job in jobs]
    ceilings = load_ceilings(first.team, first.owner_id, now, apart_from=own, is_locked=True)
    left = left_for(first.team_id, groups_of_job(first), now, apart_from=own)
    passed = gate.check(_charge_of(jobs), left, ceilings)
    stops = [found for found in passed if found.severity is Severity.ERROR]
    if stops:
        raise NotAllowed(stops)


def _charge_of(jobs: Sequence[Job]) -> Charge:
    """Return what these jobs add together, as they were assessed last."""
    amounts = [job.max_usd for job in jobs if job.max_usd is not None]
    return Charge(
        max(amounts) if len(amounts) == len(jobs) else None,
        _sum([hourly_of(job) for job in jobs]),
        sum(gpus_of(job) for job in jobs),
        len(jobs),
    )


def _sum(amounts: Sequence[Decimal | None]) -> Decimal | None:
    return None if None in amounts else sum((usd for usd in amounts if usd is not None), Decimal(0))
