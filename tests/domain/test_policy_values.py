"""Tests of values that policy sets in a request: in body, digest and budgets, and never after the request."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import requests, steps
from jobs.budget import Passing
from jobs.budgets import BudgetValues, create_budget
from jobs.errors import NotAllowed
from jobs.models import Job, Team
from jobs.policy_rules import Rule
from jobs.requests.policy_test import try_policy
from jobs.requests.policy_versions import Terms, current_version, save_policy
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
BILLED = Rule(outcome="set", set_labels=["billed-to=ml"])


def save(team: Team, by: User, clock: Clock, *rules: Rule) -> None:
    version = current_version(team)
    base = version.number if version is not None else 0
    save_policy(team, rules, Terms(), base=base, by=by, note="", now=clock.now)


def test_it_is_part_of_what_is_asked_for(request_job: RequestJob, team: Team, lead: User, clock: Clock) -> None:
    plain = request_job()
    save(team, lead, clock, BILLED)

    job = request_job()

    assert job.spec["labels"]["billed-to"] == "ml"
    assert job.spec_digest == requests.submission_of(job).digest != plain.spec_digest
    findings = job.events.get(kind="judged").detail["findings"]
    assert "policy_sets_labels_billed-to" in [each["code"] for each in findings]
    assert requests.is_request_of(job, requests.submission_of(plain), None, None), (
        "what was asked for had no such label"
    )


def test_a_timeout_that_is_set_is_what_the_job_is_judged_by(
    request_job: RequestJob, team: Team, lead: User, clock: Clock
) -> None:
    save(team, lead, clock, Rule(outcome="set", set_timeout_hours="2"), Rule(outcome="ask", cost_over="50"))

    job = request_job(scheduling={"timeout": None})

    assert job.spec["jobSpec"]["scheduling"]["timeout"] == "7200s"
    assert job.state == "approved"


def test_budgets_of_a_label_that_is_set_count(request_job: RequestJob, team: Team, lead: User, clock: Clock) -> None:
    create_budget(
        team, BudgetValues("nothing", Decimal(0), Passing.STOP, (100,)), dimension="label", value="billed-to=ml",
        by=lead, reason="test", now=clock.now,
    )  # fmt: skip
    assert request_job().state == "approved"
    save(team, lead, clock, BILLED)

    with pytest.raises(NotAllowed, match="nothing"):
        request_job()


def test_another_value_is_refused_where_policy_says_so(
    request_job: RequestJob, team: Team, lead: User, clock: Clock
) -> None:
    save(team, lead, clock, Rule(outcome="set", set_labels=["billed-to=ml"], must=True, words="Ask finance."))

    with pytest.raises(NotAllowed, match="allows ml only"):
        request_job(labels={"billed-to": "sales"})
    assert not Job.objects.exists()


def test_what_policy_sets_later_changes_no_job_that_was_requested(
    request_job: RequestJob, team: Team, lead: User, clock: Clock, cloud: Cloud
) -> None:
    job = request_job(scheduling={"timeout": "14400s"})
    before: dict[str, Any] = job.spec
    save(team, lead, clock, BILLED)

    steps.advance(job.pk, clock=cloud.clock)

    job.refresh_from_db()
    assert job.state == "queued" or job.remote_name
    assert job.spec == before


def test_a_test_on_past_jobs_counts_conflicts(request_job: RequestJob, team: Team, lead: User, clock: Clock) -> None:
    request_job(labels={"billed-to": "sales"})
    strict = Rule(outcome="set", set_labels=["billed-to=ml"], must=True)

    assert try_policy(Team.objects.get(pk=team.pk), [strict]).after["refused"] == 1
    assert try_policy(Team.objects.get(pk=team.pk), [BILLED]).after["refused"] == 0
