"""Ways to spend or learn that no other test tries: of a requester, a lead, an approver and a thief of a token."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import requests, steps
from jobs.models import (
    AllowedResource,
    Draft,
    Invitation,
    Job,
    Membership,
    Policy,
    ResourceChange,
    Role,
    Schedule,
    Team,
    Template,
)
from jobs.requests.request_keys import schedule_key
from jobs.upkeep import file_jobs
from tests.conftest import person
from tests.domain.test_every_door import imported, typed
from tests.pages.conftest import _pages_read_the_tests_clock  # noqa: F401 - a fixture
from tests.support import samples
from tests.support.api import caller
from tests.support.attacker import LONG, World, judge

pytestmark = pytest.mark.django_db
CHEAP = samples.body(name="cheap", scheduling={"timeout": "300s"}, strategy="STANDARD")
H100 = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}


def with_(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of a body with another value at a dotted path."""
    copy = json.loads(json.dumps(body))
    *parents, last = path.split(".")
    at = copy
    for name in parents:
        at = at[int(name)] if name.isdigit() else at[name]
    at[last] = value
    return dict(copy)


POOL = "jobSpec.workerPoolSpecs.0"
SPELLINGS: dict[str, tuple[Any, ...]] = {
    f"{POOL}.replicaCount": ("1e2", 100.0, "100.0", "１００", " 100 ", "0100", "1_00", True, [100], "0x64"),
    f"{POOL}.machineSpec.acceleratorCount": ("8", 8.0, "1e1", -1, 0, "０"),
    f"{POOL}.machineSpec.acceleratorType": (8, 13, "8", "nvidia_h100_80gb", "NVIDIA_H100_80GB ", None),
    f"{POOL}.machineSpec.machineType": ("A3-HIGHGPU-8G", "a3-highgpu-8g ", " a3-highgpu-8g", "a3-highgpu-8g\n"),
    "jobSpec.scheduling.timeout": (
        "604800", "1e6s", "604800.s", "+604800s", "604800S", " 604800s", "0s", "-1s", {"seconds": "604800"}, 604800,
        None, "0.0s", "-0s", "９９９９９９s",
    ),
    "jobSpec.scheduling.strategy": (4, "4", 3, 2, 1, 0, "spot", "SPOT ", "LOW_COST", None),
    f"{POOL}.diskSpec": ({"bootDiskSizeGb": 64000}, {"bootDiskSizeGb": "64000"}, {"bootDiskSizeGb": 6.4e4}),
}  # fmt: skip


def other_spellings(world: World) -> None:
    for path, value in ((path, value) for path, values in SPELLINGS.items() for value in values):
        for base in (CHEAP, samples.body(name="cheap", machine=H100, scheduling={"timeout": "60s"})):
            body = with_(with_(base, "displayName", f"s-{next(world.keys)}"), path, value)
            world.api().post("/jobs", {"spec": body, "expected_seconds": 1}, key=f"k-{next(world.keys)}")
            world.api().post("/jobs", {"text": json.dumps(body), "expected_seconds": 1}, key=f"k-{next(world.keys)}")


def duplicate_keys(world: World) -> None:
    """The last of two equal keys counts for one parser, the first for another."""
    text = json.dumps(CHEAP)
    for key, dear in (('"timeout": "300s"', '"timeout": "604800s"'), ('"replicaCount": "1"', '"replicaCount": "100"')):
        for both in (f"{key}, {dear}", f"{dear}, {key}"):
            twice = text.replace(key, both)
            assert twice != text or "replicaCount" in key
            world.api().post("/jobs", {"text": twice, "expected_seconds": 1}, key=f"k-{next(world.keys)}")
            raw = '{"expected_seconds": 1, "spec": ' + twice + "}"
            world.api().client.post(
                "/api/v1/jobs", raw, content_type="application/json",
                headers=world.api().headers() | {"Idempotency-Key": f"k-{next(world.keys)}"},
            )  # fmt: skip
            world.page().post("/jobs/import/", {"text": twice, "team": str(world.team.pk), "run_time": "1 min"})
            if (draft := Draft.objects.order_by("-pk").first()) is not None:
                typed(world, f"/jobs/new/?draft={draft.pk}")


