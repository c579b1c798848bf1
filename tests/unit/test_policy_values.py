"""Tests of values that policy sets: filled in if the job lacks them, never overwriting typed values."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from jobs.policy import Filled, fill
from jobs.policy_rules import PolicyRules, Rule, match_rules
from jobs.policy_words import describe
from jobs.spec import Severity, Submission
from tests.support import samples
from tests.unit.test_policy_rules import JOB, costs

KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
ALL = Rule(
    outcome="set", set_labels=["billed-to=ml"], set_service_account="trainer@p.iam.gserviceaccount.com",
    set_network="projects/1/global/networks/train", set_encryption_key=KEY, set_timeout_hours="24",
)  # fmt: skip
KINDS = ["custom_job", "hyperparameter_tuning_job", "training_pipeline"]


def filled(submission: Submission, *rules: Rule, usd: str = "10") -> Filled:
    return fill(submission, match_rules(PolicyRules(rules, version=7), submission, costs(usd)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_job_is_given_what_it_lacks(kind: str) -> None:
    found = filled(samples.submission(kind=kind, scheduling={"timeout": None}), ALL)

    job, spec = found.submission.job, found.submission.job_spec
    assert job.labels["billed-to"] == "ml"
    assert job.encryption_spec is not None
    assert job.encryption_spec.kms_key_name == KEY
    assert (spec.service_account, spec.network) == (ALL.set_service_account, ALL.set_network)
    assert spec.scheduling.timeout == timedelta(hours=24)
    assert {each.severity for each in found.findings} == {Severity.NOTE}
    assert "sets the label billed-to to ml, as the job has none. (Policy 7, rule 1.)" in found.findings[0].message
    assert found.findings[1].field.endswith("serviceAccount")


def test_what_was_typed_stays() -> None:
    typed = filled(JOB, ALL).submission
    other = Rule(outcome="set", set_labels=["billed-to=sales"], set_timeout_hours="1", set_network="other")

    assert filled(typed, other) == Filled(typed)


def test_another_value_is_refused_where_the_rule_says_so() -> None:
    typed = filled(JOB, Rule(outcome="set", set_labels=["billed-to=ml"])).submission
    (found,) = filled(typed, Rule(outcome="set", set_labels=["billed-to=sales"], must=True)).findings

    assert found.severity is Severity.ERROR
    assert found.message.startswith("The job has ml as the label billed-to; the policy of the team allows sales only")
    assert filled(typed, Rule(outcome="set", set_labels=["billed-to=ml"], must=True)).findings == ()


def test_a_label_without_a_value_was_typed_too() -> None:
    typed = filled(JOB, Rule(outcome="set", set_labels=["billed-to="])).submission

    assert filled(typed, Rule(outcome="set", set_labels=["billed-to=ml"])) == Filled(typed)
    assert filled(typed, Rule(outcome="set", set_labels=["billed-to=ml"], must=True)).findings


def test_the_first_rule_that_sets_a_value_counts() -> None:
    first, second = (Rule(outcome="set", set_labels=[f"billed-to={name}"], must=True) for name in ("ml", "sales"))
    found = filled(JOB, first, second)

    assert found.submission.job.labels["billed-to"] == "ml"
    assert len(found.findings) == 1


def test_conditions_hold_as_for_other_rules() -> None:
    dear = Rule(outcome="set", set_labels=["tier=dear"], cost_over="9")
    cheap = Rule(outcome="set", set_labels=["tier=cheap"])

    assert filled(JOB, dear, cheap).submission.job.labels["tier"] == "dear"
    assert filled(JOB, dear, cheap, usd="5").submission.job.labels["tier"] == "cheap"


@pytest.mark.parametrize(
    "bad",
    [{"set_labels": ["Cost=1"]}, {"set_labels": ["cost"]}, {"set_labels": ["a=B"]}, {"set_timeout_hours": "0"},
     {"set_timeout_hours": "NaN"}, {"set_labels": ["a=b\n"]}],
)  # fmt: skip
def test_what_no_job_may_carry_is_no_rule(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Rule.model_validate({"outcome": "set"} | bad)


def test_it_reads_as_a_sentence() -> None:
    rule = Rule(outcome="set", set_labels=["billed-to=ml"], set_timeout_hours=Decimal(24), must=True, gpus_over=0)

    assert describe(rule) == (
        "Set the label billed-to=ml, a timeout of 24 h, and refuse other values, if a job has over 0 accelerators"
    )
