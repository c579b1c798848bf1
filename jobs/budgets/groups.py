"""The groups of a job within its team, by which spending is summed and budgets are set."""

from datetime import UTC, date, datetime
from typing import Any

from jobs.models import Dimension, Job
from jobs.models.ledger import MAX_VALUE_LENGTH

Group = tuple[str, str]
"""A Dimension and a value: ("", ""), ("person", "7"), ("strategy", "spot"), ("label", "project=bert")."""
ALL: Group = (Dimension.ALL, "")


def groups_of(*, owner_id: int, strategy: str, machines: str, labels: Any) -> list[Group]:
    """Return the groups of a job, each once, in order; `machines` is its worker pools in one line."""
    kinds = machines.split(",")[0].partition(" × ")[2].split(" ")[0]
    named = labels if isinstance(labels, dict) else {}
    found = [
        ALL,
        (Dimension.PERSON, str(owner_id)),
        (Dimension.STRATEGY, strategy),
        (Dimension.MACHINE, kinds),
        *((Dimension.LABEL, f"{key}={value}") for key, value in named.items()),
    ]
    return sorted({(str(dimension), value[:MAX_VALUE_LENGTH]) for dimension, value in found})


def groups_of_job(job: Job) -> list[Group]:
    """Return the groups of a stored job."""
    labels = job.spec.get("labels") if isinstance(job.spec, dict) else None
    return groups_of(owner_id=job.owner_id, strategy=job.strategy, machines=job.machines, labels=labels)


def groups_of_resource(owner_id: int) -> list[Group]:
    """Return the groups of a persistent resource that a person requests."""
    return [ALL, (str(Dimension.PERSON), str(owner_id)), (str(Dimension.STRATEGY), "persistent")]


def month_of(moment: datetime | date) -> date:
    """Return the first day of the calendar month, UTC."""
    day = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    return day.replace(day=1)
