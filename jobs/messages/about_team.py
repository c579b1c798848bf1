"""The content of messages that are not about one job: reports, old prices, budgets, tests of a channel."""

from collections import Counter
from datetime import date

from django.db.models import Sum
from django.utils import dateformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.cost import format_usd, from_micros
from jobs.messages.parts import Parts
from jobs.models import Message, MonthFigures, Team
from jobs.strategies import strategy_label
from jobs.translations import translated

Kind = Message.Kind


def parts_of(message: Message) -> Parts:
    """Return the texts of a message without a job."""
    if message.kind == Kind.MONTHLY_REPORT:
        return _report(message.team, date.fromisoformat(str(message.detail["month"])))
    if message.kind == Kind.TEST:
        words = _("This is a test. The channel works: messages of the team arrive here.")
        subject = _("Test message for %(team)s") % {"team": message.team}
        return Parts(subject, (words,), links=((_("Channels"), "/messages/channels/"),))
    text = translated(message.words("text")) or message.get_kind_display()
    return Parts(
        f"{message.get_kind_display()}: {message.team}",
        (text, translated(message.words("next"))),
        ((_("Team"), message.team.name),),
        ((_("Open Trainboard"), path_of(message)),),
        {"team": message.team.name},
    )


def headline(message: Message) -> str:
    """Return the subject of a message without a job; no query."""
    if message.kind == Kind.MONTHLY_REPORT:
        values = {"team": message.team, "month": _month(date.fromisoformat(str(message.detail["month"])))}
        return _("Spend of %(team)s in %(month)s") % values
    return f"{message.get_kind_display()}: {translated(message.words('text')) or message.team}"


def path_of(message: Message) -> str:
    """Return the path of the page where a message leads."""
    if message.kind == Kind.MONTHLY_REPORT:
        return "/history/"
    path = str(message.detail.get("path") or "/")
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"


def _report(team: Team, month: date) -> Parts:
    """Return what the team's jobs that ended in a month cost, by strategy; three queries at most."""
    rows = MonthFigures.objects.filter(team=team, month=month)
    sums = rows.aggregate(*(Sum(name) for name in ("jobs", "micros", "saved_micros", "unpriced", "preemptions")))
    micros, jobs = sums["micros__sum"] or 0, sums["jobs__sum"] or 0
    by_strategy: Counter[str] = Counter()
    for strategy, spent in rows.order_by().values_list("strategy").annotate(Sum("micros")):
        by_strategy[strategy_label(strategy)] += spent or 0
    values = {"jobs": f"{jobs:,}", "team": team.name, "month": _month(month), "cost": _usd(micros)}
    sentence = ngettext(
        "%(jobs)s job of %(team)s ended in %(month)s and cost %(cost)s.",
        "%(jobs)s jobs of %(team)s ended in %(month)s and cost %(cost)s.",
        jobs,
    )
    lines = [sentence % values]
    if unpriced := sums["unpriced__sum"]:
        words = ngettext(
            "%(jobs)s of them has no known price and is not in the sum.",
            "%(jobs)s of them have no known price and are not in the sum.",
            unpriced,
        )
        lines.append(words % {"jobs": f"{unpriced:,}"})
    facts = [
        (_("Spent"), _usd(micros)),
        (_("Saved against Standard"), _usd(sums["saved_micros__sum"] or 0)),
        (_("Preemptions"), f"{sums['preemptions__sum'] or 0:,}"),
        *((label, _usd(spent)) for label, spent in by_strategy.most_common()),
    ]
    spent = {"amount": f"{from_micros(micros):.2f}", "currency": "USD"}
    data = {"team": team.name, "month": f"{month:%Y-%m}", "jobs": jobs, "spent": spent}
    subject = _("%(team)s spent %(cost)s in %(month)s") % values
    return Parts(subject, tuple(lines), tuple(facts), ((_("History"), "/history/"),), data)


def _month(month: date) -> str:
    return dateformat.format(month, "F Y")


def _usd(micros: int) -> str:
    return format_usd(from_micros(micros))
