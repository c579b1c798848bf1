from collections import Counter
from datetime import date

from django.db import migrations, transaction
from django.db.models import F, Sum
from django.db.models.functions import TruncMonth

PORTION = 500
CENT = 10_000
SUMMED = ("jobs", "unpriced", "seconds", "preemptions", "estimated", "inside")
MICROS = ("micros", "saved_micros", "lost_micros")
GROUPED = ("team_id", "month", "owner_id", "strategy", "region", "accelerator", "outcome")


def open_ledger(apps, schema_editor):
    """Write what jobs and persistent resources have cost so far as the first entries of the ledger, and its sums.

    Each portion is a transaction that also marks its jobs, so this may be cut short and begun again. Amounts are whole
    cents, as the version before has kept them. Ended jobs are then counted again, which adds what is missing.
    """
    JobSpend = apps.get_model("jobs", "JobSpend")
    while rows := list(JobSpend.objects.filter(job__cost_until=None).select_related("job").order_by("pk")[:PORTION]):
        with transaction.atomic():
            _open_jobs(apps, rows)
    with transaction.atomic():
        _open_resources(apps)
    _fill_figures(apps.get_model("jobs", "JobFigures"))
    with transaction.atomic():
        _fold_months(apps.get_model("jobs", "MonthFigures"))
        _fill_months(apps)
    apps.get_model("jobs", "Upkeep").objects.filter(name="sweep:months").delete()  # a stage that there is no more
    # A job that was lost and went on counts as open again.
    apps.get_model("jobs", "Job").objects.filter(ended_at=None, is_counted=True).update(is_counted=False)


def _open_jobs(apps, rows):
    CostEntry, Job = apps.get_model("jobs", "CostEntry"), apps.get_model("jobs", "Job")
    entries, jobs = [], []
    for row in rows:
        job = row.job
        job.cost_micros = None if job.hourly_usd is None and not row.days else sum(row.days.values()) * CENT
        job.cost_until = row.recorded_at
        jobs.append(job)
        for day, cents in row.days.items():
            entries.append(
                CostEntry(
                    team_id=row.team_id, project=job.project, job_id=job.pk, kind="run", day=date.fromisoformat(day),
                    groups=row.groups, micros=cents * CENT, usd_per_hour=job.hourly_usd,
                    price=str((job.price_snapshot or {}).get("at") or "")[:40], recorded_at=row.recorded_at,
                )  # fmt: skip
            )
    _write(apps, entries)
    Job.objects.bulk_update(jobs, ["cost_micros", "cost_until"])


def _open_resources(apps):
    CostEntry = apps.get_model("jobs", "CostEntry")
    if CostEntry.objects.exclude(resource="").exists():
        return
    entries = []
    for row in apps.get_model("jobs", "ResourceSpend").objects.all():
        shared = [["", ""], ["strategy", "persistent"]]
        if row.is_idle:
            shared.append(["resource", f"{row.resource_id} in {row.region}"])
        rest = Counter(row.days)
        amounts = []
        for dimension, values in (row.of_groups or {}).items():
            for value, days in values.items():
                # Persons divide the whole; labels are amounts beside it.
                is_part = dimension == "person"
                own = [*shared, [dimension, value]] if is_part else [[dimension, value]]
                amounts += [(own, day, cents) for day, cents in days.items()]
                if is_part:
                    rest.subtract(days)
        amounts += [(shared, day, cents) for day, cents in rest.items()]
        entries += [
            CostEntry(
                team_id=row.team_id, project=row.project, resource=f"{row.region}/{row.resource_id}",
                kind="idle" if row.is_idle else "share", day=date.fromisoformat(day), groups=groups,
                micros=cents * CENT, recorded_at=f"{day}T00:00:00+00:00",
            )  # fmt: skip
            for groups, day, cents in amounts
            if cents
        ]
    _write(apps, entries)


def _write(apps, entries):
    CostEntry, SpendSum = apps.get_model("jobs", "CostEntry"), apps.get_model("jobs", "SpendSum")
    CostEntry.objects.bulk_create(entries, batch_size=PORTION)
    micros, jobs = Counter(), {}
    for entry in entries:
        for dimension, value in entry.groups:
            key = (entry.team_id, f"{entry.day:%Y-%m}", dimension, value)
            micros[key] += entry.micros
            if entry.kind == "run":
                jobs.setdefault(key, set()).add(entry.job_id)
            if dimension == "strategy":
                micros[entry.team_id, entry.day.isoformat(), dimension, value] += entry.micros
    for (team, period, dimension, value), amount in sorted(micros.items()):
        group = {"team_id": team, "period": period, "dimension": dimension, "value": value}
        row, _ = SpendSum.objects.get_or_create(**group)
        count = len(jobs.get((team, period, dimension, value), ()))
        SpendSum.objects.filter(pk=row.pk).update(micros=F("micros") + amount, jobs=F("jobs") + count)


def _fill_figures(JobFigures):
    amounts = {name: F(name.replace("micros", "cents")) * CENT for name in MICROS}
    last = None
    while True:
        rows = JobFigures.objects.filter(pk__gt=last) if last else JobFigures.objects.all()
        keys = list(rows.order_by("pk").values_list("pk", flat=True)[: 10 * PORTION])
        if not keys:
            return
        last = keys[-1]
        JobFigures.objects.filter(pk__in=keys, version__lt=3).update(**amounts)


def _fill_months(apps):
    """Sum the filled figures of jobs: workers of the version before change neither these nor the sums."""
    of_job = apps.get_model("jobs", "JobFigures").objects.annotate(month=TruncMonth("ended_on")).order_by()
    sums = of_job.values(*GROUPED).annotate(**{f"sum_{name}": Sum(name) for name in MICROS})
    for row in sums.iterator(chunk_size=PORTION):
        group = {name: row[name] for name in GROUPED}
        months = apps.get_model("jobs", "MonthFigures").objects.filter(**group, wait_bucket=-2)
        months.update(**{name: row[f"sum_{name}"] for name in MICROS})


def _fold_months(MonthFigures):
    """Move rows of one bucket of waits, which earlier versions wrote, into the rows of their groups."""
    for row in MonthFigures.objects.filter(wait_bucket__gt=-2):
        group = {name: getattr(row, name) for name in GROUPED}
        kept, _ = MonthFigures.objects.get_or_create(**group, wait_bucket=-2)
        for name in SUMMED:
            setattr(kept, name, getattr(kept, name) + getattr(row, name))
        if row.wait_bucket >= 0:
            name = f"waited_{row.wait_bucket}"
            setattr(kept, name, getattr(kept, name) + row.jobs)
        kept.save()
        row.delete()


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0084_find_costs_to_record")]

    operations = [migrations.RunPython(open_ledger, migrations.RunPython.noop)]
