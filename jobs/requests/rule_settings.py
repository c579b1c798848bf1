"""The site's rule settings: an admin changes the severity of a rule, and every change is kept."""

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from jobs import strategies
from jobs.cache import Recent
from jobs.errors import NotPermitted
from jobs.models import RuleSetting
from jobs.spec import Severity

DEFAULT = "default"
CHOICES = (*(str(severity) for severity in Severity), strategies.OFF, DEFAULT)
"""Valid settings of a rule. `default` restores the severity defined in the code."""


def rule_settings() -> dict[str, RuleSetting]:
    """Return {code: its newest setting} of the rules that were ever set, sorted by code."""
    newest: dict[str, RuleSetting] = {}
    for row in RuleSetting.objects.select_related("set_by").order_by("code", "id"):
        newest[row.code] = row
    return newest


def severities() -> dict[str, str]:
    """Return {code: severity or "off"} of the rules whose severity differs from the default."""
    newest = dict(RuleSetting.objects.order_by("id").values_list("code", "severity"))
    return {code: severity for code, severity in newest.items() if severity != DEFAULT}


def recent_severities(now: datetime) -> Mapping[str, str]:
    """Return `severities`, at most ten seconds old. Used for previews, which are rendered again on every keystroke."""
    return _recent.get(None, now)


_recent: Recent[None, Mapping[str, str]] = Recent(lambda _key, _now: severities())
_recent.forget_when_saved(RuleSetting)


def set_severity(code: str, severity: str, *, by: User, note: str, now: datetime) -> None:
    """Set the severity of a rule on this site.

    Raise NotPermitted unless `by` is a site admin. Raise ValueError for a code or severity that does not exist.
    """
    if not by.is_superuser:
        raise NotPermitted(_("Only a site admin can change the severity of a rule."))
    if code not in strategies.RULES:
        raise ValueError(_("There is no rule “%(code)s”.") % {"code": code})
    if severity not in CHOICES:
        raise ValueError(_("A rule can be set to %(choices)s.") % {"choices": ", ".join(CHOICES)})
    RuleSetting.objects.create(code=code, severity=severity, set_by=by, set_at=now, note=note.strip()[:200])
