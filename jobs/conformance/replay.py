"""Pass a recording through observation, as if its answers were polls, and show what Trainboard would have recorded.

It is done in a transaction that is rolled back, so nothing is stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from jobs import states, timeline, vertex
from jobs.conformance.recording import Answer, Recording
from jobs.models import Discovery, Job, Membership, Role, Team
from jobs.observation.adopt import adopt
from jobs.observation.log_feeds import keep_lines
from jobs.observation.record import record
from jobs.observation.restarts import record_restarts
from jobs.spec import COLLECTIONS
from jobs.vertex import wire
from jobs.vertex.logs import log_entry

PROJECT = "replayed-project"
KINDS = {collection: kind for kind, collection in COLLECTIONS.items()}
LATE = timedelta(seconds=30)
"""The log is read once more this long after the last answer."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What observation made of one job. `events` are (time, message)."""

    name: str
    experiment: str
    state: str
    started_at: datetime | None
    ended_at: datetime | None
    run_time: timedelta
    restarts: int
    events: tuple[tuple[datetime, str], ...]


@dataclass
class _Sequence:
    """The answers about one job, and its log."""

    kind: str
    region: str
    experiment: str
    name: str
    polls: list[tuple[datetime, dict[str, Any]]] = field(default_factory=list)
    entries: list[tuple[datetime, vertex.LogEntry]] = field(default_factory=list)


def replay(recording: Recording) -> list[Replayed]:
    """Return what observation makes of each job in a recording, in the order in which they were created."""
    with transaction.atomic():
        found = [_replay(each) for each in _sequences(recording)]
        transaction.set_rollback(True)
    return found


def _sequences(recording: Recording) -> list[_Sequence]:
    """Return the answers by job. A job is identified by its name and creation, because names may be placeholders."""
    found: dict[tuple[str, str, str], _Sequence] = {}
    for answer in sorted(recording.answers, key=lambda each: each.at):
        for body in answer.job_bodies:
            if not body.get("createTime"):  # a list with a field mask
                continue
            collection = answer.method.partition(".")[0]
            key = (answer.experiment, wire.text(body.get("name")), wire.text(body.get("createTime")))
            if key not in found:
                found[key] = _Sequence(KINDS[collection], _region(key[1]), answer.experiment, key[1])
            found[key].polls.append((answer.at, _named(body, collection, number=list(found).index(key) + 1)))
    for sequence in found.values():
        sequence.entries = list(_entries(recording.answers, sequence.name.rpartition("/")[2]))
    return list(found.values())


def _region(name: str) -> str:
    parts = name.split("/")
    return parts[3] if len(parts) > 4 else "us-central1"


def _named(body: Mapping[str, Any], collection: str, *, number: int) -> dict[str, Any]:
    """Return the body with a name that is valid and unique, in place of placeholders."""
    region = _region(wire.text(body.get("name")))
    return {**body, "name": f"projects/{PROJECT}/locations/{region}/{collection}/{number}"}


def _entries(answers: Sequence[Answer], job_id: str) -> Iterator[tuple[datetime, vertex.LogEntry]]:
    """Yield (when it could be read, entry) of a job's log."""
    for answer in answers:
        listed = answer.body.get("entries") if answer.method == "entries.list" else None
        for item in listed if isinstance(listed, list) else ():
            entry = log_entry(item)
            if entry is not None and entry.job_id == job_id:
                yield wire.moment(wire.mapping(item).get("receiveTimestamp")) or entry.timestamp, entry


def _replay(sequence: _Sequence) -> Replayed:
    """Adopt the job as it was first seen, and pass every later answer and line on at its time."""
    at, body = sequence.polls[0]
    job = _adopted(sequence, body, at)
    unread = list(sequence.entries)
    times = [moment for moment, _ in sequence.polls[1:]] + [max(moment for moment, _ in sequence.polls) + LATE]
    bodies: list[dict[str, Any] | None] = [each for _, each in sequence.polls[1:]]
    for now, answer in zip(times, [*bodies, None], strict=True):
        if answer is not None:
            record(job, wire.remote_job(sequence.kind, answer), now=now)
        if lines := [entry for received, entry in unread if received <= now]:
            unread = [(received, entry) for received, entry in unread if received > now]
            keep_lines(job, lines, now=now)
        elif job.started_at is not None:
            record_restarts(job, now=now)
        job = Job.objects.select_related("last_seen").get(pk=job.pk)
    events = [(event.occurred_at, event.message) for event in job.events.without_passing().order_by("id")]
    ran = timeline.running(job, times[-1])
    return Replayed(
        name=job.display_name or sequence.name, experiment=sequence.experiment, state=job.state,
        started_at=job.started_at, ended_at=job.ended_at, run_time=ran, restarts=job.restarts, events=tuple(events),
    )  # fmt: skip


def _adopted(sequence: _Sequence, body: dict[str, Any], at: datetime) -> Job:
    """Return the row of a job that a person has just found and adopted."""
    place = {"project": PROJECT, "region": sequence.region}
    team, _ = Team.objects.get_or_create(name=PROJECT, defaults={"project": PROJECT})
    person, _ = User.objects.get_or_create(username=PROJECT)
    Membership.objects.get_or_create(team=team, user=person, defaults={"role": Role.ENGINEER})
    discovery, _ = Discovery.objects.get_or_create(
        **place, defaults={"asked_by": person, "asked_at": at, "reaches_back_to": at, "due_at": None}
    )
    discovery.answered_at = at
    remote = wire.remote_job(sequence.kind, body)
    external = discovery.found.create(
        kind=sequence.kind, remote_name=remote.name, display_name=remote.display_name,
        state=remote.state, created_at=remote.create_time, body=body,
    )  # fmt: skip
    return adopt(external, team=team, by=person, now=at)


def describe(found: Replayed) -> Iterator[str]:
    """Yield lines about one job for people: its times first, then its events."""
    ended = states.FINISHED
    state = found.state if found.state in ended else f"{found.state} (its end is not in the recording)"
    yield f"{found.experiment}: {found.name}"
    started = found.started_at.isoformat(timespec="milliseconds") if found.started_at else "never as far as is known"
    yield f"  {state}, ran {found.run_time.total_seconds():.0f} s, {found.restarts} restarts, started {started}"
    for at, message in found.events:
        yield f"    {at:%H:%M:%S}  {message}"
