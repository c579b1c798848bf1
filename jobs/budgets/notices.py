"""Record when a share of a budget is spent: one row per share, written once, from which messages are made."""

from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache

from django.db import transaction
from django.db.models import QuerySet

from jobs import outbox
from jobs.budget import BudgetLeft
from jobs.budgets.groups import month_of as budget_month
from jobs.budgets.left import left_of, load_for, with_spent
from jobs.cost import format_usd, from_micros
from jobs.models import Budget, BudgetNotice, Message
from jobs.models.kept_message import message_columns
from jobs.texts import month_of
from jobs.texts import translatable as _


def record_notices(now: datetime) -> int:
    """Write a notice for each share of a budget that is spent and has no notice yet; return how many.

    If several shares are passed at once, each gets a notice. A budget of zero gets none. A budget that was changed gets
    new notices.
    """
    due = [
        (row, percent)
        for row in _open_in(budget_month(now)).all()
        for percent in row.thresholds
        if from_micros(row.spent_micros) * 100 >= row.amount_usd * percent  # type: ignore[attr-defined]
    ]
    if not due:
        return 0
    sent = BudgetNotice.objects.filter(month=budget_month(now), budget__in=[row for row, _percent in due])
    known = set(sent.values_list("budget_id", "percent", "amount_usd"))
    unsent = [(row, percent) for row, percent in due if (row.pk, percent, row.amount_usd) not in known]
    committed = load_for([row for row, _percent in unsent], now)
    new = [_notice(row, left_of(row, committed, now), percent, now) for row, percent in unsent]
    with transaction.atomic():
        BudgetNotice.objects.bulk_create(new, ignore_conflicts=True)  # another worker may do the same
        for notice in new:
            key = f"budget:{notice.budget_id}:{notice.month.isoformat()}:{notice.percent}:{notice.amount_usd}"
            detail = {"text": notice.text, "path": "/spend/", "next": _("See what spends it on the page Spend.")}
            outbox.announce(Message.Kind.BUDGET, team=notice.team, once_key=key, now=now, detail=detail)
    return len(new)


@lru_cache(maxsize=1)
def _open_in(month: date) -> QuerySet[Budget]:
    """Select the open budgets with what was spent in a month. It is built once, because sweeps ask all the time."""
    return with_spent(Budget.objects.filter(closed_at=None, amount_usd__gt=0), month)


def _notice(row: Budget, left: BudgetLeft, percent: int, now: datetime) -> BudgetNotice:
    message = _(
        "%(share)s %% of the budget “%(name)s” for %(month)s is spent: %(spent)s of %(limit)s. "
        "Jobs that were allowed may cost %(committed)s more.",
        share=int(left.spent_usd * Decimal(100) / left.limit_usd),
        name=row.name,
        month=month_of(left.month),
        spent=format_usd(left.spent_usd),
        limit=format_usd(left.limit_usd),
        committed=format_usd(left.committed_usd),
    )
    return BudgetNotice(
        budget=row,
        team_id=row.team_id,
        month=left.month,
        percent=percent,
        amount_usd=row.amount_usd,
        spent_usd=round(left.spent_usd, 2),
        **message_columns(message),
        at=now,
    )
