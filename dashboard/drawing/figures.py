"""Format durations, amounts and times for people. Times are in the reader's time zone, which is the active one."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import dateformat, timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from jobs.cost import CENT, format_usd
from jobs.cost.notes import longest_of
from jobs.models import Job
from jobs.translations import translated

SMALL_MONTHS = ("es", "pt-br")
"""Languages that write months and days of the week in lower case."""
NO_PRICE = gettext_lazy("no price known")


def duration(length: timedelta | float | None) -> str:
    """Return a duration with at most two units: "42 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".

    Seconds are omitted from ten minutes on, minutes from two days on. A number is in seconds.
    """
    if length is None:
        return "–"
    seconds = max(0, round(length.total_seconds() if isinstance(length, timedelta) else length))
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def duration_range(low: timedelta, high: timedelta) -> str:
    """Return a range of durations, with the unit once if both have the same: "4 – 40 min", "40 min – 2 h 5 min"."""
    first, last = duration(low), duration(high)
    number, _blank, unit = first.partition(" ")
    is_short = unit.isalpha() and last.partition(" ")[2] == unit
    return f"{number if is_short else first} – {last}"


def ago(moment: datetime | None, now: datetime) -> str:
    """Return the time since `moment` in one unit: "4 s ago", "12 min ago". Return "in 4 s" for a time in the future."""
    if moment is None:
        return _("never")
    return (_("in %(length)s") if now < moment else _("%(length)s ago")) % {"length": rough_duration(abs(now - moment))}


def rough_duration(length: timedelta) -> str:
    """Return a duration in one unit, rounded down: "42 s", "12 min", "47 h", "2 d"."""
    seconds = round(length.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size * (2 if unit == "d" else 1):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def countdown(moment: datetime, now: datetime) -> str:
    """Return the time left until a job gives up, and when: "gives up in 3 h 12 min (at 14:05 UTC)"."""
    when = f"{time_and_day(moment, now)} {zone(moment)}"
    if moment > now:
        return _("gives up in %(length)s (at %(time)s)") % {"length": duration(moment - now), "time": when}
    return _("its wait ended at %(time)s") % {"time": when}


def spent(usd: Decimal, jobs: Decimal | int) -> str:
    """Return the total cost of `jobs`, "< $0.01" if they cost less than a cent. `jobs` may be the amount itself."""
    return f"< {money(CENT)}" if jobs and 0 <= usd < CENT else money(usd)


def difference(usd: Decimal) -> str:
    """Return an amount without its sign, "< $0.01" below a cent, for texts with "more" or "less"."""
    return spent(abs(usd), int(bool(usd)))


def estimated(job: Job) -> str:
    """Return the expected cost of a job. It is stored in whole cents, so zero at a price is "< $0.01".

    An external job has none, because its expected run time is not known.
    """
    if job.is_adopted and job.estimate_usd is None:
        return _("not estimated")
    return money(None) if job.estimate_usd is None else spent(job.estimate_usd, int(bool(job.hourly_usd)))


def money(usd: Decimal | float | str | None) -> str:
    """Return US dollars as `format_usd` does, or NO_PRICE for None."""
    return str(NO_PRICE) if usd is None or usd == "" else format_usd(Decimal(str(usd)))


def rough_money(usd: Decimal | None) -> str:
    """Return US dollars without cents from $100 on, and for whole amounts: "$1,218", "$12", "$8.50"."""
    if usd is None:
        return str(NO_PRICE)
    is_whole = usd >= 100 or usd == usd.to_integral_value()
    return format_usd(usd.quantize(Decimal(1))).removesuffix(".00") if is_whole else format_usd(usd)


def hourly_price(usd: Decimal | str) -> str:
    """Return a price per hour in cents, below a dollar with four significant digits: "$39.63", "$0.134", "$0.05424"."""
    amount = Decimal(usd)
    if amount >= 1 or not amount:
        return money(amount)
    whole, _point, fraction = f"{amount.quantize(Decimal(1).scaleb(amount.adjusted() - 3)):f}".partition(".")
    return f"${whole}.{fraction.rstrip('0'):0<2}"


def exact_price(usd: Decimal) -> str:
    """Return a price per hour with all its digits, at least cents: "$12.50", "$11.2660332"."""
    whole, _point, fraction = f"{usd:.9f}".partition(".")
    return f"${int(whole):,}.{fraction.rstrip('0'):0<2}"


def billed(amount: Decimal | None, currency: str) -> str:
    """Return an amount in the currency of a bill: "$1,234.50", "1,234.50 EUR". None is shown as zero."""
    return money(amount or 0) if currency == "USD" else f"{amount or 0:,.2f} {currency}"


def thousands(number: int) -> str:
    """Return an integer with commas between thousands."""
    return f"{number:,}"


def percent(share: float | Decimal | None) -> str:
    """Return a share as "68 %", or "–" for None. Only zero is shown as 0 %, and nothing below 1 as 100 %."""
    if share is None:
        return "–"
    return f"{min(max(round(share * 100), 1), 99) if 0 < share < 1 else round(share * 100)} %"


def between(low: str | None, high: str | None) -> str:
    """Return a range of money, "$67.33 – $67.82". Return "" if it is not known or both ends look the same."""
    ends = [money(each) for each in (low, high) if each]
    return " – ".join(ends) if len(set(ends)) == 2 else ""


def longest(estimate: Mapping[str, Any]) -> str:
    """Return how long Google may run a job with this stored estimate; "" for estimates of before that was stored."""
    return translated(longest_of(estimate))


def dated(value: date | None, pattern: str) -> str:
    """Return a date in a format of Django's `date` filter, with months in the case of the language. Return "" for None.

    Django capitalizes "M" in every language, and "F" in some that do not.
    """
    text = dateformat.format(value, pattern) if value is not None else ""
    return text.lower() if get_language() in SMALL_MONTHS else text


def day_of(iso_day: str) -> str:
    """Return "2026-11-21" as "21 Nov 2026", the format of days on all pages."""
    at = date.fromisoformat(iso_day)
    return dated(at, "j M Y")


def value_text(value: float | str | None) -> str:
    """Return a parameter or metric with five significant digits: "0.00123", "1.5e-07", "12". Strings are unchanged."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and abs(value) < 10**15 else f"{value:.5g}"


