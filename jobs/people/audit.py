"""The audit log: every change of a setting, with its author, network address, old and new value.

django-auditlog writes an entry in the transaction of each `save` and `delete` of a model listed here. It does not
record `update` and `bulk_create`, so settings are changed row by row.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from auditlog.models import LogEntry
from auditlog.registry import auditlog
from auditlog.signals import post_log, pre_log
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.db.models.signals import pre_save

from jobs.models import (
    AllowedResource,
    ApiToken,
    AuditedTeam,
    BudgetChange,
    Ceiling,
    Channel,
    Deputy,
    Identity,
    Invitation,
    Membership,
    Policy,
    PolicyVersion,
    Price,
    Profile,
    Proposal,
    ResourceChange,
    RetentionSetting,
    RuleSetting,
    Schedule,
    SignInRule,
    Team,
)

_acting: ContextVar[tuple[User | None, str | None]] = ContextVar("acting", default=(None, None))
HIDDEN = "(hidden)"
NO_ACCOUNT = "(no account)"
"""Replaces a name that no account has. The name is not stored, because people type passwords there."""
ACTS = frozenset({"cancelled", "export", "messages_sent_again", "secret", "test_message"})
"""Acts that are logged though they change no logged column."""
NOT_LOGGED: dict[type[Model], set[str]] = {
    ApiToken: {"digest", "last_used_at"},
    Channel: {
        *("address", "secret", "old_secret"),
        *("claimed_until", "held_until", "failures", "last_error", "last_sent_at"),
    },
    Invitation: {"digest"},
    ResourceChange: {
        *("due_at", "claimed_until", "claim", "answered_at", "failing_since", "failures", "last_error"),
        *("attempted_at", "message", "findings", "needs"),
    },
    Proposal: {"lets_pass"},
    Schedule: {"spec", "next_at", "paused_parts"},
    User: {"last_login", "date_joined"},
}
"""Columns that are secret, or that workers write."""


def register() -> None:
    """Register every model of settings with the audit log; called once, when the app is ready."""
    for model in (
        *(Team, Membership, Policy, AllowedResource, RuleSetting, Price, RetentionSetting),
        *(Identity, Invitation, Profile, SignInRule),
        *(ApiToken, BudgetChange, Ceiling, Proposal, Channel, Deputy, PolicyVersion, ResourceChange, Schedule),
    ):
        auditlog.register(model, include_fields=_logged(model))
    auditlog.register(
        User, include_fields=_logged(User), mask_fields=["password"], mask_callable="jobs.people.audit.hide"
    )
    pre_log.connect(_is_logged, sender=Price, dispatch_uid="audit.is_logged")
    pre_save.connect(_add_actor, sender=LogEntry, dispatch_uid="audit.add_actor")
    post_log.connect(_add_team, dispatch_uid="audit.add_team")


def _logged(model: type[Model]) -> list[str]:
    """Return the logged columns of a model: its own columns except the id."""
    left_out = NOT_LOGGED.get(model, set()) | {"id"}
    return [field.name for field in model._meta.concrete_fields if field.name not in left_out]


@contextmanager
def acting(user: User | None, address: str | None) -> Iterator[None]:
    """Record `user`, from the network address `address`, as the author of changes inside the block."""
    token = _acting.set((user, address))
    try:
        yield
    finally:
        _acting.reset(token)


def record_sign_in_event(words: str, about: User | None, *, by: User | None, address: str | None) -> None:
    """Record that somebody signed in or out, or failed to. `about` is the account, None if there is none.

    `by` is None if the person is not known, as after a wrong password.
    """
    with acting(by, address):
        LogEntry.objects.create(
            content_type=ContentType.objects.get_for_model(User),
            object_pk="" if about is None else str(about.pk),
            object_id=None if about is None else about.pk,
            object_repr=NO_ACCOUNT if about is None else about.get_username(),
            action=LogEntry.Action.ACCESS,
            changes={"sign-in": [None, words]},
        )


def record_act(name: str, words: str, about: Model) -> None:
    """Record an act that changes no logged column, such as an export or a test message. `name` is one of ACTS."""
    assert name in ACTS
    key = about.pk if isinstance(about.pk, int) else None
    entry = LogEntry.objects.create(
        content_type=ContentType.objects.get_for_model(about),
        object_pk=str(about.pk),
        object_id=key,
        object_repr=str(about),
        action=LogEntry.Action.UPDATE,
        changes={name: [None, words]},
    )
    _add_team(about, entry)


def hide(_value: str) -> str:
    """Return the text that is logged for a password, before and after a change."""
    return HIDDEN


def _is_logged(instance: Price, **_: Any) -> bool:
    """Return whether a price was recorded by a person; the daily import of thousands of rows is not logged."""
    return instance.origin == Price.Origin.PERSON


def _add_actor(instance: LogEntry, **_: Any) -> None:
    user, address = _acting.get()
    if instance.actor is None and user is not None and user.pk is not None:
        instance.actor, instance.actor_email = user, user.email
    instance.remote_addr = address


def _add_team(instance: Model, log_entry: LogEntry | None, **_: Any) -> None:
    about = instance.budget if isinstance(instance, BudgetChange) else instance
    team = about.pk if isinstance(about, Team) else getattr(about, "team_id", None)
    if log_entry is not None and team is not None:
        AuditedTeam.objects.create(entry=log_entry, team=team)
