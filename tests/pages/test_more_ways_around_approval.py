"""Tests of further ways to bypass an approval: through people, votes, copies and later changes."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from jobs.models import Approval, Deputy, Job, Membership, Policy, Team
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, save_policy
from jobs.upkeep import watch_approvals
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
Way = Callable[..., None]


@pytest.fixture
def lead(team: Team) -> User:
    return person("lena", team, "lead")


@pytest.fixture
def asked(make_job: MakeJob, team: Team, lead: User, approver: User, clock: Clock) -> Job:
    """A job that needs two approvals, within two days."""
    save_policy(
        team, [Rule(outcome="ask", cost_over="1", approvals=2)], Terms(expire_hours=48),
        base=0, by=lead, note="", now=clock.now,
    )  # fmt: skip
    return make_job("awaiting_approval", of=Team.objects.get(pk=team.pk))  # with its policy of now


def approve(client: Client, job: Job, **more: Any) -> Any:
    return client.post(f"/jobs/{job.pk}/decide/", {"decision": "approve"} | more)


def waits(job: Job) -> bool:
    return bool(Job.objects.get(pk=job.pk).state == "awaiting_approval")


def test_one_person_in_two_tabs(asked: Job, approver: User, signed_in: SignIn) -> None:
    for client in (signed_in(approver), signed_in(approver)):
        approve(client, asked)

    assert waits(asked)


def test_a_form_that_is_sent_again_after_the_question_changed(
    asked: Job, approver: User, lead: User, signed_in: SignIn
) -> None:
    page = signed_in(approver).get("/approvals/").content.decode()
    form = dict(re.findall(r'name="(amount|digest)" value="([^"]*)"', page))
    assert set(form) == {"amount", "digest"}
    Approval.objects.filter(job=asked).update(digest="0" * 64, votes_needed=1)

    approve(signed_in(approver), asked, **form)

    assert waits(asked)


@pytest.mark.parametrize("role", ["viewer", "engineer"])
def test_an_approver_who_is_one_no_more(asked: Job, approver: User, lead: User, signed_in: SignIn, role: str) -> None:
    client = signed_in(approver)
    approve(client, asked)
    Membership.objects.filter(user=approver).update(role=role)

    approve(signed_in(lead), asked)

    assert waits(asked)


def test_a_removed_member_and_a_deactivated_user(asked: Job, approver: User, lead: User, signed_in: SignIn) -> None:
    browser, other = signed_in(approver), signed_in(lead)
    approve(browser, asked)
    Membership.objects.filter(user=approver).delete()
    User.objects.filter(pk=lead.pk).update(is_active=False)

    assert approve(browser, asked).status_code == 404
    approve(other, asked)

    assert waits(asked)


def test_a_deputy_of_oneself_or_of_the_requester(
    asked: Job, make_job: MakeJob, approver: User, owner: User, lead: User, signed_in: SignIn, clock: Clock
) -> None:
    Membership.objects.filter(user=owner).update(role="lead")
    day = clock.now.date()
    signed_in(owner).post("/deputies/", {"deputy_name": "owner", "first_day": str(day), "last_day": str(day)})
    third = person("third", asked.team, "engineer")
    days = {"first_day": day, "last_day": day + timedelta(days=1), "named_at": clock.now}
    Deputy.objects.create(person=owner, deputy=third, **days)
    Deputy.objects.create(person=approver, deputy=owner, **days)

    for by in (owner, third):
        approve(signed_in(by), asked)

    assert Deputy.objects.filter(person=owner, deputy=owner).count() == 0
    assert asked.votes.count() == 0


def test_one_person_as_themselves_and_as_a_deputy(
    asked: Job, approver: User, lead: User, signed_in: SignIn, clock: Clock
) -> None:
    day = clock.now.date()
    Deputy.objects.create(person=lead, deputy=approver, first_day=day, last_day=day, named_at=clock.now)

    for _ in range(2):
        approve(signed_in(approver), asked)

    assert waits(asked)
    assert asked.votes.count() == 1


def test_an_approval_that_comes_after_the_request_expired(
    asked: Job, approver: User, lead: User, signed_in: SignIn, clock: Clock
) -> None:
    approve(signed_in(approver), asked)
    watch_approvals(clock.forward(hours=49))

    approve(signed_in(lead), asked)

    assert Job.objects.get().state == "withdrawn"


def test_approving_several_does_not_count_more(asked: Job, approver: User, signed_in: SignIn) -> None:
    client = signed_in(approver)
    approve(client, asked)

    amount = {f"amount-{asked.pk}": str(asked.max_usd)}
    client.post("/jobs/several/", {"action": "approve", "job": [str(asked.pk)] * 2} | amount)

    assert waits(asked)


def test_running_an_approved_job_again(asked: Job, approver: User, lead: User, owner: User, signed_in: SignIn) -> None:
    for by in (approver, lead):
        approve(signed_in(by), asked)
    assert not waits(asked)
    Job.objects.filter(pk=asked.pk).update(spec=asked.spec)

    signed_in(owner).post(f"/jobs/{asked.pk}/cancel/")
    signed_in(owner).post("/jobs/several/", {"action": "rerun", "job": [str(asked.pk)], "key": "again"})

    (copy,) = Job.objects.exclude(pk=asked.pk)
    assert waits(copy)


def test_a_policy_that_an_engineer_or_approver_writes(
    asked: Job, approver: User, owner: User, signed_in: SignIn
) -> None:
    form = {"rule-TOTAL_FORMS": "0", "rule-INITIAL_FORMS": "0", "base": "1", "action": "save"}
    terms = {"drift_percent": "0", "remind_hours": "0", "expire_hours": "0"}

    for by in (owner, approver):
        assert signed_in(by).post("/policy/", form | terms).status_code == 403

    assert Policy.objects.get(team=asked.team).current.number == 1


def test_limits_in_the_admin_site_beside_saved_rules(
    asked: Job, admin: User, make_job: MakeJob, signed_in: SignIn
) -> None:
    policy = Policy.objects.get(team=asked.team)
    values = {"team": asked.team.pk, "ask_over_usd": "99999", "refuse_over_usd": "", "regions": "[]"}

    signed_in(admin).post(f"/admin/jobs/policy/{policy.pk}/change/", values)

    policy.refresh_from_db()
    assert policy.ask_over_usd == 4
    assert waits(make_job("awaiting_approval", name="another", of=Team.objects.get(pk=asked.team.pk)))


def test_rows_of_the_admin_site(asked: Job, admin: User, signed_in: SignIn) -> None:
    client = signed_in(admin)

    for model in ("vote", "approval", "policyversion"):
        assert client.get(f"/admin/jobs/{model}/add/").status_code in (403, 404)
    client.post(f"/admin/jobs/job/{asked.pk}/change/", {"state": "approved"})

    assert waits(asked)


def test_the_command_line_as_a_viewer_or_somebody_who_left(team: Team, teammate: User, tmp_path: Any) -> None:
    path = tmp_path / "job.json"
    path.write_text('{"displayName": "x", "jobSpec": {"workerPoolSpecs": []}}')

    for change in (lambda rows: rows.update(role="viewer"), lambda rows: rows.delete()):
        change(Membership.objects.filter(user=teammate))
        with pytest.raises((CommandError, SystemExit)):
            call_command("jobspec", "submit", str(path), "--as", "teammate", "--team", team.name, "--hours", "1")

    assert not Job.objects.exists()
