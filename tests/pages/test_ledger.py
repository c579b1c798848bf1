"""Tests that every page shows the cost that random rows have by a direct count, to the micro-dollar."""

import csv
import io
import json
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.queries.spend import list_budgets
from jobs import budgets, cache, transitions
from jobs.budget import Passing
from jobs.budgets import BudgetValues, watch_budgets
from jobs.cost import to_micros
from jobs.models import Job, Membership, Team
from jobs.upkeep import count_ended
from tests.conftest import person
from tests.pages.conftest import SignIn
from tests.support.api import caller
from tests.support.clock import Clock
from tests.support.ledger import check_ledger, list_left

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
ENDS = ("succeeded", "failed", "cancelled", "expired", "lost")
SINCE, NOW = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 4, 4, 13, 37, 11, tzinfo=UTC)
APRIL = date(2026, 4, 1)
Spans = list[tuple[datetime, datetime]]


class Rows:
    """Random jobs of two teams, and what each cost by its runs, counted without the product's code."""

    def __init__(self, teams: list[Team], people: list[User], seed: int) -> None:
        self.chance, self.teams, self.people = random.Random(seed), teams, people
        self.jobs: list[tuple[Job, Spans]] = [self._make(number) for number in range(25)]

    def _make(self, number: int) -> tuple[Job, Spans]:
        chance, at = self.chance, SINCE + timedelta(seconds=self.chance.randrange(5 * 86_400))
        team, label = chance.choice(self.teams), chance.choice(["bert", "t5", ""])
        price = chance.choice([None, Decimal(0), *[Decimal(chance.randrange(1, 90_000_000)).scaleb(-6)] * 6])
        job = Job.objects.create(
            team=team, owner=chance.choice(self.people), display_name=f"job-{number}", project=team.project,
            region="us-central1", strategy=chance.choice(["spot", "standard"]), machines="1 × a2-highgpu-1g",
            spec={"jobSpec": {}, **({"labels": {"project": label}} if label else {})}, request_key=str(number),
            expected_seconds=60, hourly_usd=price, max_usd=Decimal(1000), state="", state_since=at, requested_at=at,
        )  # fmt: skip
        for state in ("approved", "submitting", "pending"):
            assert transitions.transition(job, state, now=at, message="It is allowed.")
        spans: Spans = []
        for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
            start = at + timedelta(seconds=chance.randrange(1, 7_200), microseconds=chance.randrange(10**6))
            at = start + timedelta(seconds=chance.choice([1, 29, 30, 31, 600, 50_000, 150_000]))
            for state, moment in (("running", start), ("pending", at)):
                if moment <= NOW:
                    assert transitions.transition(job, state, now=moment, message="It went on.")
            spans += [(start, min(at, NOW))] if start < NOW else []
            if chance.random() < 0.4:
                count_ended(min(at, NOW))
                watch_budgets(min(at, NOW))
        if at < NOW and chance.random() < 0.8:
            assert transitions.transition(job, chance.choice(ENDS), now=at, message="It ended.")
        return job, spans

    def micros(self, job: Job, spans: Spans, until: datetime) -> int:
        """Return the cost until a time: half minutes of all runs together, rounded half up."""
        ran = sum((max(min(end, until) - start, timedelta()) for start, end in spans), timedelta())
        units = -(-ran // timedelta(seconds=30))
        return (int((job.hourly_usd or 0) * 1_000_000) * units + 60) // 120

    def sums(self, jobs: list[tuple[Job, Spans]], key: Any = lambda _: "") -> tuple[Counter[Any], Counter[Any]]:
        """Return the micro-dollars of March and of April by `key` of a job."""
        march, april = Counter[Any](), Counter[Any]()
        for job, spans in jobs:
            before = self.micros(job, spans, datetime(2026, 4, 1, tzinfo=UTC))
            march[key(job)] += before
            april[key(job)] += self.micros(job, spans, NOW) - before
        return march, april


def table(client: Client, query: str) -> dict[tuple[str, str], tuple[Decimal, Decimal]]:
    rows = csv.DictReader(io.StringIO(client.get(f"/spend/spend.csv?{query}").content.decode()))
    return {(row["grouped_by"], row["value"]): (Decimal(row["usd"]), Decimal(row["usd_month_before"])) for row in rows}


def usd(micros: int) -> Decimal:
    return Decimal(micros).scaleb(-6)


@pytest.fixture
def other(owner: User) -> Team:
    """Another team of the owner."""
    team = Team.objects.create(name="language", project="language-research")
    Membership.objects.create(team=team, user=owner, role="engineer")
    return team


@pytest.fixture
def lead(team: Team, owner: User) -> User:
    """A lead who has set budgets of the team, of the owner and of a label."""
    lead = person("lead", team, "lead")
    values = BudgetValues("all", Decimal(10_000), Passing.STOP)
    for dimension, value in (("", ""), ("person", str(owner.pk)), ("label", "project=bert")):
        group = {"dimension": dimension, "value": value}
        budgets.create_budget(team, values, by=lead, reason="agreed", now=SINCE, **group)
    return lead


@pytest.fixture(params=range(6))
def rows(request: Any, team: Team, other: Team, owner: User, lead: User, clock: Clock) -> Rows:
    """Random jobs; those that ended are counted, those that run were recorded when last due; the clock is at NOW."""
    made = Rows([team, other], [owner, lead], request.param)
    watch_budgets(NOW - timedelta(minutes=4))
    clock.now = NOW
    while count_ended(NOW):
        pass
    watch_budgets(NOW)
    cache.forget_all()
    return made


def test_of_random_rows_every_page_and_answer_shows_a_direct_count(
    rows: Rows, engineer: Client, owner: User, team: Team, stranger: User, signed_in: SignIn
) -> None:
    check_ledger(NOW)
    check_pages(rows, engineer, owner)
    check_digits(rows, engineer, owner)
    check_budgets(rows, team, owner)
    check_nothing_is_seen(rows, signed_in(stranger), stranger)


def check_pages(rows: Rows, engineer: Client, owner: User) -> None:
    march, april = rows.sums(rows.jobs)
    view = engineer.get("/spend/?month=2026-04").context["view"]
    assert (view.usd, view.before_usd) == (usd(april[""]), usd(march[""]))
    assert sum((sum(each.values()) for each in view.days.values()), Decimal(0)) == usd(april[""])
    assert engineer.get("/?who=all").context["spent"].usd == usd(april[""])
    assert caller(owner).get("/forecast").json()["spent_usd"] == f"{usd(april['']):.2f}"
    shown = table(engineer, "month=2026-04")
    keys: dict[str, Any] = {
        "team": lambda job: job.team.name,
        "person": lambda job: job.owner.get_username(),
        "strategy": lambda job: job.strategy,
        "label": lambda job: f"project={job.spec['labels']['project']}" if "labels" in job.spec else None,
    }
    for of, key in keys.items():
        before, now = rows.sums(rows.jobs, key)
        wanted = {(of, value): (usd(sum_), usd(before[value])) for value, sum_ in now.items() if value and sum_}
        assert {name: amounts for name, amounts in shown.items() if name[0] == of} == wanted, of

    total = sum(rows.micros(job, spans, NOW) for job, spans in rows.jobs if has_ended(job))
    assert engineer.get("/history/").context["figures"].total.usd == usd(total)


def check_digits(rows: Rows, engineer: Client, owner: User) -> None:
    """Check that page, export and API show the same cost of each job."""
    lines = engineer.get("/history/jobs.json").streaming_content  # type: ignore[attr-defined]
    exported = {row["id"]: row["cost_usd"] for row in json.loads(b"".join(lines))}
    api = caller(owner)
    for job, spans in rows.jobs:
        is_known = job.hourly_usd is not None and spans
        cost = f"{usd(rows.micros(job, spans, NOW)):.6f}" if is_known else None
        assert api.get(f"/jobs/{job.pk}").json()["cost_usd"] == exported[str(job.pk)] == cost, job
        if is_known:
            shown = engineer.get(f"/jobs/{job.pk}/").context["row"].cost
            assert to_micros(shown) == rows.micros(job, spans, NOW), job


def check_budgets(rows: Rows, team: Team, owner: User) -> None:
    allowed = {row.pk: left.left_usd for row, left in list_left(NOW)}  # by the ledger, as the gate reads it
    for row, left in ((line.budget, line.left) for line in list_budgets([team], NOW)):
        assert left.left_usd == allowed.pop(row.pk) or left.spent_usd > 1000
        own = [
            (job, spans)
            for job, spans in rows.jobs
            if job.team == team
            and (row.dimension != "person" or job.owner == owner)
            and (row.dimension != "label" or job.spec.get("labels") == {"project": "bert"})
        ]
        costs = [usd(rows.micros(job, spans, NOW)) for job, spans in own if not has_ended(job)]
        assert left.spent_usd == usd(rows.sums(own)[1][""])
        assert left.committed_usd == sum((max(1000 - cost, Decimal(0)) for cost in costs), Decimal(0))
    assert not allowed


def check_nothing_is_seen(rows: Rows, outsider: Client, stranger: User) -> None:
    assert outsider.get("/spend/").context["view"].usd == 0
    assert table(outsider, "month=2026-04") == {}
    assert caller(stranger).get(f"/jobs/{rows.jobs[0][0].pk}").status_code == 404


def has_ended(job: Job) -> bool:
    return Job.objects.get(pk=job.pk).ended_at is not None
