"""Drafts of imported jobs, kept for a week until their owner opens them in the form. Only the owner can see them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from jobs import bounds, spec
from jobs.models import Draft, Team
from jobs.requests.allowed_resources import kept_project

KEPT_FOR = timedelta(days=7)
MAX_DRAFTS = 50
"""Drafts of one person. The oldest is deleted when there are more."""
LEFT_OUT, MAX_LEFT_OUT = "left_out", 100
"""Name and bound of the list of open fields in an imported draft."""
MAX_REGION_LENGTH, MAX_PROJECT_LENGTH = 40, 63


class NotKept(Exception):
    """The spec contains text that a database cannot store. The message names it."""


def save_draft(
    *,
    submission: spec.Submission,
    team: Team,
    by: User,
    now: datetime,
    expected: timedelta | None = None,
    left_out: Sequence[str] = (),
) -> Draft:
    """Save what `by` imported and return the draft. A region or project that is not a possible name is not saved.

    `left_out` are the paths of fields whose placeholders cannot be kept in the spec; the form asks for them.

    Raise NotKept for NUL characters and unpaired surrogates in values that are passed on unread.
    """
    body = spec.rest_body(submission.job)
    if not bounds.is_storable_json(body):
        raise NotKept(_("It contains a NUL character or an invalid character, which cannot be stored."))
    with transaction.atomic():
        draft = Draft.objects.create(
            owner=by,
            team=team,
            kind=submission.kind,
            spec=body,
            region=_name(submission.region, MAX_REGION_LENGTH),
            project=kept_project(team, _name(submission.project, MAX_PROJECT_LENGTH)),
            expected_seconds=None if expected is None else int(expected.total_seconds()),
            fields={LEFT_OUT: list(left_out)[:MAX_LEFT_OUT]} if left_out else None,
            created_at=now,
        )
        imported = Draft.objects.filter(owner=by, form_key="").order_by("-created_at", "-pk")
        Draft.objects.filter(pk__in=list(imported.values_list("pk", flat=True)[MAX_DRAFTS:])).delete()
    return draft


def _name(text: str, most: int) -> str:
    return text if len(text) <= most and text.isprintable() else ""


def expired(now: datetime) -> QuerySet[Draft]:
    """Select the drafts older than KEPT_FOR."""
    return Draft.objects.filter(created_at__lt=now - KEPT_FOR)


def expire(now: datetime) -> int:
    """Delete the drafts older than KEPT_FOR and return how many. Only reads if there are none."""
    return expired(now).delete()[0] if expired(now).exists() else 0


def left_out_of(draft: Draft) -> tuple[str, ...]:
    """Return the paths of the fields that the imported text leaves open and the spec cannot keep."""
    return tuple((draft.fields or {}).get(LEFT_OUT, ()))


def submission_of(draft: Draft) -> spec.Submission:
    """Return the submission that was imported."""
    where = {"project": draft.project or draft.team.project, "region": draft.region}
    return spec.stored_submission(f"draft {draft.pk}", draft.kind, draft.spec, **where)
