"""The ceilings that apply to a person, with how much of each is used."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db.models import Q

from jobs.budgets import Use, list_uses, sum_uses
from jobs.cache import Recent
from jobs.gate import CeilingKind, format_amount
from jobs.models import Ceiling, Team

Key = tuple[int, tuple[int, ...]]
"""A user and teams, by their keys."""


@dataclass(frozen=True, slots=True)
class CeilingLine:
    """A ceiling, and what is used of it. `used` is None where a cost is not known, and for a ceiling of one job."""

    row: Ceiling
    used: Decimal | None

    @property
    def limit_text(self) -> str:
        """The ceiling, with its unit."""
        return format_amount(self.row.kind, self.row.amount)

    @property
    def used_text(self) -> str:
        """What is used, with its unit; "" if it is not known."""
        return "" if self.used is None else format_amount(self.row.kind, self.used)

    @property
    def percent(self) -> int:
        """The used share, at most 100."""
        if self.used is None or not self.used:
            return 0
        return min(100, int(self.used * 100 / self.row.amount)) if self.row.amount else 100


def list_ceilings(user: User, teams: Sequence[Team], now: datetime) -> list[CeilingLine]:
    """Return the ceilings of the site and of these teams, those of the site first. Makes up to four queries.

    What is used of a ceiling for one person and day is what the user uses.
    """
    return _load((user.pk, tuple(team.pk for team in teams)), now)


def recent_ceilings(user: User, teams: Sequence[Team], now: datetime) -> list[CeilingLine]:
    """Return the ceilings whose use is measured, at most ten seconds old, for a page that is polled."""
    found = _recent.get((user.pk, tuple(team.pk for team in teams)), now)
    return [line for line in found if line.row.kind != CeilingKind.JOB]


def _load(of: Key, now: datetime) -> list[CeilingLine]:
    user, teams = of
    rows = Ceiling.objects.filter(Q(team=None) | Q(team__in=teams)).select_related("team", "set_by")
    found = sorted(rows, key=lambda row: (row.team is not None, row.team.name if row.team else "", row.kind))
    if not found:
        return []
    is_whole = any(row.team_id is None for row in found)
    uses = list_uses(now, None if is_whole else teams)
    return [CeilingLine(row, _used(row, uses, user)) for row in found]


_recent: Recent[Key, list[CeilingLine]] = Recent(_load)
_recent.forget_when_saved(Ceiling)


def _used(row: Ceiling, uses: Sequence[Use], user: int) -> Decimal | None:
    of_team = [use for use in uses if row.team_id in (None, use.team_id)]
    if row.kind == CeilingKind.JOB:
        return None
    if row.kind == CeilingKind.PERSON_DAY:
        return sum_uses(use for use in of_team if user in use.people).usd
    whole = sum_uses(of_team)
    return Decimal(whole.gpus) if row.kind == CeilingKind.GPUS else whole.usd_per_hour
