"""Tests that hold for the estimate of every job, however unusual."""

import json
from datetime import timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from jobs.assessment import Context, Outcome, assess
from jobs.catalog import MACHINES, REGIONS
from jobs.policy_rules import PolicyRules, rules_of_limits
from jobs.spec import Submission
from jobs.strategies import STRATEGIES
from tests.unit.cost.builders import custom_job, known, pool, priced

pools = st.builds(
    pool,
    st.sampled_from([*MACHINES, "", "n1-standard-1"]),
    replicas=st.integers(-1, 2**62),
    disk_gb=st.integers(-5, 64_000),
    acceleratorType=st.sampled_from(["ACCELERATOR_TYPE_UNSPECIFIED", "NVIDIA_TESLA_T4", "NVIDIA_L4", "TPU_V2"]),
    acceleratorCount=st.integers(-1, 128),
    tpuTopology=st.sampled_from(["", "2x2", "4x4", "9" * 5000]),
)
jobs = st.builds(
    lambda made, region, timeout: custom_job(*made, region=region, timeout=timeout),
    st.lists(pools, max_size=4),
    st.sampled_from([*REGIONS, "", "moon-west1"]),
    st.sampled_from(["", "60s", "604800s"]),
)
strategies = st.sampled_from(list(STRATEGIES))
times = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=60))


class TestAnyJob:
    @given(jobs, strategies, st.timedeltas())
    def test_can_be_estimated_and_written_as_json(self, job: Submission, strategy: str, expected: timedelta) -> None:
        found = priced(job, strategy, expected)

        assert json.dumps(found.as_dict(), allow_nan=False)
        assert found.expected_usd is None or found.expected_usd >= 0

    @given(jobs, strategies, times)
    def test_lies_within_its_range(self, job: Submission, strategy: str, expected: timedelta) -> None:
        found = priced(job, strategy, expected)

        if found.high_usd is not None:
            assert known(found.low_usd) <= known(found.expected_usd) <= found.high_usd

    @given(jobs, strategies, times, times)
    def test_never_gets_cheaper_with_time(
        self, job: Submission, strategy: str, expected: timedelta, more: timedelta
    ) -> None:
        short, long = priced(job, strategy, expected), priced(job, strategy, expected + more)

        if long.expected_usd is not None:
            assert known(short.expected_usd) <= long.expected_usd

    @given(
        st.sampled_from(sorted(MACHINES)),
        st.sampled_from(sorted(REGIONS)),
        strategies,
        times,
        st.integers(1, 100),
        st.integers(0, 100),
    )
    def test_never_gets_cheaper_with_replicas(
        self, machine_type: str, region: str, strategy: str, expected: timedelta, few: int, more: int
    ) -> None:
        small, large = (
            priced(custom_job(pool(machine_type, replicas=n), region=region), strategy, expected)
            for n in (few, few + more)
        )

        if large.expected_usd is not None:
            assert known(small.expected_usd) <= large.expected_usd

    @given(jobs, strategies)
    def test_names_the_source_of_every_price(self, job: Submission, strategy: str) -> None:
        for line in priced(job, strategy).lines:
            assert (line.source and line.as_of) or line.assumption

    @given(jobs, times)
    def test_is_assessed_under_every_strategy(self, job: Submission, expected: timedelta) -> None:
        policy = PolicyRules(rules_of_limits(Decimal(10), Decimal(100), ("us-central1",)))

        found = assess(job, Context(policy=policy), expected=expected, compares=True)

        assert [each.strategy.key for each in found.alternatives] in ([], list(STRATEGIES))
        assert found.estimate is not None
        is_priced = found.estimate.expected_usd is not None
        assert (found.outcome is Outcome.ALLOWED) <= (job.region == "us-central1" and is_priced)
