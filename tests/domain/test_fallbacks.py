"""Tests of further attempts: after a stockout, preemption, wait or Vertex AI error, and never two at once."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs import requests, steps, transitions
from jobs.errors import NotAllowed
from jobs.fallback import Plan, Reason, Step
from jobs.models import Fallback, FallbackAttempt, Job, Membership, Message, Policy, Team, UnmatchedJob
from jobs.requests import fallbacks
from jobs.requests.fallback_attempts import sum_costs
from jobs.upkeep import watch_fallbacks
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob, look, pass_time
from tests.support import samples

Begin = Callable[..., Job]
TO_STANDARD = Plan((Step("standard"),))


@pytest.fixture
def begin(request_job: RequestJob, cloud: Cloud, team: Team, owner: User) -> Begin:
    """`begin("stockout", plan)` is the first attempt of the owner's request, which follows that script."""

    def start(script: str, plan: Plan = TO_STANDARD, **changes: Any) -> Job:
        cloud.script(script)
        submission = samples.submission(**samples.limited(0.1, changes, least=4))
        Policy.objects.filter(team=team).update(ask_over_usd=1000)
        asked = requests.RequestOptions(Team.objects.get(pk=team.pk), owner, timedelta(minutes=6), cloud.now, plan=plan)
        return requests.request_jobs([submission], asked, request_key="the-form")[0]

    return start


def live() -> int:
    return Job.objects.filter(ended_at=None).count()


def sweep(cloud: Cloud) -> None:
    """What a sweep of a worker does for jobs and their further attempts."""
    assert live() <= 1
    watch_fallbacks(cloud.clock)
    assert live() <= 1
    for job_id in steps.due_jobs(cloud.now):
        steps.advance(job_id, clock=cloud.clock)
    look(cloud)


def sweep_while(cloud: Cloud, is_open: Callable[[], bool]) -> None:
    """Sweep as long as something holds, for four hours at most."""
    until = cloud.now + timedelta(hours=4)
    while is_open():
        assert cloud.now < until, list(Job.objects.values_list("state", "last_error", "due_at", "restarts"))
        sweep(cloud)
        pass_time(cloud, until)


def go_on(cloud: Cloud, *, minutes: float = 90, every: float = 45) -> list[FallbackAttempt]:
    """Sweep until no attempt follows any more, or for so many minutes; return the attempts."""
    until = cloud.now + timedelta(minutes=minutes)
    while cloud.now < until and Fallback.objects.filter(ended_at=None).exists():
        sweep(cloud)
        pass_time(cloud, until, every)
    assert list(audit(cloud.now)) == []
    return list(FallbackAttempt.objects.select_related("job", "fallback").order_by("number"))


class TestAttempts:
    def test_a_stockout_is_followed_by_the_next_strategy(self, begin: Begin, cloud: Cloud) -> None:
        first = begin("stockout")
        sweep_while(cloud, lambda: not Job.objects.get(pk=first.pk).is_finished)
        cloud.script("happy")

        one, two = go_on(cloud)

        assert (one.job.strategy, one.job.state) == ("spot", "failed")
        assert (two.job.strategy, two.job.state, two.reason) == ("standard", "succeeded", "capacity")
        assert two.job.cloned_from_id == first.pk
        assert (two.job.owner_id, two.job.expected_seconds) == (first.owner_id, first.expected_seconds)
        assert two.fallback.outcome == "succeeded"
        assert one.job.events.filter(kind="fallback").get().message == (
            "Attempt 2 of 2 (Standard in us-central1) follows because it got no capacity."
        )
        assert Message.objects.filter(kind="fallback").count() == 1

    def test_every_preemption_is_used_before_the_next_attempt(self, begin: Begin, cloud: Cloud) -> None:
        begin("always-preempted")
        sweep_while(cloud, lambda: Job.objects.filter(ended_at=None).exists())
        cloud.script("happy")

        one, two = go_on(cloud)

        assert (one.job.restarts, two.reason) == (6, "preempted")
        assert two.job.state == "succeeded"

    def test_an_internal_error_is_followed_by_the_same_job(self, begin: Begin, cloud: Cloud) -> None:
        begin("internal", Plan((Step(), Step("", "europe-west4"))))

        attempts = go_on(cloud)

        assert [(each.job.strategy, each.job.region) for each in attempts] == [
            ("spot", "us-central1"),
            ("spot", "us-central1"),
            ("spot", "europe-west4"),
        ]
        assert attempts[0].fallback.outcome == "exhausted"
        assert "All 3 attempts were made" in attempts[2].job.events.get(once_key="fallback:ended").message

    @pytest.mark.parametrize("script", ["fails", "oom", "image", "late-error"])
    def test_the_programs_own_failure_is_followed_by_nothing(self, script: str, begin: Begin, cloud: Cloud) -> None:
        begin(script)

        (only,) = go_on(cloud)

        assert (only.job.state, only.fallback.outcome) == ("failed", "other_end")

    def test_a_reason_that_was_not_chosen_is_followed_by_nothing(self, begin: Begin, cloud: Cloud) -> None:
        begin("stockout", Plan((Step("standard"),), frozenset({Reason.INTERNAL})))

        (only,) = go_on(cloud)

        assert only.fallback.outcome == "other_end"
        assert "none was asked for where it got no capacity" in only.fallback.message


