"""Charts of the spend page: the month to date against its budget, and each day by strategy."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.charts import Bar, draw_bars
from dashboard.drawing.figures import dated, money
from dashboard.drawing.history_charts import look_of
from jobs.strategies import STRATEGIES

HEIGHT, GROUND, TOP, WIDE = 212, 190, 16, 1000
DAY = timedelta(days=1)


def draw_month(month: Any, budget: Any = None) -> SafeString:
    """Return the cumulative cost of a `MonthView`, the month before as a dashed line, and the forecast with its range.

    `budget` is the `BudgetLeft` whose amount is drawn as a line, if any.
    """
    length = ((month.month + timedelta(days=31)).replace(day=1) - month.month).days
    spent = _sums([sum(each.values(), Decimal(0)) for each in month.days.values()])
    last = month.month - DAY
    days_before = [last.replace(day=number) for number in range(1, last.day + 1)]
    before = _sums([month.before.get(day, Decimal(0)) for day in days_before])
    ahead = month.forecast.high_usd if month.forecast else Decimal(0)
    limit = budget.limit_usd if budget else Decimal(0)
    most = max(spent[-1], before[-1], ahead, limit, Decimal(1))

    def at(day: int, usd: Decimal) -> tuple[str, str]:
        return f"{WIDE * day / length:.1f}", f"{GROUND - (GROUND - TOP) * float(usd / most):.1f}"

    lines = [("spend-before", before[: length + 1]), ("spend-now", spent)]
    drawn = format_html_join("", '<path class="{}" d="{}"/>', ((look, _path(at, sums)) for look, sums in lines))
    limited = format_html('<path class="spend-limit" d="M0 {0}H{1}"/>', at(0, limit)[1], WIDE) if budget else ""
    return format_html(
        '<svg class="chart" height="{}" role="img" aria-label="{}"><svg width="100%" height="{}" viewBox="0 0 {} {}"'
        ' preserveAspectRatio="none">{}{}{}</svg>{}<line class="axis-line" x2="100%" y1="{}" y2="{}"/>{}</svg>',
        HEIGHT,
        _label(month, budget),
        GROUND + 1,
        WIDE,
        GROUND + 1,
        _ahead(month, at, length, spent),
        limited,
        drawn,
        _texts(at, budget, limit, most),
        GROUND,
        GROUND,
        _days(month.month, length),
    )


def _sums(amounts: Sequence[Decimal]) -> list[Decimal]:
    """Return the total at the beginning of the month and at the end of each day."""
    return list(accumulate(amounts, initial=Decimal(0)))


def _path(at: Any, sums: Sequence[Decimal]) -> str:
    return "M" + "L".join(" ".join(at(day, usd)) for day, usd in enumerate(sums))


def _ahead(month: Any, at: Any, length: int, spent: Sequence[Decimal]) -> SafeString | str:
    if month.forecast is None:
        return ""
    today, end = at(len(spent) - 1, spent[-1]), length
    low, middle, high = (at(end, usd) for usd in (month.forecast.low_usd, month.forecast.usd, month.forecast.high_usd))
    return format_html(
        '<path class="spend-cone" d="M{0} {1}L{2} {3}V{4}z"/><path class="spend-ahead" d="M{0} {1}L{2} {5}"/>',
        *today, high[0], high[1], low[1], middle[1],
    )  # fmt: skip


def _texts(at: Any, budget: Any, limit: Decimal, most: Decimal) -> SafeString:
    if budget:
        return format_html(
            '<text y="{}">{}</text>', max(float(at(0, limit)[1]) - 4, 10), _("budget %(usd)s") % {"usd": money(limit)}
        )
    return format_html('<text y="10">{}</text>', money(most))


def _days(month: date, length: int) -> SafeString:
    marks = [(day, "start" if day == 1 else "middle") for day in (1, 8, 15, 22, 29) if day <= length]
    texts = (
        (f"{100 * (day - 1) / length:.1f}%", HEIGHT - 6, anchor, dated(month.replace(day=day), "j M"))
        for day, anchor in marks
    )
    return format_html_join("", '<text x="{}" y="{}" text-anchor="{}">{}</text>', texts)


def _label(month: Any, budget: Any) -> str:
    known = {"month": dated(month.month, "F Y"), "usd": money(month.usd)}
    words = [_("Cost of %(month)s: %(usd)s") % known]
    if ahead := month.forecast:
        known |= {"ahead": money(ahead.usd), "low": money(ahead.low_usd), "high": money(ahead.high_usd)}
        words = [_("Cost of %(month)s: %(usd)s, forecast %(ahead)s, between %(low)s and %(high)s") % known]
    words += [_("budget %(usd)s") % {"usd": money(budget.limit_usd)}] if budget else []
    return "; ".join([*words, _("the month before: %(usd)s") % {"usd": money(month.before_usd)}])


def draw_days(days: Mapping[date, Mapping[str, Decimal]]) -> SafeString:
    """Return a chart of the cost per day, by strategy."""
    bars = [
        Bar(
            f"{dated(day, 'j M')}: {money(sum(each.values(), Decimal(0)))}",
            [(look_of(key), float(each[key])) for key in STRATEGIES if key in each],
        )
        for day, each in days.items()
    ]
    most = money(max((sum(each.values(), Decimal(0)) for each in days.values()), default=Decimal(0)))
    named = [dated(day, "j M") for day in days]
    ends = (named[0], named[-1]) if len(named) > 1 else ("", "")
    return draw_bars(bars, _("Cost by strategy, per day; at most %(usd)s") % {"usd": most}, most, ends, height=HEIGHT)


def draw_budget(line: Any) -> SafeString:
    """Return a bar of a budget: the spent part, and the committed part hatched."""
    spent, committed = line.spent_percent or 0, line.committed_percent or 0
    shown = min(max(spent, 0), 100)
    return format_html(
        '<svg class="budget-bar" width="100%" height="10" role="img" aria-label="{}"><rect class="budget-all" y="2"'
        ' width="100%" height="6" rx="3"/><rect class="budget-held" y="2" x="{}%" width="{}%" height="6"/>'
        '<rect class="{}" y="2" width="{}%" height="6" rx="3"/></svg>',
        _("%(spent)s %% spent, %(committed)s %% committed") % {"spent": spent, "committed": committed},
        shown,
        min(max(committed, 0), 100 - shown),
        "budget-over" if line.left.left_usd < 0 else "budget-spent",
        shown,
    )


def draw_after(budget: Any, most_usd: Decimal | None) -> SafeString:
    """Return a bar of a budget with the amount that a job may use, and a text with the same amounts."""
    limit, taken = budget.limit_usd, budget.limit_usd - budget.left_usd
    most = most_usd or Decimal(0)

    def share(usd: Decimal) -> float:
        return float(min(max(usd / limit, Decimal(0)), Decimal(1))) * 100 if limit else 0.0

    is_over = most > budget.left_usd and most > 0
    left = budget.left_usd - most
    amounts = {
        "name": budget.name,
        "month": dated(budget.month, "F Y"),
        "left": money(max(budget.left_usd, Decimal(0))),
        "limit": money(limit),
        "after": money(abs(left)),
    }
    if left >= 0:
        words = _("Budget “%(name)s”, %(month)s: %(left)s of %(limit)s left; after this job %(after)s would be left.")
    else:
        words = _(
            "Budget “%(name)s”, %(month)s: %(left)s of %(limit)s left; after this job %(after)s more than it has."
        )
    return format_html(
        '<svg class="budget-bar" width="100%" height="10" aria-hidden="true"><rect class="budget-all" y="2"'
        ' width="100%" height="6" rx="3"/><rect class="budget-held" y="2" width="{}%" height="6"/>'
        '<rect class="{}" x="{}%" y="2"'
        ' width="{}%" height="6"/></svg><small>{}</small>',
        f"{share(taken):.1f}",
        "budget-over" if is_over else "budget-spent",
        f"{share(taken):.1f}",
        f"{min(share(most), 100 - share(taken)):.1f}",
        words % amounts,
    )


def draw_share(usd: Decimal, most: Decimal) -> SafeString:
    """Return a bar of an amount as a share of the largest one. A table has the amount."""
    width = float(usd / most) * 100 if most > 0 else 0.0
    return format_html(
        '<svg class="share" width="100%" height="10" aria-hidden="true"><rect y="1" width="{}%" height="8" rx="2"/>'
        "</svg>",
        f"{max(width, 0.0):.1f}",
    )
