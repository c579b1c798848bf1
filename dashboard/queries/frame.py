"""What every page shows around its content: the person's rights, open approvals and the rehearsal banner."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, QuerySet, Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property

from dashboard.access import teams_where
from dashboard.queries.approvals import approvals_for, approvals_in_own_name, approvals_of_groups, deputies_of
from dashboard.queries.messages import unread_of
from dashboard.sign_in_providers import Provider

THEME_COOKIE = "theme"
THEMES = ("light", "dark")
FURTHER_PAGES = frozenset(
    {
        "templates",
        "schedules",
        "import",
        "adopt",
        "compare",
        "catalogue",
        "rules",
        "policy",
        "doctor",
        "teams",
        "team",
        "team-invitations",
        "people",
        "audit",
    }
)
"""Pages that the menu "More" leads to, by the names of their addresses."""


class Frame:
    """Queries only what a template asks for, so that a fragment costs no query here."""

    def __init__(self, request: HttpRequest) -> None:
        self.user = request.user if isinstance(request.user, User) else None
        chosen = request.COOKIES.get(THEME_COOKIE, "")
        self.theme = chosen if chosen in THEMES else ""
        """ "light" or "dark" as chosen in this browser, "" for the system's."""
        self.further = FURTHER_PAGES

    @property
    def providers(self) -> tuple[Provider, ...]:
        """Sign-in providers, in the order of the setting."""
        return tuple(settings.SIGN_IN_PROVIDERS)

    @property
    def has_passwords(self) -> bool:
        """Whether people sign in with passwords."""
        return bool(settings.PASSWORD_SIGN_IN)

    @property
    def rehearsal(self) -> bool:
        """Whether jobs run as processes on this machine."""
        return bool(settings.REHEARSAL)

    @cached_property
    def _counts(self) -> dict[str, int]:
        """Count what every page shows: one query, one more for a deputy of today and where several groups are asked."""
        if self.user is None:
            return {}
        today = timezone.now().date()
        counted: dict[str, QuerySet[Any]] = {"unread": unread_of(self.user), "deputies": deputies_of(self.user, today)}
        if teams_where(self.user, "approve"):
            counted["to_decide"] = approvals_in_own_name(self.user)
            counted["of_groups"] = approvals_of_groups(self.user)
        first, *others = (_counted(name, rows) for name, rows in counted.items())
        found = dict(first.union(*others, all=True))
        if found["deputies"] or found.get("of_groups"):
            found["to_decide"] = approvals_for(self.user, today).count()
        return found

    @property
    def to_decide(self) -> int:
        """How many open approvals need this person."""
        return self._counts.get("to_decide", 0)

    @property
    def unread(self) -> int:
        """How many messages the person has not read, at most 100."""
        return self._counts.get("unread", 0)

    @cached_property
    def may_request(self) -> bool:
        """Whether the person may request a job in any team."""
        return self.user is not None and (self.user.is_superuser or bool(teams_where(self.user, "request")))

    @cached_property
    def may_audit(self) -> bool:
        """Whether the person leads a team or the site, and may read the audit log."""
        return self.user is not None and (self.user.is_superuser or bool(teams_where(self.user, "manage")))


def _counted(name: str, rows: QuerySet[Any]) -> QuerySet[Any, Any]:
    """Return one row: the name, and how many rows there are."""
    counted: QuerySet[Any, Any] = rows.order_by().values_list(Value(name)).annotate(Count("pk"))
    return counted


def frame(request: HttpRequest) -> dict[str, Frame]:
    """Give every template `frame`; a context processor."""
    return {"frame": Frame(request)}