class TestWaits:
    def test_an_attempt_that_waits_too_long_is_cancelled_first(self, begin: Begin, cloud: Cloud) -> None:
        first = begin("slow-queue", Plan((Step("standard"),), wait_hours=1))
        sweep_while(cloud, lambda: Job.objects.get(pk=first.pk).cancel_requested_at is None)
        assert FallbackAttempt.objects.count() == 1, "the next follows the recorded end, not the request"
        cloud.script("happy")

        one, two = go_on(cloud)

        assert (one.job.state, one.job.started_at) == ("cancelled", None)
        assert one.job.ended_at is not None
        assert two.job.requested_at >= one.job.ended_at
        assert (two.reason, two.job.state) == ("capacity", "succeeded")

    def test_one_that_began_while_the_site_was_down_is_not_cancelled(self, begin: Begin, cloud: Cloud) -> None:
        job = begin("happy", Plan((Step("standard"),), wait_hours=1))
        sweep(cloud)
        job.refresh_from_db()
        assert (job.seen_at, job.started_at) == (cloud.now, None)

        cloud.forward(minutes=70)
        sweep(cloud)

        job.refresh_from_db()
        assert job.started_at is not None
        assert job.cancel_requested_at is None

    def test_a_job_that_is_refused_for_quota_again_and_again_has_waited(self, begin: Begin, cloud: Cloud) -> None:
        first = begin("quota", Plan((Step("standard"),), wait_hours=1))
        sweep_while(cloud, lambda: not Job.objects.get(pk=first.pk).is_finished)
        cloud.script("happy")

        one, two = go_on(cloud)

        assert one.job.state == "withdrawn"
        assert two.job.state == "succeeded"

    def test_the_last_attempt_may_wait(self, begin: Begin, cloud: Cloud) -> None:
        begin("slow-queue", Plan((Step("standard"),), wait_hours=1))

        one, two = go_on(cloud, minutes=400)

        assert (one.job.state, two.job.state) == ("cancelled", "succeeded")

    def test_it_waits_on_where_the_next_would_be_refused(self, begin: Begin, cloud: Cloud, team: Team) -> None:
        begin("slow-queue", Plan((Step("", "europe-west4"),), wait_hours=1))
        Policy.objects.filter(team=team).update(regions=["us-central1"])

        (only,) = go_on(cloud, minutes=240)

        assert (only.job.state, only.fallback.outcome) == ("succeeded", "succeeded")


class TestEnds:
    def test_a_person_who_cancels_the_attempt_ends_it(self, begin: Begin, cloud: Cloud, teammate: User) -> None:
        job = begin("slow-queue", Plan((Step("standard"),), wait_hours=1))
        sweep(cloud)
        assert steps.cancel(Job.objects.get(pk=job.pk), by=teammate, clock=cloud.clock)

        (only,) = go_on(cloud)
        cloud.forward(hours=3)
        sweep(cloud)

        assert (only.fallback.outcome, FallbackAttempt.objects.count()) == ("cancelled", 1)
        assert "teammate cancelled it" in only.fallback.message

    def test_a_person_may_cancel_it_while_our_own_cancellation_is_on_its_way(
        self, begin: Begin, cloud: Cloud, owner: User
    ) -> None:
        job = begin("slow-queue", Plan((Step("standard"),), wait_hours=1))
        sweep(cloud)
        cloud.forward(minutes=70)
        look(cloud)
        watch_fallbacks(cloud.clock)
        job.refresh_from_db()
        assert job.cancel_requested_at is not None

        assert steps.cancel(job, by=owner, clock=cloud.clock)

        (only,) = go_on(cloud)
        assert only.fallback.outcome == "cancelled"

    def test_who_left_the_team_gets_no_further_attempt(self, begin: Begin, cloud: Cloud, owner: User) -> None:
        begin("stockout")
        sweep(cloud)
        Membership.objects.filter(user=owner).delete()

        (only,) = go_on(cloud)

        assert only.fallback.outcome == "owner_left"
        assert only.fallback.message == "No further attempt follows: owner may request no more jobs for vision."

    def test_a_closed_account_gets_no_further_attempt(self, begin: Begin, cloud: Cloud, owner: User) -> None:
        begin("stockout")
        sweep(cloud)
        User.objects.filter(pk=owner.pk).update(is_active=False)

        (only,) = go_on(cloud)

        assert only.fallback.outcome == "owner_left"

    def test_a_refusal_by_policy_is_told(self, begin: Begin, cloud: Cloud, team: Team) -> None:
        begin("stockout", Plan((Step("", "europe-west4"),)))
        sweep(cloud)
        Policy.objects.filter(team=team).update(regions=["us-central1"])

        (only,) = go_on(cloud)

        assert only.fallback.outcome == "refused"
        assert "attempt 2 is refused" in only.job.events.get(once_key="fallback:ended").message

    def test_each_attempt_is_asked_about_by_the_policy_of_then(
        self, begin: Begin, cloud: Cloud, team: Team, approver: User
    ) -> None:
        begin("stockout")
        sweep(cloud)
        Policy.objects.filter(team=team).update(ask_over_usd=1)
        sweep_while(cloud, lambda: FallbackAttempt.objects.count() < 2)
        second = FallbackAttempt.objects.get(number=2).job
        assert second.state == "awaiting_approval"

        requests.reject(second, by=approver, comment="too dear", now=cloud.now)

        go_on(cloud)
        assert Fallback.objects.get().outcome == "not_approved"


