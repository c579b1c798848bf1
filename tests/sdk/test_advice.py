"""Tests of Compute Engine's advice with Google's `AdviceClient`, which has all three methods since compute v1."""

import urllib.parse
from datetime import datetime, timedelta
from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import compute_v1
from google.cloud.compute_v1.services.advice.transports import AdviceRestTransport

from tests.sdk.schema_check import Judge
from tests.support.running_emulator import Running

PLACE = {"project": "demo", "region": "us-central1"}
A100 = "a2-highgpu-1g"
Plan = dict[str, Any]


@pytest.fixture
def advice(scripted: Running) -> compute_v1.AdviceClient:
    """Google's client against an emulator."""
    where = urllib.parse.urlsplit(scripted.url)
    transport = AdviceRestTransport(
        host=where.netloc, credentials=AnonymousCredentials(), url_scheme=where.scheme, api_audience=scripted.url
    )
    return compute_v1.AdviceClient(transport=transport)


def capacity(advice: compute_v1.AdviceClient, *machines: str, size: int = 1, **more: Any) -> Any:
    asked = {
        "instance_properties": {"scheduling": {"provisioning_model": more.pop("model", "SPOT")}},
        "instance_flexibility_policy": {"instance_selections": {"one": {"machine_types": machines, **more}}},
        "distribution_policy": {"target_shape": "ANY"},
        "size": size,
    }
    return advice.capacity({**PLACE, "capacity_advice_request_resource": asked}, retry=None)


def history(advice: compute_v1.AdviceClient, machine: str = A100, **more: Any) -> Any:
    asked = {
        "instance_properties": {"machine_type": machine, "scheduling": {"provisioning_model": "SPOT"}},
        "types": ["PREEMPTION", "PRICE"],
    } | more
    return advice.capacity_history({**PLACE, "capacity_history_request_resource": asked}, retry=None)


def days_of(emulator: Running) -> tuple[str, str]:
    """Return the start of today by the emulator's clock, and of the day in 50 days."""
    today = datetime.fromisoformat(emulator.call("GET", "/_emulator/clock")["now"]).date()
    return f"{today}T00:00:00Z", f"{today + timedelta(days=50)}T00:00:00Z"


def calendar(advice: compute_v1.AdviceClient, emulator: Running, machine: str, count: int, **times: str) -> Any:
    earliest, latest = days_of(emulator)
    spec = {
        "target_resources": {"specific_sku_resources": {"machine_type": machine, "instance_count": count}},
        "time_range_spec": {
            "start_time_not_earlier_than": earliest,
            "start_time_not_later_than": latest,
            "min_duration": "86400s",
            "max_duration": "604800s",
        }
        | times,
    }
    asked = {"future_resources_specs": {"spec": spec}}
    return advice.calendar_mode({**PLACE, "calendar_mode_advice_request_resource": asked}, retry=None)


@pytest.mark.parametrize(("free", "expected"), [(8, 0.9), (3, 0.5), (0, 0.1), (None, 0.9)])
def test_capacity_follows_the_spot_machines_of_the_plan(
    scripted: Running, advice: compute_v1.AdviceClient, free: int | None, expected: float
) -> None:
    scripted.call("POST", "/_emulator/capacity", {"spot": {"us-central1": {"NVIDIA_TESLA_A100": free}}})

    (found,) = capacity(advice, A100, size=4).recommendations

    assert found.scores.obtainability == expected
    assert found.scores.estimated_uptime == "3600s"
    assert [shard.machine_type for shard in found.shards] == [A100]
    assert found.shards[0].zone.endswith("/projects/demo/zones/us-central1-a")


def test_gpus_that_are_attached_count_too(scripted: Running, advice: compute_v1.AdviceClient) -> None:
    scripted.call("POST", "/_emulator/capacity", {"spot": {"us-central1": {"NVIDIA_TESLA_T4": 0}}})
    attached = [{"accelerator_type": "nvidia-tesla-t4", "accelerator_count": 1}]

    without = capacity(advice, "n1-standard-8").recommendations[0]
    found = capacity(advice, "n1-standard-8", guest_accelerators=attached).recommendations[0]

    assert (without.scores.obtainability, found.scores.obtainability) == (0.9, 0.1)


