"""Every rule that assesses a job, with its source. An admin can change severities here."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Request
from dashboard.access.confirmation import by_admin, confirmed
from dashboard.drawing.findings import severity_word
from jobs import requests
from jobs.clock import database_now, display_now
from jobs.errors import NotPermitted
from jobs.strategies import RULES, STRATEGIES, Rule
from jobs.strategies.rule_lists import CHAPTERS
from jobs.translations import translated

MAX_AGE = timedelta(days=180)


@dataclass(frozen=True, slots=True)
class Row:
    """A rule and its severity on this site. `change` is the setting that changed it, if any."""

    rule: Rule
    severity: str
    change: object | None
    is_old: bool
    """Whether the source was read so long ago that it may be out of date."""


@require_safe
def rules(request: Request) -> HttpResponse:
    """List the rules by chapter: those of each strategy, then those of every job."""
    settings, now = requests.rule_settings(), display_now()
    search = request.GET.get("q", "")[:100].strip()
    chapters = [*((strategy.label, strategy.rules) for strategy in STRATEGIES.values()), *CHAPTERS]
    found = [
        (title, [_row(rule, settings, now) for rule in listed if _matches(rule, search)]) for title, listed in chapters
    ]
    context = {
        "chapters": [(title, rows) for title, rows in found if rows],
        "search": search,
        "count": len(RULES),
        "choices": requests.SEVERITY_CHOICES,
        "may_set": request.user.is_superuser,
        "now": now,
    }
    return render(request, "rules.html", context)


@require_POST
@confirmed(by_admin)
def set_rule(request: Request, code: str) -> HttpResponse:
    """Set the severity of a rule. The change is recorded with its author."""
    if code not in RULES:
        raise Http404
    severity, note = request.POST.get("severity", ""), request.POST.get("note", "")
    try:
        requests.set_severity(code, severity, by=request.user, note=note, now=database_now())
    except (NotPermitted, ValueError) as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(
            request,
            _("%(code)s is set to %(severity)s on this site.") % {"code": code, "severity": severity_word(severity)},
        )
    return redirect(f"{reverse('rules')}#{code}")


def _matches(rule: Rule, search: str) -> bool:
    """Return whether the rule, its code or its source contains every search word."""
    text = f"{rule.code} {rule.message} {translated(rule.message)} {rule.severity} {rule.source.title}".lower()
    return all(word in text for word in search.lower().split())


def _row(rule: Rule, settings: dict[str, requests.RuleSetting], now: datetime) -> Row:
    change = settings.get(rule.code)
    is_default = change is None or change.severity == requests.DEFAULT_SEVERITY
    severity = str(rule.severity) if is_default or change is None else change.severity
    return Row(rule, severity, change, now.date() - date.fromisoformat(rule.source.read) > MAX_AGE)
