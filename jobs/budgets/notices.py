"""Record when a share of a budget is spent: one row per share, written once, from which messages are made."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet

from jobs import outbox
from jobs.budget import BudgetLeft
from jobs.budgets.left import left_of, with_sums
from jobs.cost import format_usd
from jobs.models import Budget, BudgetNotice, Message
from jobs.models.kept_message import message_columns
from jobs.texts import month_of
from jobs.texts import translatable as _


def record_notices(now: datetime) -> int:
    """Write a notice for each share of a budget that is spent and has no notice yet; return how many.

    If several shares are passed at once, each gets a notice. A budget of zero gets none. A budget that was changed gets
    new notices.
    """
    budgets = {row.pk: row for row in with_sums(open_budgets(), now)}
    due = [
        _notice(row, left, percent, now)
        for row in budgets.values()
        for left in [left_of(row, now)]
        for percent in row.thresholds
        if left.spent_usd * 100 >= row.amount_usd * percent
    ]
    if not due:
        return 0
    sent = BudgetNotice.objects.filter(month=due[0].month, budget__in=budgets)
    known = set(sent.values_list("budget_id", "percent", "amount_usd"))
    new = [each for each in due if (each.budget_id, each.percent, each.amount_usd) not in known]
    with transaction.atomic():
        BudgetNotice.objects.bulk_create(new, ignore_conflicts=True)  # another worker may do the same
        for notice in new:
            key = f"budget:{notice.budget_id}:{notice.month.isoformat()}:{notice.percent}:{notice.amount_usd}"
            detail = {"text": notice.text, "path": "/spend/", "next": _("See what spends it on the page Spend.")}
            outbox.announce(Message.Kind.BUDGET, team=notice.team, once_key=key, now=now, detail=detail)
    return len(new)


def open_budgets() -> QuerySet[Budget]:
    """Select the budgets of which notices are written."""
    return Budget.objects.filter(closed_at=None, amount_usd__gt=0)


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
        spent_usd=left.spent_usd,
        **message_columns(message),
        at=now,
    )
