"""Tests of what an estimate takes of Compute Engine's preemption rates, and of the VMs that a job is asked about."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost import estimate
from jobs.cost.advice import Advice, Method, PreemptionRates, Vms, least_likely, rates_of, vms_of
from jobs.cost.learned import NOT_LEARNED, Learned, Sums
from jobs.cost.restarts import LIKELY
from jobs.strategies import STRATEGIES
from jobs.vertex import advice as wire
from tests.unit.cost.builders import BOOK, custom_job, pool, tuning_job

READ_AT = datetime(2026, 11, 28, 9, tzinfo=UTC)
GOOGLE = PreemptionRates(0.2, 0.4, 0.6, 7, READ_AT, "a2-highgpu-1g", "us-central1")
SEEN = Sums(machine_seconds=3_600_000, preemptions=2)


def spot(learned: Learned) -> Any:
    submission = custom_job(pool("a2-highgpu-1g"))
    return estimate(submission, strategy=STRATEGIES["spot"], expected=timedelta(hours=24), book=BOOK, learned=learned)


def test_google_s_rates_replace_the_documented_one_and_are_named() -> None:
    documented, by_google = spot(NOT_LEARNED), spot(replace(NOT_LEARNED, google=GOOGLE))

    assert by_google.restarts.preemptions > 3 * documented.restarts.preemptions
    assert by_google.expected_usd > documented.expected_usd
    assert by_google.most_usd == documented.most_usd, "what policy and budgets compare does not depend on it"
    assert any(note.startswith("By Compute Engine's rates: 20% to 60%") for note in by_google.notes)
    assert any(
        "a2-highgpu-1g in us-central1 that stopped on a day, 40% (20% to 60%)" in each for each in by_google.basis
    )
    assert any("documented rate." in each for each in documented.basis)


def test_jobs_of_the_team_outweigh_google() -> None:
    seen = spot(replace(NOT_LEARNED, machines=SEEN, machine="a2-highgpu-1g", region="us-central1"))
    both = spot(replace(NOT_LEARNED, machines=SEEN, machine="a2-highgpu-1g", region="us-central1", google=GOOGLE))

    assert (
        seen.restarts.preemptions
        < both.restarts.preemptions
        < spot(replace(NOT_LEARNED, google=GOOGLE)).restarts.preemptions
    )
    assert any(note.startswith("By your jobs") for note in both.notes)
    assert sum("preempted" in each for each in both.basis) == 2


def test_standard_knows_nothing_of_it() -> None:
    submission = custom_job(pool("a2-highgpu-1g"))
    ways = [
        estimate(submission, strategy=STRATEGIES["standard"], expected=timedelta(hours=24), book=BOOK, learned=each)
        for each in (NOT_LEARNED, replace(NOT_LEARNED, google=GOOGLE))
    ]
    assert ways[0] == ways[1]


@given(st.lists(st.floats(0, 1), max_size=40))
def test_any_history_makes_a_finite_estimate(rates: list[float]) -> None:
    found = rates_of(Advice({"rates": [["2026-11-01", each] for each in rates]}, READ_AT), Vms("a2-highgpu-1g"), "r")

    if len(rates) < 3:
        assert found is None
        return
    assert found is not None
    assert 0 < found.low <= found.usual * 1.0001
    assert found.usual <= found.high * 1.0001
    few, some, many = replace(NOT_LEARNED, google=found).assumptions()
    assert 0 < few.rate <= some.rate * 1.001 <= many.rate * 1.01
    assert some.restart == LIKELY.restart


def test_the_vms_of_a_job_are_counted_by_kind() -> None:
    named = {"acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}
    t4 = {"acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 2}

    chief, workers = pool("a2-highgpu-1g", **named), pool("a2-highgpu-1g", replicas=3)
    assert vms_of(custom_job(chief, workers)) == (Vms("a2-highgpu-1g", size=4),)
    attached = pool("n1-standard-8", replicas=2, **t4)
    assert vms_of(custom_job(attached)) == (Vms("n1-standard-8", "NVIDIA_TESLA_T4", 2, size=2),)
    assert vms_of(tuning_job(chief, trials=8, parallel=4)) == (Vms("a2-highgpu-1g", size=4),)
    odd_count = pool("n1-standard-8", acceleratorType="NVIDIA_TESLA_T4", acceleratorCount=3)
    for odd in (pool("a9-huge-1"), pool("ct5lp-hightpu-4t"), pool("a2-highgpu-1g", replicas=10**9), odd_count):
        assert vms_of(custom_job(odd)) == ()
    assert vms_of(custom_job(chief, region="nowhere")) == ()


def test_the_scarcest_machine_decides() -> None:
    good, bad, none = Advice({"obtainability": 0.9}), Advice({"obtainability": 0.0}), Advice(error="no")

    assert least_likely([good, bad]) is bad
    assert least_likely([good, none, bad]) is none
    assert least_likely([]) is None


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=9) | st.integers(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
                        ["recommendations", "scores", "obtainability", "estimatedUptime", "shards", "zone", "interval",
                         "preemptionHistory", "preemptionRate", "startTime", "recommendationsPerSpec", "location"]),
                        inner, max_size=4)))  # fmt: skip
def test_any_answer_is_read_or_refused(answer: Any) -> None:
    for method in Method:
        try:
            found = wire.read(method, answer if isinstance(answer, dict) else {"recommendations": answer})
        except ValueError:
            continue
        assert isinstance(found, dict)


@pytest.mark.parametrize(("text", "seconds"), [("3600s", 3600), ("0s", 0), ("1.5s", 1), ("-3s", None), ("x", None)])
def test_an_uptime_that_makes_no_sense_is_left_out(text: str, seconds: int | None) -> None:
    answer = {"recommendations": [{"scores": {"obtainability": 0.5, "estimatedUptime": text}}]}

    assert wire.read(Method.CAPACITY, answer) == {"obtainability": 0.5, "uptime_seconds": seconds, "zones": []}
