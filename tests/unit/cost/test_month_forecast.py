"""Tests of the forecast of a month against months that were computed by hand."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.month_forecast import Source, Work, forecast_month

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)
"""Half a day and twenty whole days of March are left."""


def work(source: Source = Source.RUNNING, since: datetime = NOW, price: int = 1, **usd: int) -> Work:
    """Return work that costs `usd`, between `low` and `high`."""
    middle = usd["usd"]
    low, high = Decimal(usd.get("low", middle)), Decimal(usd.get("high", middle))
    return Work(source, since, Decimal(price), low, Decimal(middle), high)


class TestDaysPast:
    def test_give_the_rest_of_the_month(self) -> None:
        """Ten days of $100 and $50 this morning: 1,050 + 20.5 x 100."""
        days = {date(2026, 3, day): Decimal(100) for day in range(1, 11)} | {date(2026, 3, 11): Decimal(50)}

        found = forecast_month(days, (), NOW)

        assert found is not None
        assert (found.usd, found.low_usd, found.high_usd) == (3100, 3100, 3100)
        assert (found.spent_usd, found.usual_usd, found.days) == (1050, 2050, 10)

    def test_spread_the_range_by_their_deviation(self) -> None:
        """Days of $80 and $120 in turn deviate by 21.0819 around 100: 1.28 x 21.0819 x sqrt(20.5) = 122.18."""
        days = {date(2026, 3, day): Decimal(80 if day % 2 else 120) for day in range(1, 11)}

        found = forecast_month(days, (), NOW)

        assert found is not None
        assert (found.low_usd, found.usd, found.high_usd) == (Decimal("2927.82"), 3050, Decimal("3172.18"))

    def test_of_the_month_before_count_at_its_beginning(self) -> None:
        """On the first of March, two days of February with $30 and $10 and one without: 31 x 40 / 3."""
        days = {date(2026, 2, 26): Decimal(30), date(2026, 2, 28): Decimal(10)}

        found = forecast_month(days, (), datetime(2026, 3, 1, tzinfo=UTC))

        assert found is not None
        assert (found.spent_usd, found.usd, found.days) == (0, Decimal("413.33"), 3)

    def test_that_are_missing_leave_no_forecast(self) -> None:
        assert forecast_month({date(2026, 3, 1): Decimal(5)}, (), datetime(2026, 3, 1, 23, tzinfo=UTC)) is None

    def test_of_a_single_day_deviate_by_as_much_as_it_cost(self) -> None:
        """March 1 cost $10; 30 days are left: 10 + 300, and 1.28 x 10 x sqrt(30) = 70.11 around it."""
        found = forecast_month({date(2026, 3, 1): Decimal(10)}, (), datetime(2026, 3, 2, tzinfo=UTC))

        assert found is not None
        assert (found.low_usd, found.usd, found.high_usd) == (Decimal("239.89"), 310, Decimal("380.11"))

    @given(st.lists(st.decimals(0, 10**6, places=2), min_size=10, max_size=10))
    def test_never_give_less_than_what_is_spent(self, costs: list[Decimal]) -> None:
        found = forecast_month({date(2026, 3, at): usd for at, usd in enumerate(costs, 1)}, (), NOW)

        assert found is None or sum(costs) <= found.low_usd <= found.usd <= found.high_usd


class TestKnownWork:
    def test_of_a_first_day_is_forecast_by_itself(self) -> None:
        """$7 spent, a job that will cost $20 to $60 more, and an allowed one of $5."""
        works = [work(usd=40, low=20, high=60), work(Source.COMMITTED, usd=5)]

        found = forecast_month({NOW.date(): Decimal(7)}, works, NOW)

        assert found is not None
        assert (found.low_usd, found.usd, found.high_usd) == (32, 52, 72)
        assert (found.parts[Source.RUNNING], found.parts[Source.COMMITTED], found.usual_usd) == (40, 5, 0)

    def test_counts_only_until_the_end_of_the_month(self) -> None:
        """A resource of $1 an hour, and a run at 20:00 on March 31 that costs $2 an hour for six hours."""
        late = datetime(2026, 3, 31, 20, tzinfo=UTC)
        works = [work(Source.RESOURCES, usd=10_000, low=0), work(Source.SCHEDULED, late, 2, usd=12)]

        found = forecast_month({}, works, NOW)

        assert found is not None
        assert (found.parts[Source.RESOURCES], found.parts[Source.SCHEDULED]) == (12 + 20 * 24, 8)
        assert (found.low_usd, found.usd) == (8, 500)

    def test_is_a_part_of_days_like_the_past_ones(self) -> None:
        """Days cost $24 so far. A job of $2 an hour that runs 36 hours more costs $24 today and $48 tomorrow.

        Today is left with half a day, $12: the job is more. Tomorrow the job is more, too. The 19 days after that cost
        $24 each: 24 x 10 + 24 + 48 + 19 x 24.
        """
        days = {date(2026, 3, day): Decimal(24) for day in range(1, 11)}

        found = forecast_month(days, [work(price=2, usd=72)], NOW)

        assert found is not None
        assert found.usd == 240 + 24 + 48 + 19 * 24
        assert (found.parts[Source.RUNNING], found.usual_usd) == (72, 19 * 24)

    def test_that_is_less_than_usual_adds_nothing(self) -> None:
        """Days of $24 include a nightly run of $6."""
        days = {date(2026, 3, day): Decimal(24) for day in range(1, 11)}
        nights = [work(Source.SCHEDULED, NOW + timedelta(days=at, hours=10), 6, usd=6) for at in range(20)]

        found = forecast_month(days, nights, NOW)

        assert found is not None
        assert found.usd == 240 + 12 + 20 * 24
        assert (found.parts[Source.SCHEDULED], found.usual_usd) == (120, 12 + 20 * 24 - 120)

    @pytest.mark.parametrize("month", [2, 12])
    def test_ends_with_the_month(self, month: int) -> None:
        now = datetime(2026, month, 28, tzinfo=UTC)

        found = forecast_month({}, [work(since=now, usd=10_000)], now)

        assert found is not None
        assert found.usd == (24 if month == 2 else 4 * 24)