class TestCost:
    def test_all_attempts_together_cost_no_more_than_was_said(self, begin: Begin, cloud: Cloud) -> None:
        first = begin("always-preempted", Plan((Step("standard"), Step("standard")), max_usd=Decimal("12.00")))
        assert first.cap_usd == Decimal("12.00")
        sweep_while(cloud, lambda: FallbackAttempt.objects.count() < 2)

        second = FallbackAttempt.objects.get(number=2).job
        spent = sum_costs([FallbackAttempt.objects.get(number=1)], cloud.now)

        assert spent
        assert second.cap_usd is not None
        assert abs(second.cap_usd - (Decimal("12.00") - spent)) < Decimal("0.01")
        assert second.cap_cancels

    def test_no_attempt_follows_when_nothing_is_left(self, begin: Begin, cloud: Cloud) -> None:
        begin("always-preempted", Plan((Step("standard"),), max_usd=Decimal("50.00")))
        sweep_while(cloud, lambda: not Job.objects.get().is_finished)
        Job.objects.update(hourly_usd=100_000)

        (only,) = go_on(cloud)

        assert only.fallback.outcome == "too_expensive"
        assert "All attempts together may cost $50.00" in only.fallback.message

    def test_a_policy_that_cancels_nothing_at_its_cap_refuses_what_may_cost_more(
        self, begin: Begin, team: Team, cloud: Cloud
    ) -> None:
        Policy.objects.filter(team=team).update(cancel_at_cap=False)

        with pytest.raises(NotAllowed, match="left for all attempts together"):
            begin("happy", Plan((Step("standard"),), max_usd=Decimal("0.10")))

        assert not Job.objects.exists()


class TestNeverTwo:
    @pytest.mark.parametrize("killed_at", ["request_jobs", "judged:request", "fallback:2"])
    def test_a_worker_that_is_killed_leaves_all_or_nothing(
        self, killed_at: str, begin: Begin, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begin("stockout")
        sweep_while(cloud, lambda: not Job.objects.get().is_finished)

        class Killed(BaseException):
            """The process ends here."""

        record = transitions.record_event

        def kill(*_: Any, **__: Any) -> Any:
            raise Killed

        def die(*args: Any, **fields: Any) -> Any:
            if fields["once_key"] == killed_at:
                raise Killed
            return record(*args, **fields)

        with monkeypatch.context() as patch:
            if killed_at == "request_jobs":
                patch.setattr(fallbacks, killed_at, kill)
            else:
                patch.setattr(transitions, "record_event", die)
            with pytest.raises(Killed):
                watch_fallbacks(cloud.clock)
        assert Job.objects.count() == 1
        assert FallbackAttempt.objects.count() == 1
        cloud.script("happy")

        attempts = go_on(cloud)

        assert [each.number for each in attempts] == [1, 2]
        assert len(cloud.jobs()) == 2

    def test_a_step_that_is_delivered_twice_is_taken_once(self, begin: Begin, cloud: Cloud) -> None:
        begin("stockout")
        sweep_while(cloud, lambda: not Job.objects.get().is_finished)
        pk = Fallback.objects.get().pk

        assert [fallbacks.make_next_attempt(pk, now=cloud.now) for _ in range(3)] == [True, False, False]
        assert Job.objects.count() == 2

    def test_a_second_job_at_vertex_ai_holds_the_next_attempt_back(self, begin: Begin, cloud: Cloud) -> None:
        job = begin("stockout")
        sweep_while(cloud, lambda: not Job.objects.get().is_finished)
        place = {"kind": job.kind, "project": job.project, "region": job.region}
        other = UnmatchedJob.objects.create(
            remote_name="projects/1/locations/r/customJobs/9", job=job, first_seen_at=cloud.now,
            last_seen_at=cloud.now, **place,
        )  # fmt: skip

        watch_fallbacks(cloud.clock)
        assert Job.objects.count() == 1

        UnmatchedJob.objects.filter(pk=other.pk).update(ended_at=cloud.now)
        watch_fallbacks(cloud.clock)
        assert Job.objects.count() == 2

    def test_an_attempt_that_is_made_again_has_the_same_id(self, begin: Begin, cloud: Cloud) -> None:
        """By this id, a restored database finds the job that it made before: see test_identity."""
        begin("stockout")
        sweep_while(cloud, lambda: not Job.objects.get().is_finished)
        made = []
        for _ in range(2):
            with transaction.atomic():
                watch_fallbacks(cloud.clock)
                made.append(FallbackAttempt.objects.get(number=2).job_id)
                transaction.set_rollback(True)

        assert made[0] == made[1]
