"""Thin Celery tasks over due rows. Each takes ids and calls one function, and may safely run twice or late."""

import logging
import uuid
from datetime import datetime
from functools import partial
from typing import Any

from celery import Task, shared_task
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from jobs import doctor, messages, observation, stages, steps
from jobs.clock import DatabaseClock, database_now
from jobs.upkeep import advice_reading, image_reading, price_import, quota_reading, retention

logger = logging.getLogger(__name__)

MAX_HINT_AGE = 3 * settings.SWEEP_INTERVAL
"""An older hint, by the database's clock, is dropped, because sweeps have found the row again by then.

This keeps hints from piling up in busy times. Celery's own expiry would compare the clocks of two machines.
"""
HANDED_OUT = 100
"""Limit of waiting `advance` messages. Each sweep sorts the due jobs again, so a longer queue would be outdated."""


@shared_task
def sweep(**_: Any) -> None:
    """Hand out everything that is due. Beat calls it every few seconds; of several calls at once, one has an effect."""
    clock = DatabaseClock()
    if steps.begin_sweep(clock.now(), interval=settings.SWEEP_INTERVAL):
        stages.sweep(clock, HAND_OUTS)


@shared_task
def advance(*, job_id: str, sent_at: str = "", **_: Any) -> None:
    """Take the next step of a job."""
    if _is_fresh(sent_at):
        steps.advance(job_id, clock=DatabaseClock())


@shared_task
def observe(*, scope_id: int, sent_at: str = "", **_: Any) -> None:
    """Poll one scope."""
    if _is_fresh(sent_at):
        steps.observe(scope_id, clock=DatabaseClock())


@shared_task
def change_resource(*, change_id: int, sent_at: str = "", **_: Any) -> None:
    """Take the next step of a change of a persistent resource."""
    if _is_fresh(sent_at):
        steps.change_resource(change_id, clock=DatabaseClock())


@shared_task
def read_feed(*, feed_id: int, sent_at: str = "", **_: Any) -> None:
    """Read the logs of one project."""
    if _is_fresh(sent_at):
        observation.read_feed(feed_id, now=database_now())


@shared_task
def discover(*, discovery_id: int, sent_at: str = "", **_: Any) -> None:
    """Search a region for jobs made outside Trainboard."""
    if _is_fresh(sent_at):
        observation.discover(discovery_id, now=database_now())


@shared_task
def deliver_messages(*, destination: str, sent_at: str = "", **_: Any) -> None:
    """Send the messages that are due to one channel, or the due e-mail."""
    if _is_fresh(sent_at):
        messages.deliver(destination, clock=DatabaseClock())


def _send_jobs(now: datetime) -> None:
    for job_id in steps.due_jobs(now)[: max(HANDED_OUT - _waiting(advance), 0)]:
        _send(advance, now, job_id=str(job_id))


def _send_scopes(now: datetime) -> None:
    for scope_id in steps.due_scopes(now):
        _send(observe, now, scope_id=scope_id)


def _send_discoveries(now: datetime) -> None:
    for discovery_id in steps.due_discoveries(now):
        _send(discover, now, discovery_id=discovery_id)


def _send_resource_changes(now: datetime) -> None:
    for change_id in steps.due_resource_changes(now):
        _send(change_resource, now, change_id=change_id)


def _send_feeds(now: datetime) -> None:
    for feed_id in steps.due_feeds(now):
        _send(read_feed, now, feed_id=feed_id)


def _send_messages(now: datetime) -> None:
    for destination in messages.due_destinations(now):
        _send(deliver_messages, now, destination=destination)


HAND_OUTS = {
    "due jobs": _send_jobs,
    "due polls": _send_scopes,
    "due logs": _send_feeds,
    "due resource changes": _send_resource_changes,
    "due discoveries": _send_discoveries,
    "due messages": _send_messages,
}
"""What a sweep hands out, by the name under which a failure is reported."""


def _is_fresh(sent_at: str) -> bool:
    """Return whether a hint is recent enough to follow; a hint without a time always is."""
    return not sent_at or database_now() - datetime.fromisoformat(sent_at) <= MAX_HINT_AGE


@shared_task
def prune(**_: Any) -> None:
    """Delete old rows, once a day; the database decides when."""
    retention.prune_when_due(database_now())


@shared_task
def import_prices(**_: Any) -> None:
    """Import Google's prices, once a day; the database decides when."""
    price_import.import_when_due(database_now())


@shared_task
def examine(**_: Any) -> None:
    """Check the setup that jobs need, once an hour or on request; the database decides when."""
    doctor.examine_when_due(database_now(), machine_now=timezone.now)


@shared_task
def read_quotas(**_: Any) -> None:
    """Read quota limits and use, every ten minutes; the database decides when."""
    quota_reading.read_when_due(database_now())


@shared_task
def read_images(**_: Any) -> None:
    """Look up the container images that forms wait for."""
    image_reading.read_when_due(database_now())


@shared_task
def read_advice(**_: Any) -> None:
    """Ask Compute Engine what forms and pages wait for."""
    advice_reading.read_when_due(database_now())


def enqueue_advice() -> None:
    """After the commit, ask a worker to ask Compute Engine; without a worker, the next run by beat does it."""
    transaction.on_commit(partial(_enqueue, read_advice, {}))


def enqueue_images() -> None:
    """After the commit, ask a worker to look up waiting images; without a worker, the next run by beat does it."""
    transaction.on_commit(partial(_enqueue, read_images, {}))


def enqueue_price_import() -> None:
    """After the commit, ask a worker to run a due import; without a worker, the next run by beat does it."""
    transaction.on_commit(partial(_enqueue, import_prices, {}))


def enqueue_examination() -> None:
    """After the commit, ask a worker to run a due examination; without a worker, the next run by beat does it."""
    transaction.on_commit(partial(_enqueue, examine, {}))


def enqueue_discovery(discovery_id: int) -> None:
    """After the commit, ask a worker to make a discovery; a missing broker is no failure."""
    transaction.on_commit(partial(_enqueue, discover, {"discovery_id": discovery_id}))


def enqueue_resource_change(change_id: int) -> None:
    """After the commit, ask a worker to send a change of a persistent resource; a missing broker is no failure."""
    transaction.on_commit(partial(_enqueue, change_resource, {"change_id": change_id}))


def enqueue_messages(destination: str) -> None:
    """After the commit, ask a worker to send what is due to a destination; a missing broker is no failure."""
    transaction.on_commit(partial(_enqueue, deliver_messages, {"destination": destination}))


def _waiting(task: "Task[..., None]") -> int:
    """Return the number of hints for a task that no worker has taken yet."""
    app = task.app
    queue = app.amqp.router.route({}, task.name)["queue"]
    with app.connection_or_acquire() as connection:
        return int(queue.bind(connection.default_channel).queue_declare().message_count)


def enqueue_job(job_id: uuid.UUID | str) -> None:
    """After the commit, ask a worker to take the job's next step, to save time; a missing broker is no failure."""
    transaction.on_commit(partial(_enqueue, advance, {"job_id": str(job_id)}))


def _enqueue(task: "Task[..., None]", kwargs: dict[str, Any]) -> None:
    try:
        _send(task, database_now(), **kwargs)
    except OperationalError:
        logger.warning("no broker; the sweep will find the row")


def _send(task: "Task[..., None]", now: datetime, **kwargs: Any) -> None:
    task.apply_async(kwargs=kwargs | {"sent_at": now.isoformat()})