def utc(moment: datetime) -> datetime:
    """Return the time in UTC, for machines and for numbers per UTC day."""
    return moment.astimezone(UTC)


def local(moment: datetime) -> datetime:
    """Return the time in the active time zone, which is the reader's, else the site's."""
    return timezone.localtime(moment)


def zone(moment: datetime) -> str:
    """Return the name of the reader's time zone at a time: "CEST", or "UTC+05:45" if it has no name."""
    name = local(moment).tzname() or ""
    if name[:1] not in ("+", "-"):
        return name
    return f"UTC{name[:3]}:{name[3:]}" if name[3:] else f"UTC{name}"


def zones(start: datetime, end: datetime) -> str:
    """Return the names of the reader's time zone in a period: "CET", or "CET, CEST" across a change."""
    return ", ".join(dict.fromkeys((zone(start), zone(end))))


def at_time(moment: datetime, now: datetime) -> str:
    """Return the time of day, "13:31", or the day if it is a different one, "22 Nov"."""
    at = local(moment)
    near = abs(moment - now) < timedelta(hours=12) or at.date() == local(now).date()
    return f"{at:%H:%M}" if near else dated(at, "j M")


def time_and_day(moment: datetime, now: datetime) -> str:
    """Return the time of day, "13:31", preceded by the day if it is not today, "22 Nov, 13:31"."""
    at = local(moment)
    day = "" if at.date() == local(now).date() else dated(at, "j M, ")
    return f"{day}{at:%H:%M}"


def moment_text(moment: datetime) -> str:
    """Return the time in the reader's time zone: "21 Nov 2026, 14:02:11 UTC"."""
    at = local(moment)
    return f"{dated(at, 'j M Y')}, {at:%H:%M:%S} {zone(at)}"


def time_only(moment: datetime) -> str:
    """Return the time of day in the reader's time zone: "14:02:11"."""
    return f"{local(moment):%H:%M:%S}"


def iso(moment: datetime) -> str:
    """Return the time for machines: "2026-11-21T14:02:11Z"."""
    return utc(moment).isoformat(timespec="seconds").replace("+00:00", "Z")
