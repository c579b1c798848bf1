"""Tests of one approval for all attempts: attempts that it covers start without another, others need a new one."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import requests, steps, transitions
from jobs.errors import NotAllowed, NotPermitted
from jobs.fallback import Plan, Step
from jobs.models import Approval, Budget, Fallback, FallbackAttempt, Job, Membership, Team, Vote
from jobs.policy_rules import Rule
from jobs.requests import fallbacks
from jobs.requests.approval import Changed
from jobs.requests.policy_versions import Terms, current_version, save_policy
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob
from tests.support import samples
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
STOCKOUT = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different region."}
PLAN = Plan((Step("standard"), Step("standard", "europe-west4")))
DEAR = Rule(outcome="ask", cost_over="1")
STANDARD = Rule(outcome="ask", strategies=["standard"])


@pytest.fixture
def policy(team: Team, lead: User, clock: Clock) -> Callable[..., None]:
    """`policy(Rule(...), cancel_at_cap=False)` saves another version of the team's policy."""

    def save(*rules: Rule, **terms: Any) -> None:
        version = current_version(team)
        base = version.number if version is not None else 0
        save_policy(team, rules, Terms(**terms), base=base, by=lead, note="", now=clock.now)

    return save


@pytest.fixture
def begin(request_job: RequestJob, team: Team, owner: User, clock: Clock) -> Callable[..., Job]:
    """`begin(plan)` is the first attempt of the owner's request: ten hours, which cost more than a dollar."""

    def start(plan: Plan = PLAN, *, hours: float = 10, cap_usd: Decimal | None = None, number: int = 1) -> Job:
        submission = samples.submission(**samples.limited(hours, {}, least=4))
        expected = timedelta(hours=hours)
        asked = requests.RequestOptions(
            Team.objects.get(pk=team.pk), owner, expected, clock.now, cap_usd=cap_usd, plan=plan
        )
        return requests.request_jobs([submission], asked, request_key=f"form-{number}")[0]

    return start


def approve(job: Job, *people: User, clock: Clock, **more: Any) -> Job:
    for each in people:
        assert requests.approve(Job.objects.get(pk=job.pk), by=each, comment="", now=clock.now, **more)
    return Job.objects.get(pk=job.pk)


def fail(job: Job, clock: Clock) -> None:
    """Let an attempt end without capacity."""
    job = Job.objects.get(pk=job.pk)
    for state in ("submitting", "queued", "failed"):
        name = f"projects/1/locations/{job.region}/customJobs/{job.pk.int % 10**12}"
        more = {"failed": {"error": STOCKOUT}, "queued": {"remote_name": name}}.get(state, {})
        assert transitions.transition(job, state, now=clock.forward(seconds=10), message="It is so.", **more)


def next_of(job: Job, clock: Clock) -> Job:
    """Let an attempt end without capacity, and return the one that follows."""
    fail(job, clock)
    row = Fallback.objects.get(attempts__job=job)
    assert fallbacks.make_next_attempt(row.pk, now=clock.forward(seconds=10))
    return row.attempts.latest("number").job


