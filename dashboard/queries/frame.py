"""What every page shows around its content: the person's rights, open approvals and the rehearsal banner."""

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property

from dashboard.access import teams_where
from dashboard.queries.approvals import count_approvals
from dashboard.queries.messages import count_unread

THEME_COOKIE = "theme"
THEMES = ("light", "dark")
FURTHER_PAGES = frozenset(
    {
        "templates",
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
    def rehearsal(self) -> bool:
        """Whether jobs run as processes on this machine."""
        return bool(settings.REHEARSAL)

    @cached_property
    def to_decide(self) -> int:
        """Return how many jobs wait for this person's decision."""
        return count_approvals(self.user, timezone.now().date()) if self.user else 0

    @cached_property
    def unread(self) -> int:
        """Return how many messages the person has not read."""
        return count_unread(self.user) if self.user else 0

    @cached_property
    def may_request(self) -> bool:
        """Whether the person may request a job in any team."""
        return self.user is not None and (self.user.is_superuser or bool(teams_where(self.user, "request")))

    @cached_property
    def may_audit(self) -> bool:
        """Whether the person leads a team or the site, and may read the audit log."""
        return self.user is not None and (self.user.is_superuser or bool(teams_where(self.user, "manage")))


def frame(request: HttpRequest) -> dict[str, Frame]:
    """Give every template `frame`; a context processor."""
    return {"frame": Frame(request)}
