"""What every page shows around its content: the person's counts, rights and the rehearsal banner."""

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.functional import cached_property

from dashboard.access.jobs import to_decide
from dashboard.access.roles import teams_of, teams_where
from jobs.models import Team


class Frame:
    """Answers the base template's questions when it asks them, so that a fragment costs no query for them."""

    def __init__(self, request: HttpRequest) -> None:
        self.user = request.user if isinstance(request.user, User) else None

    @property
    def rehearsal(self) -> bool:
        """Whether jobs run as processes on this machine."""
        return bool(settings.REHEARSAL)

    @cached_property
    def teams(self) -> list[Team]:
        """Return the person's teams by name."""
        return list(teams_of(self.user)) if self.user else []

    @cached_property
    def to_decide(self) -> int:
        """Return how many jobs wait for this person's decision."""
        return to_decide(self.user).count() if self.user else 0

    @cached_property
    def may_request(self) -> bool:
        """Whether the person may request a job in any team."""
        return self.user is not None and teams_where(self.user, "request").exists()


def frame(request: HttpRequest) -> dict[str, Frame]:
    """Give every template `frame`; a context processor."""
    return {"frame": Frame(request)}
