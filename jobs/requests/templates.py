"""Templates: specs that a team saves under a name. Engineers, approvers and leads can change them."""

from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs import spec
from jobs.errors import NotPermitted
from jobs.models import Team, Template
from jobs.models.template import MAX_NAME_LENGTH, MAX_NOTE_LENGTH
from jobs.permissions import REQUESTING, role_of
from jobs.requests.allowed_resources import kept_project
from jobs.spec.secrets import mask_secrets
from jobs.storable import update_row


class NameNotUsable(Exception):
    """The name cannot be used for a template. The message states why."""


class NameTaken(NameNotUsable):
    """Another template of the team has this name. `template` is that one."""

    def __init__(self, template: Template) -> None:
        super().__init__(_("%(team)s already has a template with this name.") % {"team": template.team})
        self.template = template


def save_template(
    *,
    team: Team,
    name: str,
    submission: spec.Submission,
    expected: timedelta,
    by: User,
    now: datetime,
    note: str = "",
    cap_usd: Decimal | None = None,
) -> Template:
    """Save a spec for the team under a new name.

    Raise NotPermitted if `by` may not request jobs of the team. Raise NameTaken or NameNotUsable for the name.
    """
    _check_may_write(team, by)
    name = usable(name)
    try:
        with transaction.atomic():
            return Template.objects.create(
                team=team,
                name=name,
                created_by=by,
                created_at=now,
                **_content(team, submission, expected, note, now, cap_usd),
            )
    except IntegrityError:
        raise _taken(team, name) from None


def replace_template(
    template: Template,
    *,
    submission: spec.Submission,
    expected: timedelta,
    by: User,
    now: datetime,
    note: str = "",
    cap_usd: Decimal | None = None,
) -> bool:
    """Replace the template's spec and keep its name. Return False if it was deleted before.

    Raise NotPermitted.
    """
    _check_may_write(template.team, by)
    return update_row(template, _content(template.team, submission, expected, note, now, cap_usd))


def rename(template: Template, *, name: str, by: User, now: datetime, note: str | None = None) -> bool:
    """Change the template's name, and its note if one is given. Return False if it was deleted before.

    Raise NotPermitted, NameTaken and NameNotUsable.
    """
    _check_may_write(template.team, by)
    columns = {"name": usable(name), "updated_at": now}
    if note is not None:
        columns["note"] = _tidy(note)[:MAX_NOTE_LENGTH]
    try:
        with transaction.atomic():
            return update_row(template, columns)
    except IntegrityError:
        raise _taken(template.team, usable(name)) from None


def delete(template: Template, *, by: User) -> bool:
    """Delete the template. Jobs that began with it are not changed. Return False if it was deleted before.

    Raise NotPermitted.
    """
    _check_may_write(template.team, by)
    return bool(Template.objects.filter(pk=template.pk).delete()[0])


def submission_of(template: Template) -> spec.Submission:
    """Return the submission of this template."""
    where = {"project": template.project or template.team.project, "region": template.region}
    return spec.stored_submission(f"template {template.pk}", template.kind, mask_secrets(template.spec), **where)


def usable(name: str) -> str:
    """Return the name as it is stored, on one line and without surrounding blanks. Raise NameNotUsable."""
    name = _tidy(name)
    if not name:
        raise NameNotUsable(_("Give the template a name."))
    if len(name) > MAX_NAME_LENGTH:
        raise NameNotUsable(
            _("A name has at most %(limit)s characters; this one has %(number)s.")
            % {"limit": MAX_NAME_LENGTH, "number": len(name)}
        )
    return name


def _content(
    team: Team, submission: spec.Submission, expected: timedelta, note: str, now: datetime, cap_usd: Decimal | None
) -> dict[str, object]:
    return {
        "kind": submission.kind,
        "spec": mask_secrets(spec.rest_body(submission.job)),  # the team can read it
        "region": submission.region,
        "project": kept_project(team, submission.project),
        "expected_seconds": int(expected.total_seconds()),
        "note": _tidy(note)[:MAX_NOTE_LENGTH],
        "cap_usd": cap_usd,
        "updated_at": now,
    }


def _tidy(text: str) -> str:
    """Return text on one line, without characters that are not printable."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _taken(team: Team, name: str) -> NameNotUsable:
    other = Template.objects.filter(team=team, name=name).select_related("team").first()
    return (
        NameTaken(other) if other else NameNotUsable(_("Another template with this name was just changed. Try again."))
    )


def _check_may_write(team: Team, by: User) -> None:
    if role_of(by, team_id=team.pk) not in REQUESTING:
        raise NotPermitted(_("Only engineers, approvers and leads of %(team)s change its templates.") % {"team": team})
