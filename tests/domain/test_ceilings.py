"""Tests of ceilings: what a team, a person and the site may cost at once, which only site admins set."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User

from jobs import budgets, requests, steps, transitions
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Ceiling, Job, Membership, Policy, ResourceChange, Role, Team
from jobs.policy_rules import RULES
from jobs.requests.policy_versions import Terms, save_policy
from jobs.requests.resource_requests import approve_change, ask_for_change
from jobs.states import JobState
from jobs.submission import resize_body
from tests.conftest import person
from tests.domain.conftest import Cloud, RequestJob
from tests.domain.test_concurrency import WORKERS, together
from tests.domain.test_resource_requests import ask, made, work
from tests.support import samples
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def limit(team: Team | None, kind: str, amount: Decimal | int, by: User, now: Any) -> Ceiling:
    row = budgets.set_ceiling(team, kind, Decimal(amount), by=by, reason="agreed", now=now)
    assert row is not None
    return row


class TestFigure:
    def test_is_the_timeout_times_the_price_times_every_restart(self, request_job: RequestJob) -> None:
        job = request_job(hours=4)  # Spot: the first run and six restarts

        assert job.hourly_usd is not None
        assert job.max_usd is not None
        late = job.hourly_usd / 24  # 150 seconds until the machines are gone
        assert abs(job.max_usd - (job.hourly_usd * 4 + late) * 7) < Decimal("0.02")
        assert job.gpus == 1

    def test_no_cap_of_trainboards_lowers_it(self, team: Team, owner: User, clock: Clock) -> None:
        free = requests.request_job(
            submission=samples.submission(), team=team, by=owner, expected=timedelta(hours=2), request_key="1",
            now=clock.now,
        )  # fmt: skip
        capped = requests.request_job(
            submission=samples.submission(), team=team, by=owner, expected=timedelta(hours=2), request_key="2",
            now=clock.now, cap_usd=Decimal(6),
        )  # fmt: skip

        assert capped.max_usd is not None
        assert free.max_usd is not None
        timeout = capped.spec["jobSpec"]["scheduling"]["timeout"]
        is_shorter = timeout != "86400s"
        assert capped.max_usd <= 6 if is_shorter else capped.max_usd == free.max_usd


class TestKinds:
    def test_dollars_for_one_job(self, request_job: RequestJob, team: Team, admin: User, clock: Clock) -> None:
        row = limit(team, "job", 100, admin, clock.now)
        exposure = request_job(hours=4).max_usd
        assert exposure is not None
        row.amount = exposure - 1
        row.save()

        with pytest.raises(NotAllowed, match="ceiling of the team vision for one job is"):
            request_job(hours=4)

        request_job(hours=4, scheduling={"timeout": "3600s"})

    def test_dollars_per_hour_at_once(self, request_job: RequestJob, team: Team, admin: User, clock: Clock) -> None:
        first = request_job()
        assert first.hourly_usd is not None
        limit(team, "hour", first.hourly_usd.quantize(Decimal("0.01")) * 2 + 1, admin, clock.now)
        request_job()

        with pytest.raises(NotAllowed, match=r"for everything at once is .* an hour. In use: .*. It adds"):
            request_job()

        end(first, clock)
        request_job()

    def test_dollars_for_one_person_and_day(
        self, request_job: RequestJob, team: Team, admin: User, teammate: User, clock: Clock
    ) -> None:
        first = request_job()
        assert first.max_usd is not None
        limit(team, "person_day", first.max_usd * 2, admin, clock.now)
        second = request_job()

        with pytest.raises(NotAllowed, match="for one person and day"):
            request_job()
        request_job(by=teammate)  # everybody has a ceiling of their own

        clock.forward(days=2)
        with pytest.raises(NotAllowed):  # both still run
            request_job()
        end(second, clock)
        request_job()

    def test_what_ended_counts_with_its_cost_for_a_day(
        self, request_job: RequestJob, team: Team, admin: User, clock: Clock
    ) -> None:
        job = request_job()
        start = clock.now
        transitions.transition(job, JobState.SUBMITTING, now=start, reason="", message="sent")
        transitions.transition(job, JobState.RUNNING, now=start, reason="", message="runs")
        clock.forward(hours=2)
        transitions.transition(job, JobState.SUCCEEDED, now=clock.now, reason="", message="done")
        assert job.hourly_usd is not None

        used = budgets.spent(clock.now, team_id=team.pk, person_id=job.owner_id)
        assert used.usd is not None
        assert abs(used.usd - job.hourly_usd * 2) < Decimal("0.05")
        assert (used.usd_per_hour, used.gpus) == (0, 0)
        assert budgets.spent(clock.now + timedelta(days=1, seconds=1), team_id=team.pk).usd == 0

    def test_gpus_at_once(self, request_job: RequestJob, team: Team, admin: User, clock: Clock) -> None:
        limit(team, "gpus", 3, admin, clock.now)
        request_job(extra_replicas=1)

        with pytest.raises(NotAllowed, match=r"GPUs at once is 3. In use: 2. It needs 2"):
            request_job(extra_replicas=1)

        request_job()

    def test_of_the_site_counts_every_team(
        self, request_job: RequestJob, other_team: Team, stranger: User, admin: User, clock: Clock
    ) -> None:
        request_job(extra_replicas=1)
        limit(None, "gpus", 3, admin, clock.now)
        Policy.objects.create(team=other_team, ask_over_usd=1000)

        def request(replicas: int) -> Job:
            return requests.request_job(
                submission=samples.submission(project=other_team.project, extra_replicas=replicas - 1), team=other_team,
                by=stranger, expected=timedelta(minutes=6), request_key=f"of {replicas}", now=clock.now,
            )  # fmt: skip

        with pytest.raises(NotAllowed, match="ceiling of this site for GPUs at once is 3"):
            request(2)
        request(1)

    def test_a_sweep_counts_as_a_whole(self, team: Team, owner: User, admin: User, clock: Clock) -> None:
        limit(team, "gpus", 3, admin, clock.now)
        Policy.objects.filter(team=team).update(ask_over_usd=10_000)
        options = requests.RequestOptions(Team.objects.get(pk=team.pk), owner, timedelta(minutes=6), clock.now)

        with pytest.raises(NotAllowed):
            requests.request_jobs([samples.submission(name=f"job-{n}") for n in range(4)], options, request_key="4")

        assert not Job.objects.exists()
        requests.request_jobs([samples.submission(name=f"job-{n}") for n in range(3)], options, request_key="3")

    def test_an_unknown_price_exceeds_every_ceiling_in_dollars(
        self, request_job: RequestJob, team: Team, admin: User, clock: Clock
    ) -> None:
        row = limit(team, "hour", 10**9, admin, clock.now)
        unknown = {"machineType": "z9-mega"}

        for kind in ("job", "hour", "person_day"):
            Ceiling.objects.filter(pk=row.pk).update(kind=kind)
            with pytest.raises(NotAllowed, match="not known, so it exceeds every ceiling in dollars"):
                request_job(machine=unknown)

        Ceiling.objects.filter(pk=row.pk).update(kind="gpus")
        assert request_job(machine=unknown).state == "awaiting_approval"

    def test_while_something_of_unknown_cost_runs_nothing_more_is_allowed(
        self, request_job: RequestJob, team: Team, approver: User, admin: User, clock: Clock
    ) -> None:
        job = request_job(machine={"machineType": "z9-mega"})
        requests.approve(job, by=approver, comment="", now=clock.now)
        limit(team, "hour", 10**6, admin, clock.now)

        with pytest.raises(NotAllowed, match="something that is running is not known"):
            request_job()


class TestTime:
    def test_a_ceiling_is_checked_again_when_it_is_approved(
        self, request_job: RequestJob, team: Team, approver: User, admin: User, clock: Clock
    ) -> None:
        job = request_job(hours=40)
        assert job.state == "awaiting_approval"
        limit(team, "gpus", 0, admin, clock.now)

        with pytest.raises(NotAllowed):
            requests.approve(job, by=approver, comment="", now=clock.now)

        job.refresh_from_db()
        assert job.state == "awaiting_approval"

    def test_and_before_it_is_sent(self, request_job: RequestJob, team: Team, admin: User, cloud: Cloud) -> None:
        job = request_job()
        limit(team, "gpus", 0, admin, cloud.now)

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert (job.state, cloud.jobs()) == ("submit_failed", [])

    def test_a_job_is_not_counted_against_itself(
        self, request_job: RequestJob, team: Team, admin: User, cloud: Cloud
    ) -> None:
        limit(team, "gpus", 1, admin, cloud.now)
        job = request_job()

        steps.advance(job.pk, clock=cloud.clock)

        assert len(cloud.jobs()) == 1

    def test_a_price_that_rose_counts_for_the_jobs_after_it(
        self, request_job: RequestJob, team: Team, admin: User, cloud: Cloud
    ) -> None:
        limit(team, "job", 10**6, admin, cloud.now)
        job = request_job()
        Job.objects.filter(pk=job.pk).update(max_usd=Decimal(1))

        steps.advance(job.pk, clock=cloud.clock)

        assert Job.objects.get(pk=job.pk).max_usd == job.max_usd


class TestPeople:
    def test_only_site_admins_set_one(self, team: Team, approver: User, clock: Clock) -> None:
        lead = person("lead", team, Role.LEAD)

        for by in (lead, approver):
            with pytest.raises(NotPermitted):
                limit(team, "gpus", 5, by, clock.now)

    def test_every_change_is_in_the_audit_log(self, team: Team, admin: User, clock: Clock) -> None:
        limit(team, "gpus", 5, admin, clock.now)
        limit(team, "gpus", 7, admin, clock.now)
        budgets.set_ceiling(team, "gpus", None, by=admin, reason="over", now=clock.now)

        entries = LogEntry.objects.filter(content_type__model="ceiling").order_by("pk")
        assert [entry.action for entry in entries] == [0, 1, 2]
        assert entries[1].changes["amount"] == ["5.00", "7.00"]

    @pytest.mark.parametrize(
        ("kind", "amount", "reason"),
        [("gpus", "-1", "so"), ("gpus", "1.5", "so"), ("job", "NaN", "so"), ("job", "1.001", "so"), ("x", "1", "so"),
         ("job", "1", " ")],
    )  # fmt: skip
    def test_what_is_no_ceiling(
        self, team: Team, admin: User, clock: Clock, kind: str, amount: str, reason: str
    ) -> None:
        with pytest.raises(ValueError, match=r"ceiling|whole number"):
            budgets.set_ceiling(team, kind, Decimal(amount), by=admin, reason=reason, now=clock.now)
        assert not Ceiling.objects.exists()


class TestResources:
    def test_count_until_a_week_after_their_lifetime(
        self, cloud: Cloud, team: Team, approver: User, lead: User
    ) -> None:
        made(cloud, team, approver, lead)
        change = ResourceChange.objects.get()
        assert change.usd_per_hour is not None

        used = budgets.spent(cloud.now, team_id=team.pk, person_id=approver.pk)

        assert used.usd is not None
        assert abs(used.usd / change.usd_per_hour - 24 * 14) < 2
        assert (used.usd_per_hour, used.gpus) == (change.usd_per_hour, 2)
        assert budgets.spent(cloud.now, person_id=lead.pk).usd == 0, "who approved it is not charged"

    def test_pass_the_ceilings_when_they_are_made_grown_kept_and_restarted(
        self, cloud: Cloud, team: Team, approver: User, lead: User, admin: User
    ) -> None:
        limit(team, "gpus", 2, admin, cloud.now)
        row = made(cloud, team, approver, lead)
        ask(cloud, team, approver, "reboot", body={}, before=row.body)  # its own machines are not counted twice
        work(cloud)

        with pytest.raises(NotAllowed, match="GPUs at once is 2"):
            ask(cloud, team, approver, "resize", body=resize_body(row, {0: 3}), before=row.body)
        with pytest.raises(NotAllowed):
            ask_for_change(
                "create", team=team, project=team.project, region="us-central1", resource_id="more", by=approver,
                now=cloud.now, body=row.body, lifetime=timedelta(days=1),
            )  # fmt: skip
        limit(team, "gpus", 1, admin, cloud.now)
        for action, more in (("reboot", {}), ("extend", {})):
            with pytest.raises(NotAllowed):
                ask(cloud, team, approver, action, body=more, before=row.body)

        fewer = ask(cloud, team, approver, "resize", body=resize_body(row, {0: 1}), before=row.body)
        assert fewer.due_at is not None, "what saves money passes"

    def test_an_approval_comes_too_late_for_a_ceiling_that_is_used_up(
        self, cloud: Cloud, team: Team, approver: User, lead: User, admin: User
    ) -> None:
        change = ask(cloud, team, approver)
        limit(team, "hour", 1, admin, cloud.now)

        with pytest.raises(NotAllowed):
            approve_change(change, by=lead, now=cloud.now)

        change.refresh_from_db()
        assert change.allowed_at is None

    def test_without_a_price_exceed_every_ceiling_in_dollars(
        self, cloud: Cloud, team: Team, approver: User, admin: User
    ) -> None:
        limit(team, "person_day", 10**6, admin, cloud.now)

        with pytest.raises(NotAllowed, match="not known"):
            ask(cloud, team, approver, body={"resourcePools": [{"machineSpec": {"machineType": "z9"}}]})

    def test_one_that_is_gone_uses_nothing_more(self, cloud: Cloud, team: Team, approver: User, lead: User) -> None:
        made(cloud, team, approver, lead)
        cloud.forward(days=2)
        ask(cloud, team, approver, "delete", body={})
        for _ in range(2):
            work(cloud)
            cloud.forward(minutes=30)

        used = budgets.spent(cloud.now, team_id=team.pk)

        assert (used.usd_per_hour, used.gpus) == (0, 0)
        assert used.usd
        assert budgets.spent(cloud.now + timedelta(days=2), team_id=team.pk).usd == 0


class TestSums:
    @pytest.fixture(autouse=True)
    def _sums(self, team: Team, request_job: RequestJob, clock: Clock) -> None:
        lead = person("lead", team, Role.LEAD)
        one = samples.submission(**samples.limited(0.1, {}, least=4))
        exposure = requests.request_job(
            submission=one, team=Team.objects.get(pk=team.pk), by=lead, expected=timedelta(minutes=6), request_key="1",
            now=clock.now,
        ).max_usd  # fmt: skip
        assert exposure is not None
        Job.objects.all().update(ended_at=clock.now - timedelta(days=2), state="withdrawn")
        rules = [
            {"outcome": "ask", "person_sum_over": str(exposure * 2)},
            {"outcome": "ask", "team_sum_over": str(exposure * 3)},
        ]
        save_policy(team, RULES.validate_python(rules), Terms(), base=0, by=lead, note="", now=clock.now)

    def test_splitting_a_job_into_many_asks(self, request_job: RequestJob, teammate: User) -> None:
        assert [request_job().state for _ in range(3)] == ["approved", "approved", "awaiting_approval"]
        assert request_job(by=teammate).state == "approved"
        assert request_job(by=teammate).state == "awaiting_approval", "the team's sum is used up"

    def test_and_what_was_allowed_is_not_asked_about_later(self, request_job: RequestJob, cloud: Cloud) -> None:
        jobs = [request_job() for _ in range(2)]

        for job in jobs:
            steps.advance(job.pk, clock=cloud.clock)

        assert len(cloud.jobs()) == 2

    def test_a_sweep_is_summed_as_a_whole(self, team: Team, owner: User, clock: Clock) -> None:
        options = requests.RequestOptions(Team.objects.get(pk=team.pk), owner, timedelta(minutes=6), clock.now)
        sweep = [samples.submission(**samples.limited(0.1, {"name": f"job-{n}"}, least=4)) for n in range(3)]

        jobs = requests.request_jobs(sweep, options, request_key="sweep")

        assert {job.state for job in jobs} == {"awaiting_approval"}


@pytest.mark.django_db(transaction=True)
def test_requests_of_two_teams_at_once_exceed_no_ceiling_of_the_site(
    request_job: RequestJob, team: Team, other_team: Team, stranger: User, owner: User, admin: User, clock: Clock
) -> None:
    Policy.objects.create(team=other_team, ask_over_usd=1000)
    Membership.objects.create(team=other_team, user=owner, role=Role.ENGINEER)
    limit(None, "gpus", 2, admin, clock.now)

    def attempt(which: int) -> bool:
        where = Team.objects.get(pk=(team if which % 2 else other_team).pk)
        try:
            requests.request_job(
                submission=samples.submission(project=where.project, **samples.limited(0.1, {})), team=where,
                by=owner, expected=timedelta(minutes=6), request_key=f"at-once-{which}", now=clock.now,
            )  # fmt: skip
        except NotAllowed:
            return False
        return True

    assert together(attempt).count(True) == 2
    assert Job.objects.filter(state="approved").count() == 2 < WORKERS


def end(job: Job, clock: Clock) -> None:
    """Withdraw a job before it was sent, so that it cost nothing."""
    job.refresh_from_db()
    transitions.transition(job, JobState.WITHDRAWN, now=clock.now, reason="cancelled", message="withdrawn")
