"""Tests of findings of policy about a job."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from jobs import policy
from jobs.assessment import Assessment, Outcome, outcome_of
from jobs.cost import Estimate, Line, format_usd, round_up
from jobs.policy_rules import PolicyRules, match_rules, rules_of_limits
from jobs.spec import Finding, PersistentResource, Severity, Submission, read
from jobs.strategies import KnownResource, check

OPEN = PolicyRules(rules_of_limits(Decimal(1000)))
LINE = Line("n1-standard-4", Decimal(1), "machine", Decimal("0.25"), "vertex_training", "a price list")


def only_in(*regions: str) -> PolicyRules:
    """A policy that allows these regions; none: all."""
    return PolicyRules(rules_of_limits(Decimal(1000), None, regions))


def submission(region: str = "us-central1", **pool: Any) -> Submission:
    """Return a small job without findings, with changes of its worker pool."""
    spec = {
        "workerPoolSpecs": [
            {
                "machineSpec": {"machineType": "n1-standard-4"},
                "replicaCount": "1",
                "containerSpec": {"imageUri": "us-docker.pkg.dev/vision/train/image:1"},
                **pool,
            }
        ],
        "scheduling": {"timeout": "3600s"},
    }
    job, findings = read("custom_job", {"displayName": "train", "jobSpec": spec})
    assert job is not None, findings
    return Submission(kind="custom_job", project="vision", region=region, job=job)


def costs(usd: str | None) -> Estimate:
    """An estimate of that much."""
    amount = None if usd is None else Decimal(usd)
    line = LINE if usd is not None else replace(LINE, resource="a4x-highgpu-4g", unit_usd=None)
    return Estimate("standard", 1.0, amount, amount, amount, amount, (line,), (), None, most_usd=amount)


def decide(
    job: Submission | None = None,
    usd: str | None = "10",
    rules: PolicyRules = OPEN,
    *,
    estimate: Estimate | None = None,
    **known: Any,
) -> Assessment:
    """Assess a job that costs so much; `known` are the severities and resources of its context."""
    job, cost = job or submission(), estimate or costs(usd)
    findings = (*check(job, **known), *policy.decide(job, match_rules(rules, job, cost)).findings)
    return Assessment(job, findings, rules, cost, outcome_of(findings))


def finding(decision: Assessment, code: str) -> Finding:
    """The one finding of that code."""
    (found,) = [each for each in decision.findings if each.code == code]
    return found


class TestOutcome:
    def test_allows_a_cheap_job_that_breaks_no_rule(self) -> None:
        decision = decide()

        assert decision.outcome == "allow"
        assert not [each for each in decision.findings if each.severity is not Severity.NOTE]

    def test_refuses_what_the_rules_of_the_strategy_refuse(self) -> None:
        decision = decide(submission(replicaCount="2"))

        assert decision.outcome is Outcome.REFUSED
        assert [each for each in decision.findings if "replicaCount" in each.field]

    def test_weighs_the_rules_as_the_site_has_set_them(self) -> None:
        job = submission(replicaCount="2")
        refusing = {each.code for each in decide(job).findings if each.severity is Severity.ERROR}

        asked = decide(job, severities=dict.fromkeys(refusing, Severity.APPROVAL))
        silent = decide(job, severities=dict.fromkeys(refusing, "off"))

        assert (asked.outcome, silent.outcome) == (Outcome.NEEDS_APPROVAL, Outcome.ALLOWED)

    def test_weighs_the_persistent_resources_that_are_known(self) -> None:
        job = submission()
        on_resource = job.with_job_spec(job.job_spec.but(persistent_resource_id="night-shift"))
        stopping = PersistentResource.model_validate({"state": "STOPPING"})
        known = KnownResource("night-shift", job.project, job.region, stopping)

        decision = decide(on_resource, "0", resources=[known])

        assert decision.outcome is Outcome.REFUSED
        assert finding(decision, "resource_is_running").severity is Severity.ERROR

    def test_refusing_outweighs_asking(self) -> None:
        assert decide(submission(replicaCount="2"), usd=None).outcome is Outcome.REFUSED

    def test_keeps_every_finding_not_only_the_worst(self) -> None:
        decision = decide(submission("europe-west4", replicaCount="2"), None, only_in("us-central1"))

        codes = {each.code for each in decision.findings}
        assert "region_not_allowed" in codes
        assert len(codes) > 1


class TestCost:
    @pytest.mark.parametrize(
        ("usd", "outcome"),
        [("0", "allow"), ("100", "allow"), ("100.01", "ask"), ("500", "ask"), ("500.01", "refuse")],
    )
    def test_is_weighed_against_both_limits(self, usd: str, outcome: str) -> None:
        rules = PolicyRules(rules_of_limits(Decimal(100), Decimal(500)))

        assert decide(usd=usd, rules=rules).outcome == outcome

    def test_without_an_upper_limit_is_never_refused(self) -> None:
        assert decide(usd="999999999").outcome is Outcome.NEEDS_APPROVAL

    def test_over_the_asking_limit_is_said_in_plain_words(self) -> None:
        found = finding(decide(usd="12345.678"), "over_ask_limit")

        assert found.message == "Expected $12,345.68. Your team's limit without approval is $1,000.00."
        assert (found.severity, found.field) == (Severity.APPROVAL, "")

    @pytest.mark.parametrize(
        ("has_timeout", "hours", "words"),
        [
            (True, 8.0, "at most $2,500.00: Google allows up to 7 runs of up to 8 hours each."),
            (False, 168.0, "at most $2,500.00: without a timeout, Google allows up to 7 runs of up to 7 days each."),
        ],
    )
    def test_names_the_runs_that_may_cost_the_most_and_a_shorter_timeout(
        self, has_timeout: bool, hours: float, words: str
    ) -> None:
        most = {"most_usd": Decimal(2500), "attempts": 7, "timeout_hours": hours, "has_timeout": has_timeout}

        found = finding(decide(estimate=replace(costs("20"), **most)), "over_ask_limit")

        assert f"Expected $20.00, {words}" in found.message
        gone = Decimal(1) / 24  # 150 seconds until the machines are gone
        usd = Decimal(2500) * (2 + gone) / (Decimal(hours) + gone)
        assert found.remedy == (
            "Set a shorter timeout: the longest time that a run may take. "
            f"With a timeout of 2 hours it is at most {format_usd(round_up(usd))}."
        )

    def test_suggests_no_shorter_timeout_that_would_not_help(self) -> None:
        dear = replace(costs("2000"), most_usd=Decimal(9000), attempts=4, timeout_hours=2.0)

        assert finding(decide(estimate=dear), "over_ask_limit").remedy == ""

    def test_over_the_refusing_limit_says_what_to_do(self) -> None:
        rules = PolicyRules(rules_of_limits(Decimal(1000), Decimal(5)))

        found = finding(decide(rules=rules), "over_refuse_limit")

        assert "The team refuses jobs over $5.00." in found.message
        assert "another strategy" in found.remedy

    def test_that_is_unknown_asks_and_names_the_missing_price(self) -> None:
        found = finding(decide(usd=None), "cost_unknown")

        assert found.severity is Severity.APPROVAL
        assert "No price is known for a4x-highgpu-4g." in found.message

    def test_without_end_asks_and_says_why(self) -> None:
        endless = replace(costs("1"), expected_usd=None, high_usd=None)

        message = finding(decide(estimate=endless), "cost_unknown").message

        assert "it might never finish" in message


class TestRegion:
    @pytest.mark.parametrize(
        ("allowed", "region", "outcome"),
        [
            ((), "europe-west4", "allow"),
            (("europe-west4", "us-central1"), "europe-west4", "allow"),
            (("us-central1",), "europe-west4", "refuse"),
        ],
    )
    def test_must_be_one_of_the_team(self, allowed: tuple[str, ...], region: str, outcome: str) -> None:
        assert decide(submission(region), rules=only_in(*allowed)).outcome == outcome

    def test_refused_names_those_that_may_be_used(self) -> None:
        decision = decide(submission("europe-west4"), rules=only_in("us-central1", "us-east4"))

        found = finding(decision, "region_not_allowed")
        assert found.message == "The team may not use europe-west4."
        assert found.remedy == "Choose one of us-central1, us-east4."
