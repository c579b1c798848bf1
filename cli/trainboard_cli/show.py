"""Print the output of commands: for people on a terminal, as plain lines elsewhere, and as JSON on request."""

import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TextIO

Json = dict[str, Any]
COLOURS = {"succeeded": "32", "failed": "31", "rejected": "31", "cancelled": "33", "running": "36"}
MARKS = "\t\ue000\ue001"
COLOUR = re.compile("\ue000([0-9]{1,2})\ue001")
"""Marks a colour until a line is printed, so that text from the site cannot contain other escape sequences."""
ERASE_LINE = "\r\033[K"


class Output:
    """Standard output and error. `is_live` is true on a terminal, where a line can be overwritten."""

    def __init__(self, *, as_json: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.as_json, self.out, self.err = as_json, out or sys.stdout, err or sys.stderr
        self.is_live = not as_json and self.out.isatty()
        self._has_status = False

    def json(self, value: Any, *, is_line: bool = False) -> None:
        """Print JSON if it was requested, with `is_line` on one line."""
        if self.as_json:
            print(json.dumps(value, indent=None if is_line else 2), file=self.out, flush=True)

    def line(self, text: str) -> None:
        """Print a line for people, unless JSON was requested."""
        if not self.as_json:
            self.clear()
            print(safe(text), file=self.out, flush=True)

    def note(self, text: str) -> None:
        """Print a line on standard error."""
        self.clear()
        print(safe(text), file=self.err, flush=True)

    def status(self, text: str) -> None:
        """Replace the last line of a terminal. Do nothing elsewhere."""
        if self.is_live:
            self.clear()
            print(safe(text)[:120], end="", file=self.out, flush=True)
            self._has_status = True

    def clear(self) -> None:
        """Erase the status line of a terminal."""
        if self._has_status:
            print(ERASE_LINE, end="", file=self.out, flush=True)
            self._has_status = False

    def coloured(self, word: str) -> str:
        """Return a state, on a terminal in its colour."""
        code = COLOURS.get(word)
        return f"\ue000{code}\ue001{word}\ue0000\ue001" if code and self.is_live else word

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows below a heading, each column as wide as its longest text."""
        lines = [list(map(safe, each)) for each in (head, *rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
        for line in lines:
            self.line("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())

    def findings(self, name: str, findings: Iterable[Json]) -> None:
        """Print findings on standard error as editors parse them: file:line: severity: field: message [code]."""
        for each in findings:
            place = f"{name}:{each['line']}" if each.get("line") else name
            field = f" {each['field']}:" if each.get("field") else ""
            remedy = f" {each['remedy']}" if each.get("remedy") else ""
            if each.get("confirm") and each["severity"] == "error":
                remedy += f" (--confirm {shlex.quote(each['confirm'])})"
            self.note(f"{place}: {each['severity']}:{field} {each['message']}{remedy} [{each['code']}]")


def safe(text: str) -> str:
    """Return text without control characters, which could control a terminal. Colour marks are kept."""
    kept = (sign if sign.isprintable() or sign in MARKS else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return COLOUR.sub("\033[\\1m", "".join(kept))


def usd(amount: str | None) -> str:
    """Return an amount as the site shows it: $1,234.50, below one cent $0.0012; "-" if it is not known."""
    if amount is None:
        return "-"
    value = Decimal(amount)
    places = 2 if not value or abs(value) >= Decimal("0.00995") else 1 - value.adjusted()
    return f"${value:,.{places}f}"


def moment(text: str) -> str:
    """Return a timestamp in the local time zone: 2026-11-23 02:15:00."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def length(seconds: float) -> str:
    """Return a duration: 45 s, 12 min, 2 h 10 min."""
    minutes = int(seconds) // 60
    if minutes < 1:
        return f"{int(seconds)} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def since(text: str) -> str:
    """Return the time since a timestamp."""
    return length(max((datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds(), 0))