def labels_of_ours(world: World) -> None:
    """A spec that carries the labels by which Trainboard finds its own jobs."""
    mate = person("mate", world.team, Role.ENGINEER)
    theirs = world.api(mate).post("/jobs", {"spec": CHEAP, "expected_seconds": 1}, key="theirs").json()["job"]["id"]
    spoofed = CHEAP | {"displayName": "spoofed"}
    for labels in ({"trainboard_job": theirs}, {"trainboard_instance": "other"}, {"trainboard_change": "1-1"}):
        body = {"spec": spoofed | {"labels": labels}, "expected_seconds": 1}
        world.api().post("/jobs", body, key=f"k-{next(world.keys)}")
    world.work()
    world.work(hours=0.1)
    names = dict(Job.objects.exclude(remote_name="").values_list("pk", "remote_name"))
    assert len(set(names.values())) == len(names)
    for job in Job.objects.filter(owner=world.me):
        steps.cancel(job, by=world.me, clock=world.cloud.clock)
    world.work()
    assert Job.objects.get(pk=theirs).cancel_requested_at is None


def keys_of_others(world: World) -> None:
    """The keys that schedules, further attempts and other people's requests will have."""
    mate = person("mate", world.team, Role.ENGINEER)
    form = {"spec": CHEAP, "expected_seconds": 1}
    made = world.api(mate).post("/schedules", form | {"schedule": "hourly", "cron": "0 * * * *"}, key="mine").json()
    schedule = Schedule.objects.get(pk=made["id"])
    stolen = [schedule_key(schedule.pk, schedule.next_at), "mine", f"fallback-{schedule.pk.hex}-2", f"{'api-'}0"]
    for key in stolen:
        world.api().post("/jobs", {"spec": LONG, "expected_seconds": 1}, key=key)
        imported(world, LONG, key=key, request_key=key)
    world.work(hours=1.1)
    runs = Job.objects.filter(owner=mate)
    assert [(run.display_name.startswith("cheap"), run.state != "awaiting_approval") for run in runs] == [(True, True)]


def families_of_others(world: World) -> None:
    """Runs that are moved into, out of and between families, also of other teams."""
    other = Team.objects.create(name="others", project="elsewhere")
    Policy.objects.create(team=other, ask_over_usd=10**9)
    stranger = person("away", other, Role.LEAD)
    theirs = requests.request_job(
        submission=samples.submission(project="elsewhere", scheduling={"timeout": "60s"}), team=other, by=stranger,
        expected=timedelta(minutes=6), request_key="1", now=world.cloud.now,
    )  # fmt: skip
    waiting = world.waiting()
    world.api().post("/jobs", {"spec": CHEAP, "expected_seconds": 1}, key="cheap")
    cheap = Job.objects.get(display_name="cheap", team=world.team)
    file_jobs()
    for job in (theirs, waiting, cheap):
        job.refresh_from_db()
    before = dict(Job.objects.filter(pk=theirs.pk).values_list("pk", "family"))
    page = world.page()
    for family in (theirs.family, cheap.family, waiting.family, uuid4()):
        for to in ("", str(theirs.pk), str(waiting.pk), str(cheap.pk)):
            for job in (theirs, waiting, cheap):
                page.post(f"/families/{family}/move/", {"job": [str(job.pk)], "to": to})
    assert dict(Job.objects.filter(pk=theirs.pk).values_list("pk", "family")) == before
    for path in ("", "runs.csv", f"move/?job={theirs.pk}"):
        assert page.get(f"/families/{theirs.family}/{path}").status_code == 404
    viewer = person("viewer", world.team, Role.VIEWER)
    cheap.refresh_from_db()
    assert world.page(viewer).post(f"/families/{cheap.family}/move/", {"job": [str(cheap.pk)]}).status_code == 403
    assert Job.objects.get(pk=waiting.pk).state == "awaiting_approval"


PATHS = """
/policy/effects/?team=%(team)s /policy/?team=%(team)s /history/?team=%(name)s /history/jobs.csv?q=secret
/history/jobs.json?owner=secret-person /jump/?q=secret /jump/words/?q=owner: /jump/words/?q=team:
/jump/words/?q=project: /jump/words/?q=label: /jump/words/?q=name:sec
/compare/?a=%(job)s&b=%(job)s /jobs/new/?job=%(job)s
/jobs/new/?template=%(template)s /jobs/several/?action=rerun&job=%(job)s /spend/spend.csv /spend/?team=%(team)s
/spend/billing/%(team)s/ /audit/log.csv /audit/?team=%(team)s /messages/ /approvals/?job=%(job)s
/schedules/new/?job=%(job)s /schedules/new/?template=%(template)s /ceilings/ /?team=%(team)s&who=all /?q=team:%(name)s
/proposals/ /teams/%(team)s/ /budgets/new/%(team)s/ /jobs/adopt/ /persistent-resources/ /templates/ /schedules/
"""


