"""What the site itself announces: the monthly report of spend, and prices that have grown old."""

from datetime import UTC, date, datetime, timedelta

from django.db.models import Sum

from jobs import outbox
from jobs.cost.prices import age_words
from jobs.isolation import take_each
from jobs.models import Job, Message, MonthFigures, Team
from jobs.queue import claims
from jobs.texts import translatable as _

NAME = "messages"
INTERVAL = timedelta(hours=6)
SETTLED = timedelta(hours=12)
"""After the end of a month its last jobs have been seen to end and are counted."""
RECENT = timedelta(days=30)


def report_when_due(now: datetime) -> None:
    """Announce last month's spend and old prices, four times a day; each is announced once."""
    held = claims.claim_upkeep(NAME, now)
    if held is None:
        return
    parts = (announce_month, announce_old_prices)
    count = take_each(parts, lambda part: sum(part(now)), what="reports")
    claims.release_poll(held, due_at=now + INTERVAL, answered_at=now, result={"announced": count})


def announce_month(now: datetime) -> list[bool]:
    """Announce what each team spent in the month before, when that is over for half a day; teams without jobs none."""
    month = last_month(now - SETTLED)
    ended = MonthFigures.objects.filter(month=month).values("team").annotate(Sum("jobs")).filter(jobs__sum__gt=0)
    teams = Team.objects.filter(pk__in=ended.values("team"))
    detail = {"month": month.isoformat()}
    kind = Message.Kind.MONTHLY_REPORT
    return [
        outbox.announce(kind, team=team, once_key=f"{kind}:{team.pk}:{month}", now=now, detail=detail)
        for team in teams.order_by("pk")
    ]


def last_month(now: datetime) -> date:
    """Return the first day of the month before, UTC."""
    first = now.astimezone(UTC).date().replace(day=1)
    return (first - timedelta(days=1)).replace(day=1)


def announce_old_prices(now: datetime) -> list[bool]:
    """Announce, once a month, to each team whose newest job was estimated with prices of more than 90 days."""
    announced = []
    for team in Team.objects.order_by("pk"):
        newest = Job.objects.filter(team=team, requested_at__gte=now - RECENT).order_by("-requested_at", "pk")
        as_of = str((newest.values_list("estimate", flat=True).first() or {}).get("prices_as_of") or "")
        words = age_words(date.fromisoformat(as_of), now.date()) if as_of else ""
        if words:
            announced.append(_announce_prices(team, as_of, words, now))
    return announced


def _announce_prices(team: Team, as_of: str, words: str, now: datetime) -> bool:
    detail = {
        "text": _("Estimates rest on prices of %(as_of)s, %(words)s.", as_of=as_of, words=words),
        "next": _("Record newer prices, or run manage.py import_prices."),
        "path": "/prices/?show=old",
    }
    kind = Message.Kind.PRICE_STALE
    return outbox.announce(kind, team=team, once_key=f"{kind}:{team.pk}:{now:%Y-%m}", now=now, detail=detail)
