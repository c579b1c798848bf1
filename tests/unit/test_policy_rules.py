"""Tests of policy rules: what matches, which rule decides, and that old limits and their replacements agree."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from jobs import policy
from jobs.budget import BudgetLeft
from jobs.cost import Estimate
from jobs.policy import Decision
from jobs.policy_rules import RULES, PolicyRules, Rule, accelerators_of, match_rules, rules_of_limits
from jobs.policy_words import describe
from jobs.spec import Severity, Submission
from tests.support import samples
from tests.unit.test_policy import costs

JOB = samples.submission(name="train", labels={"team": "vision", "cost-center": "7"}, replicas=1)
NOVEMBER = date(2026, 11, 1)


def policy_of(*rules: Rule) -> PolicyRules:
    return PolicyRules(rules, version=7)


def decide(job: Submission, estimate: Estimate, rules: PolicyRules, **known: Any) -> Decision:
    """Return the policy's decision about a job."""
    return policy.decide(job, match_rules(rules, job, estimate, **known))


def outcome(rule: Rule, estimate: Estimate | None = None, **known: Any) -> bool:
    """Return whether a rule that refuses matches."""
    found = decide(JOB, estimate or costs("10"), policy_of(rule), **known).findings
    return [each.severity for each in found] == [Severity.ERROR]


class TestConditions:
    @pytest.mark.parametrize(
        ("conditions", "is_met"),
        [
            ({}, True),
            ({"cost_over": "9.99"}, True),
            ({"cost_over": "10"}, False),
            ({"cost_unknown": True}, False),
            ({"gpus_over": 0}, True),
            ({"gpus_over": 1}, False),
            ({"gpu_types": ["NVIDIA_TESLA_A100"]}, True),
            ({"gpu_types": ["NVIDIA_H100_80GB"]}, False),
            ({"strategies": ["spot"]}, True),
            ({"strategies": ["standard", "flex_start"]}, False),
            ({"kinds": ["custom_job"]}, True),
            ({"kinds": ["training_pipeline"]}, False),
            ({"regions": ["us-central1"]}, True),
            ({"regions": ["us-central1"], "in_other_regions": True}, False),
            ({"regions": ["europe-west4"], "in_other_regions": True}, True),
            ({"hours_over": "0.5"}, True),
            ({"hours_over": "1"}, False),
            ({"labels": ["team"]}, True),
            ({"labels": ["team=speech"]}, False),
            ({"labels": ["team=speech", "cost-center=7"]}, True),
            ({"submitters": ["mara"]}, True),
            ({"submitters": ["lena"]}, False),
            ({"strategies": ["spot"], "cost_over": "11"}, False),
        ],
        ids=str,
    )
    def test_all_have_to_hold(self, conditions: dict[str, Any], is_met: bool) -> None:
        assert outcome(Rule(outcome="refuse", **conditions), submitter="mara") is is_met

    def test_count_the_chips_of_a_topology(self) -> None:
        machine = {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "16x16"}

        assert accelerators_of(samples.submission(machine=machine))[1] == 256

    def test_count_the_accelerators_of_a_sweep_and_of_trials_together(self) -> None:
        rule = Rule(outcome="refuse", gpus_over=9)

        assert not outcome(rule)
        assert outcome(rule, jobs=10)

    @pytest.mark.parametrize(("basis", "is_met"), [("low", False), ("expected", False), ("high", True), ("most", True)])
    def test_compare_the_amount_that_the_rule_names(self, basis: str, is_met: bool) -> None:
        estimate = replace(costs("20"), low_usd=Decimal(10), high_usd=Decimal(30), most_usd=Decimal(40))

        assert outcome(Rule(outcome="refuse", cost_basis=basis, cost_over="20"), estimate) is is_met

    def test_an_amount_that_is_not_known_is_at_least_what_is(self) -> None:
        endless = replace(costs("20"), high_usd=None, most_usd=None)

        assert outcome(Rule(outcome="refuse", cost_over="19"), endless)
        assert not outcome(Rule(outcome="refuse", cost_over="21"), endless)

    def test_compare_what_a_budget_has_left_after_the_job(self) -> None:
        rule = Rule(outcome="refuse", budget_left_under="100")
        budget = BudgetLeft("training", NOVEMBER, Decimal(200), Decimal(50), Decimal(40))

        assert not outcome(rule, budgets=(budget,))
        assert outcome(rule, costs("10.01"), budgets=(budget,))
        assert outcome(rule, costs(None), budgets=(budget,))
        assert not outcome(rule)


