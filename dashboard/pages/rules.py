"""Every rule that judges a job, with its source; an admin gives one another severity here."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Request
from jobs import lifecycle
from jobs.lifecycle import database_now
from jobs.strategies import RULES, STRATEGIES, Rule
from jobs.strategies.document import CHAPTERS


@dataclass(frozen=True, slots=True)
class Row:
    """A rule and what it weighs on this site; `change` is the setting that says so, if any."""

    rule: Rule
    weight: str
    change: object | None


@require_safe
def rules(request: Request) -> HttpResponse:
    """List the rules by chapter: those of each strategy, then those of every job."""
    settings = lifecycle.rule_settings()
    chapters = [(strategy.label, strategy.rules) for strategy in STRATEGIES.values()]
    context = {
        "chapters": [(title, [_row(rule, settings) for rule in found]) for title, found in [*chapters, *CHAPTERS]],
        "count": len(RULES),
        "choices": lifecycle.SEVERITY_CHOICES,
        "may_set": request.user.is_superuser,
        "now": database_now(),
    }
    return render(request, "rules.html", context)


@require_POST
def set_rule(request: Request, code: str) -> HttpResponse:
    """Give a rule another severity; the change is kept with who made it."""
    if code not in RULES:
        raise Http404
    severity, note = request.POST.get("severity", ""), request.POST.get("note", "")
    try:
        lifecycle.set_severity(code, severity, by=request.user, note=note, now=database_now())
    except (lifecycle.NotPermitted, ValueError) as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"{code} is set to {severity} on this site.")
    return redirect(f"{reverse('rules')}#{code}")


def _row(rule: Rule, settings: dict[str, lifecycle.RuleSetting]) -> Row:
    change = settings.get(rule.code)
    is_default = change is None or change.severity == lifecycle.DEFAULT_SEVERITY
    return Row(rule, str(rule.severity) if is_default or change is None else change.severity, change)
