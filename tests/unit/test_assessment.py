"""Tests of the assessment of a submission before it is sent."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from jobs.assessment import Alternative, Context, Outcome, assess
from jobs.policy_rules import PolicyRules, rules_of_limits
from jobs.spec import Submission, read
from jobs.strategies import STRATEGIES

CONTEXT = Context(policy=PolicyRules(rules_of_limits(Decimal(10_000))))
DAY = timedelta(days=1)


def submission(
    machine_type: str = "a3-highgpu-8g", *, scheduling: dict[str, Any] | None = None, **spec: Any
) -> Submission:
    """A job on one machine."""
    pool = {
        "machineSpec": {"machineType": machine_type, **spec.pop("machine", {})},
        "replicaCount": "1",
        "containerSpec": {"imageUri": "us-docker.pkg.dev/vision/train/image:1"},
    }
    body = {
        "displayName": "train",
        "jobSpec": {"workerPoolSpecs": [pool], "scheduling": {"timeout": "86400s"} | (scheduling or {}), **spec},
    }
    job, findings = read("custom_job", body)
    assert job is not None, findings
    return Submission(kind="custom_job", project="vision", region="us-central1", job=job)


def offered(job: Submission) -> dict[str, Alternative]:
    """The alternatives by the key of their strategy."""
    found = assess(job, CONTEXT, expected=DAY, compares=True).alternatives
    return {each.strategy.key: each for each in found}


class TestAlternatives:
    def test_come_one_per_strategy_in_the_order_in_which_people_see_them(self) -> None:
        assert list(offered(submission())) == ["standard", "spot", "flex_start", "reservation", "persistent"]

    def test_are_priced_by_their_own_strategy(self) -> None:
        found = offered(submission())

        assert [each.estimate.strategy for each in found.values()] == list(found)
        costs = {key: each.estimate.usd_per_hour for key, each in found.items()}
        assert costs["flex_start"] < costs["spot"] < costs["standard"] < costs["reservation"]
        assert costs["persistent"] == 0

    def test_hold_the_job_as_it_would_be_sent(self) -> None:
        found = offered(submission())

        asked = {key: each.submission.job_spec.scheduling.strategy for key, each in found.items()}
        assert (asked["spot"], asked["flex_start"]) == ("SPOT", "FLEX_START")

    def test_do_not_depend_on_the_strategy_that_was_asked_for(self) -> None:
        as_standard, as_spot = offered(submission()), offered(submission(scheduling={"strategy": "SPOT"}))

        assert [each.estimate for each in as_spot.values()] == [each.estimate for each in as_standard.values()]

    def test_say_why_a_strategy_is_not_possible(self) -> None:
        flex = offered(submission("n1-standard-4"))["flex_start"]

        assert flex.errors
        assert all(finding.message for finding in flex.errors)

    def test_of_a_plain_job_are_possible_on_demand(self) -> None:
        standard = offered(submission("n1-standard-4"))["standard"]

        assert standard.errors == ()

    def test_need_the_name_of_a_persistent_resource(self) -> None:
        assert offered(submission())["persistent"].errors

    def test_say_which_can_be_killed(self) -> None:
        assert [key for key, each in offered(submission()).items() if each.strategy.preemptible] == ["spot"]


class TestAssessment:
    @pytest.mark.parametrize("strategy", ["STANDARD", "SPOT", "FLEX_START"])
    def test_is_the_same_with_and_without_the_alternatives(self, strategy: str) -> None:
        job = submission(scheduling={"strategy": strategy})

        alone, compared = assess(job, CONTEXT, expected=DAY), assess(job, CONTEXT, expected=DAY, compares=True)

        assert alone == replace(compared, alternatives=())
        assert len(compared.alternatives) == 5

    def test_without_a_run_time_has_findings_only(self) -> None:
        found = assess(submission("n1-standard-4"), CONTEXT, compares=True)

        assert (found.estimate, found.outcome, found.max_usd, found.alternatives) == (None, None, None, ())

    def test_under_a_strategy_that_the_job_does_not_ask_for_yet_has_no_outcome(self) -> None:
        found = assess(submission(), CONTEXT, expected=DAY, strategy=STRATEGIES["persistent"], compares=True)

        assert "resource_is_named" in {each.code for each in found.errors}
        assert (found.estimate, found.outcome, len(found.alternatives)) == (None, None, 5)

    def test_refuses_asks_or_allows(self) -> None:
        limits = (Decimal(10**9), None), (Decimal(0), None), (Decimal(0), Decimal(1))

        outcomes = [
            assess(
                submission("n1-standard-4"), Context(policy=PolicyRules(rules_of_limits(*each))), expected=DAY
            ).outcome
            for each in limits
        ]

        assert outcomes == [Outcome.ALLOWED, Outcome.NEEDS_APPROVAL, Outcome.REFUSED]


class TestSaving:
    def test_is_the_share_of_the_standard_cost(self) -> None:
        found = offered(submission())

        assert found["standard"].saving == 0
        assert found["persistent"].saving == 1
        flex, standard = found["flex_start"].estimate.expected_usd, found["standard"].estimate.expected_usd
        assert found["flex_start"].saving == 1 - flex / standard

    def test_counts_the_restarts_of_spot(self) -> None:
        spot = offered(submission())["spot"]

        standard = offered(submission())["standard"].estimate.usd_per_hour
        assert Decimal(0) < spot.saving < 1 - spot.estimate.usd_per_hour / standard

    def test_is_below_zero_for_what_costs_more(self) -> None:
        assert offered(submission())["reservation"].saving < 0

    def test_is_unknown_where_a_price_is(self) -> None:
        found = offered(submission("a4-highgpu-8g"))

        assert {key: each.saving for key, each in found.items()} == dict.fromkeys(found)


def metrics_of(job: Submission, key: str = "standard") -> tuple[str, ...]:
    return tuple(quota.metric for quota in offered(job)[key].quotas)


class TestQuota:
    def test_amounts_are_those_of_all_machines(self) -> None:
        job = submission("n1-standard-8", machine={"acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 2})

        assert [(quota.amount, quota.is_allowed) for quota in offered(job)["standard"].quotas] == [(8, True), (2, True)]

    @pytest.mark.parametrize(("key", "is_allowed"), [("standard", False), ("spot", True)])
    def test_of_h100_is_0_until_some_is_granted(self, key: str, is_allowed: bool) -> None:
        """For preemptible metrics no default is documented, so there is no finding about them."""
        cpus, gpus = offered(submission())[key].quotas

        assert (cpus.amount, cpus.is_allowed) == (208, True)
        assert (gpus.amount, gpus.is_allowed) == (8, is_allowed)

    def test_of_a_tpu_slice_counts_chips(self) -> None:
        job = submission("ct6e-standard-4t", machine={"tpuTopology": "4x4"})

        assert [quota.amount for quota in offered(job)["standard"].quotas] == [16]
        assert [quota.amount for quota in offered(submission("ct6e-standard-4t"))["standard"].quotas] == [None]

    @pytest.mark.parametrize(
        ("key", "metrics"),
        [
            ("standard", ("custom_model_training_a3_cpus", "custom_model_training_nvidia_h100_gpus")),
            (
                "spot",
                ("custom_model_training_preemptible_a3_cpus", "custom_model_training_preemptible_nvidia_h100_gpus"),
            ),
            (
                "flex_start",
                ("custom_model_training_preemptible_a3_cpus", "custom_model_training_preemptible_nvidia_h100_gpus"),
            ),
            ("persistent", ()),
        ],
    )
    def test_is_named_per_cpu_family_and_accelerator(self, key: str, metrics: tuple[str, ...]) -> None:
        assert metrics_of(submission(), key) == metrics

    def test_of_n1_is_the_shared_one_and_that_of_its_gpus(self) -> None:
        job = submission("n1-standard-8", machine={"acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1})

        metrics = metrics_of(job)

        assert metrics == ("custom_model_training_cpus", "custom_model_training_nvidia_t4_gpus")

    def test_of_a_tpu_has_no_cpus(self) -> None:
        assert metrics_of(submission("ct6e-standard-4t")) == ("custom_model_training_tpu_v6e",)

    @pytest.mark.parametrize(("cores", "metric"), [(8, "tpu_v3"), (32, "tpu_v3_pod")])
    def test_of_a_tpu_pod_is_its_own(self, cores: int, metric: str) -> None:
        job = submission("cloud-tpu", machine={"acceleratorType": "TPU_V3", "acceleratorCount": cores})

        assert metrics_of(job) == (f"custom_model_training_{metric}",)

    def test_of_an_unknown_machine_is_not_guessed(self) -> None:
        assert metrics_of(submission("z9-giga-1")) == ()


class TestTimeout:
    @pytest.mark.parametrize(
        ("timeout", "hours", "is_found"), [("3600s", 2, True), ("7200s", 2, False), (None, 169, True)]
    )
    def test_before_the_expected_end_is_a_finding(self, timeout: str | None, hours: int, is_found: bool) -> None:
        found = assess(submission(scheduling={"timeout": timeout}), CONTEXT, expected=timedelta(hours=hours)).findings

        cut = [each for each in found if each.code == "timeout_before_end"]
        assert bool(cut) is is_found
        assert all(each.field == "jobSpec.scheduling.timeout" for each in cut)
        assert all("before its expected run time" in each.message for each in cut)
