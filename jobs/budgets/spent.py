"""How much a person, a team or the site may cost right now: one answer for ceilings, policy and pages.

Counted is what runs or is allowed to run, with the most that it can cost if nobody but Google ends it, and what ended
within a day, with its cost. Persistent resources count until OUTAGE after their lifetime, for everybody who asked for
some of their machines or time. Jobs on a persistent resource cost nothing of their own.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from uuid import UUID

from django.db.models import Case, Q, QuerySet, When
from django.db.models.fields.json import KeyTextTransform

from jobs import assessment, timeline
from jobs.budgets.committed import OUTAGE, Place, counts_until, since_made
from jobs.cost import SCALE_DOWN, accrued, round_up
from jobs.models import Job, PersistentResource, ResourceChange
from jobs.states import JobState
from jobs.strategies.persistent import STRATEGY
from jobs.timeline.resource_holdings import find_submission

RECENT = timedelta(days=1)
"""How long what has ended still counts."""
NEVER_RAN = frozenset({JobState.REJECTED, JobState.WITHDRAWN, JobState.SUBMIT_FAILED})
HEAVY = ("spec", "estimate", "error", "log_sources", "explanation")
ADDS = Case(When(strategy=STRATEGY.key, then=KeyTextTransform("adds_usd_per_hour", "estimate")))
Action, Outcome = ResourceChange.Action, ResourceChange.Outcome


@dataclass(frozen=True, slots=True)
class Spent:
    """What is in use. An amount is None if a part of it is not known."""

    usd: Decimal | None = Decimal(0)
    """The most that what runs can cost, and the cost of what ended within RECENT."""
    usd_per_hour: Decimal | None = Decimal(0)
    gpus: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            _add(self.usd, other.usd), _add(self.usd_per_hour, other.usd_per_hour), self.gpus + other.gpus
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """What one job or persistent resource of a team uses, and the people to whom it counts."""

    team_id: int
    people: frozenset[int]
    spent: Spent


def spent(
    now: datetime,
    *,
    team_id: int | None = None,
    person_id: int | None = None,
    apart_from: Collection[UUID] = (),
    apart_from_resource: Place | None = None,
) -> Spent:
    """Return what a person uses, in one team or in all; what a team uses; or what the whole site uses.

    `apart_from` and `apart_from_resource` are left out: those about which the question is. Makes up to three queries.
    """
    jobs, changes = _of_team(None if team_id is None else [team_id])
    jobs = jobs.filter(owner=person_id) if person_id is not None else jobs
    jobs = jobs.exclude(pk__in=apart_from) if apart_from else jobs
    uses = chain(_of_jobs(jobs, now), _of_resources(changes, apart_from_resource, now))
    return sum_uses(use for use in uses if person_id is None or person_id in use.people)


def list_uses(now: datetime, team_ids: Collection[int] | None) -> list[Use]:
    """Return what each job and persistent resource of these teams uses, or of all teams. Makes up to three queries."""
    jobs, changes = _of_team(team_ids)
    return [*_of_jobs(jobs, now), *_of_resources(changes, None, now)]


def sum_uses(uses: Iterable[Use]) -> Spent:
    """Return what these jobs and resources use together."""
    return sum((use.spent for use in uses), Spent())


def _of_team(team_ids: Collection[int] | None) -> tuple[QuerySet[Job], QuerySet[ResourceChange]]:
    jobs = Job.objects.exclude(state=JobState.AWAITING_APPROVAL).filter(approved_at__isnull=False, is_adopted=False)
    changes = ResourceChange.objects.all()
    return (jobs, changes) if team_ids is None else (jobs.filter(team__in=team_ids), changes.filter(team__in=team_ids))


def _of_jobs(jobs: QuerySet[Job], now: datetime) -> Iterator[Use]:
    counted = jobs.filter(Q(ended_at=None) | Q(ended_at__gt=now - RECENT)).annotate(adds=ADDS).defer(*HEAVY)
    return (
        Use(job.team_id, frozenset({job.owner_id}), _of_job(job, now)) for job in counted.iterator(chunk_size=1_000)
    )


def gpus_of(job: Job) -> int:
    """Return the accelerators that a job uses at once."""
    if job.gpus is not None:
        return job.gpus
    submission = find_submission(job)  # requested before they were stored
    return assessment.gpus_of(submission) if submission is not None else 0


def _of_job(job: Job, now: datetime) -> Spent:
    if job.is_finished and job.state != JobState.LOST:  # Vertex AI may still run a job that it does not list
        may_exist = job.state in NEVER_RAN and job.may_have_duplicates
        if not may_exist:
            return Spent(Decimal(0)) if job.state in NEVER_RAN else _ended(job, now)
    return Spent(job.max_usd) if job.is_finished else Spent(job.max_usd, hourly_of(job), gpus_of(job))


def hourly_of(job: Job) -> Decimal | None:
    """Return the price per hour of a job, with the machines by which it may make a persistent resource grow."""
    return _add(job.hourly_usd, _adds(job))


def _adds(job: Job) -> Decimal | None:
    adds = job.adds if hasattr(job, "adds") else job.estimate.get("adds_usd_per_hour")
    if adds is None:  # of a job that adds none, or whose price is not known
        return None if job.strategy == STRATEGY.key and job.max_usd is None else Decimal(0)
    return Decimal(adds)


def _ended(job: Job, now: datetime) -> Spent:
    """Return what a job has cost, and what it may have added to a resource that is counted nowhere else.

    The machines that it added may stay for SCALE_DOWN after its end.
    """
    cost, adds, ran = timeline.cost_so_far(job, now), _adds(job), timeline.running(job, now)
    if adds == 0 or not ran:
        return Spent(cost)
    cost = _add(cost, accrued(adds, ran + SCALE_DOWN))
    stays = job.ended_at is not None and now < job.ended_at + SCALE_DOWN
    return Spent(cost, adds, gpus_of(job)) if stays else Spent(cost)


# ---------------------------------------------------------------- persistent resources
def _of_resources(changes: QuerySet[ResourceChange], apart_from: Place | None, now: datetime) -> Iterator[Use]:
    """Yield what persistent resources use that were created or made larger here, and are not gone since RECENT."""
    allowed = changes.filter(allowed_at__isnull=False).exclude(outcome=Outcome.REFUSED).exclude(action=Action.DELETE)
    by_place: dict[Place, list[ResourceChange]] = defaultdict(list)
    for change in allowed.order_by("asked_at", "pk").defer("findings", "message"):
        place = (change.project, change.region, change.resource_id)
        if place != apart_from:
            by_place[place].append(change)
    by_place = {place: made for place, changes in by_place.items() if (made := since_made(changes))}
    if not by_place:
        return
    rows = PersistentResource.objects.filter(resource_id__in={place[2] for place in by_place})
    known = {
        (row.project, row.region, row.resource_id): row.gone_at
        for row in rows.only("project", "region", "resource_id", "gone_at")
    }
    for place, made in by_place.items():
        people = frozenset(each.asked_by_id for each in made if each.needs or each.most_usd is not None)
        yield Use(made[0].team_id, people, _of_resource(made, place in known, known.get(place), now))


def _of_resource(made: list[ResourceChange], is_known: bool, gone_at: datetime | None, now: datetime) -> Spent:
    """Return what a resource uses after these changes, oldest first; the first one created it."""
    since = max(made[0].allowed_at or now, now - RECENT)
    hourly, gpus = _size_of(made)
    if gone_at is not None and gone_at >= made[0].asked_at:
        return Spent(_for(hourly, gone_at - since)) if gone_at > since else Spent()
    ends = counts_until(made)
    if is_known:  # it exists, whatever its lifetime was
        ends = max(ends, now + OUTAGE)
    return Spent(_for(hourly, ends - since), hourly, gpus) if ends > now else Spent()


def _size_of(made: list[ResourceChange]) -> tuple[Decimal | None, int]:
    """Return the price per hour and the accelerators of a resource: the last that Vertex AI accepted, or more.

    A change without an answer may or may not have arrived, so the larger size counts.
    """
    hourly, gpus = made[0].usd_per_hour, made[0].gpus or 0
    for change in made[1:]:
        if change.action != Action.RESIZE:
            continue
        if change.outcome == Outcome.ACCEPTED:
            hourly, gpus = change.usd_per_hour, gpus if change.gpus is None else change.gpus
        else:
            known = hourly is not None and change.usd_per_hour is not None
            hourly = max(hourly, change.usd_per_hour) if known else None  # type: ignore[type-var]
            gpus = max(gpus, change.gpus or 0)
    return hourly, gpus


def _for(hourly: Decimal | None, time: timedelta) -> Decimal | None:
    return None if hourly is None else round_up(hourly * Decimal(max(time, timedelta()) // timedelta(seconds=1)) / 3600)


def _add(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other
