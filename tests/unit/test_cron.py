"""Tests of when schedules are due: any expression, both clock changes, and refused expressions."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import cron

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BERLIN = "Europe/Berlin"
FIELDS = st.tuples(
    st.sampled_from(["0", "30", "*/15", "5,50"]),
    st.sampled_from(["*", "2", "0", "*/6", "1-3", "23"]),
    st.sampled_from(["*", "1", "15", "L", "31"]),
    st.sampled_from(["*", "3", "10", "*/2"]),
    st.sampled_from(["*", "1-5", "0", "7", "MON", "SUN#2"]),
).map(" ".join)
MOMENTS = st.integers(0, 6 * 366 * 24 * 60).map(
    lambda minutes: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
)
ZONES = st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"])


def local(expression: str, after: str, count: int = 3) -> list[str]:
    """Return the next moments as a clock in Berlin shows them, with the offset from UTC."""
    zone = ZoneInfo(BERLIN)
    start = datetime.fromisoformat(after).replace(tzinfo=zone)
    found = islice(cron.moments(expression, BERLIN, start), count)
    return [f"{each.astimezone(zone):%d %H:%M%z}" for each in found]


class TestMoments:
    @given(FIELDS, ZONES, MOMENTS)
    def test_are_later_than_asked_for_and_ever_later(self, expression: str, zone: str, after: datetime) -> None:
        found = list(islice(cron.moments(expression, zone, after), 6))

        assert all(each > after for each in found)
        assert all(later > earlier for earlier, later in pairwise(found))
        assert all(each.tzinfo is UTC for each in found)

    @given(FIELDS, ZONES, MOMENTS, st.integers(0, 4))
    def test_do_not_depend_on_how_often_one_asks(self, expression: str, zone: str, after: datetime, at: int) -> None:
        found = list(islice(cron.moments(expression, zone, after), 6))

        if len(found) > at + 1:
            assert cron.next_moment(expression, zone, found[at]) == found[at + 1]
            assert cron.next_moment(expression, zone, found[at + 1] - timedelta(seconds=1)) == found[at + 1]

    def test_a_time_that_the_spring_night_lacks_runs_right_after_the_gap(self) -> None:
        assert local("30 2 * * *", "2026-03-28 12:00") == ["29 03:00+0200", "30 02:30+0200", "31 02:30+0200"]

    def test_a_time_that_the_autumn_night_has_twice_runs_once(self) -> None:
        assert local("30 2 * * *", "2026-10-24 12:00") == ["25 02:30+0200", "26 02:30+0100", "27 02:30+0100"]

    def test_every_hour_is_every_real_hour(self) -> None:
        assert local("0 * * * *", "2026-03-29 01:30") == ["29 03:00+0200", "29 04:00+0200", "29 05:00+0200"]
        assert local("0 * * * *", "2026-10-25 01:30") == ["25 02:00+0200", "25 02:00+0100", "25 03:00+0100"]

    def test_asked_in_the_second_of_two_equal_hours_none_is_of_the_first(self) -> None:
        after = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)  # 02:10 for the second time

        assert cron.next_moment("30 2 * * *", BERLIN, after) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


class TestProblems:
    @pytest.mark.parametrize(
        "expression",
        [
            "", "0 6 * *", "0 6 * * * *", "0 0 6 * * 1", "61 6 * * *", "a b c d e", "0 6 30 2 *", "* * * * *",
            "*/4 * * * *", "0 6 * * 9", "0-4 6 * * *", "1/0 6 * * *", "0 6 * * *" + " " * 100, "0 6 * * MON#9",
        ],
    )  # fmt: skip
    def test_are_told(self, expression: str) -> None:
        assert cron.problem_of(expression, "UTC", NOW)

    @pytest.mark.parametrize("zone", ["", "Mars/Base", "../etc/passwd", "europe/berlin", "x" * 500])
    def test_of_a_time_zone_are_told(self, zone: str) -> None:
        assert "time zone" in cron.problem_of("0 6 * * *", zone, NOW)

    @pytest.mark.parametrize("expression", ["0 6 * * 1-5", "*/5 * * * *", "0 0 29 2 *", "0 0 L * *", "15 3 1,15 * SUN"])
    def test_there_are_none_with_what_cron_takes(self, expression: str) -> None:
        assert cron.problem_of(expression, BERLIN, NOW) == ""

    @given(st.text(alphabet="0123456789*/-,#LWMON ", max_size=30), ZONES)
    def test_any_text_is_read_or_refused(self, expression: str, zone: str) -> None:
        if cron.problem_of(expression, zone, NOW) == "":
            assert cron.next_moment(expression, zone, NOW) is not None
