"""Tests of values from JSON and back: durations, integers, enums, text."""

from datetime import timedelta

import pytest

from jobs.spec.fields import parse_duration, parse_moment, parse_number, parse_text, whole, write_duration


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("7200s", 7200), ("0s", 0), ("1.5s", 1.5), ("0.000001s", 0.000001), ("-3s", -3), ("2.500000000s", 2.5)],
    )
    def test_are_read_from_protobufs_text(self, text: str, seconds: float) -> None:
        assert parse_duration(text) == timedelta(seconds=seconds)

    @pytest.mark.parametrize("value", [7200, "7200", "2h", "s", "", "1e3s", None, True, ["1s"], "0.0000001s", "٣s"])
    def test_refuse_anything_else(self, value: object) -> None:
        with pytest.raises(ValueError, match=r"must be seconds|more precise than"):
            parse_duration(value)

    def test_refuse_ages(self) -> None:
        assert parse_duration("315576000000s") == timedelta(seconds=315_576_000_000)
        with pytest.raises(ValueError, match="ten thousand years"):
            parse_duration("315576000001s")

    @pytest.mark.parametrize("text", ["7200s", "0s", "1.500s", "0.000001s", "-0.250s", "-3s", "604800s"])
    def test_are_written_as_they_were_read(self, text: str) -> None:
        assert write_duration(parse_duration(text)) == text


class TestWholeNumbers:
    @pytest.mark.parametrize(("value", "number"), [(3, 3), ("3", 3), (3.0, 3), ("-4", -4), ("0", 0)])
    def test_are_read_from_numbers_and_digits(self, value: object, number: int) -> None:
        assert whole(64)(value) == number

    @pytest.mark.parametrize("value", [True, 1.5, "four", "1_000", " 1", "", None, [1], "1" * 40])
    def test_refuse_words_and_fractions(self, value: object) -> None:
        with pytest.raises(ValueError, match="must be a whole number"):
            whole(64)(value)

    def test_end_where_their_bits_end(self) -> None:
        assert whole(32)(2**31 - 1) == 2**31 - 1
        with pytest.raises(ValueError, match="32 bits"):
            whole(32)(2**31)


class TestNumbers:
    @pytest.mark.parametrize(("value", "number"), [(1, 1), (0.5, 0.5), ("1e-5", 1e-5), ("3", 3.0)])
    def test_are_read_from_numbers_and_digits(self, value: object, number: float) -> None:
        assert parse_number(value) == number

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), "nan", 10**400, True, "ten", "1_0", None])
    def test_refuse_what_is_not_finite(self, value: object) -> None:
        with pytest.raises(ValueError, match="must be a"):
            parse_number(value)


class TestText:
    def test_keeps_every_character(self) -> None:
        assert parse_text("<b>größe</b> ${X}\n") == "<b>größe</b> ${X}\n"

    @pytest.mark.parametrize("value", ["a\0b", "\ud800", 5, None, b"bytes"])
    def test_refuses_what_no_request_carries(self, value: object) -> None:
        with pytest.raises(ValueError, match=r"must be text|NUL|invalid character"):
            parse_text(value)


class TestMoments:
    def test_keep_their_text(self) -> None:
        assert parse_moment("2026-11-21T08:00:00.123456789Z") == "2026-11-21T08:00:00.123456789Z"

    @pytest.mark.parametrize("value", ["2026-13-21T08:00:00Z", "yesterday", 5, "2026-11-21"])
    def test_refuse_what_is_no_moment(self, value: object) -> None:
        with pytest.raises(ValueError, match="must be a moment"):
            parse_moment(value)
