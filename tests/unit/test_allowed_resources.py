"""Tests of findings about what a team may use of Google Cloud."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from jobs import spec
from jobs.allowed_resources import Allowed, check
from jobs.assessment import Context, Outcome, assess
from jobs.policy_rules import PolicyRules, rules_of_limits
from tests.support import samples

PROJECT = "vision-research"
ACCOUNT = "train@vision-research.iam.gserviceaccount.com"
KINDS = {
    "custom_job": lambda job_spec: {"jobSpec": job_spec},
    "hyperparameter_tuning_job": lambda job_spec: samples.tuning_job() | {"trialJobSpec": job_spec},
    "training_pipeline": lambda job_spec: samples.pipeline() | {"trainingTaskInputs": job_spec},
}


def submission(kind: str = "custom_job", project: str = PROJECT, **fields: Any) -> spec.Submission:
    """A job of a kind with further fields of its CustomJobSpec."""
    wrap: Callable[[dict[str, Any]], dict[str, Any]] = KINDS[kind]
    job_spec = samples.body()["jobSpec"] | fields
    job, findings = spec.read(kind, {"displayName": "resnet"} | wrap(job_spec))
    assert job is not None, findings
    return spec.Submission(kind=kind, project=project, region="us-central1", job=job)


def codes(asked: spec.Submission, **allowed: set[str]) -> list[str]:
    names = {"projects": {PROJECT}} | allowed
    return [finding.code for finding in check(asked, Allowed(**{key: frozenset(each) for key, each in names.items()}))]


@pytest.mark.parametrize("kind", KINDS)
class TestEachKind:
    def test_an_account_that_is_not_listed_is_an_error(self, kind: str) -> None:
        assert codes(submission(kind, serviceAccount=ACCOUNT), service_accounts={"other@x"}) == [
            "service_account_not_allowed"
        ]
        assert codes(submission(kind, serviceAccount=ACCOUNT), service_accounts={ACCOUNT}) == []

    def test_a_bucket_that_is_not_listed_is_an_error(self, kind: str) -> None:
        asked = submission(kind, baseOutputDirectory={"outputUriPrefix": "gs://vision-training/a/b"})

        assert codes(asked, buckets={"vision-train"}) == ["bucket_not_allowed"]
        assert codes(asked, buckets={"vision-training"}) == []


def test_nothing_listed_allows_every_bucket_and_account() -> None:
    asked = submission(serviceAccount=ACCOUNT, baseOutputDirectory={"outputUriPrefix": "gs://anything/"})

    assert codes(asked) == []


def test_a_job_without_account_and_bucket_needs_none() -> None:
    assert codes(submission(), buckets={"a"}, service_accounts={ACCOUNT}) == []


def test_another_project_is_an_error_whatever_else_is_allowed() -> None:
    assert codes(submission(project="speech-research")) == ["project_not_allowed"]
    assert codes(submission(project="speech-research"), projects={PROJECT, "speech-research"}) == []


def test_assess_refuses_it() -> None:
    policy = PolicyRules(rules_of_limits(Decimal(10**6)))
    asked, hour = submission(project="speech-research"), timedelta(hours=1)

    refused = assess(asked, Context(policy=policy, allowed=Allowed(frozenset({PROJECT}))), expected=hour)
    free = assess(asked, Context(policy=policy), expected=hour)

    assert refused.outcome is Outcome.REFUSED
    assert {finding.code for finding in refused.errors} - {finding.code for finding in free.errors} == {
        "project_not_allowed"
    }
