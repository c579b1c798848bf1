"""Thin Celery tasks over the due rows. Each takes ids, calls one verb, and may run twice or late without harm."""

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

from jobs import doctor, messages, observation, steps
from jobs.budgets import watch_budgets
from jobs.clock import DatabaseClock, database_now
from jobs.requests import imported_drafts
from jobs.upkeep import (
    count_ended,
    fold_months,
    image_reading,
    price_import,
    quota_reading,
    repair,
    retention,
    watch_approvals,
    watch_caps,
    watch_fallbacks,
    watch_schedules,
    watch_spending,
)

logger = logging.getLogger(__name__)

MAX_HINT_AGE = 3 * settings.SWEEP_INTERVAL
"""A hint that is older by the database's clock is dropped: the sweeps have found the row again by then.

So hints of busy times do not pile up. Celery's own expiry would compare the clocks of two machines.
"""
HANDED_OUT = 100
"""Most `advance` messages that wait at once. Each sweep sorts the due jobs again; a longer queue would be outdated."""


@shared_task
def sweep(**_: Any) -> None:
    """Hand out everything that is due; beat calls it every few seconds, and of several at once one counts."""
    now = database_now()
    if not steps.begin_sweep(now, interval=settings.SWEEP_INTERVAL):
        return
    repair(now)
    observation.watch_resources(now)
    watch_spending(now)
    watch_caps(now)
    watch_approvals(now)
    watch_fallbacks(DatabaseClock())
    watch_schedules(now)
    count_ended(now)
    fold_months()
    watch_budgets(now)
    imported_drafts.expire(now)
    for job_id in steps.due_jobs(now)[: max(HANDED_OUT - _waiting(advance), 0)]:
        _send(advance, now, job_id=str(job_id))
    for scope_id in steps.due_scopes(now):
        _send(observe, now, scope_id=scope_id)
    for discovery_id in steps.due_discoveries(now):
        _send(discover, now, discovery_id=discovery_id)
    for change_id in steps.due_resource_changes(now):
        _send(change_resource, now, change_id=change_id)
    for feed_id in steps.due_feeds(now):
        _send(read_feed, now, feed_id=feed_id)
    messages.sweep(now)
    for destination in messages.due_destinations(now):
        _send(deliver_messages, now, destination=destination)


@shared_task
def advance(*, job_id: str, sent_at: str = "", **_: Any) -> None:
    """Take one job its next step."""
    if _is_fresh(sent_at):
        steps.advance(job_id, clock=DatabaseClock())


@shared_task
def observe(*, scope_id: int, sent_at: str = "", **_: Any) -> None:
    """Poll one scope."""
    if _is_fresh(sent_at):
        steps.observe(scope_id, clock=DatabaseClock())


@shared_task
def change_resource(*, change_id: int, sent_at: str = "", **_: Any) -> None:
    """Take a change of a persistent resource one step."""
    if _is_fresh(sent_at):
        steps.change_resource(change_id, clock=DatabaseClock())


@shared_task
def read_feed(*, feed_id: int, sent_at: str = "", **_: Any) -> None:
    """Read one project's logs."""
    if _is_fresh(sent_at):
        observation.read_feed(feed_id, now=database_now())


@shared_task
def discover(*, discovery_id: int, sent_at: str = "", **_: Any) -> None:
    """Look for jobs of a region that were made outside Trainboard."""
    if _is_fresh(sent_at):
        observation.discover(discovery_id, now=database_now())


@shared_task
def deliver_messages(*, destination: str, sent_at: str = "", **_: Any) -> None:
    """Send the messages that are due for one channel, or the e-mail to people."""
    if _is_fresh(sent_at):
        messages.deliver(destination, clock=DatabaseClock())


def _is_fresh(sent_at: str) -> bool:
    """Whether a hint is young enough to be followed; one without a time always is."""
    return not sent_at or database_now() - datetime.fromisoformat(sent_at) <= MAX_HINT_AGE


@shared_task
def prune(**_: Any) -> None:
    """Remove what is old, once a day; the database decides when."""
    retention.prune_when_due(database_now())


@shared_task
def import_prices(**_: Any) -> None:
    """Read Google's prices, once a day; the database decides when."""
    price_import.import_when_due(database_now())


@shared_task
def examine(**_: Any) -> None:
    """Check everything that jobs need, once an hour or when somebody asked; the database decides when."""
    doctor.examine_when_due(database_now(), machine_now=timezone.now)


@shared_task
def read_quotas(**_: Any) -> None:
    """Read limits and use of quotas, every ten minutes; the database decides when."""
    quota_reading.read_when_due(database_now())


@shared_task
def read_images(**_: Any) -> None:
    """Ask about the container images that forms wait for."""
    image_reading.read_when_due(database_now())


def enqueue_images() -> None:
    """After the commit, ask a worker to read the images that wait; the next run of beat does if no worker hears it."""
    transaction.on_commit(partial(_enqueue, read_images, {}))


def enqueue_examination() -> None:
    """After the commit, ask a worker to make an examination that is due; the next sweep does if no worker hears it."""
    transaction.on_commit(partial(_enqueue, examine, {}))


def enqueue_discovery(discovery_id: int) -> None:
    """After the commit, ask a worker to make a discovery; no failure without a broker."""
    transaction.on_commit(partial(_enqueue, discover, {"discovery_id": discovery_id}))


def enqueue_resource_change(change_id: int) -> None:
    """After the commit, ask a worker to send a change of a persistent resource; no failure without a broker."""
    transaction.on_commit(partial(_enqueue, change_resource, {"change_id": change_id}))


def enqueue_messages(destination: str) -> None:
    """After the commit, ask a worker to send what is due for a destination; no failure without a broker."""
    transaction.on_commit(partial(_enqueue, deliver_messages, {"destination": destination}))


def _waiting(task: "Task[..., None]") -> int:
    """How many hints for a task no worker has taken yet."""
    app = task.app
    queue = app.amqp.router.route({}, task.name)["queue"]
    with app.connection_or_acquire() as connection:
        return int(queue.bind(connection.default_channel).queue_declare().message_count)


def enqueue_job(job_id: uuid.UUID | str) -> None:
    """After the commit, ask a worker to take the job on; only saves time, so a missing broker is no failure."""
    transaction.on_commit(partial(_enqueue, advance, {"job_id": str(job_id)}))


def _enqueue(task: "Task[..., None]", kwargs: dict[str, Any]) -> None:
    try:
        _send(task, database_now(), **kwargs)
    except OperationalError:
        logger.warning("no broker; the sweep will find the row")


def _send(task: "Task[..., None]", now: datetime, **kwargs: Any) -> None:
    task.apply_async(kwargs=kwargs | {"sent_at": now.isoformat()})