class TestOrder:
    def test_the_first_rule_that_matches_decides(self) -> None:
        rules = Rule(outcome="allow", submitters=["mara"]), Rule(outcome="refuse", cost_over="5")

        assert decide(JOB, costs("10"), policy_of(*rules), submitter="mara").findings == ()
        assert decide(JOB, costs("10"), policy_of(*rules), submitter="ilya").number == 2

    def test_the_finding_names_version_and_rule_and_says_the_lead_s_words(self) -> None:
        rules = (
            Rule(outcome="allow", cost_over="99"),
            Rule(outcome="ask", gpus_over=0, approvals=2, role="lead", words="Why?"),
        )

        (found,) = decide(JOB, costs("10"), policy_of(*rules)).findings

        assert found.severity is Severity.APPROVAL
        assert found.message.startswith("Why? The policy says: Ask 2 leads if a job has over 0 accelerators.")
        assert "(Policy 7, rule 2.) Decided by 2 leads." in found.message

    def test_what_is_required_counts_wherever_it_stands(self) -> None:
        rules = Rule(outcome="allow"), Rule(outcome="require", require_labels=["owner", "team"], require_network=True)

        found = decide(JOB, costs("10"), policy_of(*rules)).findings

        assert [(each.code, each.field) for each in found] == [
            ("policy_requires_labels", "labels"),
            ("policy_requires_network", "jobSpec.network"),
        ]
        assert "lacks these labels: owner" in found[0].message

    def test_a_judgement_keeps_version_rule_and_figures(self) -> None:
        kept = decide(JOB, costs("10"), policy_of(Rule(outcome="ask", cost_over="5", approvals=2))).as_dict()

        assert (kept["version"], kept["rule"], kept["needs"]["approvals"]) == (7, 1, 2)
        assert (kept["figures"]["most_usd"], kept["figures"]["gpus"]) == ("10", 1)

    def test_the_limit_is_the_least_amount_that_asks_about_a_job_like_this(self) -> None:
        rules = (
            Rule(outcome="ask", cost_over="3", strategies=["standard"]),
            Rule(outcome="ask", cost_over="70"),
            Rule(outcome="ask", cost_over="50", strategies=["spot"]),
        )

        assert decide(JOB, costs("10"), policy_of(*rules)).limit_usd == 50
        assert decide(JOB, costs("10"), policy_of(Rule(outcome="allow"))).limit_usd is None


AMOUNTS = st.none() | st.decimals(0, 1000, places=2)
REGIONS = st.lists(st.sampled_from(["us-central1", "europe-west4", "us-east4"]), max_size=2, unique=True).map(tuple)


def old_outcome(
    region: str, estimate: Estimate, ask: Decimal, refuse: Decimal | None, regions: tuple[str, ...]
) -> set[str]:
    """Return the codes of the three limits from before there were rules, without the cost of a refused region."""
    if regions and region not in regions:
        return {"region_not_allowed"}
    least, most = estimate.expected_usd, estimate.most_usd
    known = [most] if most is not None else [usd for usd in (least, estimate.high_usd) if usd is not None]
    if refuse is not None and any(usd > refuse for usd in known):
        return {"over_refuse_limit"}
    if least is None or most is None:
        return {"cost_unknown"}
    return {"over_ask_limit"} if most > ask else set()


@given(
    usd=st.tuples(AMOUNTS, AMOUNTS, AMOUNTS),
    ask=st.decimals(0, 1000, places=2),
    refuse=AMOUNTS,
    regions=REGIONS,
    region=st.sampled_from(["us-central1", "europe-west4"]),
    jobs=st.integers(1, 5),
)
def test_old_limits_and_the_rules_that_replace_them_agree(
    usd: tuple[Any, Any, Any], ask: Decimal, refuse: Any, regions: tuple[str, ...], region: str, jobs: int
) -> None:
    expected, high, until = usd
    estimate = replace(costs("0"), expected_usd=expected, low_usd=expected, high_usd=high, most_usd=until)
    job, rules = samples.submission(region=region), rules_of_limits(ask, refuse, regions)
    saved = RULES.validate_python(RULES.dump_python(rules, mode="json"))

    before = old_outcome(region, estimate.times(jobs), ask, refuse, regions)

    for each in (PolicyRules(rules), PolicyRules(saved, version=1)):
        assert {found.code for found in decide(job, estimate, each, jobs=jobs).findings} == before


@pytest.mark.parametrize(
    "bad",
    [
        {"outcome": "maybe"},
        {"outcome": "ask", "approvals": 0},
        {"outcome": "ask", "cost_over": "-1"},
        {"outcome": "ask", "cost_over": "NaN"},
        {"outcome": "ask", "gpus_over": -1},
        {"outcome": "ask", "unknown": 1},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Rule.model_validate(bad)


def test_a_rule_reads_as_a_sentence() -> None:
    rule = Rule(
        outcome="ask", cost_basis="expected", cost_over="500", strategies=["spot", "standard"], approvers=["lena"]
    )

    assert describe(rule) == "Ask 1 of lena if a job is expected to cost over $500.00, runs under spot or standard"
    assert describe(Rule(outcome="require", require_labels=["owner"])) == "Require the label owner of every job"
