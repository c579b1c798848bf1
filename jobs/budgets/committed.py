"""What allowed work may still cost: counted when it is asked for, from the rows of jobs and persistent resources."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, F, OuterRef, Q, Subquery, Sum
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast, Coalesce, Greatest, Round

from jobs import timeline
from jobs.budgets.groups import ALL, Group, groups_of
from jobs.cost import to_micros
from jobs.models import Dimension, Job, PersistentResource, ResourceChange
from jobs.states import JobState

OUTAGE = timedelta(days=7)
"""The longest time for which Trainboard may be unable to delete a resource: Vertex AI never deletes one by itself."""
MAX_LIFETIME = timedelta(days=90)
"""The longest lifetime of a persistent resource, and what counts of one that was made elsewhere: nobody ends it."""
Place = tuple[str, str, str]
"""Project, region and id of a persistent resource."""
LEFT = Greatest(Cast(Round(F("max_usd") * 1_000_000), BigIntegerField()) - Coalesce(F("cost_micros"), 0), 0)
"""The most that a job may cost, less its entries in the ledger, in micro-dollars."""


Committed = Counter[tuple[int, Group]]
"""Micro-dollars by team and group; the group ALL is the whole of a team."""


def load_committed(
    team_ids: Collection[int],
    now: datetime,
    *,
    with_labels: bool = False,
    apart_from: Collection[UUID] = (),
    apart_from_resource: Place | None = None,
) -> Committed:
    """Return what is committed by all work of teams, by each person's jobs, and `with_labels` by those of each label.

    A job counts from when it is allowed until it has ended and its cost is in the ledger. Makes two queries.
    `apart_from` and `apart_from_resource` are left out.
    """
    found = Committed()
    is_open = Q(ended_at=None) | Q(started_at__isnull=False)
    jobs = Job.objects.filter(is_open, team__in=team_ids, is_counted=False, max_usd__isnull=False)
    jobs = jobs.exclude(state=JobState.AWAITING_APPROVAL).exclude(pk__in=apart_from).order_by()
    columns: list[Any] = ["team_id", "owner_id", *([KeyTransform("labels", "spec")] if with_labels else [])]
    for team, owner, *labels, micros in jobs.values_list(*columns).annotate(sum=Sum(LEFT)):
        named = labels[0] if labels and isinstance(labels[0], dict) else {}
        groups = [ALL, (str(Dimension.PERSON), str(owner))]
        for group in [*groups, *((str(Dimension.LABEL), f"{key}={value}") for key, value in named.items())]:
            found[team, group] += micros
    found.update(load_committed_resources(team_ids, now, apart_from=apart_from_resource))
    return found


@dataclass(slots=True)
class OpenCosts:
    """What unfinished jobs cost at a moment, by team and group."""

    spent: Committed = field(default_factory=Committed)
    """Beyond their entries in the ledger, which are some minutes old."""
    committed: Committed = field(default_factory=Committed)
    """The most that they may still cost."""
    new_jobs: Counter[tuple[int, Group]] = field(default_factory=Counter)
    """Number of those that cost something and have no entry."""
    people: dict[str, str] = field(default_factory=dict)
    """Names of their owners, by the value of the owner's group."""


def unrecorded_micros(job: Job, now: datetime) -> int:
    """Return what a job cost until now beyond its entries in the ledger, in micro-dollars."""
    usd = timeline.compute_cost(job, now) if job.started_at is not None else None
    return to_micros(usd or Decimal(0)) - (job.cost_micros or 0)


def sum_open(jobs: Iterable[Job], now: datetime) -> OpenCosts:
    """Return what these unfinished jobs cost now; `labels` and `owner_name` are annotated."""
    found = OpenCosts()
    for job in jobs:
        found.people[str(job.owner_id)] = job.owner_name  # type: ignore[attr-defined]
        spent, most = unrecorded_micros(job, now), to_micros(job.max_usd or Decimal(0))
        micros = spent + (job.cost_micros or 0)
        labels = job.labels  # type: ignore[attr-defined]
        for group in groups_of(owner_id=job.owner_id, strategy=job.strategy, machines=job.machines, labels=labels):
            found.spent[job.team_id, group] += spent
            found.committed[job.team_id, group] += max(most - micros, 0)
            found.new_jobs[job.team_id, group] += bool(micros and not job.cost_micros)
    return found


