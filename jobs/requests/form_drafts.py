"""Drafts of the compose form, saved automatically, one for each form, until the job is requested.

They are rows of `Draft` like those of imports, expire with them, and are visible only to their owner.
"""

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs import bounds
from jobs.models import Draft, Job, Team
from jobs.requests.imported_drafts import NotKept
from jobs.requests.request_keys import keys_of_form

MAX_LENGTH = 400_000
"""Maximum length of all fields together, in characters. It is more than any request that Vertex AI accepts."""
MAX_FORMS = 20
"""Forms of one person. The oldest is deleted when there are more."""


class EditedElsewhere(Exception):
    """The form was saved from another window since, or its job was requested. Nothing was written."""


def save_form(fields: Mapping[str, str], *, form_key: str, version: int, team: Team, by: User, now: datetime) -> Draft:
    """Save what `by` has typed into the form with this key, and return the draft with its new version.

    `version` is that of the draft the form began with, 0 for none. Raise EditedElsewhere if it is not the newest. Raise
    NotKept for fields that are too long or contain what a database cannot store.
    """
    kept = {name: bounds.clean(value) for name, value in fields.items()}
    if not form_key or sum(len(name) + len(value) for name, value in kept.items()) > MAX_LENGTH:
        raise NotKept(_("It is too long to be saved as a draft."))
    if Job.objects.filter(owner=by, request_key__in=keys_of_form(form_key)).exists():
        raise EditedElsewhere
    mine = Draft.objects.filter(owner=by, form_key=form_key)
    if mine.filter(version=version).update(fields=kept, team=team, created_at=now, version=version + 1):
        return mine.get()
    try:
        with transaction.atomic():
            draft = Draft.objects.create(
                owner=by, team=team, kind=Job.Kind.CUSTOM_JOB, spec={}, form_key=form_key,
                fields=kept, version=version + 1, created_at=now,
            )  # fmt: skip
    except IntegrityError:
        raise EditedElsewhere from None
    forms = Draft.objects.filter(owner=by).exclude(form_key="").order_by("-created_at", "-pk")
    Draft.objects.filter(pk__in=list(forms.values_list("pk", flat=True)[MAX_FORMS:])).delete()  # the oldest
    return draft


def list_forms(by: User) -> list[Draft]:
    """Return the forms that `by` has not requested yet, newest first. Makes one query."""
    return list(Draft.objects.filter(owner=by).exclude(form_key="").order_by("-created_at", "-pk")[:MAX_FORMS])


def delete_form(form_key: str, *, by: User) -> None:
    """Delete the draft of a form whose job was requested or that its owner discards."""
    Draft.objects.filter(owner=by, form_key=form_key).exclude(form_key="").delete()
