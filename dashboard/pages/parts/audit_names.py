"""Names and values of settings, as the audit log stores them and its page shows them."""

import json
from contextlib import suppress
from datetime import UTC
from decimal import Decimal
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from dashboard.drawing import figures

NAMES = (
    pgettext_lazy("setting", "accepted at"),
    pgettext_lazy("setting", "accepted by"),
    pgettext_lazy("setting", "action"),
    pgettext_lazy("setting", "acts as"),
    pgettext_lazy("setting", "allowed at"),
    pgettext_lazy("setting", "allowed resource"),
    pgettext_lazy("setting", "allows overlap"),
    pgettext_lazy("setting", "amount"),
    pgettext_lazy("setting", "api token"),
    pgettext_lazy("setting", "approved by"),
    pgettext_lazy("setting", "approvers choose strategy"),
    pgettext_lazy("setting", "as of"),
    pgettext_lazy("setting", "ask over usd"),
    pgettext_lazy("setting", "asked at"),
    pgettext_lazy("setting", "asked by"),
    pgettext_lazy("setting", "at"),
    pgettext_lazy("setting", "author"),
    pgettext_lazy("setting", "basis"),
    pgettext_lazy("setting", "body"),
    pgettext_lazy("setting", "before"),
    pgettext_lazy("setting", "bucket"),
    pgettext_lazy("setting", "budget"),
    pgettext_lazy("setting", "budget change"),
    pgettext_lazy("setting", "by"),
    pgettext_lazy("setting", "cancel at cap"),
    pgettext_lazy("setting", "cancel over approved"),
    pgettext_lazy("setting", "cancelled"),
    pgettext_lazy("setting", "cap usd"),
    pgettext_lazy("setting", "ceiling"),
    pgettext_lazy("setting", "channel"),
    pgettext_lazy("setting", "code"),
    pgettext_lazy("setting", "comment"),
    pgettext_lazy("setting", "created at"),
    pgettext_lazy("setting", "created by"),
    pgettext_lazy("setting", "cron"),
    pgettext_lazy("setting", "current"),
    pgettext_lazy("setting", "days"),
    pgettext_lazy("setting", "decided at"),
    pgettext_lazy("setting", "decided by"),
    pgettext_lazy("setting", "decision"),
    pgettext_lazy("setting", "default region"),
    pgettext_lazy("setting", "deletes at"),
    pgettext_lazy("setting", "deputy"),
    pgettext_lazy("setting", "digest"),
    pgettext_lazy("setting", "drift percent"),
    pgettext_lazy("setting", "email"),
    pgettext_lazy("setting", "ended at"),
    pgettext_lazy("setting", "expected seconds"),
    pgettext_lazy("setting", "expire hours"),
    pgettext_lazy("setting", "expires at"),
    pgettext_lazy("setting", "export"),
    pgettext_lazy("setting", "fields"),
    pgettext_lazy("setting", "first day"),
    pgettext_lazy("setting", "first name"),
    pgettext_lazy("setting", "gpus"),
    pgettext_lazy("setting", "granted by"),
    pgettext_lazy("setting", "granted by group"),
    pgettext_lazy("setting", "hint"),
    pgettext_lazy("setting", "identity"),
    pgettext_lazy("setting", "invitation"),
    pgettext_lazy("setting", "invited at"),
    pgettext_lazy("setting", "invited by"),
    pgettext_lazy("setting", "is active"),
    pgettext_lazy("setting", "is closed"),
    pgettext_lazy("setting", "is enabled"),
    pgettext_lazy("setting", "is official"),
    pgettext_lazy("setting", "is staff"),
    pgettext_lazy("setting", "is superuser"),
    pgettext_lazy("setting", "job"),
    pgettext_lazy("setting", "kind"),
    pgettext_lazy("setting", "kinds"),
    pgettext_lazy("setting", "language"),
    pgettext_lazy("setting", "last day"),
    pgettext_lazy("setting", "last name"),
    pgettext_lazy("setting", "lifetime hours"),
    pgettext_lazy("setting", "links next sign in"),
    pgettext_lazy("setting", "membership"),
    pgettext_lazy("setting", "messages sent again"),
    pgettext_lazy("setting", "most usd"),
    pgettext_lazy("setting", "name"),
    pgettext_lazy("setting", "named at"),
    pgettext_lazy("setting", "note"),
    pgettext_lazy("setting", "number"),
    pgettext_lazy("setting", "old secret until"),
    pgettext_lazy("setting", "origin"),
    pgettext_lazy("setting", "outcome"),
    pgettext_lazy("setting", "owner"),
    pgettext_lazy("setting", "password"),
    pgettext_lazy("setting", "paused at"),
    pgettext_lazy("setting", "paused because"),
    pgettext_lazy("setting", "person"),
    pgettext_lazy("setting", "plan"),
    pgettext_lazy("setting", "policy"),
    pgettext_lazy("setting", "policy version"),
    pgettext_lazy("setting", "price"),
    pgettext_lazy("setting", "profile"),
    pgettext_lazy("setting", "project"),
    pgettext_lazy("setting", "proposal"),
    pgettext_lazy("setting", "proposed at"),
    pgettext_lazy("setting", "proposed by"),
    pgettext_lazy("setting", "provider"),
    pgettext_lazy("setting", "reason"),
    pgettext_lazy("setting", "recorded at"),
    pgettext_lazy("setting", "recorded by"),
    pgettext_lazy("setting", "refuse over usd"),
    pgettext_lazy("setting", "region"),
    pgettext_lazy("setting", "regions"),
    pgettext_lazy("setting", "remind hours"),
    pgettext_lazy("setting", "resource"),
    pgettext_lazy("setting", "resource change"),
    pgettext_lazy("setting", "resource id"),
    pgettext_lazy("setting", "retention setting"),
    pgettext_lazy("setting", "revoked at"),
    pgettext_lazy("setting", "role"),
    pgettext_lazy("setting", "rule setting"),
    pgettext_lazy("setting", "rules"),
    pgettext_lazy("setting", "saved at"),
    pgettext_lazy("setting", "saved by"),
    pgettext_lazy("setting", "schedule"),
    pgettext_lazy("setting", "scopes"),
    pgettext_lazy("setting", "secret"),
    pgettext_lazy("setting", "set at"),
    pgettext_lazy("setting", "set by"),
    pgettext_lazy("setting", "severity"),
    pgettext_lazy("setting", "sign in rule"),
    pgettext_lazy("setting", "signed in at"),
    pgettext_lazy("setting", "source"),
    pgettext_lazy("setting", "source url"),
    pgettext_lazy("setting", "strategy"),
    pgettext_lazy("setting", "subject"),
    pgettext_lazy("setting", "team"),
    pgettext_lazy("setting", "test message"),
    pgettext_lazy("setting", "time zone"),
    pgettext_lazy("setting", "updated at"),
    pgettext_lazy("setting", "usd per hour"),
    pgettext_lazy("setting", "user"),
    pgettext_lazy("setting", "username"),
    pgettext_lazy("setting", "value"),
    pgettext_lazy("setting", "via"),
    pgettext_lazy("setting", "wanted"),
    pgettext_lazy("setting", "waste hours"),
)
"""Every name that the log may contain, listed for `make messages`."""


