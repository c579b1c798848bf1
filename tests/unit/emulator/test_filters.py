"""Tests of the filter language: from text to a tree to a predicate."""

import pytest

from emulator.protocol import filters
from emulator.protocol.errors import ApiError
from emulator.protocol.filters import Comparison


def holds(text: str, **facts: str) -> bool:
    """Evaluate a filter. The terms `field=value` are looked up in the facts."""
    tree = filters.parse(text)
    assert tree is not None

    def test(one: Comparison):  # type: ignore[no-untyped-def]
        return lambda known: known.get(one.field) == one.value

    return filters.compile_tree(tree, test)(facts)


class TestParsing:
    """What the text means."""

    def test_or_binds_closer_than_and(self) -> None:
        assert not holds("a=1 OR b=1 AND c=1", a="1")
        assert holds("a=1 OR b=1 AND c=1", a="1", c="1")

    def test_not_binds_closest(self) -> None:
        assert holds("NOT a=1 AND b=1", a="2", b="1")
        assert holds("-a=1", a="2")

    def test_side_by_side_means_and(self) -> None:
        assert holds("a=1 b=2", a="1", b="2")
        assert not holds("a=1 b=2", a="1", b="3")

    def test_parentheses_win(self) -> None:
        assert holds("a=1 OR (b=1 AND c=1)", a="1")

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('a="x y"', "x y"),
            ("a='x'", "x"),
            (r'a="say \"x\""', 'say "x"'),
            ("a = x-1_b", "x-1_b"),
            ("a=2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"),
        ],
    )
    def test_reads_quoted_and_bare_values(self, text: str, value: str) -> None:
        tree = filters.parse(text)

        assert isinstance(tree, Comparison)
        assert tree.value == value

    def test_spreads_a_field_over_several_values(self) -> None:
        assert holds("a=(1 OR 2)", a="2")
        assert not holds("a=(1 OR 2)", a="3")

    def test_reads_quoted_keys(self) -> None:
        tree = filters.parse('labels."ml.googleapis.com/job_id"=7')

        assert isinstance(tree, Comparison)
        assert tree.field == 'labels."ml.googleapis.com/job_id"'

    @pytest.mark.parametrize("text", ["", "   "])
    def test_nothing_is_no_filter(self, text: str) -> None:
        assert filters.parse(text) is None

    @pytest.mark.parametrize("text", ["a=", "AND a=1", "a=1 OR", "(a=1", "a=1)", "NOT", "a==1", "=1", "(" * 100])
    def test_refuses_what_is_no_filter(self, text: str) -> None:
        with pytest.raises(ApiError) as refused:
            filters.parse(text)

        assert refused.value.http == 400