def load_committed_resources(team_ids: Collection[int], now: datetime, *, apart_from: Place | None = None) -> Committed:
    """Return what is committed by persistent resources, by the team and the people who asked for each. One query."""
    found = Committed()
    for (team, place), changes in _list_resources(team_ids, now).items():
        if place != apart_from:
            people = {(str(Dimension.PERSON), str(change.asked_by_id)) for change in changes if change.needs}
            for group in (ALL, *people):  # of everybody who asked for machines or time, as for ceilings
                found[team, group] += _micros_of(changes, now)
    return found


def _list_resources(team_ids: Collection[int], now: datetime) -> dict[tuple[int, Place], list[ResourceChange]]:
    """Return the allowed changes of resources that a team has asked for, oldest first, while one may still cost it."""
    allowed = ResourceChange.objects.filter(team__in=team_ids, allowed_at__isnull=False)
    allowed = allowed.exclude(outcome=ResourceChange.Outcome.REFUSED)
    lives = Q(deletes_at=None) | Q(deletes_at__gt=now - OUTAGE), Q(lifetime_hours__isnull=False)
    grew = Q(action=ResourceChange.Action.RESIZE, allowed_at__gt=now - MAX_LIFETIME - OUTAGE)
    live = allowed.filter(Q(*lives) | grew)
    of_place = {name: OuterRef(name) for name in ("project", "region", "resource_id")}
    gone = PersistentResource.objects.filter(**of_place, gone_at__isnull=False).values("gone_at")[:1]
    rows = allowed.filter(resource_id__in=live.values("resource_id")).annotate(gone_at=Subquery(gone))
    changes: dict[tuple[int, Place], list[ResourceChange]] = {}
    for change in rows.order_by("asked_at", "pk").defer("body", "findings", "message"):
        place = (change.project, change.region, change.resource_id)
        changes.setdefault((change.team_id, place), []).append(change)
    return changes


def _micros_of(allowed: list[ResourceChange], now: datetime) -> int:
    """Return what a resource may still cost, until OUTAGE after its lifetime, by its changes, oldest first."""
    since = since_made(allowed)
    gone_at: datetime | None = allowed[0].gone_at  # type: ignore[attr-defined]
    if not since or (gone_at is not None and gone_at >= since[0].asked_at):
        return 0
    hourly = next((change.usd_per_hour for change in reversed(since) if change.usd_per_hour is not None), None)
    if hourly is None:
        return 0
    left = max(counts_until(since) - now, timedelta())
    return to_micros(hourly * Decimal(left // timedelta(seconds=1)) / 3600)


def since_made(allowed: list[ResourceChange]) -> list[ResourceChange]:
    """Return the changes of a resource, oldest first, from its last creation on.

    One that was made elsewhere counts from the first change that has made it larger here.
    """
    begins = [number for number, change in enumerate(allowed) if change.action == ResourceChange.Action.CREATE][-1:]
    if not begins:
        grew = (change.action == ResourceChange.Action.RESIZE and bool(change.needs) for change in allowed)
        begins = [number for number, larger in enumerate(grew) if larger][:1]
    return allowed[begins[0] :] if begins else []


def counts_until(made: list[ResourceChange]) -> datetime:
    """Return until when a resource may cost something after these changes, oldest first: OUTAGE after its lifetime."""
    given = [end for end in map(lifetime_end, made) if end is not None]
    begun = made[0].allowed_at or made[0].asked_at
    return max(given, default=begun + MAX_LIFETIME) + OUTAGE


def lifetime_end(change: ResourceChange) -> datetime | None:
    """Return until when a change lets its resource live, None if it gives no lifetime."""
    if change.lifetime_hours is None:
        return None
    return change.deletes_at or (change.allowed_at or change.asked_at) + timedelta(hours=change.lifetime_hours)
