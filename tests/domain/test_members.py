"""Tests of races in teams: two leads who leave at once, and a link that two people use at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs.models import Membership, Team
from jobs.people import invitations, members
from jobs.people.members import NotChanged
from tests.conftest import person
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def at_once(*steps: Callable[[], Any]) -> list[str]:
    """Run the steps in threads that begin together; return "done" or the words of the refusal of each."""
    together = Barrier(len(steps))

    def run(step: Callable[[], Any]) -> str:
        try:
            together.wait(timeout=20)
            step()
        except NotChanged as refusal:
            return str(refusal)
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(run, steps))


def test_of_two_leads_who_leave_at_once_one_stays(team: Team) -> None:
    leads = [person(name, team, "lead") for name in ("ada", "bob")]
    rows = [Membership.objects.get(user=lead) for lead in leads]

    outcomes = at_once(
        *(
            lambda lead=lead, row=row: members.remove_member(team, row.pk, by=lead)  # type: ignore[misc]
            for lead, row in zip(leads, rows, strict=True)
        )
    )

    assert sorted(outcomes) == sorted(["done", members.LAST_LEAD])
    assert Membership.objects.filter(team=team, role="lead").count() == 1


def test_of_two_people_who_use_a_link_at_once_one_joins(team: Team, clock: Clock) -> None:
    lead = person("ada", team, "lead")
    _, secret = invitations.invite(team, "new@example.com", "viewer", by=lead, now=clock.now)
    guests = [User.objects.create_user(name) for name in ("eve", "guy")]

    outcomes = at_once(
        *(
            lambda guest=guest: invitations.accept(secret, by=guest, now=clock.now)  # type: ignore[misc]
            for guest in guests
        )
    )

    assert sorted(outcomes) == sorted(["done", invitations.NO_LONGER])
    assert Membership.objects.filter(team=team, role="viewer").count() == 1
