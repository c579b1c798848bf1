"""Values typed into the compose form, saved as a draft of its owner, even after their session has ended."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from dashboard.access import teams_where
from dashboard.access.form_owner import owner_of_form
from dashboard.access.loaders import MAX_KEY_LENGTH
from dashboard.forms.compose.form import Compose
from dashboard.pages.parts.team_choice import team_choices
from jobs.clock import database_now
from jobs.models import Draft, Team
from jobs.requests import form_drafts
from jobs.requests.imported_drafts import NotKept

EDITED_ELSEWHERE = _("This form was edited or submitted in another window: what is typed here is not saved.")
NOT_KEPT = ("csrfmiddlewaretoken", "do", "shown", "draft_version", "form_owner")
"""Posted fields that belong to the page and are not saved in the draft."""


def sign_in_first(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in. A form posted after the session ended is saved as a draft of its owner."""
    address, owner = request.get_full_path(), owner_of_form(request.POST)
    teams = teams_where(owner, "request") if owner is not None else []
    if owner is not None and teams:
        draft, _problem = save_typed(owner, teams, request.POST.dict())
        if draft is not None:
            address = f"{reverse('compose')}?form={quote(draft.form_key)}"
            messages.info(request, _("What you typed is kept as a draft: sign in to go on with it."))
    return redirect_to_login(address)


def save_typed(user: User, teams: list[Team], data: Mapping[str, Any]) -> tuple[Draft | None, str]:
    """Save the posted values as a draft of `user`. Return (draft, ""), or (None, reason)."""
    form = Compose(teams=team_choices(teams), data=data)
    team = next((each for each in teams if str(each.pk) == data.get("team")), teams[0])
    key = str(data.get("request_key", ""))
    fields = {name: value for name, value in data.items() if name not in NOT_KEPT and isinstance(value, str)}
    try:
        draft = form_drafts.save_form(
            fields,
            form_key=key if len(key) <= MAX_KEY_LENGTH else "",
            version=form.draft_version,
            team=team,
            by=user,
            now=database_now(),
        )
    except form_drafts.EditedElsewhere:
        return None, str(EDITED_ELSEWHERE)
    except NotKept as refusal:
        return None, str(refusal)
    return draft, ""
