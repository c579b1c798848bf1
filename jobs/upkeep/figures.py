"""The figures of jobs that have ended, kept so that no page has to go through the jobs themselves.

A job counts as soon as it has ended, and again when something is learned of it later: whoever writes its row clears
`is_counted`, and the sweep counts what is not. The figures of a job hold what it has added to the sum of its month, so
counting a job again adds only the difference, and a step that was cut short or done twice changes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from jobs import cost, spec, timeline
from jobs.budgets import lock_teams, record_costs
from jobs.catalog import count_accelerators
from jobs.clock import database_now
from jobs.cost.actual import for_time
from jobs.isolation import take_each, take_portions
from jobs.models import Job, JobEvent, JobFigures, JobMetrics, LearnedFigures, MonthFigures
from jobs.models.figures import GROUPED, IN_COLUMNS, SUMMED, VERSION, WAITS
from jobs.prices import current_book
from jobs.strategies import STRATEGIES
from jobs.timeline.resource_holdings import find_submission
from jobs.upkeep import learned_figures
from jobs.upkeep.learned_figures import Columns, add_to_sums
from jobs.upkeep.restart_losses import NO_LOSS, Lost, restart_losses, trial_losses

PORTION = 200
"""Jobs of one transaction: a fraction of a second, so that no worker waits for long."""
LOSSES = (
    JobEvent.Kind.RESTARTED, JobEvent.Kind.EXPLAINED, JobEvent.Kind.MACHINES_LOST, JobEvent.Kind.CORRECTED,
)  # fmt: skip
PREEMPTED, STANDARD = "preempted", "standard"
COMPARED = frozenset(key for key, each in STRATEGIES.items() if each.price_key not in (STANDARD, "reservation"))
"""Strategies with prices of their own for each job."""
CENT_IN_MICROS = 10_000
NONE = dict.fromkeys((*SUMMED, *WAITS), 0)
MONTH_COLUMNS = ("month", *(f"{name}_id" if name in ("team", "owner") else name for name in GROUPED))
"""Columns by which the sums of months are grouped."""


def count_ended(now: datetime | None = None) -> int:
    """Bring the figures of about PORTION jobs up to date; return how many there were. Repeating it is harmless.

    `now` is the time of the step, by default the database's. What the jobs have cost is recorded with it. Each team has
    a transaction and a share of its own, because it is locked: a team that is locked elsewhere, or whose jobs cannot be
    counted, delays no other.
    """
    for rows in uncounted():
        teams = list(rows.order_by("team_id").values_list("team_id", flat=True).distinct())
        if teams:
            share = max(PORTION // len(teams), 1)
            return take_each(teams, lambda team: _count_of_team(rows, team, share, now), what="ended jobs of a team")  # noqa: B023
    return 0


def uncounted() -> tuple[QuerySet[Job], QuerySet[Job]]:
    """Select the jobs that are to be counted, and those that an earlier version has counted."""
    ended = Q(ended_at__isnull=False) | Q(figures__isnull=False)
    return Job.objects.filter(ended, is_counted=False), Job.objects.filter(figures__version__lt=VERSION)


def _count_of_team(rows: "QuerySet[Job]", team: int, share: int, now: datetime | None) -> int:
    keys = list(rows.filter(team=team).order_by("pk").values_list("pk", flat=True)[:share])
    return take_portions(keys, lambda portion: _count(portion, team, now), what="ended jobs")


def _count(keys: Sequence[UUID], team: int, now: datetime | None) -> int:
    with transaction.atomic():
        lock_teams([team])
        rows = Job.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk")
        jobs = list(rows.defer("error", "log_sources"))
        record_costs(jobs, now or database_now())
        before = JobFigures.objects.in_bulk(keys)
        after = {figures.pk: figures for figures in _figures(jobs, before)}
        JobFigures.objects.filter(pk__in=before.keys() - after.keys()).delete()  # a lost job that goes on
        JobFigures.objects.bulk_create(
            after.values(),
            update_conflicts=True,
            unique_fields=["job"],
            update_fields=[*GROUPED, "ended_on", "wait_bucket", *SUMMED, "teaches", "version"],
        )
        _add_to_months(before.values(), after.values())
        add_to_sums(LearnedFigures, before.values(), after.values(), learned_figures.parts_of)
        Job.objects.filter(pk__in=after).update(is_counted=True)
    return len(keys)


def _add_to_months(before: Iterable[JobFigures], after: Iterable[JobFigures]) -> None:
    """Add to the sums of months by how much what these jobs add to them has changed.

    Rows that then hold nothing are deleted. As the team is locked, nobody is about to add to one of them.
    """
    groups = add_to_sums(MonthFigures, before, after, lambda row: [_part_of_month(row)])
    teams, months = ({group[name] for group in groups} for name in ("team_id", "month"))
    MonthFigures.objects.filter(team__in=teams, month__in=months, **NONE).delete()


def _part_of_month(row: JobFigures) -> tuple[Columns, dict[str, int]]:
    group = {"month": row.ended_on.replace(day=1), **{name: getattr(row, name) for name in MONTH_COLUMNS[1:]}}
    sums = {name: getattr(row, name) for name in SUMMED}
    if row.wait_bucket != timeline.NEVER_RAN:
        sums[WAITS[row.wait_bucket]] = row.jobs
    return group | {"wait_bucket": IN_COLUMNS}, sums


def count_all() -> Iterator[int]:
    """Count every job that is not counted yet; yield after each portion how many it had."""
    while count := count_ended():
        yield count


def _figures(jobs: Sequence[Job], before: Mapping[UUID, JobFigures]) -> Iterator[JobFigures]:
    """Yield the figures of those of the jobs that have ended; five queries at most, two of them for restarts."""
    losses: dict[UUID, list[JobEvent]] = {job.pk: [] for job in jobs}
    for event in JobEvent.objects.filter(job__in=losses, kind__in=LOSSES).order_by("job", "id"):
        losses[event.job_id].append(event)
    losses = {pk: timeline.holding(events) for pk, events in losses.items()}
    lost = restart_losses(jobs)
    of_trials = trial_losses({job.pk: losses[job.pk] for job in jobs if job.trial_seconds is not None})
    first_steps = _first_steps(jobs)
    for job in jobs:
        if job.ended_at is None:
            continue
        found = _count_preemptions(losses[job.pk]), lost.get(job.pk, NO_LOSS)
        yield _figures_of(job, *of_trials.get(job.pk, found), before.get(job.pk), first_steps.get(job.pk))


def _first_steps(jobs: Sequence[Job]) -> dict[UUID, float]:
    """Return when each job first wrote progress, else its first metric, in seconds since 1970. One query."""
    rows = JobMetrics.objects.filter(job__in=[job.pk for job in jobs])
    found = rows.values_list("pk", "record__runs__0__since", "record__series__0__points__0__0")
    firsts = ((pk, [at for at in moments if isinstance(at, int | float)]) for pk, *moments in found)
    return {pk: min(moments) for pk, moments in firsts if moments}


def _figures_of(
    job: Job, preemptions: int, lost: Lost, before: JobFigures | None, first_step: float | None
) -> JobFigures:
    assert job.ended_at is not None
    usd, ran = timeline.cost_so_far(job, job.ended_at), timeline.running(job, job.ended_at)
    submission, hourly_usd = find_submission(job), job.hourly_usd or Decimal(0)
    if job.trial_seconds is not None:
        hourly_usd /= max(job.parallel_trials or 1, 1)  # what is lost is the time of single trials
    inside = learned_figures.is_inside(job, usd)
    begun = job.started_at.timestamp() if job.started_at is not None else 0.0
    start_up = round(first_step - begun) if first_step is not None and begun and first_step > begun else None
    return JobFigures(
        **_group_of(job),
        jobs=1,
        unpriced=int(usd is None and job.started_at is not None),
        micros=cost.to_micros(usd or Decimal(0)),
        saved_micros=_saved_micros(job, submission, usd, lost, before),
        lost_micros=cost.to_micros(for_time(hourly_usd, lost.time)),
        estimated=int(inside is not None),
        inside=int(inside is True),
        seconds=round(ran.total_seconds() if job.trial_seconds is None else job.trial_seconds),
        preemptions=preemptions,
        teaches=learned_figures.learned_from(job, submission, lost, preemptions, inside=inside, start_up=start_up),
        version=VERSION,
    )


def _group_of(job: Job) -> dict[str, Any]:
    """Return the job, its day and the columns by which it is grouped."""
    assert job.ended_at is not None
    accelerators = count_accelerators(job.machines).most_common(1)
    wait = timeline.wait_bucket(timeline.first_wait(job, job.ended_at)) if job.started_at else timeline.NEVER_RAN
    return {
        "job": job,
        "ended_on": job.ended_at.astimezone(UTC).date(),
        "team_id": job.team_id,
        "owner_id": job.owner_id,
        "strategy": job.strategy,
        "region": job.region,
        "accelerator": accelerators[0][0] if accelerators else "",
        "outcome": job.state,
        "wait_bucket": wait,
    }


def _saved_micros(
    job: Job, submission: spec.Submission | None, usd: Decimal | None, lost: Lost, before: JobFigures | None
) -> int:
    """Return what the same work would have cost more under Standard; 0 where that is not to be compared.

    Standard would not have lost what restarts did. A reservation and a persistent resource are billed whether or not a
    job uses them, so their jobs save nothing. A job that was sent before prices were kept with it counts at the prices
    of the day on which it was first counted, as long as it costs the same cents.
    """
    if job.strategy not in COMPARED or submission is None or not usd or not job.hourly_usd:
        return 0
    kept = before if job.price_snapshot is None and before is not None and before.version else None
    if kept is not None and abs(kept.micros - cost.to_micros(usd)) < CENT_IN_MICROS:
        return kept.saved_micros
    price = standard_price(job, submission)
    if price is None:
        return 0
    ran = timeline.running(job, job.ended_at) if job.ended_at else timedelta()
    useful = Decimal(max(0.0, 1 - lost.time / ran)) if ran and job.trial_seconds is None else Decimal(1)
    return cost.to_micros(usd * useful * price / job.hourly_usd - usd)


def standard_price(job: Job, submission: spec.Submission, book: cost.PriceBook | None = None) -> Decimal | None:
    """Return what an hour of the job costs on Standard, by the prices that were kept with it, else by those of now.

    `book` is the one of now where the caller has it.
    """
    if job.price_snapshot is not None:
        kept = job.price_snapshot.get("standard_usd_per_hour")
        return None if kept is None else Decimal(kept)
    price = cost.rate_of(submission, price_key=STANDARD, book=book or current_book()).usd_per_hour
    return None if price is None else price * (job.parallel_trials or submission.parallel_trials)


def _count_preemptions(losses: Sequence[JobEvent]) -> int:
    """Return how often the machines of a whole job were taken back, the last time included."""
    return timeline.restart_causes(losses)[PREEMPTED] + (timeline.last_loss(losses) == PREEMPTED)
