"""Tests of ways to send an expensive job without an approval: each has to end at an approver or be refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from jobs.models import Draft, Job, Membership, Policy, Role, Team, Template
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_of
from tests.support import samples

pytestmark = pytest.mark.django_db
WEEK = "604800s"
DEAR = {"machineType": "a2-highgpu-8g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 8}


@pytest.fixture(autouse=True)
def _five_dollars(team: Team) -> None:
    Policy.objects.filter(team=team).update(ask_over_usd=5)


Post = Callable[..., Any]


@pytest.fixture
def post(engineer: Client, example: dict[str, str]) -> Post:
    """Post the example with changes, as a browser would, expected to run for a minute; return the answer."""

    def send(**changes: str) -> Any:
        return engineer.post("/jobs/new/", example | {"run_time": "1 min"} | changes)

    return send


def nothing_was_sent_unasked() -> None:
    """Every job that was made waits for an approver, or cannot cost more than the limit."""
    for job in Job.objects.all():
        assert job.state == "awaiting_approval" or (job.max_usd is not None and job.max_usd <= 5), job.max_usd


def test_a_short_job_with_a_short_timeout_needs_no_approval(post: Post) -> None:
    post(timeout="10 min")

    assert Job.objects.get().state == "approved"


@pytest.mark.parametrize(
    "changes",
    [
        {"timeout": ""},
        {"timeout": "7 d"},
        {"timeout": "0 s"},
        {"timeout": "-1 h"},
        {"timeout": "100000 d"},
        {"timeout": "604799.999999999 s"},
        {"timeout": "1e9 s"},
        {"timeout": "10 min", "pool-0-replicas": "900000000"},
        {"timeout": "10 min", "pool-0-replicas": "-1"},
        {"timeout": "10 min", "run_time": "-5 h"},
        {"timeout": "", "run_time": "0 s"},
        {"timeout": "10 d", "run_time": "1e-9 h"},
        {"timeout": "10 min", "region": "me-central2"},
        {"timeout": "", "strategy": "standard"},
        {"timeout": "", "strategy": "reservation"},
        {"timeout": "", "strategy": "flex_start", "max_wait": "0 s"},
        {"timeout": "", "disable_retries": "on", "restart": "on"},
    ],
    ids=str,
)
def test_no_value_of_the_form_makes_a_dear_job_cheap(post: Post, changes: dict[str, str]) -> None:
    answer = post(**changes)

    assert answer.status_code in (302, 422)
    assert Job.objects.exists() == (answer.status_code == 302)
    nothing_was_sent_unasked()
    if answer.status_code == 302:
        assert Job.objects.get().state == "awaiting_approval"


def test_the_page_says_what_is_weighed_and_what_helps(engineer: Client, example: dict[str, str]) -> None:
    answer = engineer.post("/jobs/new/check/", example | {"run_time": "1 min", "timeout": "7 d"})

    page = text_of(answer)
    assert "on which the approval depends" in page
    assert "Google allows up to 7 runs of up to 7 days each" in page
    assert "Set a shorter timeout" in page


def test_many_trials_count_each(engineer: Client, team: Team, owner: User) -> None:
    for parallel in (1, 500):
        body = samples.tuning_job(trials=500, parallel=parallel, scheduling={"timeout": "900s"})
        _submit(body, owner, team)

    assert set(Job.objects.values_list("state", flat=True)) == {"awaiting_approval"}


def _submit(body: dict[str, Any], by: User, team: Team, *, hours: str = "0.01", key: str = "") -> int:
    path = Path(_submit.folder) / f"{Job.objects.count()}.json"  # type: ignore[attr-defined]
    path.write_text(json.dumps(body))
    where = [str(path), "--as", by.get_username(), "--team", team.name, "--hours", hours, "--region", "us-central1"]
    try:
        call_command("jobspec", "submit", *where, *(["--request-key", key] if key else []))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> None:
    _submit.folder = tmp_path  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "body",
    [
        samples.body(scheduling={"timeout": WEEK}),
        samples.body(scheduling={"timeout": "0s"}),
        samples.body(scheduling={"timeout": None}),
        samples.body(scheduling={"timeout": "9999999999s"}),
        samples.body(scheduling={"timeout": "604799.5s"}),
        samples.body(scheduling={"timeout": "900s"}, extra_replicas=2_000_000),
        samples.body(scheduling={"timeout": WEEK, "disableRetries": True}),
        samples.body(scheduling={"timeout": WEEK, "restartJobOnWorkerRestart": True}),
        samples.body(scheduling={"timeout": WEEK, "strategy": "STANDARD"}, machine=DEAR),
        samples.pipeline(scheduling={"timeout": WEEK}),
        samples.body(scheduling={"timeout": WEEK}) | {"unknownField": 1},
        samples.body(scheduling={"timeout": WEEK}) | {"state": "JOB_STATE_RUNNING", "name": "x"},
    ],
    ids=range(12),
)
def test_the_command_line_asks_as_the_form_does(team: Team, owner: User, body: dict[str, Any]) -> None:
    _submit(body, owner, team)

    nothing_was_sent_unasked()
    assert Job.objects.filter(state="approved").count() == 0


@pytest.mark.parametrize("hours", ["-1", "0", "nan", "1e-12", "1e9"])
def test_no_run_time_of_the_command_line_makes_it_cheap(team: Team, owner: User, hours: str) -> None:
    from django.core.management.base import CommandError

    try:
        _submit(samples.body(scheduling={"timeout": WEEK}), owner, team, hours=hours)
    except CommandError:
        assert not Job.objects.exists()
    nothing_was_sent_unasked()


def test_a_used_request_key_brings_back_the_first_job(post: Post, example: dict[str, str]) -> None:
    post(timeout="10 min")

    post(timeout="7 d", **{"pool-0-replicas": "50"})

    job = Job.objects.get()
    assert job.spec["jobSpec"]["scheduling"]["timeout"] == "600s"


def test_an_imported_body_is_judged_when_it_is_requested(engineer: Client, team: Team) -> None:
    text = json.dumps(samples.body(scheduling={"timeout": WEEK}))
    page = engineer.post("/jobs/import/", {"text": text, "team": team.pk, "run_time": "1 min"})
    assert "limit without approval" in text_of(page)

    form = fields_of(engineer.get(f"/jobs/new/?draft={Draft.objects.get().pk}").content.decode())
    engineer.post("/jobs/new/", form | {"run_time": "1 min"})

    assert Job.objects.get().state == "awaiting_approval"


def test_a_copy_of_an_approved_job_is_judged_anew(
    engineer: Client, make_job: MakeJob, signed_in: SignIn, approver: User
) -> None:
    job = make_job("awaiting_approval")
    signed_in(approver).post(f"/jobs/{job.pk}/decide/", {"decision": "approve"})
    form = fields_of(engineer.get(f"/jobs/new/?job={job.pk}").content.decode())

    engineer.post("/jobs/new/", form | {"run_time": "1 min"})

    assert set(Job.objects.exclude(pk=job.pk).values_list("state", flat=True)) == {"awaiting_approval"}


def test_a_template_is_judged_anew(engineer: Client, make_job: MakeJob) -> None:
    job = make_job("awaiting_approval")
    engineer.post(f"/jobs/{job.pk}/template/", {"name": "nightly"})
    form = fields_of(engineer.get(f"/jobs/new/?template={Template.objects.get().pk}").content.decode())

    engineer.post("/jobs/new/", form | {"run_time": "1 min"})

    assert set(Job.objects.exclude(pk=job.pk).values_list("state", flat=True)) == {"awaiting_approval"}


@pytest.mark.parametrize("role", [Role.APPROVER, Role.LEAD])
def test_a_second_role_approves_no_own_job(
    engineer: Client, make_job: MakeJob, owner: User, team: Team, role: str
) -> None:
    job = make_job("awaiting_approval")
    Membership.objects.filter(team=team, user=owner).update(role=role)

    engineer.post(f"/jobs/{job.pk}/decide/", {"decision": "approve"})

    job.refresh_from_db()
    assert job.state == "awaiting_approval"


def test_a_persistent_resource_that_nobody_knows_is_no_way_to_free_machines(team: Team, owner: User) -> None:
    """The run costs nothing beside the resource; with a strategy that buys machines it is refused."""
    body = samples.body(resource="night-shift", scheduling={"timeout": WEEK})
    body["jobSpec"]["scheduling"]["strategy"] = "SPOT"

    assert _submit(body, owner, team) == 1
    assert not Job.objects.exists()


def test_an_approval_of_an_amount_that_has_changed_meanwhile_counts_for_nothing(
    make_job: MakeJob, approver: User, signed_in: SignIn
) -> None:
    job = make_job("awaiting_approval")
    browser = signed_in(approver)
    assert f'name="amount" value="{job.max_usd}"' in browser.get("/approvals/").content.decode()
    shown = str(job.max_usd)
    Job.objects.filter(pk=job.pk).update(max_usd=job.max_usd + 1000)

    browser.post(f"/jobs/{job.pk}/decide/", {"decision": "approve", "amount": shown})
    assert Job.objects.get(pk=job.pk).state == "awaiting_approval"

    browser.post(f"/jobs/{job.pk}/decide/", {"decision": "approve", "amount": f"{job.max_usd + 1000}"})
    assert Job.objects.get(pk=job.pk).state == "approved"


def test_nobody_else_sees_the_amounts(make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
    job = make_job("awaiting_approval")

    assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404
    assert job.display_name not in signed_in(stranger).get("/approvals/").content.decode()