class TestOneDecision:
    def test_later_attempts_begin_without_another(
        self, begin: Any, policy: Any, approver: User, clock: Clock, cloud: Cloud
    ) -> None:
        policy(DEAR)
        first = begin()
        question = first.approval
        assert [each["number"] for each in question.attempts] == [1, 2, 3]
        assert [each.get("attempt", 1) for each in question.findings] == [1, 2, 3]
        assert question.findings[2]["message"].startswith("Attempt 3, Standard in europe-west4: Expected $")
        approve(first, approver, clock=clock)

        second = next_of(first, clock)

        assert (second.state, second.strategy, second.region) == ("approved", "standard", "us-central1")
        assert second.approved_usd == second.max_usd == Decimal(question.attempts[1]["max_usd"])
        event = second.events.get(to_state="approved")
        assert event.message == "owner requested the job; approver approved attempt 2 with the first one."
        assert event.detail["approval"] == {
            "job": str(first.pk), "asked_at": question.asked_at.isoformat(), "attempt": 2,
        }  # fmt: skip
        assert next_of(second, clock).state == "approved"
        assert Vote.objects.count() == 1
        assert list(audit(clock.now)) == []

    def test_is_asked_before_the_first_where_policy_asks_about_a_later_one(
        self, begin: Any, policy: Any, approver: User, clock: Clock
    ) -> None:
        policy(STANDARD)
        first = begin()

        assert (first.state, first.strategy) == ("awaiting_approval", "spot")
        assert {each["attempt"] for each in first.approval.findings} == {2, 3}
        first = approve(first, approver, clock=clock)
        assert first.state == "approved"
        assert next_of(first, clock).state == "approved"

    def test_holds_when_the_attempt_is_sent(
        self, begin: Any, policy: Any, approver: User, clock: Clock, cloud: Cloud
    ) -> None:
        policy(DEAR)
        second = next_of(approve(begin(), approver, clock=clock), clock)

        cloud.forward(seconds=1)
        steps.advance(second.pk, clock=cloud.clock)

        assert Job.objects.get(pk=second.pk).is_remote

    def test_nobody_is_asked_where_policy_asks_about_none(self, begin: Any, policy: Any, clock: Clock) -> None:
        policy(Rule(outcome="ask", cost_over="100000"))
        first = begin()

        assert first.state == "approved"
        assert not Approval.objects.exists()
        assert next_of(first, clock).state == "approved"

    def test_a_rejection_ends_all(self, begin: Any, policy: Any, approver: User, clock: Clock) -> None:
        policy(STANDARD)
        first = begin()
        requests.reject(first, by=approver, comment="no", now=clock.now)

        assert fallbacks.make_next_attempt(Fallback.objects.get().pk, now=clock.forward(minutes=1))
        assert Fallback.objects.get().outcome == "not_approved"
        assert FallbackAttempt.objects.count() == 1


class TestWhoDecides:
    def test_everybody_whom_any_attempt_needs(
        self, begin: Any, policy: Any, lead: User, approver: User, second: User, clock: Clock
    ) -> None:
        europe = Rule(outcome="ask", regions=["europe-west4"], role="lead")
        policy(europe, Rule(outcome="ask", strategies=["standard"], approvals=2))
        first = begin()

        first = approve(first, approver, second, clock=clock)
        assert first.state == "awaiting_approval", "a lead is asked about the attempt in europe-west4"
        first = approve(first, lead, clock=clock)
        assert first.state == "approved"
        third = next_of(next_of(first, clock), clock)
        assert (third.region, third.state) == ("europe-west4", "approved")
        assert list(audit(clock.now)) == []

    def test_never_the_requester(self, begin: Any, policy: Any, owner: User, team: Team, clock: Clock) -> None:
        policy(STANDARD)
        Membership.objects.filter(user=owner, team=team).update(role="lead")

        with pytest.raises(NotPermitted):
            requests.approve(begin(), by=owner, comment="", now=clock.now)

    def test_a_role_that_is_taken_away_later_is_no_matter(
        self, begin: Any, policy: Any, approver: User, clock: Clock
    ) -> None:
        policy(DEAR)
        first = approve(begin(), approver, clock=clock)
        Membership.objects.filter(user=approver).delete()

        assert next_of(first, clock).state == "approved"

    def test_what_a_person_has_seen_are_these_attempts(
        self, begin: Any, policy: Any, approver: User, clock: Clock
    ) -> None:
        policy(DEAR)
        one, two = begin(), begin(Plan((Step("standard"),)), number=2)
        assert one.approval.digest != two.approval.digest

        with pytest.raises(Changed):
            requests.approve(two, by=approver, comment="", now=clock.now, digest=one.approval.digest)


