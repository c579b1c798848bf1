"""Tests of what counts as spent: one request or change more or less, each with the use that it makes."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, requests
from jobs.models import Ceiling, Job, ResourceChange, Team
from jobs.requests.resource_requests import approve_change
from jobs.states import JobState
from jobs.submission import resize_body
from tests.domain.conftest import Cloud, RequestJob
from tests.domain.test_ceilings import limit
from tests.domain.test_resource_requests import ask, made
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


class TestWhatCounts:
    def used(self, clock: Clock, **of: Any) -> tuple[Decimal | None, Decimal | None, int]:
        found = budgets.spent(clock.now, **of)
        return found.usd, found.usd_per_hour, found.gpus

    def test_ceilings_of_another_kind_or_team_stay(
        self, request_job: RequestJob, team: Team, other_team: Team, admin: User, clock: Clock
    ) -> None:
        rows = [(other_team, "gpus", 0), (team, "gpus", 5), (team, "hour", 500), (None, "gpus", 50)]
        for of, kind, amount in rows:
            limit(of, kind, amount, admin, clock.now)

        request_job()

        assert [(row.team, row.kind, row.amount) for row in Ceiling.objects.order_by("pk")] == rows
        for of, kind, _ in rows[:1]:
            assert budgets.set_ceiling(of, kind, None, by=admin, reason="gone", now=clock.now) is None
        assert Ceiling.objects.count() == 3

    def test_another_team_uses_nothing_of_a_team(
        self, request_job: RequestJob, cloud: Cloud, team: Team, other_team: Team, approver: User, lead: User
    ) -> None:
        request_job()
        made(cloud, team, approver, lead)

        assert self.used(cloud, team_id=other_team.pk) == (0, 0, 0)
        assert self.used(cloud)[2] == self.used(cloud, team_id=team.pk)[2] == 3

    def test_what_is_asked_for_uses_nothing_before_it_is_approved(
        self, request_job: RequestJob, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        job, change = request_job(hours=40), ask(cloud, team, approver)
        assert self.used(cloud) == (0, 0, 0)

        requests.approve(job, by=approver, comment="", now=cloud.now)
        assert self.used(cloud)[2] == 1
        approve_change(change, by=lead, now=cloud.now)
        assert self.used(cloud)[2] == 3
        ResourceChange.objects.update(outcome="refused", ended_at=cloud.now)
        assert self.used(cloud)[2] == 1
        Job.objects.update(state=JobState.AWAITING_APPROVAL)  # asked again, because its price rose
        assert self.used(cloud) == (0, 0, 0)

    def test_a_job_that_is_lost_counts_its_maximum(self, request_job: RequestJob, clock: Clock) -> None:
        job = request_job()
        Job.objects.update(state=JobState.LOST, ended_at=clock.now)

        assert self.used(clock)[0] == job.max_usd

    def test_one_made_elsewhere_counts_nothing(self, request_job: RequestJob, clock: Clock) -> None:
        request_job()
        Job.objects.update(is_adopted=True)

        assert self.used(clock) == (0, 0, 0)

    def test_a_resource_counts_while_it_exists_whatever_its_lifetime_was(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        made(cloud, team, approver, lead)
        cloud.forward(days=30)
        usd, hourly, gpus = self.used(cloud)

        assert usd is not None
        assert hourly is not None
        assert (gpus, round(usd / hourly / 24)) == (2, 8), "a day, and a week without Trainboard"
        ask(cloud, team, approver, "delete", body={})
        assert self.used(cloud)[2] == 2, "until it is gone"

    def test_a_size_without_an_answer_counts_if_it_is_larger(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        row = made(cloud, team, approver, lead)
        change = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 1}), before=row.body)

        assert self.used(cloud)[2] == 2
        ResourceChange.objects.filter(pk=change.pk).update(outcome="accepted", ended_at=cloud.now)
        assert self.used(cloud)[2] == 1