def pages_about_another_team(world: World) -> None:
    """Everything that lists, exports, completes or previews, asked by a lead of another team."""
    other = Team.objects.create(name="others", project="elsewhere")
    stranger = person("away", other, Role.LEAD)
    User.objects.filter(pk=world.me.pk).update(username="secret-person")
    secret = samples.body(name="secret-name", scheduling={"timeout": "300s"}) | {"labels": {"secret": "label"}}
    world.api().post("/jobs", {"spec": secret, "expected_seconds": 1}, key="secret")
    job = Job.objects.get()
    world.page().post(f"/jobs/{job.pk}/template/", {"name": "secret-template"})
    template = Template.objects.get()
    page, token = world.page(stranger), world.api(stranger)
    named = {"team": str(world.team.pk), "job": str(job.pk), "template": str(template.pk), "name": world.team.name}
    for path in (each % named for each in PATHS.split()):
        answer = page.get(path)
        text = answer.getvalue().decode()
        shown = [word for word in ("secret", world.team.project) if word in text.replace(path, "")]
        assert answer.status_code in (403, 404, 405) or not shown, (path, answer.status_code, shown)
    for path in (
        "/jobs",
        f"/jobs?team={world.team.name}",
        f"/jobs/{job.pk}",
        f"/jobs/{job.pk}/events",
        "/schedules",
        "/templates",
        "/spend",
    ):
        assert "secret" not in token.get(path).content.decode(), path


def words_of_others(world: World) -> None:
    """Previews posted by somebody outside the team: the form's check, drafts, an assessment and a policy test."""
    other = Team.objects.create(name="others", project="elsewhere")
    stranger = person("away", other, Role.LEAD)
    Policy.objects.create(team=other, ask_over_usd=10**9)
    page = world.page(stranger)
    for path in ("/jobs/new/check/", "/jobs/new/draft/", "/jobs/new/"):
        page.post(path, {"team": str(world.team.pk), "project": world.team.project, "run_time": "1 min"})
    imported(world, LONG, team=str(other.pk))
    world.api(stranger).post("/jobs", {"spec": LONG, "expected_seconds": 1, "team": world.team.name}, key="a")
    assert world.api(stranger).post("/assessments", {"spec": LONG, "team": world.team.name}).status_code == 404
    assert page.post("/policy/", {"team": str(world.team.pk), "action": "test"}).status_code == 404
    assert not Job.objects.filter(owner=stranger).exists()


def a_stolen_token(world: World) -> None:
    """A token of each scope at everything, of somebody who has left, been lowered or been deactivated."""
    job = world.waiting()
    for scopes in (["read"], ["submit"], ["read", "submit"]):
        thief = caller(world.honest, *scopes)
        for path, body in ((f"/jobs/{job.pk}/approve", {}), (f"/jobs/{job.pk}/approve", {"max_usd": str(job.max_usd)})):
            assert thief.post(path, body).status_code == 403
        for path in ("/account/tokens/", "/deputies/", f"/jobs/{job.pk}/decide/", "/policy/", "/admin/"):
            answer = Client().post(path, {"decision": "approve"}, headers=thief.headers())
            assert answer.status_code in (302, 403), path
    for change in ("removed", "viewer", "inactive", "engineer"):
        thief = caller(world.honest)
        rows = Membership.objects.filter(user=world.honest, team=world.team)
        if change == "removed":
            rows.delete()
        elif change == "inactive":
            User.objects.filter(pk=world.honest.pk).update(is_active=False)
        else:
            rows.update(role=change)
        assert thief.post(f"/jobs/{job.pk}/approve", {}).status_code in (401, 403, 404), change
        thief.post("/jobs", {"spec": CHEAP, "expected_seconds": 1}, key=change)
        User.objects.filter(pk=world.honest.pk).update(is_active=True)
        Membership.objects.update_or_create(user=world.honest, team=world.team, defaults={"role": Role.APPROVER})
    assert Job.objects.get(pk=job.pk).state == "awaiting_approval"
    assert (
        set(Job.objects.exclude(pk=job.pk).values_list("request_key", flat=True)) == set()
        or Job.objects.filter(owner=world.honest).count() == 1
    )


