"""Tests of budgets: the stored sums, what is left, and who may set them."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from jobs import budgets, requests, timeline, transitions
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.budgets.watch import INTERVAL
from jobs.cost import from_micros, to_micros
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Budget, BudgetChange, BudgetNotice, Job, Team
from jobs.states import may_follow
from jobs.submission.reassessment import reassess
from jobs.translations import translated
from jobs.upkeep import count_ended
from tests.domain.conftest import RequestJob
from tests.domain.test_figures import STEPS, made
from tests.support.clock import Clock
from tests.support.ledger import check_ledger, committed, spent

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
START = datetime(2026, 3, 27, 9, tzinfo=UTC)


def set_budget(team: Team, by: User, usd: str, passing: Passing = Passing.STOP, **group: str) -> Budget:
    values = BudgetValues("vision", Decimal(usd), passing)
    return budgets.create_budget(team, values, by=by, reason="agreed in March", now=START, **group)


class TestReserving:
    def test_an_allowed_job_is_committed_with_the_most_that_it_may_cost(
        self, request_job: RequestJob, team: Team
    ) -> None:
        job = request_job(labels={"phase": "two"})

        assert job.max_usd
        groups = [("", ""), ("person", str(job.owner_id)), ("label", "phase=two")]
        assert {committed(team, *group) for group in groups} == {job.max_usd}

    def test_a_job_that_waits_for_an_approval_is_committed_when_it_is_given(
        self, request_job: RequestJob, team: Team, approver: User, clock: Clock
    ) -> None:
        job = request_job(hours=10)
        assert committed(team) == 0

        requests.approve(job, by=approver, comment="", now=clock.now)

        assert committed(team) == job.max_usd

    def test_a_stopping_budget_refuses_and_writes_nothing(
        self, request_job: RequestJob, team: Team, lead: User
    ) -> None:
        first = request_job()
        assert first.max_usd
        set_budget(team, lead, str(first.max_usd * 2 - Decimal("0.01")))

        with pytest.raises(NotAllowed, match="may cost"):
            request_job()

        assert Job.objects.count() == 1
        assert committed(team) == first.max_usd

    def test_an_asking_budget_sends_the_job_to_an_approver(
        self, request_job: RequestJob, team: Team, lead: User
    ) -> None:
        set_budget(team, lead, "0", Passing.ASK)

        job = request_job()

        assert job.state == "awaiting_approval"
        assert [each["code"] for each in job.approval.findings] == ["over_budget"]

    def test_an_approval_cannot_pass_a_stopping_budget(
        self, request_job: RequestJob, team: Team, lead: User, approver: User, clock: Clock
    ) -> None:
        job = request_job(hours=10)
        set_budget(team, lead, "1")

        with pytest.raises(NotAllowed, match="budget"):
            requests.approve(job, by=approver, comment="", now=clock.now)

        job = Job.objects.get()
        assert (job.state, job.approval.decision, committed(team)) == ("awaiting_approval", "", 0)

    def test_a_person_and_a_label_have_budgets_of_their_own(
        self, request_job: RequestJob, team: Team, lead: User, owner: User, teammate: User
    ) -> None:
        set_budget(team, lead, "0", dimension="person", value=str(owner.pk))
        set_budget(team, lead, "0", dimension="label", value="phase=two")

        with pytest.raises(NotAllowed):
            request_job()
        with pytest.raises(NotAllowed):
            request_job(by=teammate, labels={"phase": "two"})
        assert request_job(by=teammate, labels={"phase": "one"}).state == "approved"

    def test_before_it_is_sent_a_job_is_not_held_against_itself(
        self, request_job: RequestJob, team: Team, lead: User, clock: Clock
    ) -> None:
        job = request_job()
        budget = set_budget(team, lead, str(job.max_usd))
        assert reassess(Job.objects.get(), clock.now) is None

        values = BudgetValues("vision", Decimal(1), Passing.STOP)
        budgets.change_budget(budget.pk, values, version=1, by=lead, reason="less money", now=clock.now)

        change = reassess(Job.objects.get(), clock.now)
        assert change is not None
        assert change.events[0].to_state == "submit_failed"
        assert "budget" in change.events[0].message

    def test_what_was_withdrawn_is_free_again(self, request_job: RequestJob, team: Team, clock: Clock) -> None:
        job = request_job()
        transitions.transition(job, "withdrawn", now=clock.now, message="Never mind.")

        assert committed(team) == 0

    def test_a_job_that_is_asked_about_again_is_committed_no_more(
        self, request_job: RequestJob, team: Team, clock: Clock
    ) -> None:
        job = request_job()
        transitions.transition(job, "awaiting_approval", now=clock.now, message="Policy is stricter now.")

        assert committed(team) == 0

    def test_what_has_ended_is_committed_until_its_cost_is_in_the_ledger(
        self, request_job: RequestJob, team: Team, clock: Clock
    ) -> None:
        job = request_job()
        for state in ("submitting", "running"):
            transitions.transition(job, state, now=clock.now, message="It went on.")
        transitions.transition(job, "succeeded", now=clock.forward(minutes=30), message="It ended.")
        assert (committed(team), spent(team, clock.now)) == (job.max_usd, 0)

        count_ended(clock.now)

        assert committed(team) == 0
        assert spent(team, clock.now) == from_micros(to_micros(job.hourly_usd / 2))


class TestSpending:
    def test_a_job_that_crosses_the_months_end_counts_in_both(
        self, request_job: RequestJob, team: Team, clock: Clock
    ) -> None:
        clock.now = datetime(2026, 3, 31, 22, tzinfo=UTC)
        job = request_job()
        for state in ("submitting", "queued", "pending", "running"):
            transitions.transition(job, state, now=clock.now, message="It went on.")
        transitions.transition(job, "succeeded", now=clock.forward(hours=3), message="It ended.")

        count_ended(clock.now)

        assert job.hourly_usd
        assert spent(team, date(2026, 3, 1)) == job.hourly_usd * 2
        assert spent(team, date(2026, 4, 1)) == job.hourly_usd
        assert committed(team) == 0

    def test_what_a_running_job_has_cost_moves_from_committed_to_spent(
        self, request_job: RequestJob, team: Team, clock: Clock
    ) -> None:
        job = request_job()
        for state in ("submitting", "queued", "pending", "running"):
            transitions.transition(job, state, now=clock.now, message="It went on.")
        clock.forward(hours=1)

        assert budgets.watch_budgets(clock.now) == 1
        assert budgets.watch_budgets(clock.now) == 0

        assert spent(team, clock.now) == job.hourly_usd
        assert spent(team, clock.now) + committed(team) == job.max_usd

    def test_a_share_that_is_spent_is_told_once(
        self, request_job: RequestJob, team: Team, lead: User, clock: Clock
    ) -> None:
        job = request_job()
        assert job.max_usd
        set_budget(team, lead, str(round(job.max_usd / 7 * Decimal("1.2"), 2)))
        for state in ("submitting", "queued", "pending", "running"):
            transitions.transition(job, state, now=clock.now, message="It went on.")

        for _ in range(4):
            clock.forward(hours=1)
            budgets.watch_budgets(clock.now)

        percents = list(BudgetNotice.objects.order_by("percent").values_list("percent", flat=True))
        assert percents == [50, 80]
        notice = BudgetNotice.objects.first()
        assert notice is not None
        assert "of the budget “vision” for March 2026 is spent" in notice.message
        with override("pt-br"):
            assert "% do orçamento “vision” de março de 2026: $" in translated(notice.text)


class TestAnyHistory(TestCase):
    @given(
        st.lists(
            st.tuples(st.integers(0, 3), st.sampled_from((*STEPS, "count")), st.integers(1, 60 * 24 * 9)), max_size=40
        )
    )
    def test_the_sums_equal_a_direct_count(self, steps: list[tuple[int, str, int]]) -> None:
        team = Team.objects.create(name="vision", project="vision-research")
        owner = User.objects.create_user("owner-of-many")
        now = START
        rows = [made(team, owner, number, now) for number in range(4)]
        Job.objects.update(max_usd=Decimal(100))
        for number, step, minutes in steps:
            now += timedelta(minutes=minutes)
            if step == "count":
                count_ended(now)
                budgets.watch_budgets(now)
            elif may_follow(rows[number].state, step):
                transitions.transition(rows[number], step, now=now, message="It went on.")
        count_ended(now)
        now += INTERVAL
        budgets.watch_budgets(now)

        check_ledger(now)
        left = (max(0, 100 - (timeline.compute_cost(job, now) or 0)) for job in Job.objects.filter(ended_at=None))
        assert committed(team) == sum(round(usd, 6) for usd in left)


class TestSetting:
    def test_only_leads_set_budgets(self, team: Team, approver: User, stranger: User, lead: User) -> None:
        User.objects.filter(pk=lead.pk).update(is_active=False)
        for by in (approver, stranger, lead):
            with pytest.raises(NotPermitted):
                set_budget(team, by, "10")

    @pytest.mark.parametrize("usd", ["-1", "0.001", "NaN", "Infinity", "1e11"])
    def test_an_absurd_amount_is_refused(self, team: Team, lead: User, usd: str) -> None:
        with pytest.raises(ValueError, match="amount"):
            set_budget(team, lead, usd)

    def test_each_change_is_kept_and_a_second_lead_is_told(self, team: Team, lead: User) -> None:
        row = set_budget(team, lead, "100")
        values = BudgetValues("vision", Decimal(150), Passing.ASK)
        budgets.change_budget(row.pk, values, version=1, by=lead, reason="more GPUs", now=START)

        with pytest.raises(ValueError, match="Somebody else"):
            budgets.change_budget(row.pk, values, version=1, by=lead, reason="mine", now=START)

        change = BudgetChange.objects.latest("pk")
        assert change.fields == {"amount_usd": ["100.00", "150"], "passing": ["stop", "ask"]}
        with pytest.raises(TypeError):
            change.save()

    def test_one_open_budget_for_the_same_jobs(self, team: Team, lead: User) -> None:
        row = set_budget(team, lead, "100")
        with pytest.raises(ValueError, match="already"):
            set_budget(team, lead, "200")

        budgets.close_budget(row.pk, version=1, by=lead, reason="over", now=START)
        assert set_budget(team, lead, "200").pk != row.pk

    @pytest.mark.parametrize("group", [("person", "999"), ("person", "x"), ("label", "nothing"), ("machine", "n1")])
    def test_a_group_that_is_none_is_refused(self, team: Team, lead: User, group: tuple[str, str]) -> None:
        with pytest.raises(ValueError, match="member of it"):
            set_budget(team, lead, "1", dimension=group[0], value=group[1])
