"""The spend page: a month's cost against budgets, current hourly cost, cost by dimension; and the same as CSV."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from dashboard.access import Request, teams_of, teams_where
from dashboard.access.audit_middleware import record_export
from dashboard.access.loaders import parse_key
from dashboard.pages.parts.csv_file import csv_file
from dashboard.queries.budgets import applies_to
from dashboard.queries.spend import get_month, last_day, list_groups, load_open
from jobs.budgets import OpenCosts, month_of
from jobs.clock import display_now
from jobs.cost.month_forecast import Forecast, Source
from jobs.models import Team
from jobs.strategies import STRATEGIES

DIMENSIONS = {"person": _("Person"), "strategy": _("Strategy"), "machine": _("Machine"), "label": _("Label")}
FORECAST_WORDS = {
    Source.RUNNING: _("Jobs that run, until their expected end"),
    Source.COMMITTED: _("Allowed jobs that have not run yet"),
    Source.SCHEDULED: _("Runs of schedules"),
    Source.RESOURCES: _("Persistent resources that are up"),
}
FIRST_MONTH = date(2015, 1, 1)
HEAD = ("month", "grouped_by", "value", "usd", "jobs", "usd_month_before")


@require_safe
def spend(request: Request) -> HttpResponse:
    """Show a month of the user's teams, or of the team in the address."""
    now, teams, chosen = _asked(request)
    of, month = _dimension(request, teams, chosen), _month(request.GET.get("month", ""), now)
    shown = [chosen] if chosen else teams
    view = get_month(shown, month, of, now)
    own = next((line for line in view.budgets if line.budget.dimension == "" and len(shown) == 1), None)
    context = {
        "now": now,
        "teams": teams,
        "chosen": chosen,
        "view": view,
        "forecast_parts": _parts(view.forecast),
        "of": of,
        "of_word": _("Team") if of == "team" else DIMENSIONS[of],
        "dimensions": ({"team": _("Team")} if len(shown) > 1 else {}) | DIMENSIONS,
        "labels": {key: each.label for key, each in STRATEGIES.items()},
        "most": max((row.usd for row in view.groups), default=0),
        "own": own,
        "budgets": [(line, applies_to(line.budget)) for line in view.budgets],
        "leading": [team for team in teams_where(request.user, "set_policy") if team in shown],
        "earlier": month_of(month - timedelta(days=1)) if month > FIRST_MONTH else None,
        "later": last_day(month) + timedelta(days=1) if not view.is_current else None,
    }
    return render(request, "spend.html", context)


def _parts(forecast: Forecast | None) -> list[tuple[object, Decimal]]:
    return [(FORECAST_WORDS[part], usd) for part, usd in forecast.parts.items()] if forecast else []


@require_safe
def spend_csv(request: Request) -> HttpResponse:
    """Return the month as CSV, with one row for each group of every dimension, in USD."""
    now, teams, chosen = _asked(request)
    month = _month(request.GET.get("month", ""), now)
    shown = [chosen] if chosen else teams
    record_export(request, f"spend-{month:%Y-%m}.csv", chosen or request.user)
    return csv_file(f"spend-{month:%Y-%m}.csv", HEAD, _records(shown, month, now))


def _records(teams: list[Team], month: date, now: datetime) -> Iterator[tuple[Any, ...]]:
    open_costs = load_open([team.pk for team in teams], now) if month == month_of(now) else OpenCosts()
    for of in ("team", *DIMENSIONS, "resource"):
        for row in list_groups(teams, month, of, open_costs):
            yield (f"{month:%Y-%m}", of, row.name or row.value, row.usd, row.jobs, row.before_usd)


def _asked(request: Request) -> tuple[datetime, list[Team], Team | None]:
    """Return the time, the user's teams, and the selected one. A single team is always selected."""
    teams, name = teams_of(request.user), request.GET.get("team", "")
    if not teams:
        raise Http404("no team")
    chosen = next((team for team in teams if team.pk == parse_key(name)), None) if name else None
    if name and chosen is None:
        raise Http404("no such team")
    return display_now(), teams, chosen or (teams[0] if len(teams) == 1 else None)


def _dimension(request: Request, teams: list[Team], chosen: Team | None) -> str:
    of = request.GET.get("of", "")
    if of in DIMENSIONS or (of == "team" and chosen is None and len(teams) > 1):
        return of
    return "person"


def _month(text: str, now: datetime) -> date:
    """Return the month that `text` names, such as 2026-11. Invalid and future values give the current month."""
    try:
        asked = datetime.strptime(text, "%Y-%m").date()  # noqa: DTZ007 - a month has no time zone
    except ValueError:
        return month_of(now)
    return max(min(asked, month_of(now)), FIRST_MONTH)
