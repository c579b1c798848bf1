"""Budgets of the user's teams. Members see them with their history; leads create, change and close them."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.access import Request, can, teams_of, teams_where
from dashboard.access.confirmation import by_admin, confirmed
from dashboard.access.loaders import budget_for, team_for
from dashboard.forms.budget_form import BudgetForm
from dashboard.queries.budgets import applies_to, list_changes, list_notices, list_people, list_team_budgets
from dashboard.queries.spend import list_budgets
from jobs import budgets as verbs
from jobs import proposals
from jobs.bounds import parse_digits
from jobs.clock import database_now
from jobs.errors import NotPermitted
from jobs.models import Budget


@require_safe
def budgets(request: Request) -> HttpResponse:
    """List the open budgets of the user's teams."""
    now, teams = database_now(), teams_of(request.user)
    context = {
        "now": now,
        "rows": list_team_budgets(teams, now),
        "several": len(teams) > 1,
        "leading": teams_where(request.user, "set_policy"),
    }
    return render(request, "budgets.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: Request, team_pk: int) -> HttpResponse:
    """Show the form for a new budget of a team. On POST, create it."""
    team = team_for(request, team_pk, "set_policy")
    people, posted = list_people(team), request.POST if request.method == "POST" else None
    form = BudgetForm(posted, people=people, is_new=True, initial={"name": team.name})
    if posted is not None and form.is_valid():
        dimension, value = form.group
        data = {"by": request.user, "reason": form.cleaned_data["reason"], "now": database_now()}
        try:
            row = verbs.create_budget(team, form.values, dimension=dimension, value=value, **data)
        except (NotPermitted, ValueError) as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("Set the budget %(name)s of %(team)s.") % {"name": row.name, "team": team})
            return redirect("budgets")
    return render(request, "budget_new.html", {"team": team, "form": form}, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(by_admin)
def budget(request: Request, pk: int) -> HttpResponse:
    """Show a budget with its history. On POST, change it."""
    row = budget_for(request, pk, "set_policy" if request.method == "POST" else "see")
    initial = {
        "version": row.version,
        "name": row.name,
        "amount": row.amount_usd,
        "passing": row.passing,
        "thresholds": ", ".join(map(str, row.thresholds)),
    }
    form = BudgetForm(request.POST if request.method == "POST" else None, is_new=False, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = {"by": request.user, "reason": form.cleaned_data["reason"], "now": database_now()}
        try:
            version = form.cleaned_data["version"] or 0
            waiting = proposals.propose_budget(row, form.values, version=version, **data)
        except (NotPermitted, ValueError) as refusal:
            form.add_error(None, str(refusal))
        else:
            if waiting is not None:
                return redirect("proposal", waiting.pk)
            messages.success(request, _("Changed the budget %(name)s.") % {"name": form.values.name})
            return redirect("budget", row.pk)
    return render(request, "budget.html", _context(request, row, form), status=422 if form.errors else 200)


@require_POST
@confirmed(by_admin)
def close(request: Request, pk: int) -> HttpResponse:
    """Close a budget, so that it no longer limits jobs."""
    row = budget_for(request, pk, "set_policy")
    version = request.POST.get("version", "")
    seen = parse_digits(version) or 0
    reason = request.POST.get("reason", "")
    try:
        waiting = proposals.propose_closing(row, version=seen, by=request.user, reason=reason, now=database_now())
    except (NotPermitted, ValueError) as refusal:
        messages.error(request, str(refusal))
        return redirect("budget", row.pk)
    if waiting is not None:
        return redirect("proposal", waiting.pk)
    words = _("Closed the budget %(name)s. It no longer applies to jobs.")
    messages.success(request, words % {"name": row.name})
    return redirect("budgets")


def _context(request: Request, row: Budget, form: BudgetForm) -> dict[str, Any]:
    now = database_now()
    return {
        "now": now,
        "row": row,
        "line": next((line for line in list_budgets([row.team], now) if line.budget.pk == row.pk), None),
        "applies_to": applies_to(row),
        "form": form if row.closed_at is None and can(request.user, "set_policy", row.team) else None,
        "changes": list_changes(row),
        "notices": list_notices(row),
    }
