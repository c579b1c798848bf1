"""Announce jobs that wait long, once for each job."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from jobs import outbox
from jobs.isolation import take_each
from jobs.models import Job, Message
from jobs.states import WAITING
from jobs.strategies import flex_start
from jobs.texts import joined, quotation
from jobs.texts import translatable as _

LONG = timedelta(hours=1)
LONG_IN_QUEUE = timedelta(hours=6)
"""Longer under Flex-start, where waiting is expected."""
AT_ONCE = 200
"""Jobs announced by one sweep; the next one finds the rest."""


def watch_waits(now: datetime) -> int:
    """Announce jobs that have waited long in one state and were not announced yet; return how many."""
    announced = Message.objects.filter(job=OuterRef("pk"), kind=Message.Kind.WAITING_LONG)
    by_strategy = Q(strategy=flex_start.STRATEGY.key, state_since__lte=now - LONG_IN_QUEUE)
    long = by_strategy | (~Q(strategy=flex_start.STRATEGY.key) & Q(state_since__lte=now - LONG))
    unfinished = Job.objects.unfinished().filter(long, state__in=WAITING, started_at=None)
    waiting = unfinished.exclude(Exists(announced)).order_by("state_since", "pk")
    keys = list(waiting.values_list("pk", flat=True)[:AT_ONCE])
    if not keys:
        return 0
    jobs = Job.objects.filter(pk__in=keys).select_related("team").defer("spec", "estimate")
    rows = list(jobs.order_by("state_since", "pk"))
    return take_each(rows, lambda job: _announce(job, now), what="jobs that wait long")


def _announce(job: Job, now: datetime) -> bool:
    hours = int((now - job.state_since).total_seconds() // 3600)
    text = _("It has waited for %(hours)s h. Nothing is billed while it waits.", hours=hours)
    if job.wait_error:
        text = joined(text, _("Vertex AI reports: %(text)s.", text=quotation(job.wait_error)))
    key = f"waiting_long:{job.pk}"
    detail = {"text": text}
    return outbox.announce(Message.Kind.WAITING_LONG, team=job.team, once_key=key, now=now, job=job, detail=detail)
