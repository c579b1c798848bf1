"""Whatever one person below site admin does, Google spends no more than the ceilings, wherever Trainboard stops.

Each example is a sequence of calls of a person and of accounts that they have invited, mixed with what Vertex AI and
time do. After every call Trainboard may die: what is allowed may already be at Google, where only its timeout ends it.
What that can cost is computed from the specs, the price book, and the limits and times of the emulator, which shares no
code with Trainboard.
"""

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from jobs import budgets, proposals, requests, steps, transitions
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import (
    Budget,
    Ceiling,
    Job,
    Membership,
    PersistentResource,
    Policy,
    Proposal,
    ResourceChange,
    Role,
    Schedule,
    Team,
    Vote,
)
from jobs.people import invitations
from jobs.people.members import NotChanged
from jobs.policy_rules import RULES
from jobs.requests import RequestOptions, schedule_runs, schedules
from jobs.requests.other_strategy import approve_as
from jobs.requests.policy_versions import SavedMeanwhile, Terms, current_version
from jobs.requests.resource_figures import hourly_of
from jobs.requests.resource_requests import approve_change, ask_for_change, check_again
from jobs.requests.schedules import NotUsable, Times
from jobs.states import JobState
from jobs.submission.reassessment import reassess
from jobs.upkeep import end_lifetimes, watch_schedules
from tests.conftest import PASSWORD, person
from tests.support import google_bill, samples
from tests.support.clock import Clock
from tests.support.examples import examples
from tests.support.resources import DISK, seen

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
LIMITS = {"job": Decimal(1500), "hour": Decimal(20), "person_day": Decimal(2500), "gpus": Decimal(6)}
REFUSALS = (NotAllowed, NotPermitted, NotChanged, NotUsable, SavedMeanwhile, requests.Changed, ValueError)
"""What a call is refused with. Anything else is a fault."""
CALLS = (
    "request", "sweep", "capped", "plan", "approve", "puppet approves", "other strategy", "withdraw", "policy",
    "accept", "puppet accepts", "ceiling", "budget", "role", "resource", "resource approved", "reassess",
    "schedule", "schedule of a mate", "due", "run now", "resize", "extend", "reboot", "delete",
)  # fmt: skip
WORLD = ("submitted", "runs", "ends", "time", "sent", "swept")
STEPS = st.tuples(st.sampled_from(CALLS + WORLD), st.integers(1, 3), st.sampled_from([0.5, 12.0, 60.0, 100.0]))


