"""Compare a Cloud Billing export with the jobs of a team, month by month."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from jobs.billing.reader import BadExport, BilledRow, read_rows
from jobs.budgets import micros_by_month
from jobs.cost import CENT, from_micros
from jobs.errors import NotPermitted
from jobs.models import BilledAmount, BillingImport, CostEntry, Job, Team
from jobs.permissions import is_lead

MAX_ROWS = 2_000_000
MAX_KEYS = 300_000
"""Limit of the keys of one import: jobs and services, each in a month and currency."""
PORTION = 500
USD = "USD"


class Key(NamedTuple):
    """The key by which amounts are summed; `service` is set only without a job."""

    month: date
    currency: str
    job: str
    service: str


@dataclass(slots=True)
class Sums:
    """Amounts in one currency."""

    cost: Decimal = Decimal(0)
    credits: Decimal = Decimal(0)
    tax: Decimal = Decimal(0)
    rows: int = 0


@dataclass(slots=True)
class Read:
    """The sums of a file; `passed_over` rows belong to other projects and name no job."""

    sums: dict[Key, Sums]
    rows: int = 0
    passed_over: int = 0


def import_billing(team: Team, lines: Iterable[str], *, name: str, by: User, now: datetime) -> BillingImport:
    """Read an export, compare it with the team's jobs and replace the last result.

    Raise NotPermitted unless `by` is a lead of the team. Raise BadExport and write nothing if the file cannot be read.
    """
    if not is_lead(by, team_id=team.pk):
        raise NotPermitted(_("Only leads of the team import what was billed."))
    projects = {project for (project,) in Team.objects.filter(pk=team.pk).of_each_project()}
    read = add_up(read_rows(lines), projects=projects)
    if not read.rows:
        raise BadExport(_("The file has no rows."))
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        BillingImport.objects.filter(team=team).delete()
        row = BillingImport.objects.create(
            team=team, name=name[:200], by=by, at=now, rows=read.rows, passed_over=read.passed_over
        )
        BilledAmount.objects.bulk_create(_amounts(row, read), batch_size=PORTION)
    return row


def add_up(rows: Iterable[BilledRow], *, projects: Collection[str]) -> Read:
    """Sum the rows by job, month and currency; memory grows with the number of jobs, not of rows."""
    read = Read({})
    for row in rows:
        read.rows += 1
        if read.rows > MAX_ROWS:
            raise BadExport(
                _("The file has more than %(limit)s rows; export one month of one project.")
                % {"limit": f"{MAX_ROWS:,}"}
            )
        if not row.job and row.project not in ("", *projects):
            read.passed_over += 1
            continue
        key = Key(row.month, row.currency, row.job, "" if row.job else row.service)
        sums = read.sums.setdefault(key, Sums())
        if len(read.sums) > MAX_KEYS:
            raise BadExport(
                _("The file names more than %(limit)s jobs; export one month of one project.")
                % {"limit": f"{MAX_KEYS:,}"}
            )
        sums.rows += 1
        sums.credits += row.credits
        if row.is_tax:
            sums.tax += row.cost
        else:
            sums.cost += row.cost
    return read


def _amounts(row: BillingImport, read: Read) -> Iterator[BilledAmount]:
    seen: set[tuple[UUID, date]] = set()
    ordered = sorted(read.sums)
    for begin in range(0, len(ordered), PORTION):
        keys = ordered[begin : begin + PORTION]
        pks = {pk for key in keys if (pk := _uuid(key.job))}
        known = Job.objects.filter(team=row.team, pk__in=pks).values_list("pk", flat=True) if pks else ()
        ours = {pk: Counter[date]() for pk in known} | micros_by_month(pks, row.team_id)
        for key in keys:
            pk = _uuid(key.job)
            months = ours.get(pk) if pk else None
            if pk and months is not None:
                seen.add((pk, key.month))
            yield _amount(row, key, read.sums[key], pk if months is not None else None, months)
    yield from _not_billed(row, {key.month for key in read.sums}, seen)


def _amount(row: BillingImport, key: Key, sums: Sums, pk: UUID | None, months: dict[date, int] | None) -> BilledAmount:
    ours = None if months is None else from_micros(months.get(key.month, 0)).quantize(CENT)
    is_comparable = ours is not None and key.currency == USD
    return BilledAmount(
        billing_import=row,
        month=key.month,
        currency=key.currency,
        job_id=pk,
        label=key.job,
        service=key.service,
        cost=sums.cost,
        credits=sums.credits,
        tax=sums.tax,
        rows=sums.rows,
        ours_usd=ours,
        difference_usd=sums.cost.quantize(CENT) - ours if is_comparable and ours is not None else None,
    )


def _not_billed(row: BillingImport, months: set[date], seen: set[tuple[UUID, date]]) -> Iterator[BilledAmount]:
    """Yield the costs of the team's jobs in the months of the file that were not billed."""
    for month in sorted(months):
        end = (month + timedelta(days=32)).replace(day=1)
        entries = CostEntry.objects.filter(team=row.team, day__gte=month, day__lt=end, kind=CostEntry.Kind.RUN)
        sums = entries.order_by("job").values_list("job").annotate(sum=Sum("micros"))
        for pk, micros in sums.iterator(chunk_size=PORTION):
            if micros and (pk, month) not in seen:
                usd = from_micros(micros).quantize(CENT)
                yield BilledAmount(
                    billing_import=row, month=month, currency=USD, job_id=pk, label=str(pk),
                    ours_usd=usd, difference_usd=-usd,
                )  # fmt: skip


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
