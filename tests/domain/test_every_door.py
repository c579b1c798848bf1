"""Ways around an approval through every door: pages, API, command line, schedules and persistent resources.

One person and an account that they have invited do what they like. Then every worker works, and what the emulator has
been sent is priced from the price book: it must not exceed what one person may spend without asking.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from jobs import budgets
from jobs.models import (
    AllowedResource,
    Approval,
    Budget,
    Draft,
    Job,
    Membership,
    Policy,
    Proposal,
    ResourceChange,
    Role,
    Schedule,
    Team,
    Template,
)
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, save_policy
from tests.conftest import person
from tests.domain.conftest import Cloud
from tests.pages.conftest import _pages_read_the_tests_clock, fields_of  # noqa: F401 - a fixture
from tests.support import samples
from tests.support.attacker import LIMIT, LONG, World, judge

pytestmark = pytest.mark.django_db
CEILINGS = {"hour": Decimal(40), "person_day": Decimal(90), "gpus": Decimal(12)}
CHEAP = samples.body(name="cheap", scheduling={"timeout": "600s"})
H100 = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}
DEAR: tuple[dict[str, Any], ...] = (
    LONG,
    samples.body(name="large", machine=H100, extra_replicas=99, scheduling={"timeout": "604800s"}),
    samples.body(name="unknown", machine={"machineType": "a9-ultragpu-64g"}, scheduling={"timeout": "60s"}),
    samples.tuning_job(name="trials", trials=400, parallel=400, scheduling={"timeout": "3600s"}),
)


@pytest.fixture
def _ceilings(admin: User, cloud: Cloud) -> None:
    for kind, amount in CEILINGS.items():
        budgets.set_ceiling(None, kind, amount, by=admin, reason="agreed", now=cloud.now)


# ---------------------------------------------------------------- doors through which a job is requested
def typed(world: World, address: str, **changes: str) -> None:
    """Open the compose form at an address, change it, and send it."""
    page = world.page().get(address)
    if page.status_code == 200:
        form = fields_of(page.content.decode())
        world.page().post("/jobs/new/", form | {"run_time": "1 min"} | changes)


def imported(world: World, body: dict[str, Any], **changes: str) -> None:
    """Import a text and send the form that it fills."""
    text = {"text": json.dumps(body), "team": str(world.team.pk), "run_time": "1 min"}
    world.page().post("/jobs/import/", text)
    if (draft := Draft.objects.order_by("-pk").first()) is not None:
        typed(world, f"/jobs/new/?draft={draft.pk}", **changes)


def by_the_form(world: World, body: dict[str, Any]) -> None:
    imported(world, body, cap="0.99")
    imported(world, body, timeout="1 min", state="approved", approved_usd="1", max_usd="0.01", team="1")


def by_a_sweep(world: World, body: dict[str, Any]) -> None:
    for seeds in ("1", "1-2", "1-20"):
        imported(world, body, seeds=seeds)


def by_the_api(world: World, body: dict[str, Any]) -> None:
    kind = {"spec": body, "expected_seconds": 1}
    for more in ({}, {"cap_usd": "0.99"}, {"strategy": "standard"}, {"confirm": ["a9-ultragpu-64g", "machine_type"]},
                 {"max_usd": "1"}, {"state": "approved"}):  # fmt: skip
        world.api().post("/jobs", kind | more, key=f"key-{next(world.keys)}")
    world.api().post("/jobs", {"text": json.dumps(body), "expected_seconds": 1}, key=f"key-{next(world.keys)}")


def by_a_repeated_key(world: World, body: dict[str, Any]) -> None:
    for each in (CHEAP, body):
        world.api().post("/jobs", {"spec": each, "expected_seconds": 1}, key="mine")


def by_the_command(world: World, body: dict[str, Any]) -> None:
    path = world.folder / "job.json"
    path.write_text(json.dumps(body))
    for hours in ("0.001", "1"):
        with suppress(SystemExit, CommandError):
            where = ["--team", world.team.name, "--hours", hours, "--region", "us-central1"]
            call_command("jobspec", "submit", str(path), "--as", world.me.username, *where)


def by_a_schedule_of_the_api(world: World, body: dict[str, Any]) -> None:
    name = f"nightly {next(world.keys)}"
    form = {"spec": body, "expected_seconds": 1, "schedule": name, "cron": "0 * * * *", "allows_overlap": True}
    for more in ({"cap_usd": "0.99"}, {}):
        answer = world.api().post("/schedules", form | more, key=f"key-{next(world.keys)}").json()
    if "id" in answer:
        world.api().patch(f"/schedules/{answer['id']}", {"cron": "*/5 * * * *"})
        for act in ("run", "pause", "resume", "run"):
            world.api().post(f"/schedules/{answer['id']}/{act}", key=f"key-{next(world.keys)}")
    world.work(hours=1)


def by_copies(world: World, body: dict[str, Any]) -> None:
    """Clone the job that waits, save it as a template, let it run on a schedule, and cancel and rerun it."""
    world.api().post("/jobs", {"spec": body, "expected_seconds": 1}, key=f"key-{next(world.keys)}")
    if (job := Job.objects.order_by("-requested_at", "-pk").first()) is None:
        return
    page, name = world.page(), f"copy {next(world.keys)}"
    typed(world, f"/jobs/new/?job={job.pk}")
    page.post(f"/jobs/{job.pk}/template/", {"name": name})
    page.post(f"/schedules/new/?job={job.pk}", {"name": name, "cron": "*/5 * * * *", "time_zone": "UTC"})
    if (template := Template.objects.filter(name=name).first()) is not None:
        typed(world, f"/jobs/new/?template={template.pk}")
    for row in Schedule.objects.filter(name=name):
        page.post(f"/schedules/{row.pk}/run/", {"key": name})
    page.post(f"/jobs/{job.pk}/cancel/")
    page.post("/jobs/several/", {"action": "rerun", "job": [str(job.pk)], "key": name, "confirm": "1"})
    world.work(hours=0.2)


def by_further_attempts(world: World, body: dict[str, Any]) -> None:
    world.cloud.script("stockout")
    steps = [{"strategy": "standard"}, {"strategy": "standard", "region": "us-east1"}]
    form = {"expected_seconds": 1, "further_attempts": {"steps": steps, "wait_hours": 1}}
    for each in (CHEAP, body):
        world.api().post("/jobs", form | {"spec": each}, key=f"key-{next(world.keys)}")
    for _ in range(4):
        world.work(hours=1)
    world.cloud.script("long")
    world.work()


DOORS = (
    by_the_form, by_a_sweep, by_the_api, by_a_repeated_key, by_the_command, by_a_schedule_of_the_api, by_copies,
    by_further_attempts,
)  # fmt: skip


def test_the_large_job_is_one_that_vertex_ai_could_run(world: World) -> None:
    """Else every door refuses it, and none is tried."""
    by_the_api(world, DEAR[1])

    assert {(job.display_name, job.state) for job in Job.objects.all()} == {("large", "awaiting_approval")}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_door_lets_a_dear_job_through(world: World, door: Callable[[World, dict[str, Any]], None]) -> None:
    for body in DEAR:
        door(world, body)

    assert Job.objects.exists(), "the door was not reached"
    judge(world)


@pytest.mark.usefixtures("_ceilings")
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_door_lets_many_cheap_jobs_through(world: World, door: Callable[[World, dict[str, Any]], None]) -> None:
    """Each job stays below the limit; together they must not pass the ceilings."""
    body = samples.body(name="small", machine=samples.A100, scheduling={"timeout": "3000s", "strategy": "SPOT"})
    for _ in range(4):
        door(world, body)

    assert judge(world), "the door was not reached"


# ---------------------------------------------------------------- ways of people and resources
def a_friend_approves(world: World) -> None:
    friend = world.friend()
    world.approve(world.waiting(), friend)


def a_friend_requests(world: World) -> None:
    friend = world.friend(Role.ENGINEER)
    world.api(friend).post("/jobs", {"spec": DEAR[0], "expected_seconds": 60}, key="dear")
    world.approve(Job.objects.get(), world.me)


def a_second_role(world: World) -> None:
    job = world.waiting()
    for role in (Role.APPROVER, Role.LEAD):
        world.become(role)
        world.approve(job, world.me)


def a_friend_is_deputy(world: World) -> None:
    friend, job = world.friend(Role.ENGINEER), world.waiting()
    world.become(Role.LEAD)
    for name in (world.me.username, "friend"):
        day = str(world.cloud.now.date())
        world.page().post("/deputies/", {"deputy_name": name, "first_day": day, "last_day": day})
    world.approve(job, friend)


def a_friend_leaves_and_comes_back(world: World) -> None:
    friend = world.friend()
    address = f"/teams/{world.team.pk}/members/"
    for row in Proposal.objects.all():
        world.page().post(f"/proposals/{row.pk}/", {"do": "withdraw"})
    for form in ({"do": "remove", "member": str(Membership.objects.get(user=friend).pk)},
                 {"do": "add", "name": "friend", "role": "approver"}):  # fmt: skip
        world.page().post(address, form)
    Membership.objects.filter(user=friend).update(role=Role.APPROVER)
    for by in (world.me, friend):
        world.page(by).post(address, {"do": "confirm", "member": str(Membership.objects.get(user=friend).pk)})
    world.approve(world.waiting(), friend)


def power_of_a_lead(world: World) -> None:
    """Loosen policy, budgets, ceilings, roles, prices and rules on their pages, and accept that with both accounts."""
    friend = world.friend(Role.LEAD)
    policy = {"rule-TOTAL_FORMS": "1", "rule-INITIAL_FORMS": "0", "rule-0-outcome": "allow", "base": "0"}
    terms = {"drift_percent": "500", "remind_hours": "0", "expire_hours": "0", "action": "save", "note": "x"}
    page, budget = world.page(), Budget.objects.first()
    page.post("/policy/", policy | terms)
    page.post("/ceilings/", {"whose": str(world.team.pk), "kind": "person_day", "amount": "99999", "reason": "x"})
    page.post(f"/teams/{world.team.pk}/members/", {"do": "add", "name": "friend", "role": "lead"})
    page.post("/prices/record/", {"key": "x", "usd": "0.01"})
    page.post("/rules/timeout_missing/", {"severity": "note"})
    page.post(f"/teams/{world.team.pk}/project/", {"project": "elsewhere", "acts_as": ""})
    assert budget is None
    for row in Proposal.objects.filter(decision=""):
        for by in (world.me, friend):
            world.page(by).post(f"/proposals/{row.pk}/", {"do": "accept"})
    world.waiting()


def somebody_elses_schedule(world: World) -> None:
    mate = person("mate", world.team, Role.ENGINEER)
    form = {"spec": DEAR[0], "expected_seconds": 1, "schedule": "yearly", "cron": "0 6 1 1 *"}
    made = world.api(mate).post("/schedules", form, key="yearly").json()
    world.become(Role.LEAD)
    world.api().patch(f"/schedules/{made['id']}", {"cron": "*/5 * * * *"})
    edited = {"name": "often", "cron": "*/7 * * * *", "time_zone": "UTC", "allows_overlap": "on"}
    world.page().post(f"/schedules/{made['id']}/edit/", edited)
    world.page().post(f"/schedules/{made['id']}/run/", {"key": "now"})
    world.work(hours=0.3)
    for job in Job.objects.filter(state="awaiting_approval"):
        world.approve(job, world.me)


def a_stale_decision(world: World) -> None:
    """An approver opens the page of a cheap question; what is sent names another job, or another amount."""
    world.api().post("/jobs", {"spec": samples.body(scheduling={"timeout": "21600s"}), "expected_seconds": 1}, key="a")
    shown = Job.objects.get(state="awaiting_approval")
    form = {"decision": "approve", "amount": str(shown.max_usd), "digest": Approval.objects.get(job=shown).digest}
    world.page().post(f"/jobs/{shown.pk}/cancel/")
    dear = world.waiting()
    world.page(world.honest).post(f"/jobs/{dear.pk}/decide/", form)
    world.page(world.honest).post(f"/jobs/{shown.pk}/decide/", form)
    world.api(world.honest).post(f"/jobs/{dear.pk}/approve", {"max_usd": str(shown.max_usd)})


def another_team(world: World) -> None:
    """A team with a loose policy and the same project, of which `me` is no member, and one of which `me` is."""
    for name in ("closed", "open"):
        loose = Team.objects.create(name=name, project="elsewhere")
        Policy.objects.create(team=loose, ask_over_usd=10**6)
        AllowedResource.objects.create(team=loose, kind="project", name=world.team.project)
        if name == "open":
            Membership.objects.create(team=loose, user=world.me, role=Role.ENGINEER)
        form = {"spec": DEAR[0], "expected_seconds": 1, "team": name, "project": world.team.project}
        world.api().post("/jobs", form, key=name)
        imported(world, DEAR[0], team=str(loose.pk))


def an_account_that_is_not_listed(world: World) -> None:
    Team.objects.filter(pk=world.team.pk).update(is_closed=True)
    stolen = "powerful@other.iam.gserviceaccount.com"
    body = json.loads(json.dumps(CHEAP))
    for changes in ({"serviceAccount": stolen}, {"network": "projects/1/global/networks/secret"},
                    {"baseOutputDirectory": {"outputUriPrefix": "gs://of-others/x"}}):  # fmt: skip
        stealing = body | {"jobSpec": body["jobSpec"] | changes, "displayName": "stealing"}
        for door in (by_the_form, by_the_api, by_the_command, by_a_schedule_of_the_api):
            door(world, stealing)
    world.become(Role.LEAD)
    world.page().post(f"/teams/{world.team.pk}/allowed/", {"kind": "service_account", "name": stolen})
    by_the_api(world, body | {"jobSpec": body["jobSpec"] | {"serviceAccount": stolen}})
    assert not Job.objects.exists()
    Team.objects.filter(pk=world.team.pk).update(is_closed=False)
    by_the_api(world, CHEAP)


def machines_alone(world: World) -> None:
    for role in (Role.ENGINEER, Role.APPROVER, Role.LEAD):
        world.become(role)
        with suppress(AssertionError):  # an engineer is refused with 403
            world.machines(f"of-{role}")
        with suppress(AssertionError):
            world.machines(f"far-{role}", region="europe-west4")
    world.decide(world.me)


def machines_of_a_friend(world: World) -> None:
    friend = world.friend()
    world.machines("mine")
    world.machines("hers", by=friend)
    for by in (world.me, friend):
        world.decide(by)


def two_approvals_of_a_friend(world: World) -> None:
    """Two have to approve what somebody else requests, or the machines that they ask for."""
    mate, friend = person("mate", world.team, Role.APPROVER), world.friend()
    rule = Rule(outcome="ask", cost_over=str(LIMIT), approvals=2)
    save_policy(world.team, [rule], Terms(), base=0, by=world.me, note="", now=world.cloud.now)
    world.machines("shared", by=mate)
    for key, people in enumerate(([world.me, friend], [friend, world.me])):
        form = {"spec": LONG | {"displayName": f"dear-{key}"}, "expected_seconds": 60}
        world.api(mate).post("/jobs", form, key=f"dear-{key}")
        for by in people:
            world.approve(Job.objects.get(display_name=f"dear-{key}"), by)
            world.decide(by)


def machines_of_two_friends(world: World) -> None:
    friend = world.friend()
    User.objects.filter(pk=friend.pk).update(username="first")
    first, second = User.objects.get(username="first"), world.friend()
    world.machines("hers", by=first)
    world.decide(second)


@pytest.mark.parametrize(
    "way",
    [
        a_friend_approves, a_friend_requests, a_second_role, a_friend_is_deputy, a_friend_leaves_and_comes_back,
        power_of_a_lead, somebody_elses_schedule, a_stale_decision, another_team, an_account_that_is_not_listed,
        two_approvals_of_a_friend, machines_alone, machines_of_a_friend, machines_of_two_friends,
    ],
    ids=lambda way: way.__name__,
)  # fmt: skip
def test_no_person_spends_more_alone(world: World, way: Callable[[World], None]) -> None:
    way(world)

    assert Job.objects.exists() or ResourceChange.objects.exists(), "the way was not tried"
    if way is another_team:  # its policy allows the job; the ceilings of the site still hold
        Policy.objects.update(ask_over_usd=LIMIT)
    judge(world)


@pytest.mark.parametrize("by_friend", [False, True])
def test_machines_that_were_agreed_do_not_grow(world: World, by_friend: bool) -> None:
    row = world.agreed_machines()
    friend = world.friend()
    asks, decides = (friend, world.me) if by_friend else (world.me, friend)
    for action, form in (("resize", {"pool-0": "9"}), ("extend", {"lifetime_days": "30"}), ("reboot", {})):
        world.change(row, action, by=asks, **form)
        for by in (asks, decides):
            world.decide(by)
        judge(world, machines=1)
        world.decide(world.me, "reject")
        world.decide(friend, "reject")
        world.work(hours=0.2)
    ends = ResourceChange.lifetime_ends(row.project, row.region, row.resource_id)
    assert ends is not None
    assert ends <= world.cloud.now + timedelta(days=1)