def a_deputy_of_somebody_honest(world: World) -> None:
    """`me` decides for an approver who is away: about own jobs, those of a friend, and own machines."""
    friend = world.friend(Role.ENGINEER)
    world.become(Role.ENGINEER)
    day = str(world.cloud.now.date())
    world.page(world.honest).post("/deputies/", {"deputy_name": world.me.username, "first_day": day, "last_day": day})
    world.api(friend).post("/jobs", {"spec": LONG, "expected_seconds": 60}, key="friend")
    world.approve(Job.objects.get(), world.me)
    world.approve(world_waiting(world), world.me)
    world.become(Role.APPROVER)
    world.machines("mine")
    world.decide(world.me)
    world.decide(friend)


def world_waiting(world: World) -> Job:
    world.api().post("/jobs", {"spec": LONG, "expected_seconds": 60}, key=f"dear-{next(world.keys)}")
    return Job.objects.filter(owner=world.me, state="awaiting_approval").latest("requested_at")


def a_friend_of_another_team(world: World) -> None:
    """An account that `me` has invited to a team of which `me` is the lead, and that approves here."""
    other = Team.objects.create(name="others", project="elsewhere")
    Membership.objects.create(team=other, user=world.me, role=Role.LEAD)
    friend = world.friend(Role.APPROVER)
    Invitation.objects.update(team=other)
    form = {"spec": LONG, "expected_seconds": 60, "team": world.team.name}
    world.api().post("/jobs", form, key="dear")
    world.approve(Job.objects.get(), friend)
    world.machines("mine")
    world.decide(friend)


def machines_of_another_team(world: World) -> None:
    """An approver of a second team with the project decides about machines of the first, and changes them."""
    other = Team.objects.create(name="others", project="elsewhere")
    Policy.objects.create(team=other, ask_over_usd=10**9)
    AllowedResource.objects.create(team=other, kind="project", name=world.team.project)
    Team.objects.filter(pk=other.pk).update(project=world.team.project)
    mate = person("beside", other, Role.LEAD)
    world.become(Role.APPROVER)
    world.machines("mine")
    world.decide(mate)
    Membership.objects.create(team=other, user=world.me, role=Role.LEAD)
    world.decide(world.me)
    assert not ResourceChange.objects.exclude(allowed_at=None).exists()
    assert world.page(mate).get("/persistent-resources/").content.decode().count('value="approve"') == 0


def looser_in_small_steps(world: World) -> None:
    """A lead alone makes the policy looser by saves that look tighter, each."""
    world.become(Role.LEAD)
    terms = {
        "drift_percent": "0",
        "remind_hours": "0",
        "expire_hours": "168",
        "action": "save",
        "note": "x",
        "cancel_at_cap": "on",
    }
    rows: tuple[tuple[dict[str, str], ...], ...] = (
        ({"outcome": "allow", "labels": "x"}, {"outcome": "ask", "cost_over": "25"}),
        ({"outcome": "ask", "cost_over": "25", "kinds": "training_pipeline"},),
        ({"outcome": "set", "set_timeout_hours": "0.1"}, {"outcome": "ask", "cost_over": "25"}),
        ({"outcome": "ask", "cost_over": "25", "approvers": "friend"},),
        ({"outcome": "ask", "cost_over": "25", "cost_basis": "low"},),
        ({"outcome": "ask", "cost_over": "24", "cost_basis": "low"},),
        ({"outcome": "ask", "hours_over": "0"}, {"outcome": "ask", "cost_over": "25", "hours_over": "1"}),
        ({"outcome": "ask", "cost_over": "24", "submitters": "nobody"},),
        (),
    )  # fmt: skip
    for rules in rows:
        form = {"rule-TOTAL_FORMS": str(len(rules)), "rule-INITIAL_FORMS": "0"} | terms
        for number, rule in enumerate(rules):
            form |= {f"rule-{number}-{name}": value for name, value in rule.items()} | {
                f"rule-{number}-cost_basis": rule.get("cost_basis", "most")
            }
        for base in ("0", "1", "2"):
            world.page().post("/policy/", form | {"base": base})
    world.become(Role.ENGINEER)
    world.waiting()


WAYS = (
    other_spellings, duplicate_keys, labels_of_ours, keys_of_others, families_of_others, pages_about_another_team,
    words_of_others, a_stolen_token, a_deputy_of_somebody_honest, a_friend_of_another_team, machines_of_another_team,
    looser_in_small_steps,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_fresh_way(world: World, way: Callable[[World], None]) -> None:
    way(world)

    judge(world)
