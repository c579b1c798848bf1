"""Tests of the pure functions that draw differences and sources of imports."""

import html
import re
from typing import Any

import pytest

from dashboard.drawing import differences
from dashboard.drawing.differences import format_value, render_difference
from dashboard.drawing.marks import machines
from dashboard.drawing.source import CONTEXT_LINES, MAX_WHOLE_LINES, listing
from dashboard.drawing.sources import Sources
from jobs.spec import Finding, Severity
from jobs.spec.compare import Change, Difference


def told(before: Any, after: Any) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    row = render_difference(Difference("args", Change.CHANGED, before, after))
    return [(piece.text, piece.is_marked) for piece in row.before], [(p.text, p.is_marked) for p in row.after]


class TestValues:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("plain", "plain"),
            ("", "“”"),
            (0, "0"),
            (False, "false"),
            ([], "[]"),
            ({}, "{}"),
            (["a b", "$X"], "'a b' '$X'"),
            ([1, None], "[1, null]"),
        ],
    )
    def test_say_what_they_are(self, value: Any, text: str) -> None:
        assert format_value(value) == text

    def test_mark_the_words_that_changed_alone(self) -> None:
        before, after = told(["--lr=0.1", "--epochs", "3"], ["--lr=0.2", "--epochs", "3"])

        assert [piece for piece in before if piece[1]] == [("0.1", True)]
        assert [piece for piece in after if piece[1]] == [("0.2", True)]
        assert "".join(text for text, _ in after) == "--lr=0.2 --epochs 3"

    def test_absent_sides_have_no_pieces(self) -> None:
        assert render_difference(Difference("a", Change.ADDED, None, "x")).before == ()
        assert render_difference(Difference("a", Change.REMOVED, "x", None)).after == ()

    def test_that_are_long_are_cut_and_say_so(self) -> None:
        row = render_difference(Difference("a", Change.ADDED, None, "x" * 5_000))

        assert row.after[0].text.endswith("… (3,000 more characters)")

    def test_of_many_words_are_shown_without_marks(self) -> None:
        before, after = told("a " * differences.MAX_WORDS, "b " * differences.MAX_WORDS)

        assert [marked for _, marked in before + after] == [False, False]


def at(line: int | None, severity: Severity = Severity.NOTE) -> Finding:
    return Finding("code", severity, "", f"at {line}", line=line)


class TestListing:
    def test_shows_a_short_text_in_full_with_its_findings(self) -> None:
        lines = listing("a\nb\nc\n\n", [at(2), at(2, Severity.ERROR), at(None)])

        assert [(line.number, line.text, line.mark) for line in lines] == [
            (1, "a", ""),
            (2, "b", "error"),
            (3, "c", ""),
        ]
        assert [finding.severity for finding in lines[1].findings] == [Severity.ERROR, Severity.NOTE]

    def test_shows_a_long_text_around_its_findings(self) -> None:
        count = MAX_WHOLE_LINES + 700

        lines = listing("\n".join(map(str, range(1, count + 1))), [at(500), at(count + 99)])

        assert [line.number for line in lines if line.findings] == [500, count]
        assert {line.number for line in lines} == {1, 2, 3, *range(497, 504), *range(count - CONTEXT_LINES, count + 1)}
        assert sum(line.skipped for line in lines) + len(lines) == count

    def test_cuts_long_lines(self) -> None:
        assert len(listing("x" * 100_000, [])[0].text) < 300

    def test_of_nothing_is_one_empty_line(self) -> None:
        assert [line.text for line in listing("", [at(7)])] == [""]


def test_sources_are_numbered_once_each() -> None:
    sources = Sources()

    assert [sources.number(name, None) for name in ("a", "b", "a")] == [1, 2, 1]
    assert sources.listed() == [(1, "a", None), (2, "b", None)]


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        ("1 × a2-highgpu-1g", ["1 × a2-highgpu-1g"]),
        ("1 × n1-standard-8 (2 × NVIDIA_TESLA_T4) + 4 × n1-standard-4",
         ["1 × n1-standard-8", "(2 × T4)", "4 × n1-standard-4"]),
        ("1 × n1-standard-8 (1 × NVIDIA_OF_TOMORROW)", ["1 × n1-standard-8 (1 × NVIDIA_OF_TOMORROW)"]),
        ("1 × a3-highgpu-8g + 40…", ["1 × a3-highgpu-8g", "40…"]),
        ("<b>", ["&lt;b&gt;"]),
    ],
)  # fmt: skip
def test_machines_break_between_pools_and_name_accelerators_as_people_do(summary: str, words: list[str]) -> None:
    drawn = machines(summary)

    assert [re.sub(r"<[^>]+>", "", each) for each in re.findall(r'<span class="keep">(.*?)</span>', drawn)] == words
    assert html.unescape(re.sub(r' title="[^"]+"', "", drawn)).count("×") == summary.count("×")


def test_worker_pools_with_equal_machines_are_one() -> None:
    drawn = machines("1 × a2-highgpu-8g + 3 × a2-highgpu-8g + 2 × n1-standard-4 + 4…")

    assert re.sub(r"<[^>]+>", "", drawn) == "4 × a2-highgpu-8g + 2 × n1-standard-4 + 4…"
