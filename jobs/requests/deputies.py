"""Deputies: a person who is away names somebody who decides about jobs in their place."""

from datetime import date, datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Deputy, Membership, Role

MAX_DAYS = 90
WHO_MAY = gettext_lazy("The deputy has to be an engineer, approver or lead of a team in which you approve jobs.")
MAX_OPEN = 20
"""Number of current and future deputies that one person may have named."""


def name_deputy(person: User, deputy_name: str, *, first_day: date, last_day: date, now: datetime) -> Deputy:
    """Let a deputy decide for `person` from `first_day` to `last_day`, in UTC.

    Raise ValueError, with a message for the person, for days that are not allowed, too many deputies, or a deputy who
    does not work in a team in which the person decides.
    """
    if not now.date() <= first_day <= last_day or last_day - first_day > timedelta(days=MAX_DAYS):
        raise ValueError(_("The days begin today or later and are at most %(limit)s.") % {"limit": MAX_DAYS})
    deputy = User.objects.filter(username=deputy_name.strip(), is_active=True).first()
    if deputy is not None and deputy.pk == person.pk:
        raise ValueError(_("Nobody is their own deputy."))
    if deputy is None or not possible_deputies(person).filter(pk=deputy.pk).exists():
        raise ValueError(WHO_MAY)
    if Deputy.objects.filter(person=person, ended_at=None, last_day__gte=now.date()).count() >= MAX_OPEN:
        raise ValueError(_("You already have %(limit)s deputies. End one of them first.") % {"limit": MAX_OPEN})
    return Deputy.objects.create(person=person, deputy=deputy, first_day=first_day, last_day=last_day, named_at=now)


def end_deputy(person: User, pk: int, *, now: datetime) -> bool:
    """End a deputy that `person` has named. Return False if there is none or it has already ended."""
    with transaction.atomic():
        row = Deputy.objects.select_for_update().filter(pk=pk, person=person, ended_at=None).first()
        if row is None:
            return False
        row.ended_at = now
        row.save(update_fields=["ended_at"])
    return True


def possible_deputies(person: User) -> QuerySet[User]:
    """Return who may be a deputy of `person`, by name: active people who work in a team in which the person decides."""
    deciding = Membership.objects.filter(user=person, role__in=(Role.APPROVER, Role.LEAD)).values("team")
    working = Membership.objects.filter(team__in=deciding).exclude(role=Role.VIEWER).values("user")
    return User.objects.filter(pk__in=working, is_active=True).exclude(pk=person.pk).order_by("username")
