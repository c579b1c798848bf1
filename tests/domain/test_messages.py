"""Tests from an event to its deliveries: content, recipients, once, and in the same transaction."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from pytest_django import Settings

from jobs import messages, outbox, requests, transitions
from jobs.messages.reports import announce_month, announce_old_prices, last_month, report_when_due
from jobs.messages.route import route
from jobs.messages.waits import watch_waits
from jobs.models import (
    Channel,
    Delivery,
    Job,
    JobEvent,
    Membership,
    Message,
    MessagePreference,
    MonthFigures,
    Policy,
    Team,
)
from jobs.models.figures import IN_COLUMNS, SUMMED
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases

Kind = Message.Kind
Live = Callable[..., Job]


@pytest.fixture(autouse=True)
def _mail(settings: Settings) -> None:
    settings.SENDS_EMAIL = True


@pytest.fixture
def live(request_job: RequestJob, clock: Clock) -> Live:
    """`live("running")` is a job that went through states of that list after its request."""

    def make(*states: str, **changes: Any) -> Job:
        job = request_job(**changes)
        for state in states:
            assert transitions.transition(job, state, now=clock.forward(seconds=10), message=f"It is {state}.")
        return job

    return make


def kinds() -> list[str]:
    return list(Message.objects.order_by("id").values_list("kind", flat=True))


def receivers(kind: str, via: str = "browser") -> set[str]:
    """Return the names of the receivers of messages of a kind."""
    rows = Delivery.objects.filter(message__kind=kind, via=via, person__isnull=False)
    return set(rows.values_list("person__username", flat=True))


RUN = ("submitting", "queued", "pending", "running")


class TestWhatIsTold:
    def test_of_a_life_without_approval(self, live: Live) -> None:
        live(*RUN, "succeeded")

        assert kinds() == ["started", "done"]

    @pytest.mark.parametrize(
        ("ways", "last"),
        [
            ((*RUN, "failed"), "failed"), ((*RUN, "expired"), "failed"), ((*RUN, "cancelled"), "cancelled"),
            (("submitting", "submit_failed"), "failed"), ((*RUN, "lost"), "failed"),
            ((*RUN, "partially_succeeded"), "done"),
        ],
    )  # fmt: skip
    def test_of_each_end(self, live: Live, ways: tuple[str, ...], last: str) -> None:
        live(*ways)

        assert kinds()[-1] == last

    def test_a_start_after_a_preemption_is_told_as_the_preemption(self, live: Live, clock: Clock) -> None:
        job = live(*RUN)
        kind = JobEvent.Kind.RESTARTED
        transitions.record_event(job, kind, now=clock.now, message="Lost.", reason="preempted", once_key="restart::1")
        for state in ("pending", "running"):
            transitions.transition(job, state, now=clock.forward(minutes=1), message="On.")

        assert kinds() == ["started", "restarted"]

    def test_a_restart_of_one_replica_is_not_told(self, live: Live, clock: Clock) -> None:
        job = live(*RUN)
        detail = {"replica": "workerpool1-3"}
        transitions.record_event(
            job, JobEvent.Kind.RESTARTED, now=clock.now, message="Lost.", once_key="restart:w:1", detail=detail
        )

        assert kinds() == ["started"]

    def test_an_unknown_state_and_passing_trouble_are_not_told(self, live: Live, clock: Clock) -> None:
        job = live("submitting", "queued", "JOB_STATE_DREAMING")
        transitions.record_event(job, JobEvent.Kind.STEP_FAILED, now=clock.now, message="Oh.", once_key="x")

        assert kinds() == []

    def test_approval_and_its_answer(self, live: Live, team: Team, approver: User, clock: Clock) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=0)
        asked, refused = live(hours=100), live(hours=100)
        requests.approve(asked, by=approver, comment="", now=clock.now)
        requests.reject(refused, by=approver, comment="No.", now=clock.now)

        assert sorted(kinds()) == ["approval_needed", "approval_needed", "approved", "rejected"]

    def test_what_is_rolled_back_is_not_told(self, live: Live, clock: Clock) -> None:
        job = live("submitting", "queued", "pending")
        with transaction.atomic():
            transitions.transition(job, "running", now=clock.now, message="It runs.")
            assert kinds() == ["started"]
            transaction.set_rollback(True)

        assert kinds() == []

    def test_jobs_of_a_sweep_ask_once(self, live: Live, team: Team, owner: User, clock: Clock) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=0)
        first = requests.submission_of(live(hours=100))
        Message.objects.all().delete()
        asked = requests.RequestOptions(Team.objects.get(pk=team.pk), owner, timedelta(hours=100), clock.now)
        requests.request_jobs([first, first, first], asked, request_key="sweep")

        assert kinds() == ["approval_needed"]


class TestWhoIsTold:
    def test_what_concerns_them_and_nobody_else(
        self,
        live: Live,
        team: Team,
        owner: User,
        teammate: User,
        approver: User,
        lead: User,
        stranger: User,
        clock: Clock,
    ) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=0)
        job = live(hours=100)
        requests.approve(job, by=approver, comment="", now=clock.now)
        route(clock.now)

        assert receivers("approval_needed") == {"approver", "lead"}
        assert receivers("approved") == {"owner"}
        assert teammate.username not in {each.person.username for each in Delivery.objects.all() if each.person}

    def test_nobody_is_told_what_they_did(self, live: Live, owner: User, clock: Clock) -> None:
        job = live(*RUN)
        transitions.record_event(
            job, JobEvent.Kind.CANCEL_REQUESTED, now=clock.now, message="Stop.", once_key="c", actor=owner
        )
        transitions.transition(job, "cancelled", now=clock.now, message="Stopped.")
        route(clock.now)

        assert receivers("started") == {"owner"}
        assert receivers("cancelled") == set()

    def test_one_who_wants_all_is_told_of_the_jobs_of_others(self, live: Live, teammate: User, clock: Clock) -> None:
        MessagePreference.objects.create(user=teammate, about_others=True)
        live(*RUN, "failed")
        route(clock.now)

        assert receivers("failed") == {"owner", "teammate"}

    def test_choices_decide_and_no_address_means_no_mail(
        self, live: Live, owner: User, teammate: User, clock: Clock
    ) -> None:
        User.objects.filter(pk=owner.pk).update(email="owner@example.org")
        MessagePreference.objects.create(user=owner, choices={"started": ["email"], "done": []})
        MessagePreference.objects.create(user=teammate, about_others=True)
        live(*RUN, "succeeded")
        route(clock.now)

        assert (receivers("started"), receivers("started", "email")) == ({"teammate"}, {"owner"})
        assert (receivers("done"), receivers("done", "email")) == ({"teammate"}, set())

    @pytest.mark.parametrize("how", ["left", "deactivated"])
    def test_who_is_gone_gets_nothing(self, live: Live, owner: User, clock: Clock, how: str) -> None:
        live(*RUN, "succeeded")
        if how == "left":
            Membership.objects.filter(user=owner).delete()
        else:
            User.objects.filter(pk=owner.pk).update(is_active=False)
        route(clock.now)

        assert Delivery.objects.count() == 0

    def test_channels_get_their_kinds_unless_paused(self, live: Live, team: Team, owner: User, clock: Clock) -> None:
        common = {
            "team": team,
            "via": "slack",
            "address": "https://a.org",
            "created_by": owner,
            "created_at": clock.now,
        }
        some = Channel.objects.create(name="some", kinds=["failed"], **common)
        Channel.objects.create(name="other", kinds=["done"], **common)
        Channel.objects.create(name="paused", kinds=["failed"], paused_at=clock.now, **common)
        live(*RUN, "failed")
        route(clock.now)

        assert list(Delivery.objects.filter(person=None).values_list("channel", "state")) == [(some.pk, "waiting")]

    def test_routing_twice_or_at_once_adds_nothing(self, live: Live, clock: Clock) -> None:
        live(*RUN, "failed")

        assert (route(clock.now), route(clock.now)) == (2, 0)
        Message.objects.update(routed_at=None)
        before = Delivery.objects.count()
        route(clock.now)
        assert Delivery.objects.count() == before == 2

    def test_what_happened_long_ago_is_shown_and_not_sent(self, live: Live, owner: User, clock: Clock) -> None:
        User.objects.filter(pk=owner.pk).update(email="owner@example.org")
        live(*RUN, "failed")
        route(clock.forward(days=3))

        assert set(Delivery.objects.values_list("via", flat=True)) == {"browser"}

    def test_many_messages_cost_few_queries(self, live: Live, clock: Clock, django_assert_max_num_queries: Any) -> None:
        for _ in range(20):
            live(*RUN)

        with django_assert_max_num_queries(9):
            route(clock.now)
        assert Delivery.objects.count() == 20


class TestAnnounced:
    def test_a_long_wait_is_told_once(self, live: Live, clock: Clock) -> None:
        live("submitting", "queued")
        assert watch_waits(clock.forward(minutes=59)) == 0
        assert watch_waits(clock.forward(minutes=2)) == 1
        assert watch_waits(clock.forward(hours=5)) == 0
        assert "waited for 1 h." in Message.objects.get().detail["text"]

    def test_a_flex_start_job_may_wait_longer_and_who_has_run_is_not_told(self, live: Live, clock: Clock) -> None:
        live(*RUN, "pending")
        job = live("submitting", "queued")
        Job.objects.filter(pk=job.pk).update(strategy="flex_start")

        assert watch_waits(clock.forward(hours=5)) == 0
        assert watch_waits(clock.forward(hours=2)) == 1

    def test_last_months_spend_is_told_once_when_the_month_is_over(
        self, team: Team, other_team: Team, owner: User, lead: User, clock: Clock
    ) -> None:
        group = {"team": team, "owner": owner, "strategy": "spot", "region": "r", "outcome": "succeeded"}
        figures = dict.fromkeys(SUMMED, 0) | {"jobs": 3, "micros": 1_234_500_000}
        month = last_month(clock.now)
        MonthFigures.objects.create(month=month, **group, **figures)

        assert announce_month(clock.now) == [True]
        assert announce_month(clock.now) == [False]
        found = messages.content_of(Message.objects.get(), clock.now)
        assert found.subject == "vision spent $1,234.50 in February 2026"
        assert ("Spot", "$1,234.50") in found.facts
        route(clock.now)
        assert receivers("monthly_report") == {"lead"}

    def test_a_month_whose_rows_cancel_each_other_is_not_reported(self, team: Team, owner: User, clock: Clock) -> None:
        group = {"team": team, "owner": owner, "strategy": "spot", "region": "r", "outcome": "lost"}
        for bucket, count in ((3, 1), (IN_COLUMNS, -1)):  # counted by the version before, and taken back by this one
            MonthFigures.objects.create(month=last_month(clock.now), wait_bucket=bucket, jobs=count, **group)

        assert announce_month(clock.now) == []

    def test_a_month_is_reported_after_its_last_half_day(self, clock: Clock) -> None:
        assert last_month(clock.now.replace(day=1)).month == 2

    def test_old_prices_are_told_once_a_month(self, live: Live, lead: User, clock: Clock) -> None:
        job = live()
        Job.objects.filter(pk=job.pk).update(estimate={"prices_as_of": "2025-11-01"})

        assert announce_old_prices(clock.now) == [True]
        assert announce_old_prices(clock.now) == [False]
        assert "121 days old" in messages.content_of(Message.objects.get(), clock.now).lines[0]

    def test_reports_are_looked_for_four_times_a_day(self, live: Live, lead: User, clock: Clock) -> None:
        job = live()
        Job.objects.filter(pk=job.pk).update(estimate={"prices_as_of": "2025-11-01"})
        report_when_due(clock.now)
        Message.objects.all().delete()
        report_when_due(clock.forward(hours=5))
        assert kinds() == []
        report_when_due(clock.forward(hours=2))
        assert kinds() == ["price_stale"]

    def test_announcing_again_is_harmless(self, team: Team, clock: Clock) -> None:
        assert outbox.announce(Kind.BUDGET, team=team, once_key="b", now=clock.now, detail={"text": "80 % is spent."})
        assert not outbox.announce(Kind.BUDGET, team=team, once_key="b", now=clock.now)
        assert messages.content_of(Message.objects.get(), clock.now).lines == ("80 % is spent.",)
