"""Tests of access to every address of the API for every role, scope and kind of token."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.api.site import document
from jobs.models import ApiToken, Job, Membership, Schedule, Team
from jobs.queue import rate_limit
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn
from tests.support import samples
from tests.support.api import Caller, caller, token_of
from tests.support.clock import Clock

PROBLEM = "application/problem+json"
OPERATIONS = sorted((method.upper(), address) for address, methods in document()["paths"].items() for method in methods)
PEOPLE = ("viewer", "engineer", "approver", "lead", "stranger", "admin")
MIN_ROLE = {
    ("POST", "/assessments"): "engineer",
    ("POST", "/jobs"): "engineer",
    ("POST", "/jobs/{job_id}/cancel"): "engineer",
    ("POST", "/jobs/{job_id}/fine"): "lead",
    ("POST", "/jobs/{job_id}/approve"): "approver",
    ("POST", "/jobs/{job_id}/reject"): "approver",
    ("POST", "/schedules"): "engineer",
    ("PATCH", "/schedules/{schedule_id}"): "lead",
    ("DELETE", "/schedules/{schedule_id}"): "lead",
    ("POST", "/schedules/{schedule_id}/run"): "lead",
    ("POST", "/schedules/{schedule_id}/pause"): "lead",
    ("POST", "/schedules/{schedule_id}/resume"): "lead",
}
"""Everything else is for everybody in the team."""
SCOPE = {
    "/jobs": "submit",
    "cancel": "submit",
    "fine": "submit",
    "approve": "approve",
    "reject": "approve",
    "/schedules": "submit",
    "run": "submit",
    "pause": "submit",
    "resume": "submit",
}
SUCCESS = {200, 201, 202, 204}


def scope_of(method: str, address: str) -> str:
    if method in {"DELETE", "PATCH"}:
        return "submit"
    return SCOPE.get(address.removeprefix("/api/v1").rpartition("}/")[2], "read") if method == "POST" else "read"


def schedule_of(job: Job) -> Schedule:
    """Return a schedule of the job's owner, as no role but a lead's may change it."""
    made, _ = Schedule.objects.get_or_create(
        team=job.team, name="nightly", defaults={
            "owner": job.owner, "cron": "0 6 * * *", "time_zone": "UTC", "kind": job.kind, "spec": job.spec,
            "region": job.region, "expected_seconds": 60, "allows_overlap": True,
            "created_at": job.requested_at, "updated_at": job.requested_at,
        },
    )  # fmt: skip
    return made


def send(api: Caller, method: str, address: str, job: Any) -> Any:
    """Send a valid request of an operation."""
    path = address.removeprefix("/api/v1").replace("{job_id}", str(job.pk))
    path = path.replace("{schedule_id}", str(schedule_of(job).pk) if "{schedule_id}" in path else "")
    if path.endswith("/fine"):
        Job.objects.filter(pk=job.pk).update(running_since=job.requested_at)
    if method == "GET":
        return api.get(path, **({"region": "us-central1"} if path == "/prices" else {}))
    if method == "DELETE":
        return api.delete(path)
    if method == "PATCH":
        return api.patch(path, {"cron": "0 7 * * *"})
    request = {"team": "vision", "spec": samples.body(**samples.limited(0.05, {})), "expected_seconds": 60}
    if path == "/schedules":
        return api.post(path, request | {"schedule": f"s-{uuid4()}", "cron": "0 6 * * *"})
    decision = {"comment": "Not now."} if path.endswith("/reject") else {}
    return api.post(path, request if path in {"/jobs", "/assessments"} else decision)


@pytest.fixture
def people(team: Team, owner: User, stranger: User, admin: User) -> dict[str, User]:
    members = {role: person(f"the-{role}", team, role) for role in ("viewer", "engineer", "approver", "lead")}
    return members | {"stranger": stranger, "admin": admin}


@pytest.mark.parametrize(("method", "address"), OPERATIONS)
def test_each_role_gets_what_it_may(people: dict[str, User], make_job: MakeJob, method: str, address: str) -> None:
    least = MIN_ROLE.get((method, address.removeprefix("/api/v1")), "viewer")

    for name in PEOPLE:
        job = make_job("awaiting_approval")
        answer = send(caller(people[name]), method, address, job)
        of_team = "_id}" in address or method == "POST"
        if name == "stranger" and of_team:
            expected = {404}
        elif name in {"stranger", "admin"} or PEOPLE.index(name) >= PEOPLE.index(least):
            expected = SUCCESS
        else:
            expected = {403}
        assert answer.status_code in expected, (name, answer.status_code, answer.content)
        if name == "stranger":
            assert b"vision" not in answer.content
            assert job.display_name.encode() not in answer.content


@pytest.mark.parametrize(("method", "address"), OPERATIONS)
def test_each_operation_needs_its_scope(people: dict[str, User], make_job: MakeJob, method: str, address: str) -> None:
    for scope in ("read", "submit", "approve"):
        answer = send(caller(people["lead"], scope), method, address, make_job("awaiting_approval"))

        assert answer.status_code in (SUCCESS if scope == scope_of(method, address) else {403}), scope


@pytest.mark.parametrize(("method", "address"), OPERATIONS)
def test_nothing_is_answered_without_a_valid_token(
    people: dict[str, User], make_job: MakeJob, signed_in: SignIn, clock: Clock, method: str, address: str
) -> None:
    job, lead = make_job("awaiting_approval"), people["lead"]
    expired, revoked, left = (Caller(token_of(lead)) for _ in range(3))
    ApiToken.objects.filter(hint=expired.token[:8]).update(expires_at=clock.now)
    ApiToken.objects.filter(hint=revoked.token[:8]).update(revoked_at=clock.now)
    gone = caller(people["approver"])
    User.objects.filter(pk=people["approver"].pk).update(is_active=False)
    cookie = Caller("")
    cookie.client = signed_in(lead)
    cookie.headers = dict  # type: ignore[method-assign,assignment]

    for api in (
        Caller(""),
        Caller("tb_" + "x" * 43),
        Caller(left.token + "x"),
        Caller("é"),
        expired,
        revoked,
        gone,
        cookie,
    ):
        answer = send(api, method, address, job)

        assert (answer.status_code, answer["Content-Type"]) == (401, PROBLEM)
        assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("address", sorted({address for _, address in OPERATIONS}))
def test_other_methods_and_addresses_are_problems(owner: User, make_job: MakeJob, address: str) -> None:
    client, job = Client(), make_job("running")
    path = address.replace("{job_id}", str(job.pk)).replace("{schedule_id}", str(schedule_of(job).pk))
    headers = caller(owner).headers()
    taken = {method for method, other in OPERATIONS if other == address}

    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - taken:
        answer = client.generic(method, path, headers=headers)

        assert (answer.status_code, answer["Content-Type"]) == (405, PROBLEM)
        assert set(answer["Allow"].replace(",", " ").split()) == taken
    assert client.get(f"{path}/nothing", headers=headers)["Content-Type"] == PROBLEM


def test_a_right_ends_with_the_membership(owner: User, make_job: MakeJob) -> None:
    job, api = make_job("running"), caller(owner)
    Membership.objects.filter(user=owner).delete()

    assert api.get(f"/jobs/{job.pk}").status_code == 404


def test_too_many_requests_of_one_token_are_told_when_to_come_back(
    owner: User, teammate: User, settings: Any, clock: Clock
) -> None:
    settings.API_CALLS_PER_MINUTE = rate_limit.SHARE * 3  # each process counts for itself where there is no Redis
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    rate_limit.forget()
    api = caller(owner)

    answers = [api.get("/me") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1]["Content-Type"] == PROBLEM
    assert 0 < int(answers[-1]["Retry-After"]) <= 60
    assert caller(teammate).get("/me").status_code == 200
    clock.forward(seconds=61)
    assert api.get("/me").status_code == 200


def test_the_last_use_is_recorded_once_a_minute(owner: User, clock: Clock) -> None:
    api = caller(owner)
    used = []
    for _ in range(3):
        api.get("/me")
        used.append(ApiToken.objects.get().last_used_at)
        clock.forward(seconds=40)

    assert used == [clock.now - timedelta(seconds=120)] * 2 + [clock.now - timedelta(seconds=40)]


def test_a_fault_of_ours_is_a_problem_without_details(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("dashboard.api.reference_data.teams_of", fail)
    api = caller(owner)
    api.client.raise_request_exception = False

    answer = api.get("/teams")

    assert (answer.status_code, answer["Content-Type"]) == (500, PROBLEM)
    assert b"secret" not in answer.content
