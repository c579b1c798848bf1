"""Changes between a request, its approval and its submission: of the job, its schedule, the policy and the budgets.

As in `test_every_door`, what the emulator has been sent is priced: nothing beyond what somebody else has approved.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.api import actions
from jobs import budgets, requests
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.models import Approval, Budget, ExternalJob, Job, Membership, Policy, Proposal, Role, Team
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, current_version, save_policy
from tests.conftest import person
from tests.domain.test_discovery import found, make
from tests.domain.test_every_door import (
    DEAR,
    by_a_sweep,
    by_the_api,
    by_the_command,
    by_the_form,
    imported,
    typed,
)
from tests.pages.conftest import _pages_read_the_tests_clock  # noqa: F401 - a fixture
from tests.support import samples
from tests.support.attacker import LIMIT, LONG, World, cost, judge

pytestmark = pytest.mark.django_db
MIDDLE = samples.body(name="middle", scheduling={"timeout": "7200s"})
"""Costs more than LIMIT until its timeout."""
SMALL = samples.body(name="small", scheduling={"timeout": "2400s"})
"""Costs less than LIMIT."""
BUDGET = Decimal(30)


def price(body: dict[str, Any]) -> Decimal:
    return cost(body)[0]


@pytest.fixture
def chief(team: Team) -> User:
    """A lead whom `me` has not invited."""
    return person("chief", team, Role.LEAD)


def save(world: World, by: User, *rules: Rule) -> None:
    version = current_version(world.team)
    base = version.number if version is not None else 0
    save_policy(world.team, list(rules), Terms(), base=base, by=by, note="", now=world.cloud.now)
    world.team = Team.objects.get(pk=world.team.pk)


def request(world: World, body: dict[str, Any], key: str = "mine", **more: Any) -> Job:
    before = set(Job.objects.values_list("pk", flat=True))
    world.api().post("/jobs", {"spec": body, "expected_seconds": 1} | more, key=key)
    return Job.objects.exclude(pk__in=before).get()


def edit(world: World, job: Job) -> None:
    """Try to change a job of one's own: its cap, labels and spec, by every method of its addresses."""
    labels = {"cost": "free"}
    larger = json.loads(json.dumps(LONG)) | {"displayName": "middle"}
    for body in ({"cap_usd": "9999"}, {"labels": labels}, {"spec": larger}, {"max_usd": "9999", "state": "approved"}):
        world.api().patch(f"/jobs/{job.pk}", body)
        for below in ("", "/approve", "/cap", "/labels"):
            world.api().post(f"/jobs/{job.pk}{below}", body)
        world.page().put(f"/jobs/{job.pk}/", body, content_type="application/json")
        world.page().post(f"/jobs/{job.pk}/", body, content_type="application/json")
    for cap in ("9999", ""):
        form = {"decision": "approve", "cap": cap, "amount": "9999", "digest": Approval.objects.get(job=job).digest}
        for by in (world.me, world.honest):  # who may decide, but has done so
            world.page(by).post(f"/jobs/{job.pk}/decide/", form)
            world.page(by).post(f"/jobs/{job.pk}/decide/", form | {"decision": "as:standard:1"})
    for body in (larger, MIDDLE | {"labels": labels}):
        for more in ({}, {"cap_usd": "9999"}):
            world.api().post("/jobs", {"spec": body, "expected_seconds": 1} | more, key="mine")
    typed(world, f"/jobs/new/?job={job.pk}", timeout="7 d", cap="", labels="cost=free")


@pytest.mark.parametrize("cap", ["", "5"])
def test_an_approved_job_does_not_change(world: World, cap: str) -> None:
    job = request(world, MIDDLE)
    approval = {"decision": "approve", "amount": str(job.max_usd), "digest": Approval.objects.get(job=job).digest}
    world.page(world.honest).post(f"/jobs/{job.pk}/decide/", approval | {"cap": cap})
    before = Job.objects.filter(pk=job.pk).values("state", "spec", "cap_usd", "approved_usd", "cap_cancels")
    known = list(before)
    assert (known[0]["state"], known[0]["cap_usd"]) == ("approved", Decimal(cap) if cap else None)

    edit(world, job)
    assert list(before) == known
    judge(world, agreed={"middle": price(MIDDLE)})
    edit(world, job)

    documents = judge(world, agreed={"middle": price(MIDDLE)})
    assert [each["labels"].get("cost") for each in documents] == [None]
    assert Job.objects.get(pk=job.pk).cap_usd == known[0]["cap_usd"]