def setting_name(kept: str) -> str:
    """Return a stored name in the page's language. A name stored by an older version is returned unchanged."""
    return pgettext("setting", kept.replace("_", " "))


def setting_value(model: type[models.Model] | None, column: str, kept: str) -> str:
    """Return a stored value of a column as the other pages show such values.

    A value of a column that the model no longer has, or that is not of its type, is returned unchanged.
    """
    if model is None or not kept:
        return kept
    with suppress(FieldDoesNotExist, ValueError, ArithmeticError):
        return _value(model._meta.get_field(column), kept)
    return kept


def _value(field: Any, kept: str) -> str:
    """Return a stored value of a field. Raise ValueError or ArithmeticError if it is not of its type."""
    match field:
        case models.DateTimeField() if (moment := parse_datetime(kept)) is not None:
            # django-auditlog stores times in UTC without their time zone.
            return figures.moment_text(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
        case models.DateTimeField():
            return kept
        case models.DateField():
            return figures.day_of(kept)
        case models.BooleanField():
            return {"True": _("yes"), "False": _("no")}.get(kept, kept)
        case models.JSONField():
            return _words(json.loads(kept))
        case models.DecimalField() if field.name == "usd_per_hour":
            return figures.hourly_price(Decimal(kept))
        case models.DecimalField() if field.name.endswith("_usd"):
            return figures.money(Decimal(kept))
        case models.PositiveIntegerField() if field.name.endswith("_seconds"):
            return figures.duration(int(kept))
    return kept


def _words(value: object) -> str:
    """Return JSON as words: the items of a list with commas, an object as "name: value"; "" for what is empty."""
    if isinstance(value, list):
        return ("; " if any(isinstance(each, dict) for each in value) else ", ").join(map(_words, value))
    if isinstance(value, dict):
        pairs = ((name.replace("_", " "), _words(each)) for name, each in value.items())
        return ", ".join(f"{name}: {words}" for name, words in pairs if words)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return "" if value is None else str(value)
