"""Tests of the cost of a job so far."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.actual import accrued, billable

HALF_A_MINUTE = timedelta(seconds=30)
times = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=400))
prices = st.decimals(min_value=0, max_value=10_000, places=9)


class TestAccrued:
    @pytest.mark.parametrize(
        ("running", "usd"),
        [
            (timedelta(), "0"),
            (timedelta(microseconds=1), "0.03"),
            (HALF_A_MINUTE, "0.03"),
            (timedelta(seconds=31), "0.06"),
            (timedelta(hours=1), "3.6"),
            (timedelta(hours=10, seconds=5), "36.03"),
        ],
    )
    def test_counts_every_started_half_minute(self, running: timedelta, usd: str) -> None:
        assert accrued(Decimal("3.6"), running) == Decimal(usd)

    def test_can_count_without_rounding(self) -> None:
        assert accrued(Decimal("3.6"), timedelta(seconds=1), increment=timedelta()) == Decimal("0.001")

    def test_is_unknown_when_the_price_is(self) -> None:
        assert accrued(None, timedelta(hours=1)) is None

    def test_is_nothing_when_clocks_disagree(self) -> None:
        assert accrued(Decimal(1), timedelta(seconds=-40)) == 0

    @given(prices, times, times)
    def test_never_falls_as_time_passes(self, price: Decimal, running: timedelta, more: timedelta) -> None:
        before, after = accrued(price, running), accrued(price, running + more)

        assert before is not None
        assert after is not None
        assert before <= after

    @given(times)
    def test_bills_less_than_one_increment_too_much(self, running: timedelta) -> None:
        assert timedelta() <= billable(running) - running < HALF_A_MINUTE