def test_a_job_that_waits_does_not_change(world: World) -> None:
    job = request(world, MIDDLE)
    spec = job.spec

    edit(world, job)
    Approval.objects.get(job=job)
    world.approve(Job.objects.get(pk=job.pk), world.honest)

    assert judge(world, agreed={"middle": price(MIDDLE)})
    assert Job.objects.get(pk=job.pk).spec == spec


@pytest.mark.parametrize("body", [LONG, DEAR[-1]], ids=lambda body: body["displayName"])
@pytest.mark.parametrize("door", [by_the_form, by_a_sweep, by_the_api, by_the_command], ids=lambda door: door.__name__)
def test_what_was_allowed_by_a_looser_policy_is_asked(
    world: World, door: Callable[[World, dict[str, Any]], None], body: dict[str, Any]
) -> None:
    """The policy became tighter between the request and the submission."""
    Policy.objects.update(ask_over_usd=10**9)
    door(world, body)
    jobs = Job.objects.filter(display_name__startswith=body["displayName"])
    assert jobs.exists()
    Policy.objects.update(ask_over_usd=LIMIT)

    judge(world)


def test_an_approval_of_a_weaker_policy_does_not_count(world: World, chief: User) -> None:
    """One approval was enough when the job was asked, and when it was given."""
    save(world, chief, Rule(outcome="ask", cost_over=str(LIMIT)))
    before, after = request(world, MIDDLE, key="before"), request(world, LONG, key="after")
    world.approve(before, world.honest)
    save(world, chief, Rule(outcome="ask", cost_over=str(LIMIT), approvals=2))
    world.approve(after, world.honest)
    judge(world)
    for job in (before, after):
        fresh = Job.objects.get(pk=job.pk)
        assert fresh.state == "awaiting_approval"
        world.approve(fresh, world.honest)

    judge(world)
    assert Approval.objects.filter(votes_needed=2).count() == 2


def test_further_attempts_follow_the_policy_of_now(world: World, chief: User) -> None:
    """The policy became tighter after the first attempt was allowed, or approved together with all others."""
    world.cloud.script("stockout")
    steps = [{"strategy": "standard"}, {"strategy": "standard", "region": "us-east1"}]
    plan = {"further_attempts": {"steps": steps, "wait_hours": 1}}
    request(world, SMALL, key="small", **plan)
    approved = request(world, MIDDLE, key="middle", **plan)
    world.approve(approved, world.honest)
    world.work()
    sent = {each["name"] for each in world.cloud.jobs()}
    assert len(sent) == 2
    save(world, chief, Rule(outcome="ask", cost_over="1", approvals=2))

    for _ in range(6):
        world.work(hours=1)
        for job in Job.objects.filter(state="awaiting_approval"):
            world.approve(job, world.me)
            world.approve(job, world.honest)

    assert Job.objects.filter(state="awaiting_approval").count() == 2
    assert {each["name"] for each in world.cloud.jobs()} == sent


def test_a_schedule_that_is_changed_gets_its_runs_approved_again(world: World) -> None:
    form = {"spec": MIDDLE, "expected_seconds": 1, "schedule": "nightly", "cron": "0 * * * *", "allows_overlap": True}
    made = world.api().post("/schedules", form, key="nightly").json()
    world.work(hours=1.1)
    job = Job.objects.get()
    world.approve(job, world.honest)
    world.work()
    assert len(world.cloud.jobs()) == 1

    address = f"/schedules/{made['id']}"
    for change in ({"spec": LONG}, {"cap_usd": "9999"}, {"cron": "*/5 * * * *", "allows_overlap": True}):
        world.api().patch(address, change)
    edited = {"name": "often", "cron": "*/7 * * * *", "time_zone": "UTC", "allows_overlap": "on"}
    world.page().post(f"{address}/edit/", edited | {"timeout": "7 d", "spec": json.dumps(LONG)})
    world.api().post(f"{address}/run", key="now")
    world.api().post("/schedules", form | {"spec": LONG}, key="nightly")
    world.work(hours=0.5)
    world.api().delete(address)
    world.api().post("/schedules", form | {"spec": LONG}, key="nightly")
    for _ in range(3):
        world.work(hours=0.5)

    assert Job.objects.filter(state="awaiting_approval").count() > 2
    judge(world, agreed={job.display_name: price(MIDDLE)})


