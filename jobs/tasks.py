"""Thin Celery tasks over the due rows. Each takes ids, calls one verb, and may run twice or late without harm."""

import logging
import uuid
from functools import partial
from typing import Any

from celery import Task, shared_task
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from jobs import lifecycle
from jobs.lifecycle import retention
from jobs.lifecycle.asking import drafts

logger = logging.getLogger(__name__)

PROMPT_FOR = 3 * settings.SWEEP_INTERVAL.total_seconds()
"""Seconds after which an undelivered hint is dropped: the sweeps have found the row again by then.

So hints of busy times do not pile up.
"""
HANDED_OUT = 100
"""Jobs to send that stand in their queue at most: each sweep orders anew what is due, a longer queue would be older."""


@shared_task
def sweep(**_: Any) -> None:
    """Hand out everything that is due; beat calls it every few seconds."""
    now = timezone.now()
    lifecycle.repair(now)
    lifecycle.watch_pools(now)
    drafts.expire(now)
    for job_id in lifecycle.due_jobs(now)[: max(HANDED_OUT - _waiting(advance), 0)]:
        advance.apply_async(kwargs={"job_id": str(job_id)}, expires=PROMPT_FOR)
    for scope_id in lifecycle.due_scopes(now):
        observe.apply_async(kwargs={"scope_id": scope_id}, expires=PROMPT_FOR)
    for survey_id in lifecycle.due_surveys(now):
        survey.apply_async(kwargs={"survey_id": survey_id}, expires=PROMPT_FOR)
    for feed_id in lifecycle.due_feeds(now):
        read_feed.apply_async(kwargs={"feed_id": feed_id}, expires=PROMPT_FOR)


@shared_task
def advance(*, job_id: str, **_: Any) -> None:
    """Take one job its next step."""
    lifecycle.advance(job_id, now=timezone.now())


@shared_task
def observe(*, scope_id: int, **_: Any) -> None:
    """Look at one scope."""
    lifecycle.observe(scope_id, now=timezone.now())


@shared_task
def read_feed(*, feed_id: int, **_: Any) -> None:
    """Read one project's logs."""
    lifecycle.read_feed(feed_id, now=timezone.now())


@shared_task
def survey(*, survey_id: int, **_: Any) -> None:
    """Look for jobs of a region that were made outside Trainboard."""
    lifecycle.survey(survey_id, now=timezone.now())


@shared_task
def prune(**_: Any) -> None:
    """Remove what is old, once a day; the database says when."""
    retention.prune_when_due(timezone.now())


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
        task.apply_async(kwargs=kwargs, expires=PROMPT_FOR)
    except OperationalError:
        logger.warning("no broker; the sweep will find the row")
