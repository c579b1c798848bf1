"""Tests of the limits for values from outside: digits, and times in the future."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.bounds import MAX_CLOCK_SKEW, MAX_DIGITS, parse_digits, past_moment

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
MAX_COLUMN = 2**63 - 1
"""The largest number in a column of 64 bits."""


@given(st.integers(0, 10**MAX_DIGITS - 1))
def test_every_number_of_few_digits_is_parsed(number: int) -> None:
    assert parse_digits(str(number)) == number


@given(st.text() | st.from_regex(r"[+-]?[\d_ ]{1,25}", fullmatch=True))
def test_any_other_text_is_no_number(text: str) -> None:
    number = parse_digits(text)

    if number is None:
        assert not (set(text) <= set("0123456789") and 1 <= len(text) <= MAX_DIGITS)
    else:
        assert str(number) == (text.lstrip("0") or "0")
        assert number <= MAX_COLUMN


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1_0", "+1", "-1", "1.0", "²", "٣", "１", "9" * 19, "9" * 5_000])
def test_what_int_would_accept_or_refuse_is_no_number(text: str) -> None:
    assert parse_digits(text) is None


def test_the_limit_is_the_number_of_digits() -> None:
    assert parse_digits("999", 3) == 999
    assert parse_digits("0999", 3) is None


@given(st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2026, 3, 2, 9), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_time_that_has_passed_is_kept(moment: datetime) -> None:
    assert past_moment(moment, NOW) == moment


def test_a_time_in_the_future_is_kept_only_within_the_clock_skew() -> None:
    assert past_moment(NOW + MAX_CLOCK_SKEW, NOW) == NOW + MAX_CLOCK_SKEW
    assert past_moment(NOW + MAX_CLOCK_SKEW + timedelta(seconds=1), NOW) is None
    assert past_moment(None, NOW) is None