def test_a_copy_of_an_adopted_job_is_asked(world: World) -> None:
    """A program has made a dear job at Vertex AI; whoever adopts it runs it again."""
    make(world.cloud, name="theirs", scheduling={"timeout": "604800s"})
    (external,) = found(world.cloud, world.me).values()
    form = {"project": world.team.project, "region": "us-central1", "team": str(world.team.pk)}
    world.page().post("/jobs/adopt/take/", form | {"job": str(external.pk)})
    job = Job.objects.get()
    assert job.is_adopted
    assert not ExternalJob.objects.exists()
    for state in ("running", "ended"):
        if state == "ended":
            for _ in range(8):
                world.work(hours=2)
            assert Job.objects.get(pk=job.pk).is_finished
        several = {"action": "rerun", "job": [str(job.pk)], "key": state, "confirm": "1"}
        world.page().post("/jobs/several/", several)
        typed(world, f"/jobs/new/?job={job.pk}")
        world.page().post(f"/jobs/{job.pk}/template/", {"name": state})
        page = {"name": state, "cron": "*/5 * * * *", "time_zone": "UTC"}
        world.page().post(f"/schedules/new/?job={job.pk}", page)
        world.work(hours=0.2)

    assert Job.objects.filter(is_adopted=False).exists()
    judge(world, agreed={"theirs": Decimal(10**6)})


def test_no_lead_alone_lifts_a_budget(world: World, admin: User) -> None:
    """On the pages of budgets, a proposal, another budget and another account of the lead."""
    values = BudgetValues("all", BUDGET, Passing.STOP)
    world.become(Role.LEAD)
    budgets.create_budget(world.team, values, by=admin, reason="agreed", now=world.cloud.now)
    friend = world.friend(Role.LEAD)
    row = Budget.objects.get()
    form = {"name": "all", "amount": "99999", "passing": Passing.STOP, "thresholds": "50", "reason": "more"}
    for by in (world.me, friend):
        page = world.page(by)
        for change in ({}, {"passing": Passing.WARN}, {"amount": str(BUDGET), "passing": Passing.ASK}):
            page.post(f"/budgets/{row.pk}/", form | change | {"version": str(row.version)})
        page.post(f"/budgets/{row.pk}/close/", {"version": str(row.version), "reason": "no"})
        for applies_to in ("", f"person:{world.me.pk}", "label"):
            more = {"name": f"loose {applies_to}", "applies_to": applies_to, "label": "a=b"}
            page.post(f"/budgets/new/{world.team.pk}/", form | more)
        for proposal in Proposal.objects.filter(decision=""):
            for other in (world.me, friend):
                world.page(other).post(f"/proposals/{proposal.pk}/", {"do": "accept"})
    Membership.objects.filter(user=world.me).update(role=Role.ENGINEER)
    for _ in range(4):
        by_the_api(world, SMALL)
        imported(world, SMALL)
        world.work()

    documents = judge(world)
    assert documents
    assert sum(price(each) for each in documents) <= BUDGET


def test_an_approval_by_api_is_of_the_amount_that_it_names(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else chooses a cheaper strategy after the amount was compared, and before the row is locked."""
    lead, second = person("chief", world.team, Role.LEAD), person("second", world.team, Role.APPROVER)
    rule = Rule(outcome="ask", cost_over="1", approvals=2)
    terms = Terms(approvers_choose_strategy=True)
    save_policy(world.team, [rule], terms, base=0, by=lead, note="", now=world.cloud.now)
    job = request(world, samples.body(scheduling={"timeout": "36000s"}, strategy="STANDARD"))
    shown = job.max_usd

    def clean_meanwhile(text: str) -> str:
        requests.approve_as(Job.objects.get(pk=job.pk), "spot", by=second, comment="", now=world.cloud.now)
        return text

    monkeypatch.setattr(actions, "clean", clean_meanwhile)
    answer = world.api(world.honest).post(f"/jobs/{job.pk}/approve", {"max_usd": str(shown)})

    assert Job.objects.get().max_usd != shown
    assert (answer.status_code, answer.json()["type"]) == (409, "/api/#problem-other-amount")


@pytest.mark.parametrize(
    ("typed_cap", "cap"),
    [("12,50", None), ("1,2", None), ("12.50", "12.50"), ("$1,250.50", "1250.50"), ("1,250", "1250")],
)
def test_a_cap_is_never_a_hundred_times_what_was_meant(world: World, typed_cap: str, cap: str | None) -> None:
    job = request(world, MIDDLE)
    digest = Approval.objects.get(job=job).digest
    form = {"decision": "approve", "amount": str(job.max_usd), "digest": digest, "cap": typed_cap}

    world.page(world.honest).post(f"/jobs/{job.pk}/decide/", form)

    job.refresh_from_db()
    assert (job.state, job.cap_usd) == (("approved", Decimal(cap)) if cap else ("awaiting_approval", None))
