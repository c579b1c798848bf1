"""The kinds of message: whom each concerns, and its default ways of delivery."""

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.models import Message, MessagePreference, Role, Via

Kind = Message.Kind
OWNER, LEADS, DECIDERS = "owner", "leads", "deciders"
"""The person who requested the job; leads of the team; those who may approve the job."""
ROLES: dict[str, frozenset[str]] = {
    LEADS: frozenset({Role.LEAD}),
    DECIDERS: frozenset({Role.APPROVER, Role.LEAD}),
}
BOTH, BROWSER = (Via.BROWSER, Via.EMAIL), (Via.BROWSER,)
PERSONAL = (Via.BROWSER, Via.EMAIL)
"""Ways to deliver to a person; the other ways are channels of a team."""


@dataclass(frozen=True, slots=True)
class About:
    """Whom a kind concerns, and its default ways of delivery to each of them."""

    concerns: tuple[str, ...]
    default: tuple[str, ...]
    is_of_job: bool = True


ABOUT: dict[str, About] = {
    Kind.APPROVAL_NEEDED: About((DECIDERS,), BOTH),
    Kind.APPROVAL_REMINDER: About((DECIDERS,), BOTH),
    Kind.APPROVAL_EXPIRED: About((OWNER,), BOTH),
    Kind.APPROVED: About((OWNER,), BOTH),
    Kind.CHANGE_PROPOSED: About((OWNER,), BOTH),
    Kind.REJECTED: About((OWNER,), BOTH),
    Kind.STARTED: About((OWNER,), BROWSER),
    Kind.RESTARTED: About((OWNER,), BROWSER),
    Kind.WAITING_LONG: About((OWNER,), BOTH),
    Kind.FAILED: About((OWNER,), BOTH),
    Kind.DONE: About((OWNER,), BOTH),
    Kind.CANCELLED: About((OWNER,), BROWSER),
    Kind.OVER_APPROVED: About((OWNER, LEADS), BOTH),
    Kind.CAP: About((OWNER, LEADS), BOTH),
    Kind.WASTE: About((OWNER,), BOTH),
    Kind.FALLBACK: About((OWNER,), BOTH),
    Kind.SCHEDULE: About((OWNER, LEADS), BOTH, is_of_job=False),
    Kind.BUDGET: About((LEADS,), BOTH, is_of_job=False),
    Kind.RESOURCE_ENDS: About((DECIDERS,), BOTH, is_of_job=False),
    Kind.CHANGE_WAITS: About((DECIDERS,), BOTH, is_of_job=False),
    Kind.PRICE_STALE: About((LEADS,), BROWSER, is_of_job=False),
    Kind.MONTHLY_REPORT: About((LEADS,), BOTH, is_of_job=False),
}
OFFERED = tuple(ABOUT)
"""Kinds that people and channels choose from, in the order of the settings page."""
LABELS = {str(kind): Kind(kind).label for kind in OFFERED}
DEFAULT_OF_CHANNEL = (Kind.APPROVAL_NEEDED, Kind.FAILED, Kind.WAITING_LONG, Kind.OVER_APPROVED)


def concerns(kind: str, *, role: str, is_owner: bool) -> bool:
    """Return whether a message concerns a team member with this role; owners do not decide about their own job."""
    about = ABOUT.get(kind)
    if about is None:
        return False
    if is_owner:
        return OWNER in about.concerns or (LEADS in about.concerns and role in ROLES[LEADS])
    return any(role in ROLES.get(group, ()) for group in about.concerns)


def delivery_ways(kind: str, preference: MessagePreference | None) -> list[str]:
    """Return the ways in which messages of a kind are delivered to a person."""
    chosen = preference.choices.get(kind) if preference is not None else None
    wanted = chosen if isinstance(chosen, list) else ABOUT[kind].default
    return [via for via in PERSONAL if via in wanted]


def choices_of(preference: MessagePreference | None) -> Mapping[str, list[str]]:
    """Return the ways in which messages of every offered kind are delivered to a person."""
    return {kind: delivery_ways(kind, preference) for kind in OFFERED}
