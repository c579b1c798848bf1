"""The times at which a cron expression is due in a time zone. Pure.

Expressions have five fields as in Debian's cron (cronsim). When the clock goes forward, a time of day that does not
exist runs at the first minute after the gap. When it goes back, a time that occurs twice runs the first time only. An
expression whose minute or hour begins with `*` runs at each real minute or hour instead.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _

MAX_EXPRESSION = 100
MIN_INTERVAL = timedelta(minutes=5)
CHECKED = 60
"""Number of due times that are compared with `MIN_INTERVAL`."""


def problem_of(expression: str, zone: str, now: datetime) -> str:
    """Return a sentence with what is wrong with an expression or a time zone; "" if both are valid."""
    if zone not in available_timezones():
        return _("“%(zone)s” is not a time zone; write a name such as Europe/Berlin or UTC.") % {"zone": zone[:40]}
    if len(expression) > MAX_EXPRESSION or len(expression.split()) != 5:
        return _("Write five fields: minute, hour, day of month, month, day of week, such as 0 6 * * 1-5.")
    try:
        found = list(islice(moments(expression, zone, now), CHECKED))
    except (CronSimError, ValueError, OverflowError) as error:
        return _("It cannot be read: %(error)s. Write five fields such as 0 6 * * 1-5.") % {"error": error}
    if not found:
        return _("It is never due.")
    gaps = [later - earlier for earlier, later in pairwise(found)]
    if gaps and min(gaps) < MIN_INTERVAL:
        return _("It is due more often than every five minutes.")
    return ""


def moments(expression: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times (UTC) after `after` at which the expression is due, in order and without repetition."""
    last = after
    for found in CronSim(expression, after.astimezone(ZoneInfo(zone))):
        moment = found.astimezone(UTC)
        if moment > last:
            last = moment
            yield moment


def next_moment(expression: str, zone: str, after: datetime) -> datetime | None:
    """Return the first due time after `after`; None if it is never due again."""
    return next(moments(expression, zone, after), None)