class TestBeyond:
    """Attempts beyond what was approved need another approval."""

    @pytest.mark.parametrize("changed", [
        Rule(outcome="ask", cost_over="1", role="lead"), Rule(outcome="ask", cost_over="1", approvals=2),
        Rule(outcome="ask", cost_over="1", approvers=["lead"]), Rule(outcome="ask", cost_over="1", hours_over="1"),
        Rule(outcome="ask", cost_over="1", further=[{"role": "lead"}]),
    ], ids=str)  # fmt: skip
    def test_a_policy_that_asks_for_more(
        self, begin: Any, policy: Any, approver: User, clock: Clock, changed: Rule
    ) -> None:
        policy(DEAR)
        first = approve(begin(), approver, clock=clock)
        policy(changed)

        second = next_of(first, clock)

        assert second.state == "awaiting_approval"
        assert second.approval.attempts is None, "the question is about this attempt only"

    def test_a_policy_that_asks_for_less_or_the_same(self, begin: Any, policy: Any, lead: User, clock: Clock) -> None:
        policy(Rule(outcome="ask", cost_over="1", role="lead"))
        first = approve(begin(), lead, clock=clock)
        policy(DEAR)

        assert next_of(first, clock).state == "approved"

    def test_a_policy_that_changes_before_the_attempt_is_sent(
        self, begin: Any, policy: Any, approver: User, clock: Clock, cloud: Cloud
    ) -> None:
        policy(DEAR)
        second = next_of(approve(begin(), approver, clock=clock), clock)
        policy(Rule(outcome="ask", cost_over="1", approvals=2))
        cloud.forward(seconds=1)

        steps.advance(second.pk, clock=cloud.clock)

        second = Job.objects.get(pk=second.pk)
        assert second.state == "awaiting_approval"
        assert "its approval is no longer valid" in second.events.latest("id").message

    def test_a_policy_that_refuses_it(self, begin: Any, policy: Any, approver: User, clock: Clock) -> None:
        policy(DEAR)
        first = approve(begin(), approver, clock=clock)
        policy(Rule(outcome="refuse", strategies=["standard"]))

        fail(first, clock)
        fallbacks.make_next_attempt(Fallback.objects.get().pk, now=clock.now)
        assert Fallback.objects.get().outcome == "refused"

    @pytest.mark.parametrize(("key", "value"), [
        ("max_usd", "0.01"), ("max_usd", None), ("digest", "0" * 64), ("project", "elsewhere"), ("number", 4),
    ])  # fmt: skip
    def test_another_amount_job_or_number(
        self, begin: Any, policy: Any, approver: User, clock: Clock, key: str, value: Any
    ) -> None:
        policy(DEAR)
        first = approve(begin(), approver, clock=clock)
        planned = first.approval.attempts
        planned[1][key] = value
        Approval.objects.filter(job=first).update(attempts=planned)

        assert next_of(first, clock).state == "awaiting_approval"

    def test_an_approval_that_was_given_for_the_first_attempt_only(
        self, begin: Any, policy: Any, approver: User, clock: Clock
    ) -> None:
        policy(DEAR)
        first = approve(begin(), approver, clock=clock)
        Approval.objects.filter(job=first).update(attempts=None)

        assert next_of(first, clock).state == "awaiting_approval"

    def test_another_strategy_that_an_approver_chose(
        self, begin: Any, policy: Any, approver: User, owner: User, clock: Clock
    ) -> None:
        policy(DEAR, approvers_choose_strategy=True)
        first = begin()
        assert requests.approve_as(first, "standard", by=approver, comment="", now=clock.forward(seconds=1))
        first = Job.objects.get(pk=first.pk)
        assert (first.state, first.approval.attempts) == ("approved", None)

        assert next_of(first, clock).state == "awaiting_approval"

    def test_a_rejected_attempt_does_not_come_back_by_the_approval_of_all(
        self, begin: Any, policy: Any, approver: User, second: User, clock: Clock
    ) -> None:
        policy(DEAR)
        first = approve(begin(), approver, clock=clock)
        policy(Rule(outcome="ask", cost_over="1", approvals=2))
        later = next_of(first, clock)
        requests.reject(later, by=second, comment="no", now=clock.now)
        policy(DEAR)

        fallbacks.make_next_attempt(Fallback.objects.get().pk, now=clock.forward(minutes=1))
        assert FallbackAttempt.objects.count() == 2
        assert Fallback.objects.get().outcome == "not_approved"

    def test_a_budget_that_is_passed_is_asked_about_anew(
        self, begin: Any, policy: Any, approver: User, team: Team, clock: Clock
    ) -> None:
        policy(DEAR)
        Budget.objects.create(team=team, name="small", amount_usd=Decimal(1), passing="ask", created_at=clock.now)
        first = approve(begin(), approver, clock=clock)

        second = next_of(first, clock)

        assert second.state == "awaiting_approval"
        assert "over_budget" in {each["code"] for each in second.approval.findings}


