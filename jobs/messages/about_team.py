"""What messages say that are not about one job: reports, old prices, budgets, tests of a channel."""

from collections import Counter
from datetime import date
from decimal import Decimal

from django.db.models import Sum

from jobs.cost import format_usd
from jobs.messages.parts import Parts
from jobs.models import Message, MonthFigures, Team
from jobs.strategies import STRATEGIES

Kind = Message.Kind


def parts_of(message: Message) -> Parts:
    """Return the texts of a message without a job."""
    if message.kind == Kind.MONTHLY_REPORT:
        return _report(message.team, date.fromisoformat(str(message.detail["month"])))
    if message.kind == Kind.TEST:
        words = "This is a test. The channel works: messages of the team arrive here."
        return Parts(f"Test message for {message.team}", (words,), links=(("Channels", "/messages/channels/"),))
    detail = message.detail
    text = str(detail.get("text") or message.get_kind_display())
    return Parts(
        f"{message.get_kind_display()}: {message.team}",
        (text, str(detail.get("next") or "")),
        (("Team", message.team.name),),
        (("Open Trainboard", path_of(message)),),
        {"team": message.team.name},
    )


def headline(message: Message) -> str:
    """Return the subject of a message without a job; no query."""
    if message.kind == Kind.MONTHLY_REPORT:
        return f"Spend of {message.team} in {date.fromisoformat(str(message.detail['month'])):%B %Y}"
    return f"{message.get_kind_display()}: {message.detail.get('text') or message.team}"


def path_of(message: Message) -> str:
    """Return the path of the page where a message leads."""
    if message.kind == Kind.MONTHLY_REPORT:
        return "/history/"
    path = str(message.detail.get("path") or "/")
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"


def _report(team: Team, month: date) -> Parts:
    """Return what the team's jobs that ended in a month cost, by strategy; three queries at most."""
    rows = MonthFigures.objects.filter(team=team, month=month)
    sums = rows.aggregate(*(Sum(name) for name in ("jobs", "cents", "saved_cents", "unpriced", "preemptions")))
    cents, jobs = sums["cents__sum"] or 0, sums["jobs__sum"] or 0
    by_strategy: Counter[str] = Counter()
    for strategy, spent in rows.order_by().values_list("strategy").annotate(Sum("cents")):
        by_strategy[STRATEGIES[strategy].label if strategy in STRATEGIES else strategy] += spent or 0
    name = f"{month:%B %Y}"
    lines = [f"{jobs:,} job{'' if jobs == 1 else 's'} of {team} ended in {name} and cost {_usd(cents)}."]
    if sums["unpriced__sum"]:
        lines.append(f"{sums['unpriced__sum']:,} of them have no known price and are not in the sum.")
    facts = [
        ("Spent", _usd(cents)),
        ("Saved against Standard", _usd(sums["saved_cents__sum"] or 0)),
        ("Preemptions", f"{sums['preemptions__sum'] or 0:,}"),
        *((label, _usd(spent)) for label, spent in by_strategy.most_common()),
    ]
    data = {"team": team.name, "month": f"{month:%Y-%m}", "jobs": jobs, "spent": _amount(cents)}
    subject = f"{team} spent {_usd(cents)} in {name}"
    return Parts(subject, tuple(lines), tuple(facts), (("History", "/history/"),), data)


def _usd(cents: int) -> str:
    return format_usd(Decimal(cents) / 100)


def _amount(cents: int) -> dict[str, str]:
    return {"amount": f"{Decimal(cents) / 100:.2f}", "currency": "USD"}
