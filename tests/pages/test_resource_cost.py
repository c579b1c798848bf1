"""Tests that the page, the spend page, the CSV and budgets show the same cost of a persistent resource."""

import csv
import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import budgets, transitions
from jobs.budget import Passing
from jobs.budgets import watch_budgets
from jobs.models import PersistentResource, ResourceChange, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_in, text_of
from tests.support.clock import Clock
from tests.support.ledger import check_ledger, list_left
from tests.support.resources import sized

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
BERT = {"resource": "night-shift", "labels": {"project": "bert"}}


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, "lead")


@pytest.fixture
def used(team: Team, lead: User, teammate: User, make_job: MakeJob, clock: Clock) -> PersistentResource:
    """A resource that the lead has created, resized twice while two people's jobs ran on it, of one day (UTC)."""
    ResourceChange.objects.create(
        team=team, project=team.project, region="us-central1", resource_id="night-shift", action="create",
        asked_by=lead, asked_at=clock.now, outcome="accepted", ended_at=clock.now,
    )  # fmt: skip
    sized(replicas=2, now=clock.forward(minutes=7))
    first = make_job("running", **BERT)
    sized(replicas=5, now=clock.forward(hours=1, minutes=13))
    make_job("running", by=teammate, resource="night-shift")
    transitions.transition(first, "succeeded", now=clock.forward(hours=2, seconds=17), message="It ended.")
    sized(replicas=3, now=clock.forward(minutes=41))
    row = sized(replicas=3, now=clock.forward(hours=1, seconds=3))
    watch_budgets(clock.now)
    return row


def rows_of(client: Client) -> dict[tuple[str, str], Decimal]:
    """Return the CSV of the month as {(grouped by, value): US dollars}."""
    read = csv.DictReader(io.StringIO(client.get("/spend/spend.csv").content.decode()))
    return {(row["grouped_by"], row["value"]): Decimal(row["usd"]) for row in read}


class TestAmounts:
    def test_agree(
        self, used: PersistentResource, team: Team, engineer: Client, lead: User, teammate: User, clock: Clock
    ) -> None:
        (card,) = engineer.get("/persistent-resources/").context["cards"]
        table, view = rows_of(engineer), engineer.get("/spend/").context["view"]

        assert card.bill.total_usd == view.usd == table["team", team.name] > 0
        assert card.bill.idle_usd == view.idle[team.name] == table["resource", "night-shift in us-central1"] > 0
        shares = {job.owner.get_username(): usd for job, usd in card.shares}
        assert {name: table["person", name] for name in shares} == shares
        assert table["person", "lead"] == card.bill.idle_usd
        assert sum(usd for (of, _), usd in table.items() if of == "person") == view.usd
        assert {row.name: row.usd for row in view.groups} == shares | {"lead": card.bill.idle_usd}
        assert table["label", "project=bert"] == shares["owner"]
        check_ledger(clock.now)

    def test_follow_the_sizes_of_then(self, used: PersistentResource, engineer: Client, clock: Clock) -> None:
        """Two replicas for an hour and 13 minutes, five for about 2 h 41 min, three for the last hour."""
        (card,) = engineer.get("/persistent-resources/").context["cards"]
        times = sum(card.usage.held.values(), timedelta()) + sum(card.usage.idle.values(), timedelta())

        assert timedelta(hours=18) < times < timedelta(hours=20)
        assert card.usd_per_hour / 3 * Decimal(times / timedelta(hours=1)) == pytest.approx(card.bill.total_usd, abs=2)

    def test_are_hidden_from_a_stranger(self, used: PersistentResource, stranger: User, signed_in: SignIn) -> None:
        browser = signed_in(stranger)

        assert "night-shift" not in text_of(browser.get("/persistent-resources/"))
        assert rows_of(browser) == {}
        assert "lead" not in text_in(browser.get("/spend/").content.decode(), "where")

    def test_are_asked_for_in_ten_queries(
        self, used: PersistentResource, engineer: Client, django_assert_max_num_queries: Any
    ) -> None:
        engineer.get("/persistent-resources/")
        with django_assert_max_num_queries(10):
            engineer.get("/persistent-resources/")


class TestBudgets:
    @pytest.mark.parametrize(("dimension", "who"), [("person", "owner"), ("person", "lead"), ("label", "project=bert")])
    def test_of_a_person_or_label_hold_their_part(
        self, used: PersistentResource, team: Team, lead: User, engineer: Client, clock: Clock, dimension: str, who: str
    ) -> None:
        value = who if dimension == "label" else str(User.objects.get(username=who).pk)
        values, group = (
            budgets.BudgetValues("part", Decimal(100), Passing.STOP),
            {"dimension": dimension, "value": value},
        )
        budgets.create_budget(team, values, **group, by=lead, reason="agreed", now=clock.now)

        ((_, left),) = list_left(clock.now)

        assert left.spent_usd == rows_of(engineer)[dimension, who] > 0

    def test_say_what_of_persistent_resources_they_hold(
        self, used: PersistentResource, engineer: Client, signed_in: SignIn
    ) -> None:
        label = text_in(engineer.get("/spend/?of=label").content.decode(), "where")
        person = text_in(engineer.get("/spend/?of=person").content.decode(), "where")

        assert "idle replicas count for no label" in " ".join(label.split())
        assert "idle replicas count for the person who created the resource" in " ".join(person.split())