def test_uptime_and_preemption_rate_follow_the_reclaims(scripted: Running, advice: compute_v1.AdviceClient) -> None:
    usual = history(advice)
    scripted.call("POST", "/_emulator/capacity", {"reclaim": {"mean_seconds": 3600}})

    busy = history(advice)

    assert [record.preemption_rate for record in usual.preemption_history] == [0.05] * 7
    assert all(record.preemption_rate > 0.9 for record in busy.preemption_history)
    assert capacity(advice, A100).recommendations[0].scores.estimated_uptime == "600s"
    assert usual.price_history[0].list_price.currency_code == "USD"
    starts = [record.interval.start_time for record in usual.preemption_history]
    assert starts == sorted(starts)


def test_reservations_are_recommended_for_what_the_plan_has(scripted: Running, advice: compute_v1.AdviceClient) -> None:
    scripted.call("POST", "/_emulator/capacity", {"machines": {"us-central1": {"NVIDIA_H100_80GB": 16}}})

    (good,) = calendar(advice, scripted, "a3-highgpu-8g", 2).recommendations
    (full,) = calendar(advice, scripted, "a3-highgpu-8g", 3).recommendations
    (never,) = calendar(advice, scripted, "n1-standard-8", 1).recommendations

    dates = good.recommendations_per_spec["spec"]
    assert (dates.location, dates.recommendation_type) == ("zones/us-central1-a", "FUTURE_RESERVATION")
    assert dates.start_time < dates.end_time
    assert not full.recommendations_per_spec["spec"].location
    statuses = [
        each.recommendations_per_spec["spec"].other_locations["zones/us-central1-a"].status for each in (full, never)
    ]
    assert statuses == ["NO_CAPACITY", "NOT_SUPPORTED"]


def test_what_google_refuses_is_refused(scripted: Running, advice: compute_v1.AdviceClient) -> None:
    with pytest.raises(exceptions.NotFound, match="machineTypes/a9-huge-1"):
        capacity(advice, "a9-huge-1")
    with pytest.raises(exceptions.NotFound):
        history(advice, "a9-huge-1")
    with pytest.raises(exceptions.BadRequest, match="must be SPOT"):
        capacity(advice, A100, model="STANDARD")
    with pytest.raises(exceptions.BadRequest, match="at least 1"):
        capacity(advice, A100, size=0)
    with pytest.raises(exceptions.BadRequest, match="TPUs"):
        capacity(advice, "ct5lp-hightpu-4t")
    with pytest.raises(exceptions.BadRequest, match="machine types"):
        capacity(advice, *[A100] * 6)
    with pytest.raises(exceptions.BadRequest, match="90 days"):
        calendar(advice, scripted, "a3-highgpu-8g", 1, max_duration="9000000s")
    with pytest.raises(exceptions.BadRequest, match="at most 80"):
        calendar(advice, scripted, "a3-highgpu-8g", 81)
    with pytest.raises(exceptions.BadRequest, match="timeRangeSpec"):
        calendar(advice, scripted, "a3-highgpu-8g", 1, max_duration="soon")
    scripted.call("POST", "/_emulator/faults", {"kind": "403", "method": "advice.*", "times": 1})
    with pytest.raises(exceptions.Forbidden):
        capacity(advice, A100)


def test_answers_have_the_documented_shape(scripted: Running, advice: compute_v1.AdviceClient) -> None:
    scripted.call("POST", "/_emulator/capacity", {"machines": {"us-central1": {"NVIDIA_H100_80GB": 8}}})
    judge, base = Judge("compute.v1"), "/compute/v1/projects/demo/regions/us-central1/advice/"
    spot = {"scheduling": {"provisioningModel": "SPOT"}}
    asked = {
        "capacity": {
            "instanceProperties": spot,
            "instanceFlexibilityPolicy": {"instanceSelections": {"one": {"machineTypes": [A100]}}},
            "distributionPolicy": {"targetShape": "ANY"},
            "size": 1,
        },
        "capacityHistory": {"instanceProperties": spot | {"machineType": A100}, "types": ["PREEMPTION", "PRICE"]},
    }
    earliest, latest = days_of(scripted)
    times = {"startTimeNotEarlierThan": earliest, "startTimeNotLaterThan": latest, "maxDuration": "86400s"}
    gpus = {"specificSkuResources": {"machineType": "a3-highgpu-8g", "instanceCount": "1"}}
    asked["calendarMode"] = {"futureResourcesSpecs": {"spec": {"targetResources": gpus, "timeRangeSpec": times}}}
    messages = ("CapacityAdviceResponse", "CapacityHistoryResponse", "CalendarModeAdviceResponse")
    for method, message in zip(asked, messages, strict=True):
        assert judge.faults(message, scripted.call("POST", base + method, asked[method])) == []
