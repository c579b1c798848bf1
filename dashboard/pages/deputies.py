"""Deputies: a person who approves jobs names who decides in their place while they are away."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Request, teams_where
from dashboard.queries.deputies import list_deputies
from jobs.clock import database_now
from jobs.requests.deputies import end_deputy, name_deputy


class DeputyForm(forms.Form):
    """Who decides, and from when to when."""

    deputy_name = forms.CharField(label="User name of the deputy", max_length=150)
    first_day = forms.DateField(label="First day", widget=forms.DateInput(attrs={"type": "date"}))
    last_day = forms.DateField(label="Last day", widget=forms.DateInput(attrs={"type": "date"}))


@require_http_methods(["GET", "HEAD", "POST"])
def deputies(request: Request) -> HttpResponse:
    """List the deputies of the person and those whom the person stands in for; on POST name one."""
    now, form = database_now(), DeputyForm(request.POST or None)
    if not request.user.is_superuser and not teams_where(request.user, "see"):
        raise Http404("no team")
    if request.method == "POST" and form.is_valid():
        try:
            made = name_deputy(request.user, **form.cleaned_data, now=now)
        except ValueError as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(
                request, f"{made.deputy.get_username()} decides for you from {made.first_day} to {made.last_day}."
            )
            return redirect("deputies")
    context: dict[str, Any] = {"form": form, "now": now, "may_name": bool(teams_where(request.user, "approve"))}
    status = 422 if request.method == "POST" else 200
    return render(request, "deputies.html", context | list_deputies(request.user, now), status=status)


@require_POST
def end(request: Request, pk: int) -> HttpResponse:
    """Take back a deputy."""
    if not end_deputy(request.user, pk, now=database_now()):
        raise Http404("no such deputy")
    messages.success(request, "The deputy decides for you no longer.")
    return redirect("deputies")
