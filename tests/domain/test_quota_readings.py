"""Tests of quota limits and usage: read from the emulator, stored, shown on the form, never a reason to refuse."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import known_quotas
from jobs.assessment import Context, Outcome, assess
from jobs.clients import platform_client
from jobs.cost import QuotaState, increase_command, quotas, with_states
from jobs.models import QuotaReading, Team, Upkeep
from jobs.policy_rules import PolicyRules, rules_of_limits
from jobs.strategies import STRATEGIES
from jobs.upkeep import quota_reading
from jobs.vertex.quotas import limits_in, usage_in
from tests.domain.conftest import Cloud, Submit
from tests.support import samples
from tests.support.clock import Clock

GPUS = "custom_model_training_preemptible_nvidia_a100_gpus"
QUOTA_ID = "CustomModelTrainingPreemptibleNvidiaA100GpusPerProjectPerRegion"
LIMITS = {"quotas": {"us-central1": {GPUS: 16}, "europe-west4": {GPUS: 0}}}


def read(cloud: Cloud) -> dict[tuple[str, str], tuple[int, int | None]]:
    quota_reading.read_when_due(cloud.now)
    rows = QuotaReading.objects.values_list("metric", "region", "limit", "used")
    return {(metric, region): (limit, used) for metric, region, limit, used in rows}


def test_limit_and_use_are_read_every_ten_minutes(cloud: Cloud, submit: Submit, team: Team) -> None:
    cloud.capacity(LIMITS)
    assert read(cloud) == {(GPUS, "us-central1"): (16, 0), (GPUS, "europe-west4"): (0, 0)}

    submit("happy")
    cloud.forward(minutes=5)
    assert read(cloud)[GPUS, "us-central1"] == (16, 0)
    cloud.forward(minutes=5)
    cloud.capacity({"quotas": {"us-central1": {GPUS: 20}}})
    found = read(cloud)

    assert found[GPUS, "us-central1"] == (20, 1)
    assert QuotaReading.objects.get(region="us-central1").quota_id == QUOTA_ID
    assert Upkeep.objects.get(name=quota_reading.UPKEEP).result == {"vision-research": 2}


def test_a_project_that_does_not_allow_it_is_said_and_keeps_what_is_known(cloud: Cloud, team: Team) -> None:
    cloud.capacity(LIMITS)
    read(cloud)
    cloud.forward(minutes=10)
    cloud.fail("quotaInfos.list", "403", times=9)

    assert len(read(cloud)) == 2
    row = Upkeep.objects.get(name=quota_reading.UPKEEP)
    assert row.last_error.startswith("vision-research: ")
    assert row.due_at == cloud.now + timedelta(minutes=10)


def test_a_service_that_is_down_is_asked_again_later(cloud: Cloud, team: Team) -> None:
    cloud.fail("timeSeries.list", "503", times=9)
    cloud.capacity(LIMITS)

    assert read(cloud) == {}
    assert Upkeep.objects.get(name=quota_reading.UPKEEP).failures == 1


def test_many_pages_are_read(cloud: Cloud, team: Team) -> None:
    metrics = {f"custom_model_training_metric_{each:03}": each for each in range(250)}
    cloud.capacity({"quotas": {"us-central1": metrics | {"serving_cpus": 1}}})

    limits = platform_client().quota_limits("vision-research", most=5_000)

    assert {each.metric: each.limit for each in limits} == metrics
    assert len(platform_client().quota_limits("vision-research", most=7)) == 7


class TestKnown:
    def row(self, clock: Clock, region: str, limit: int, **more: Any) -> None:
        values = {"project": "p", "metric": GPUS, "read_at": clock.now, "used": 3} | more
        QuotaReading.objects.create(region=region, limit=limit, **values)

    def test_a_region_s_own_limit_counts_and_old_readings_do_not(self, db: None, clock: Clock) -> None:
        self.row(clock, "", 8, used=None)
        self.row(clock, "us-central1", 16)
        self.row(clock, "us-east1", 99, read_at=clock.now - timedelta(days=2))

        assert known_quotas.load_quotas("p", "us-central1", now=clock.now)[GPUS].free == 13
        assert known_quotas.load_quotas("p", "us-east1", now=clock.now)[GPUS].limit == 8
        assert known_quotas.load_quotas("q", "us-central1", now=clock.now) == {}


class TestAssessment:
    def notes(self, *, used: int | None, limit: int = 16, replicas: int = 8) -> Any:
        submission = samples.submission(extra_replicas=replicas - 1)
        state = QuotaState(GPUS, limit, used, QUOTA_ID, Clock().now)
        context = Context(policy=PolicyRules(rules_of_limits(Decimal(10_000))), quota_states={GPUS: state})
        return assess(submission, context, expected=timedelta(hours=1))

    @pytest.mark.parametrize(("used", "limit", "is_short"), [
        (12, 16, True), (8, 16, False), (None, 7, True), (None, 8, False), (0, 0, True), (99, -1, False)
    ])  # fmt: skip
    def test_says_what_is_short_and_refuses_nothing(self, used: int | None, limit: int, is_short: bool) -> None:
        found = self.notes(used=used, limit=limit)
        short = [each for each in found.findings if each.code == "quota_is_short"]

        assert bool(short) is is_short
        assert all(each.severity == "note" for each in short)
        assert found.outcome != Outcome.REFUSED

    def test_names_what_is_free_and_the_command(self) -> None:
        (note,) = [each for each in self.notes(used=12).findings if each.code == "quota_is_short"]

        assert note.message == f"The job needs 8 of {GPUS} in us-central1: 4 of 16 free, read at 09:00 UTC on 2 Mar."
        assert note.remedy.endswith(
            f"gcloud beta quotas preferences create --service=aiplatform.googleapis.com --quota-id={QUOTA_ID}"
            " --project=vision-research --dimensions=region=us-central1 --preferred-value=20"
        )

    def test_no_command_without_an_id(self) -> None:
        needed = with_states(
            quotas(samples.submission(), STRATEGIES["spot"]), {GPUS: QuotaState(GPUS, 0, 0, "", Clock().now)}
        )

        assert {increase_command(each, project="p", region="r") for each in needed} == {""}
        assert not next(each for each in needed if each.metric == GPUS).is_allowed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_answer_is_read(value: Any) -> None:
    info = {
        "metric": "aiplatform.googleapis.com/custom_model_training_cpus",
        "dimensionsInfos": [value, {"details": value}],
    }

    assert list(limits_in(value)) == []
    assert all(each.limit >= -1 for each in limits_in(info))
    assert usage_in(value) is None
