"""Messages for pages: a person's inbox, the channels of their teams, and undelivered messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Prefetch, QuerySet

from dashboard.access import in_teams_of, teams_where
from dashboard.queries.paging import Cursor, cursor_at
from jobs.models import Channel, Delivery, Job, JobEvent, Message, Team, Via

PAGE_SIZE = 50
MAX_NEWEST = 10
MAX_COUNTED = 100
State = Delivery.State


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of deliveries. `older` is the cursor of the next one, "" on the last page."""

    rows: list[Delivery]
    older: str
    is_first: bool


def list_inbox(user: User, after: Cursor | None, *, unread_only: bool = False) -> MessagePage:
    """Return a page of a person's browser messages of the teams that they are in, newest first. Five queries."""
    rows = _inbox(user)
    return _page(rows.filter(read_at=None) if unread_only else rows, "created_at", after)


def get_message(user: User, pk: int) -> Delivery | None:
    """Return a message of a person's inbox. None if it is somebody else's or of a team that they have left."""
    return _inbox(user).filter(pk=pk).first()


def list_channels(teams: Sequence[Team]) -> list[Channel]:
    """Return the channels of teams by team and name. One query."""
    rows = Channel.objects.filter(team__in=teams).select_related("team", "created_by")
    return list(rows.order_by("team__name", "name", "pk"))


def count_waiting(channels: Sequence[Channel]) -> dict[int, int]:
    """Return {channel: number of waiting deliveries}. One query, on an index of waiting deliveries."""
    rows = Delivery.objects.filter(channel__in=channels, state=State.WAITING)
    return dict(rows.order_by().values_list("channel").annotate(Count("pk")))


def count_undelivered(user: User) -> int:
    """Return the number of undelivered messages in the teams that a person leads, up to MAX_COUNTED.

    One indexed query.
    """
    return undelivered_of(user).order_by()[:MAX_COUNTED].count()


def list_newest(channel: Channel) -> list[Delivery]:
    """Return the latest MAX_NEWEST deliveries to a channel. Five queries."""
    return list(_with_messages(Delivery.objects.filter(channel=channel)).order_by("-id")[:MAX_NEWEST])


def list_undelivered(user: User, after: Cursor | None) -> MessagePage:
    """Return a page of the undelivered messages in the teams that a person leads, newest first. Eight queries."""
    rows = _with_messages(undelivered_of(user)).prefetch_related("person", "channel", "team")
    return _page(rows, "ended_at", after)


def undelivered_of(user: User) -> QuerySet[Delivery]:
    """Return the undelivered messages in the teams that a person leads. The caller orders and limits them."""
    return Delivery.objects.filter(team__in=teams_where(user, "set_policy"), state=State.DEAD)


def _inbox(user: User) -> QuerySet[Delivery]:
    return _with_messages(Delivery.objects.filter(in_teams_of(user), person=user, via=Via.BROWSER))


def _with_messages(rows: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """Load the rows that a headline needs by key, because a join may read large tables in full."""
    jobs = Prefetch("job", Job.objects.defer("estimate"))
    events = Prefetch("event", JobEvent.objects.only("pk", "reason"))
    return rows.prefetch_related(Prefetch("message", Message.objects.prefetch_related("team", jobs, events)))


def _page(rows: QuerySet[Delivery], column: str, after: Cursor | None) -> MessagePage:
    if after is not None:
        rows = rows.filter(after.after(column))
    found = list(rows.order_by(f"-{column}", "pk")[: PAGE_SIZE + 1])
    older = str(cursor_at(found[PAGE_SIZE - 1], column)) if len(found) > PAGE_SIZE else ""
    return MessagePage(found[:PAGE_SIZE], older, after is None)
