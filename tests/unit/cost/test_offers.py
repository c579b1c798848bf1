"""One job under every strategy."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from jobs.cost import Offer, PriceBook, offers
from jobs.spec import Submission, read

BOOK = PriceBook.load()
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


def offered(job: Submission) -> dict[str, Offer]:
    """The offers by the key of their strategy."""
    return {offer.strategy.key: offer for offer in offers(job, expected=DAY, book=BOOK)}


class TestOffers:
    def test_come_one_per_strategy_in_the_order_in_which_people_see_them(self) -> None:
        assert list(offered(submission())) == ["standard", "spot", "flex_start", "reservation", "persistent"]

    def test_are_priced_by_their_own_strategy(self) -> None:
        found = offered(submission())

        assert [offer.estimate.strategy for offer in found.values()] == list(found)
        costs = {key: offer.estimate.usd_per_hour for key, offer in found.items()}
        assert costs["flex_start"] < costs["spot"] < costs["standard"] < costs["reservation"]
        assert costs["persistent"] == 0

    def test_hold_the_job_as_it_would_be_sent(self) -> None:
        found = offered(submission())

        asked = {key: offer.submission.job_spec.scheduling.strategy for key, offer in found.items()}
        assert (asked["spot"], asked["flex_start"]) == ("SPOT", "FLEX_START")

    def test_do_not_depend_on_the_strategy_that_was_asked_for(self) -> None:
        as_standard, as_spot = offered(submission()), offered(submission(scheduling={"strategy": "SPOT"}))

        assert [each.estimate for each in as_spot.values()] == [each.estimate for each in as_standard.values()]

    def test_say_why_a_strategy_is_not_possible(self) -> None:
        flex = offered(submission("n1-standard-4"))["flex_start"]

        assert not flex.eligible
        assert flex.refusals
        assert all(finding.message for finding in flex.refusals)

    def test_of_a_plain_job_are_possible_on_demand(self) -> None:
        standard = offered(submission("n1-standard-4"))["standard"]

        assert (standard.eligible, standard.refusals) == (True, ())

    def test_need_the_name_of_a_persistent_resource(self) -> None:
        assert not offered(submission())["persistent"].eligible

    def test_say_which_can_be_killed(self) -> None:
        assert [key for key, offer in offered(submission()).items() if offer.strategy.preemptible] == ["spot"]


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

        assert {key: offer.saving for key, offer in found.items()} == dict.fromkeys(found)


class TestLongestWait:
    @pytest.mark.parametrize(
        ("asked", "wait"),
        [(None, DAY), ("3600s", timedelta(hours=1)), ("0s", None)],
    )
    def test_of_flex_start_is_what_was_asked_or_a_day(self, asked: str | None, wait: timedelta | None) -> None:
        scheduling = {"strategy": "FLEX_START"} | ({"maxWaitDuration": asked} if asked else {})

        assert offered(submission(scheduling=scheduling))["flex_start"].longest_wait == wait

    def test_of_others_has_no_limit(self) -> None:
        found = offered(submission())

        assert {offer.longest_wait for key, offer in found.items() if key != "flex_start"} == {None}


class TestQuota:
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
        assert offered(submission())[key].quota_metrics == metrics

    def test_of_n1_is_the_shared_one_and_that_of_its_gpus(self) -> None:
        job = submission("n1-standard-8", machine={"acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1})

        metrics = offered(job)["standard"].quota_metrics

        assert metrics == ("custom_model_training_cpus", "custom_model_training_nvidia_t4_gpus")

    def test_of_a_tpu_has_no_cpus(self) -> None:
        assert offered(submission("ct6e-standard-4t"))["standard"].quota_metrics == ("custom_model_training_tpu_v6e",)

    @pytest.mark.parametrize(("cores", "metric"), [(8, "tpu_v3"), (32, "tpu_v3_pod")])
    def test_of_a_tpu_pod_is_its_own(self, cores: int, metric: str) -> None:
        job = submission("cloud-tpu", machine={"acceleratorType": "TPU_V3", "acceleratorCount": cores})

        assert offered(job)["standard"].quota_metrics == (f"custom_model_training_{metric}",)

    def test_of_an_unknown_machine_is_not_guessed(self) -> None:
        assert offered(submission("z9-giga-1"))["standard"].quota_metrics == ()
