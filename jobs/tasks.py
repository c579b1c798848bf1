"""Thin Celery tasks over the due rows. Each takes ids, calls one verb, and may run twice or late without harm."""

import logging
import uuid
from datetime import datetime
from functools import partial
from typing import Any

from celery import Task, shared_task
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

from jobs import lifecycle
from jobs.lifecycle import retention
from jobs.lifecycle.asking import drafts

logger = logging.getLogger(__name__)

MAX_HINT_AGE = 3 * settings.SWEEP_INTERVAL
"""A hint that is older by the database's clock is dropped: the sweeps have found the row again by then.

So hints of busy times do not pile up. Celery's own expiry would compare the clocks of two machines.
"""
HANDED_OUT = 100
"""Jobs to send that stand in their queue at most: each sweep orders anew what is due, a longer queue would be older."""


@shared_task
def sweep(**_: Any) -> None:
    """Hand out everything that is due; beat calls it every few seconds, and of several at once one counts."""
    now = lifecycle.database_now()
    if not lifecycle.begin_sweep(now, interval=settings.SWEEP_INTERVAL):
        return
    lifecycle.repair(now)
    lifecycle.watch_pools(now)
    lifecycle.watch_spending(now)
    drafts.expire(now)
    for job_id in lifecycle.due_jobs(now)[: max(HANDED_OUT - _waiting(advance), 0)]:
        _send(advance, now, job_id=str(job_id))
    for scope_id in lifecycle.due_scopes(now):
        _send(observe, now, scope_id=scope_id)
    for survey_id in lifecycle.due_surveys(now):
        _send(survey, now, survey_id=survey_id)
    for feed_id in lifecycle.due_feeds(now):
        _send(read_feed, now, feed_id=feed_id)


@shared_task
def advance(*, job_id: str, sent_at: str = "", **_: Any) -> None:
    """Take one job its next step."""
    if _is_fresh(sent_at):
        lifecycle.advance(job_id, clock=lifecycle.DatabaseClock())


@shared_task
def observe(*, scope_id: int, sent_at: str = "", **_: Any) -> None:
    """Look at one scope."""
    if _is_fresh(sent_at):
        lifecycle.observe(scope_id, clock=lifecycle.DatabaseClock())


@shared_task
def read_feed(*, feed_id: int, sent_at: str = "", **_: Any) -> None:
    """Read one project's logs."""
    if _is_fresh(sent_at):
        lifecycle.read_feed(feed_id, now=lifecycle.database_now())


@shared_task
def survey(*, survey_id: int, sent_at: str = "", **_: Any) -> None:
    """Look for jobs of a region that were made outside Trainboard."""
    if _is_fresh(sent_at):
        lifecycle.survey(survey_id, now=lifecycle.database_now())


def _is_fresh(sent_at: str) -> bool:
    """Whether a hint is young enough to be followed; one without a time always is."""
    return not sent_at or lifecycle.database_now() - datetime.fromisoformat(sent_at) <= MAX_HINT_AGE


@shared_task
def prune(**_: Any) -> None:
    """Remove what is old, once a day; the database says when."""
    retention.prune_when_due(lifecycle.database_now())


def nudge_survey(survey_id: int) -> None:
    """After the commit, ask a worker to make a survey; as `nudge_job`."""
    transaction.on_commit(partial(_hint, survey, {"survey_id": survey_id}))


def _waiting(task: "Task[..., None]") -> int:
    """How many hints for a task no worker has taken yet."""
    app = task.app
    queue = app.amqp.router.route({}, task.name)["queue"]
    with app.connection_or_acquire() as connection:
        return int(queue.bind(connection.default_channel).queue_declare().message_count)


def nudge_job(job_id: uuid.UUID | str) -> None:
    """After the commit, ask a worker to take the job on; only saves time, so a missing broker is no failure."""
    transaction.on_commit(partial(_hint, advance, {"job_id": str(job_id)}))


def _hint(task: "Task[..., None]", kwargs: dict[str, Any]) -> None:
    try:
        _send(task, lifecycle.database_now(), **kwargs)
    except OperationalError:
        logger.warning("no broker; the sweep will find the row")


def _send(task: "Task[..., None]", now: datetime, **kwargs: Any) -> None:
    task.apply_async(kwargs=kwargs | {"sent_at": now.isoformat()})
