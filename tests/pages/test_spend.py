"""Tests of the spend page and the budget pages: what each user sees, and what a lead can set without the admin."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard.forms.fields.usd import parse_usd
from dashboard.queries.spend import get_month
from jobs import budgets, cache, timeline, transitions
from jobs.budget import Passing
from jobs.cost import from_micros
from jobs.models import Budget, BudgetChange, Job, Team
from jobs.upkeep import count_ended
from tests.conftest import person
from tests.domain.test_resource_spend import see, usd
from tests.pages.conftest import MakeJob, SignIn, text_in, text_of
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NEW = {
    "name": "Training",
    "applies_to": "",
    "amount": "$20,000",
    "passing": "stop",
    "thresholds": "50, 80 %, 100",
    "reason": "Plan of <b>March</b>",
}


MIDNIGHT = datetime(2026, 3, 3, tzinfo=UTC)


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, "lead")


def ran(make_job: MakeJob, clock: Clock, **changes: object) -> Job:
    job = make_job("succeeded", **changes)
    clock.forward(hours=1)
    count_ended(clock.now)
    return job


class TestSpend:
    def test_shows_what_was_spent_burns_and_is_left(
        self, make_job: MakeJob, clock: Clock, team: Team, lead: User, signed_in: SignIn, owner: User
    ) -> None:
        ran(make_job, clock, labels={"project": "bert"})
        make_job("running")
        signed_in(lead).post(f"/budgets/new/{team.pk}/", NEW)
        clock.forward(minutes=6)
        budgets.watch_budgets(clock.now)

        page = signed_in(owner).get("/spend/").content.decode()

        text = " ".join(text_in(page, "content").split())
        assert "spent of $20,000.00" in text
        assert "1 running" in text
        assert "vision · March 2026, UTC · US dollars" in text
        assert "owner" in text_in(page, "where")
        assert "Training" in text_in(page, "budgets")
        assert "project=bert" in text_in(signed_in(owner).get("/spend/?of=label").content.decode(), "where")

    @pytest.mark.parametrize(
        "query",
        ["month=2026-01", "month=9999-12", "month=0001-01", "month=x", "of=label", "of=team", "of=%00", "month="],
    )
    def test_answers_any_address(self, owner: User, signed_in: SignIn, query: str) -> None:
        assert signed_in(owner).get(f"/spend/?{query}").status_code == 200

    def test_needs_few_queries(
        self, make_job: MakeJob, clock: Clock, team: Team, lead: User, owner: User, signed_in: SignIn,
        django_assert_max_num_queries: object,
    ) -> None:  # fmt: skip
        """However many budgets of persons there are, and with nothing kept from a page before."""
        ran(make_job, clock)
        for each in (owner, lead):
            values = budgets.BudgetValues(each.username, Decimal(100), Passing.WARN)
            group = {"dimension": "person", "value": str(each.pk)}
            budgets.create_budget(team, values, by=lead, reason="agreed", now=clock.now, **group)
        browser = signed_in(owner)
        cache.forget_all()

        with django_assert_max_num_queries(10):  # type: ignore[operator]
            browser.get("/spend/")

    def test_a_stranger_sees_nothing(
        self, make_job: MakeJob, clock: Clock, team: Team, stranger: User, signed_in: SignIn
    ) -> None:
        ran(make_job, clock)
        browser = signed_in(stranger)

        assert browser.get(f"/spend/?team={team.pk}").status_code == 404
        assert browser.get(f"/spend/spend.csv?team={team.pk}").status_code == 404
        assert "owner" not in text_of(browser.get("/spend/"))
        assert browser.get("/spend/spend.csv").content.decode().count("\n") == 1

    def test_is_a_table_for_a_spreadsheet(
        self, make_job: MakeJob, clock: Clock, owner: User, signed_in: SignIn
    ) -> None:
        ran(make_job, clock)

        lines = signed_in(owner).get("/spend/spend.csv").content.decode().splitlines()

        assert lines[0] == "month,grouped_by,value,usd,jobs,usd_month_before"
        assert any(line.startswith("2026-03,person,owner,") for line in lines)
        assert any(line.startswith("2026-03,strategy,spot,") for line in lines)


class TestPersistentResources:
    @pytest.fixture(autouse=True)
    def night_shift(self, team: Team, clock: Clock) -> None:
        """A persistent resource with two replicas that ran ten hours without a job."""
        see(clock.now, replicas=2)
        budgets.watch_budgets(clock.forward(hours=10))

    def test_are_in_spend_burn_and_a_line_of_their_own(
        self, owner: User, signed_in: SignIn, django_assert_max_num_queries: object
    ) -> None:
        browser = signed_in(owner)
        with django_assert_max_num_queries(10):  # type: ignore[operator]
            page = browser.get("/spend/?of=strategy").content.decode()

        spent, hour = round(usd(20), 2), usd(2)
        assert f"Idle persistent resources of vision: ${spent}" in text_in(page, "where")
        text = " ".join(text_in(page, "content").split())
        assert f"${spent} spent 0 jobs with a cost" in text
        assert f"${hour:.2f} per hour now 0 running · 1 resource" in text
        lines = browser.get("/spend/spend.csv").content.decode().splitlines()
        assert f"2026-03,resource,night-shift in us-central1,{usd(20)},0,0.000000" in lines

    def test_are_forecast(self, owner: User, signed_in: SignIn, clock: Clock) -> None:
        budgets.watch_budgets(clock.forward(days=1))

        view = get_month([owner.memberships.get().team], date(2026, 3, 1), "strategy", clock.now)  # type: ignore[attr-defined]

        assert view.forecast is not None
        assert view.forecast.usd > view.usd > 0

    def test_of_another_team_are_not_shown(
        self, team: Team, clock: Clock, stranger: User, owner: User, signed_in: SignIn
    ) -> None:
        """Neither to a stranger, nor to another team of the same project, which pays nothing for it."""
        neighbours = Team.objects.create(name="neighbours", project=team.project)
        for visitor in (stranger, person("neighbour", neighbours, "engineer")):
            page = text_of(signed_in(visitor).get("/spend/"))
            assert "Idle persistent resources" not in page
            assert "1 resource" not in page


class TestBudgets:
    def test_a_lead_sets_changes_and_closes_one_with_its_history(
        self, team: Team, lead: User, owner: User, admin: User, signed_in: SignIn
    ) -> None:
        browser = signed_in(lead)
        assert "No budget yet" in text_of(browser.get("/budgets/"))
        browser.post(f"/budgets/new/{team.pk}/", NEW)
        row = Budget.objects.get()
        assert (row.amount_usd, row.passing, row.thresholds) == (Decimal(20_000), "stop", [50, 80, 100])

        changed = NEW | {"amount": "15000", "version": "1", "reason": "More"}
        browser.post(f"/budgets/{row.pk}/", changed)
        late = browser.post(f"/budgets/{row.pk}/", changed | {"amount": "31000"})
        assert late.status_code == 422
        assert "Somebody else has changed this budget" in text_of(late)
        assert "31000" in late.content.decode()

        page = signed_in(owner).get(f"/budgets/{row.pk}/").content.decode()
        assert "amount $20,000.00 → $15,000.00 lead" in text_in(page, "changes")
        assert "Plan of <b>March</b>" in text_in(page, "changes")
        assert "<b>March" not in page
        assert "Change it" not in page

        signed_in(admin).post(f"/budgets/{row.pk}/close/", {"version": "2", "reason": "Over"})  # acts alone
        assert "No budget yet" in text_of(browser.get("/budgets/"))
        assert BudgetChange.objects.count() == 3

    @pytest.mark.parametrize(
        ("field", "value", "words"),
        [
            ("amount", "-5", "cannot be negative"),
            ("amount", "€500", "in US dollars"),
            ("amount", "500 EUR", "in US dollars"),
            ("amount", "lots", "not an amount"),
            ("amount", "", "Write an amount"),
            ("thresholds", "half", "whole percentages"),
            ("thresholds", "0", "1 to 500 percent"),
            ("applies_to", "person:999", "valid choice"),
            ("reason", "", "required"),
        ],
    )
    def test_what_cannot_be_a_budget_is_explained_and_nothing_typed_is_lost(
        self, team: Team, lead: User, signed_in: SignIn, field: str, value: str, words: str
    ) -> None:
        answer = signed_in(lead).post(f"/budgets/new/{team.pk}/", NEW | {field: value})

        assert answer.status_code == 422
        assert words in text_of(answer)
        assert "Plan of &lt;b&gt;March" in answer.content.decode() or field == "reason"
        assert not Budget.objects.exists()

    def test_a_label_and_a_person_can_have_one(self, team: Team, lead: User, owner: User, signed_in: SignIn) -> None:
        browser = signed_in(lead)
        browser.post(f"/budgets/new/{team.pk}/", NEW | {"applies_to": f"person:{owner.pk}", "name": "Own"})
        browser.post(f"/budgets/new/{team.pk}/", NEW | {"applies_to": "label", "label": "a=b", "amount": "0"})

        text = text_of(browser.get("/budgets/"))
        assert "jobs of owner" in text
        assert "jobs with the label a=b" in text

    def test_a_version_that_is_none_closes_nothing(self, team: Team, lead: User, signed_in: SignIn) -> None:
        browser = signed_in(lead)
        browser.post(f"/budgets/new/{team.pk}/", NEW)
        row = Budget.objects.get()
        for version in ("", "one", "²", "9" * 5_000):
            answer = browser.post(f"/budgets/{row.pk}/close/", {"version": version, "reason": "Over"}, follow=True)

            assert "Somebody else has changed this budget" in text_of(answer)
        row.refresh_from_db()
        assert row.closed_at is None

    def test_others_may_not(
        self, team: Team, lead: User, owner: User, approver: User, stranger: User, signed_in: SignIn
    ) -> None:
        signed_in(lead).post(f"/budgets/new/{team.pk}/", NEW)
        pk = Budget.objects.get().pk
        for user, status in ((owner, 403), (approver, 403), (stranger, 404)):
            browser = signed_in(user)
            for path in (f"/budgets/new/{team.pk}/", f"/budgets/{pk}/", f"/budgets/{pk}/close/"):
                assert browser.post(path, NEW | {"version": "1"}).status_code == status
            assert browser.get(f"/budgets/{pk}/").status_code == (404 if user == stranger else 200)
        assert "Training" not in text_of(signed_in(stranger).get("/budgets/"))
        assert BudgetChange.objects.count() == 1


class TestApproval:
    def test_says_why_an_approval_would_pass_a_budget_that_stops(
        self, make_job: MakeJob, team: Team, lead: User, approver: User, signed_in: SignIn
    ) -> None:
        job = make_job("awaiting_approval")
        signed_in(lead).post(f"/budgets/new/{team.pk}/", NEW | {"amount": "1"})

        answer = signed_in(approver).post(f"/jobs/{job.pk}/decide/", {"decision": "approve"}, follow=True)

        assert "of the budget “Training” for March 2026 $1.00 is left" in text_of(answer)
        assert Job.objects.get().state == "awaiting_approval"


class TestAmounts:
    @pytest.mark.parametrize("text", ["20000", "$20,000", "USD 20,000.00", "20000 USD", " US$20000 "])
    def test_are_read_as_people_write_them(self, text: str) -> None:
        assert parse_usd(text) == 20_000

    @given(st.text(max_size=30))
    def test_are_read_or_explained(self, text: str) -> None:
        with suppress(ValidationError):
            assert parse_usd(text) >= 0


class TestCompose:
    def test_a_cap_is_kept_and_carried_into_clones_and_templates(
        self, team: Team, engineer: Client, example: dict[str, str], owner: User
    ) -> None:
        answer = engineer.post("/jobs/new/", example | {"cap": "$12.50", "do": "submit"}, follow=True)
        assert answer.status_code == 200
        job = Job.objects.get()
        assert job.cap_usd == Decimal("12.50")
        assert "Cap" in text_of(engineer.get(f"/jobs/{job.pk}/"))

        assert 'value="12.50"' in engineer.get(f"/jobs/new/?job={job.pk}").content.decode()
        engineer.post(f"/jobs/{job.pk}/template/", {"name": "capped"})
        pk = job.team.templates.get().pk
        assert 'value="12.50"' in engineer.get(f"/jobs/new/?template={pk}").content.decode()

    def test_says_what_would_be_left_of_the_budget(
        self, team: Team, lead: User, signed_in: SignIn, engineer: Client, example: dict[str, str]
    ) -> None:
        signed_in(lead).post(f"/budgets/new/{team.pk}/", NEW)

        assert "Budget “Training”, March 2026: $20,000.00 of $20,000.00 left" in text_of(
            engineer.post("/jobs/new/", example | {"do": "check"})
        )

    def test_a_cap_in_another_currency_is_explained(self, engineer: Client, example: dict[str, str]) -> None:
        answer = engineer.post("/jobs/new/", example | {"cap": "12 EUR", "do": "submit"})

        assert "Amounts are in US dollars" in text_of(answer)
        assert "12 EUR" in answer.content.decode()
        assert not Job.objects.exists()


class TestDays:
    @pytest.fixture
    def job(self, make_job: MakeJob, clock: Clock) -> Job:
        """Runs from 22:00 on the day before, at 2 dollars an hour."""
        clock.now = MIDNIGHT - timedelta(hours=2, seconds=40)
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=2)
        return job

    def spent(self, job: Job, hours: float) -> Decimal:
        """Return what the job cost after MIDNIGHT, so many hours later."""
        job.refresh_from_db()
        changes = list(job.events.filter(kind__in=timeline.SPAN_KINDS).order_by("pk"))
        by_day = timeline.micros_by_day(job, changes, (), MIDNIGHT + timedelta(hours=hours)) or {}
        return from_micros(by_day.get(MIDNIGHT.date()))

    def test_counts_from_midnight_for_what_ran_on(self, job: Job) -> None:
        assert self.spent(job, 3) == 6

    def test_leaves_out_the_wait_after_a_preemption(self, job: Job) -> None:
        transitions.transition(job, "pending", now=MIDNIGHT + timedelta(hours=1), message="Preempted.")
        transitions.transition(job, "running", now=MIDNIGHT + timedelta(hours=2), message="Again.")

        assert self.spent(job, 3) == 4

    def test_counts_cancelling_after_running(self, job: Job) -> None:
        transitions.transition(job, "cancelling", now=MIDNIGHT + timedelta(hours=1), message="Stopping.")
        transitions.transition(job, "cancelled", now=MIDNIGHT + timedelta(hours=1.5), message="Stopped.")

        assert self.spent(job, 3) == 3

    def test_ends_with_the_job(self, job: Job) -> None:
        transitions.transition(job, "succeeded", now=MIDNIGHT + timedelta(hours=1), message="Done.")

        assert self.spent(job, 9) == 2

    def test_forgets_what_ended_before(self, job: Job) -> None:
        transitions.transition(job, "succeeded", now=MIDNIGHT - timedelta(minutes=1), message="Done.")

        assert self.spent(job, 3) == 0

    def test_counts_a_job_that_waited_at_midnight_from_its_next_run(self, job: Job) -> None:
        transitions.transition(job, "pending", now=MIDNIGHT - timedelta(hours=1), message="Preempted.")
        transitions.transition(job, "running", now=MIDNIGHT + timedelta(hours=1), message="Again.")

        assert self.spent(job, 3) == 4

    def test_is_nothing_where_no_price_is_known(self, job: Job) -> None:
        Job.objects.filter(pk=job.pk).update(hourly_usd=None)

        assert self.spent(job, 1) == 0