class TestCap:
    def test_of_an_approver_is_for_all_attempts_together(
        self, begin: Any, policy: Any, approver: User, clock: Clock
    ) -> None:
        policy(DEAR, cancel_at_cap=False)
        first = approve(begin(), approver, clock=clock, cap_usd=Decimal(9))
        job = Job.objects.get(pk=first.pk)
        assert (job.cap_usd, job.cap_cancels) == (9, True)

        second = next_of(first, clock)

        assert second.state == "approved"
        assert second.cap_cancels
        assert second.cap_usd is not None
        assert second.cap_usd <= 9

    def test_that_is_spent_ends_it(
        self, begin: Any, policy: Any, approver: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        policy(DEAR)
        first = approve(begin(), approver, clock=clock, cap_usd=Decimal(9))
        monkeypatch.setattr(fallbacks, "sum_costs", lambda attempts, now: Decimal(9))

        fail(first, clock)
        fallbacks.make_next_attempt(Fallback.objects.get().pk, now=clock.now)

        row = Fallback.objects.get()
        assert row.outcome == "too_expensive"
        assert "All attempts together may cost $9.00" in row.message

    def test_of_the_plan_bounds_no_attempt_that_google_does_not_stop_there(
        self, begin: Any, policy: Any, clock: Clock
    ) -> None:
        policy(DEAR)
        first = begin(Plan((Step("standard"),), max_usd=Decimal(5)))

        most = [Decimal(each["max_usd"]) for each in first.approval.attempts]
        assert min(most) > 5
        # The second one begins while less than $5 is spent, and may then cost what it costs.
        assert first.approval.asked_usd == max(most[0], 5 + most[1])


@pytest.mark.parametrize("plan", [Plan((Step("", "a\x00"),)), Plan((Step("reservation"),)), Plan((Step("nothing"),))])
def test_a_plan_that_is_none_is_refused_before_anything_is_judged(begin: Any, plan: Plan) -> None:
    with pytest.raises(NotAllowed):
        begin(plan)
    assert not Job.objects.exists()


def test_a_sweep_is_decided_about_once_with_all_attempts(
    begin: Any, policy: Any, team: Team, owner: User, approver: User, clock: Clock
) -> None:
    policy(STANDARD)
    jobs = [samples.submission(**samples.limited(10, {}, least=4), name=name) for name in ("one", "two")]
    now, plan = clock.now, Plan((Step("standard"),))
    asked = requests.RequestOptions(Team.objects.get(pk=team.pk), owner, timedelta(hours=10), now, plan=plan)
    one, two = requests.request_jobs(jobs, asked, request_key="sweep")
    assert {one.state, two.state} == {"awaiting_approval"}

    approve(one, approver, clock=clock)

    assert Vote.objects.count() == 2
    assert [next_of(each, clock).state for each in (one, two)] == ["approved", "approved"]
    assert list(audit(clock.now)) == []
