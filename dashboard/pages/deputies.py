"""Deputies: an approver names a person who decides in their place while they are away."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Request, teams_where
from dashboard.access.confirmation import confirmed
from dashboard.drawing.figures import dated
from dashboard.drawing.marks import person_name
from dashboard.queries.teams import list_deputies, list_possible
from jobs.clock import database_now
from jobs.requests.deputies import WHO_MAY, end_deputy, name_deputy


class DayInput(forms.DateInput):
    """A date input of the type `date`, for which browsers show a calendar."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")


class DeputyForm(forms.Form):
    """Form for a deputy and the period."""

    first_day = forms.DateField(label=_("From"), widget=DayInput)
    last_day = forms.DateField(label=_("Until (inclusive)"), widget=DayInput)

    def __init__(self, *args: Any, people: Sequence[User], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["deputy_name"] = forms.ChoiceField(
            label=_("Deputy"),
            choices=[("", _("Choose a person")), *((each.get_username(), person_name(each)) for each in people)],
            error_messages={"invalid_choice": WHO_MAY},
        )
        self.order_fields(["deputy_name"])


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed()
def deputies(request: Request) -> HttpResponse:
    """List the user's deputies and the people whose deputy the user is. On POST, name a deputy."""
    if not request.user.is_superuser and not teams_where(request.user, "see"):
        raise Http404("no team")
    now, people = database_now(), list_possible(request.user)
    form = DeputyForm(request.POST or None, people=people, initial={"first_day": now.date(), "last_day": now.date()})
    if request.method == "POST" and form.is_valid():
        try:
            made = name_deputy(request.user, **form.cleaned_data, now=now)
        except ValueError as refusal:
            form.add_error(None, str(refusal))
        else:
            words = _("%(person)s decides for you from %(first)s to %(last)s.")
            first, last = (dated(day, "j M Y") for day in (made.first_day, made.last_day))
            named = {"person": person_name(made.deputy), "first": first, "last": last}
            messages.success(request, words % named)
            return redirect("deputies")
    context: dict[str, Any] = {"form": form, "now": now, "people": people}
    context["may_name"] = bool(teams_where(request.user, "approve"))
    status = 422 if request.method == "POST" else 200
    return render(request, "deputies.html", context | list_deputies(request.user, now), status=status)


@require_POST
def end(request: Request, pk: int) -> HttpResponse:
    """Remove a deputy."""
    if not end_deputy(request.user, pk, now=database_now()):
        raise Http404("no such deputy")
    messages.success(request, _("The deputy no longer decides for you."))
    return redirect("deputies")