class TestOnePerson(TestCase):
    def setUp(self) -> None:
        self.clock, self.keys = Clock(), 0
        self.team = Team.objects.create(name="vision", project="vision-research")
        Policy.objects.create(team=self.team, ask_over_usd=Decimal(1000))
        self.me = person("lead", self.team, Role.LEAD)
        User.objects.create_superuser("root", password=PASSWORD)
        admin = User.objects.create_superuser("admin", password=PASSWORD)
        values = BudgetValues("vision", Decimal(50_000), Passing.STOP)
        budgets.create_budget(self.team, values, by=self.me, reason="agreed", now=self.clock.now)
        for kind, amount in LIMITS.items():
            budgets.set_ceiling(None, kind, amount, by=admin, reason="agreed", now=self.clock.now)
        _, secret = invitations.invite(self.team, "ada@example.com", Role.LEAD, by=self.me, now=self.clock.now)
        self.mate = person("mate", self.team, Role.ENGINEER)
        self.schedule("of a mate", "0 6 1 1 *", self.mate, 60.0)  # of itself it runs at no time of this test
        self.puppet = proposals.accept_invitation_as(secret, "ada", PASSWORD, now=self.clock.now)
        Membership.objects.filter(user=self.puppet).update(role=Role.APPROVER)  # of before two people were needed
        agreed = self.ask("create", "shared", body=resource(1), lifetime=timedelta(days=1))
        assert agreed is not None
        assert approve_change(agreed, by=admin, now=self.clock.now)
        self.let_vertex_ai_answer()
        self.agreed, ((_, self.price, _),) = agreed.pk, self.resources()

    @example([("request", 2, 100.0)])  # would exceed the ceiling of one job
    @example([("request", 2, 0.5)] * 6)  # that of an hour
    @example([("request", 2, 60.0)] * 3)  # that of a person and day
    @example([("request", 1, 0.5)] * 7)  # that of GPUs
    @example([("schedule of a mate", 1, 0.5), ("due", 1, 0.5), ("approve", 1, 0.5)])
    @example([("extend", 1, 0.5), ("resource approved", 1, 0.5), ("time", 1, 60.0), ("swept", 1, 0.5)])
    @example(
        [("resize", 2, 0.5), ("resource approved", 2, 0.5), ("sent", 1, 0.5), ("time", 1, 60.0), ("swept", 1, 0.5)]
    )
    @example([("request", 1, 0.5), ("reboot", 1, 0.5), ("sent", 1, 0.5), ("request", 2, 12.0), ("request", 2, 12.0)])
    @example([("delete", 1, 0.5), ("sent", 1, 0.5), ("resource", 2, 0.5), ("resource approved", 1, 0.5)])
    @example([("schedule", 1, 12.0), ("due", 1, 0.5), ("schedule of a mate", 1, 0.5), ("due", 1, 0.5)])
    @given(st.lists(STEPS, min_size=1, max_size=25))
    @hypothesis_settings(max_examples=examples(2), suppress_health_check=list(HealthCheck))
    def test_spends_no_more_than_the_ceilings(self, sequence: list[tuple[str, int, float]]) -> None:
        for name, count, hours in sequence:
            with suppress(*REFUSALS):
                self.do(name, count, hours)
            self.check()

    def do(self, name: str, count: int, hours: float) -> None:
        """Make one call, or let something happen."""
        self.keys += 1
        now, job = self.clock.now, Job.objects.order_by("-requested_at", "pk").first()
        if name in ("request", "sweep", "capped", "plan"):
            self.request(name, count, hours)
        elif name in ("submitted", "runs", "ends") and job is not None:
            self.go_on(name)
        elif name == "time":
            self.clock.forward(hours=hours)
        elif name in ("sent", "swept"):
            self.let_vertex_ai_answer() if name == "sent" else self.sweep()
        elif name in ("resize", "extend", "reboot", "delete"):
            lifetime = timedelta(days=count) if name == "extend" else None
            self.ask(name, "shared", body=resource(count) if name == "resize" else {}, lifetime=lifetime)
        elif name in ("approve", "puppet approves") and job is not None:
            requests.approve(job, by=self.me if name == "approve" else self.puppet, comment="", now=now)
        elif name == "other strategy" and job is not None:
            approve_as(job, "standard", by=self.puppet, comment="", now=now)
        elif name == "withdraw" and job is not None:
            steps.cancel(job, by=self.me, clock=self.clock.clock)
        elif name in ("schedule", "schedule of a mate", "due", "run now"):
            self.run_schedules(name, hours)
        elif name == "reassess" and job is not None and job.state == JobState.APPROVED:
            reassess(job, now)
        else:
            self.take_power(name, count)

    def request(self, name: str, count: int, hours: float) -> None:
        changes: dict[str, Any] = {"strategy": "SPOT" if count % 2 else "STANDARD"}
        if count == 3:
            changes["extra_replicas"] = 2
        size = count + 1 if name == "sweep" else 1
        submissions = [
            samples.submission(name=f"job-{n}", scheduling={"timeout": f"{round(hours * 3600)}s"}, **changes)
            if name != "capped"
            else samples.submission(**changes)
            for n in range(size)
        ]
        submissions = [
            each.with_job_spec(each.job_spec.but(scheduling=each.job_spec.scheduling.but(strategy=changes["strategy"])))
            for each in submissions
        ]
        cap = Decimal(hours) if name == "capped" else None
        team = Team.objects.get(pk=self.team.pk)
        options = RequestOptions(team, self.me, timedelta(hours=min(hours, 2)), self.clock.now, cap_usd=cap)
        requests.request_jobs(submissions, options, request_key=f"call-{self.keys}")

    def schedule(self, name: str, cron: str, by: User, hours: float) -> None:
        schedules.create_schedule(
            Times(name, cron, "UTC", allows_overlap=True), team=Team.objects.get(pk=self.team.pk), by=by,
            submission=samples.submission(scheduling={"timeout": f"{round(hours * 3600)}s"}),
            expected=timedelta(hours=min(hours, 2)), now=self.clock.now,
        )  # fmt: skip

    def run_schedules(self, name: str, hours: float) -> None:
        """Make a schedule, let one of somebody else run every ten minutes, let what is due run, or run it now."""
        if name == "schedule":
            self.schedule(f"mine {self.keys}", "*/10 * * * *", self.me, hours)
        elif name == "schedule of a mate":
            row, cron = Schedule.objects.get(name="of a mate"), f"*/{5 + 5 * (self.keys % 2)} * * * *"
            schedules.change_schedule(row, {"cron": cron}, by=self.me, now=self.clock.now)
        elif name == "due":
            self.clock.forward(minutes=10 - self.clock.now.minute % 10)
            watch_schedules(self.clock.now)
        else:
            row = Schedule.objects.get(name="of a mate")
            schedule_runs.run_now(row, by=self.me, now=self.clock.now, request_key=f"now-{self.keys}")

    def go_on(self, name: str) -> None:
        """Let every job make the next step at Vertex AI."""
        ways = {
            "submitted": (JobState.APPROVED, JobState.SUBMITTING),
            "runs": (JobState.SUBMITTING, JobState.RUNNING),
            "ends": (JobState.RUNNING, JobState.SUCCEEDED),
        }
        before, after = ways[name]
        for job in Job.objects.filter(state=before):
            transitions.transition(job, after, now=self.clock.now, reason="", message=name)

    def take_power(self, name: str, count: int) -> None:
        """Try to loosen what limits the person, alone or with the invited account."""
        now, by = self.clock.now, self.puppet if name.startswith("puppet") else self.me
        if name == "policy":
            version = current_version(self.team)
            rules = RULES.validate_python([{"outcome": "allow"}])
            base = version.number if version is not None else 0
            proposals.propose_policy(self.team, rules, Terms(), base=base, by=by, note="", now=now)
        elif name in ("accept", "puppet accepts"):
            for row in Proposal.objects.filter(decision=""):
                proposals.decide(row.pk, "accepted", by=by, comment="", now=now)
        elif name == "ceiling":
            proposals.propose_ceiling(None, "gpus", Decimal(999), by=by, reason="more", now=now)
        elif name == "budget":
            row = Budget.objects.get()
            values = BudgetValues("vision", Decimal(10**6), Passing.WARN)
            proposals.propose_budget(row, values, version=row.version, by=by, reason="more", now=now)
        elif name == "role":
            member = Membership.objects.get(user=self.puppet)
            proposals.propose_role(self.team, member, Role.APPROVER, by=self.me, now=now)
        elif name == "resource":
            self.ask("create", f"r{count}", body=resource(count), lifetime=timedelta(days=1))
        elif name == "resource approved" and (change := ResourceChange.objects.order_by("-pk").first()) is not None:
            approve_change(change, by=self.puppet if count % 2 else self.me, now=now)

    # ------------------------------------------------------------ persistent resources
    def ask(self, action: str, name: str, **given: Any) -> ResourceChange | None:
        row = PersistentResource.objects.existing().filter(resource_id=name).first()
        if row is None and action != "create":
            return None
        return ask_for_change(
            action, team=Team.objects.get(pk=self.team.pk), project=self.team.project, region="us-central1",
            resource_id=name, by=self.me, now=self.clock.now, before=row.body if row is not None else None, **given,
        )  # fmt: skip

    def let_vertex_ai_answer(self) -> None:
        """Check every allowed change again, as before it is sent, and let Vertex AI do it."""
        now = self.clock.now
        for change in ResourceChange.objects.filter(ended_at=None, allowed_at__isnull=False).order_by("pk"):
            try:
                is_sent = check_again(change, now)
            except NotAllowed:
                ResourceChange.objects.filter(pk=change.pk).update(outcome="refused", ended_at=now, due_at=None)
                continue
            if not is_sent:
                continue
            ends = ResourceChange.lifetime_ends(change.project, change.region, change.resource_id)
            begins = max(now, ends or now) if change.action == "extend" else now
            hours = change.lifetime_hours
            deletes_at = None if hours is None else begins + timedelta(hours=hours)
            ResourceChange.objects.filter(pk=change.pk).update(
                outcome="accepted", ended_at=now, due_at=None, deletes_at=deletes_at
            )
            if change.action in ("create", "resize"):
                pools = change.body["resourcePools"]
                seen(change.resource_id, now=now, pools=pools, gone_at=None)
            elif change.action == "delete":
                PersistentResource.objects.filter(resource_id=change.resource_id).update(gone_at=now)

    def sweep(self) -> None:
        """Let Trainboard end lifetimes; then no resource may be left without a deletion on its way."""
        end_lifetimes(self.clock.now)
        for row in PersistentResource.objects.existing():
            ends = ResourceChange.lifetime_ends(row.project, row.region, row.resource_id)
            assert ends is not None
            deletions = ResourceChange.objects.filter(action="delete", resource_id=row.resource_id, asked_at__gte=ends)
            assert ends > self.clock.now or deletions.exists() or self.is_being_changed(row)

    def is_being_changed(self, row: PersistentResource) -> bool:
        """Whether a change that was allowed is about to be sent; the next sweep deletes the resource after it."""
        waiting = ResourceChange.objects.filter(resource_id=row.resource_id, ended_at=None)
        return waiting.filter(allowed_at__isnull=False).exists()

    def resources(self) -> list[tuple[Decimal, Decimal, int]]:
        """Return what each resource can cost until OUTAGE after its lifetime, its price an hour, and its GPUs."""
        found = []
        for row in PersistentResource.objects.existing():
            ends = ResourceChange.lifetime_ends(row.project, row.region, row.resource_id)
            assert ends is not None
            price = hourly_of(row.body, row.region)
            assert price is not None
            left = max(ends, self.clock.now) + timedelta(days=7) - self.clock.now
            gpus = sum(int(pool["replicaCount"]) for pool in row.body["resourcePools"])
            found.append((price * Decimal(left.total_seconds()) / 3600, price, gpus))
        return found

    # ------------------------------------------------------------ what Google can spend
    def check(self) -> None:
        """Compare what Google can spend from now on, and has spent within a day, with the ceilings."""
        assert {row.kind: row.amount for row in Ceiling.objects.all()} == LIMITS
        assert current_version(self.team) is None
        mine = ResourceChange.objects.filter(allowed_at__isnull=False).exclude(pk=self.agreed)
        costly = [change for change in mine if change.needs or change.most_usd is not None]
        assert costly == [], "nobody else has approved one"
        assert all(price <= self.price for _, price, _ in self.resources()), "more than was approved"
        assert not Vote.objects.exists(), "neither the requester nor whom they have invited decides"
        at_google = [
            job for job in Job.objects.all() if job.state not in (JobState.AWAITING_APPROVAL, *transitions_ended())
        ]
        figures = [figure(job) for job in at_google]
        ended = Job.objects.filter(ended_at__gt=self.clock.now - timedelta(days=1), started_at__isnull=False)
        spent = sum((job.hourly_usd or 0) * Decimal(job.running_seconds) / 3600 for job in ended)
        assert all(usd <= LIMITS["job"] for usd, _, _ in figures)
        everything = [*figures, *self.resources()]
        assert sum(price for _, price, _ in everything) <= LIMITS["hour"]
        assert sum(gpus for _, _, gpus in everything) <= LIMITS["gpus"]
        assert sum((usd for usd, _, _ in everything), Decimal(spent)) <= LIMITS["person_day"] + Decimal("0.01")
        by_policy = [job for job in at_google if job.max_usd is None or job.max_usd > 1000]
        assert by_policy == [], "the policy of the team asks above $1,000"


def resource(replicas: int) -> dict[str, Any]:
    """Return the body of a persistent resource of so many machines with one A100 each."""
    return {"resourcePools": [{"machineSpec": samples.A100, "diskSpec": DISK, "replicaCount": str(replicas)}]}


def transitions_ended() -> set[JobState]:
    return {JobState.SUCCEEDED, JobState.WITHDRAWN, JobState.REJECTED, JobState.SUBMIT_FAILED}


def figure(job: Job) -> tuple[Decimal, Decimal, int]:
    """Return what a job can cost at Google in US dollars, its price an hour, and its GPUs, from its stored spec."""
    job_spec = job.spec["jobSpec"]
    return google_bill.most_of(job_spec, job.region), *google_bill.size_of(job_spec, job.region)
