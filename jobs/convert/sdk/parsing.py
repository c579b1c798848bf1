"""Text to a tree of Python, also where parts of it are none: commands of notebooks, cells in other languages, cuts.

Nothing is run. Source: IPython's manual, "Built-in magic commands" and "System shell access", read 2026-11-21.
"""

import ast
import contextlib
import re
import textwrap
import warnings
from typing import NamedTuple

COMMAND = re.compile(r"([ \t]*)(?:!(?!=)|%(?=[A-Za-z%]))")
OUTPUT = re.compile(r"([ \t]*[A-Za-z_][\w.,\[\]\"' \t]*=[ \t]*)(?:!|%(?=[A-Za-z]))")
INDENTED = re.compile(r"[ \t]")
CONTINUES = re.compile(r"[ \t)\]}#]|$|(?:elif|else|except|finally)\b")
UNFILLED = re.compile(r"(\b\w+[ \t]*(?<![=!<>])=)(?=[ \t]*(?:[,)#]|$))")
"""What a lesson leaves for its readers to fill in: `name = # TODO`, `name=,`."""
MOST_GAPS = 20
LONGEST_LESSON = 100_000
UNFINISHED = ("was never closed", "unterminated triple-quoted", "unexpected EOF", "expected an indented block")
LONGEST_STATEMENT = 60
MOST_PARSED = 1_000_000
MOST_LEFT_OUT = 20


class LeftOut(NamedTuple):
    """A part of the text that is no Python: its line, why, and its text."""

    line: int
    reason: str
    text: str


class Parsed(NamedTuple):
    """A program, and what of the text is not in it."""

    tree: ast.Module
    left_out: list[LeftOut]


def parsed(text: str) -> Parsed:
    """Parse a program; a part that is no Python is left out. Raises SyntaxError where nothing is left."""
    try:
        return Parsed(_parse(text), [])
    except SyntaxError as trouble:
        first = trouble
    plain = without_commands(text)
    with contextlib.suppress(SyntaxError):
        return Parsed(_filled_in(plain), [])
    found = _in_parts(plain)
    if not found.tree.body:
        raise first
    return found


def _filled_in(text: str) -> ast.Module:
    """Parse a program with `...` in the gaps that a lesson leaves; only lines that are no Python are looked at."""
    lines = text.split("\n")
    for _ in range(MOST_GAPS if len(text) <= LONGEST_LESSON else 1):
        try:
            return _parse("\n".join(lines))
        except SyntaxError as trouble:
            at = min(trouble.lineno or 1, len(lines)) - 1
            filled = UNFILLED.sub(r"\1 ...", lines[at])
            if filled == lines[at]:
                raise
            lines[at] = filled
    return _parse("\n".join(lines))


def _parse(text: str) -> ast.Module:
    """Parse without a word about what Python warns of, such as odd escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def is_whole(text: str) -> bool:
    """Tell whether a text is Python from its first line to its last, a notebook's commands apart."""
    try:
        _parse(without_commands(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def without_commands(text: str) -> str:
    """Replace the lines that are a notebook's own commands; every other line keeps its number."""
    lines = text.split("\n")
    lines = textwrap.dedent(text).split("\n") if all(INDENTED.match(line) for line in lines if line.strip()) else lines
    number = 0
    while number < len(lines):
        line = lines[number]
        command, output = COMMAND.match(line), OUTPUT.match(line)
        if command is not None or output is not None:
            while lines[number].rstrip().endswith("\\") and number + 1 < len(lines):
                lines[number] = ""
                number += 1
            lines[number] = f"{output[1]}shell()" if output is not None else f"{command[1] if command else ''}pass"
        number += 1
    return "\n".join(lines)


def _in_parts(text: str) -> Parsed:
    """Parse statement by statement; statements begin on lines without indent."""
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if n == 0 or _begins(lines[n - 1], line)]
    ends = [*starts[1:], len(lines)]
    found, budget, at = ast.Module([], []), MOST_PARSED, 0
    left_out: list[LeftOut] = []
    while at < len(starts):
        reason, taken, where = "it is too long to be looked through", 1, starts[at] + 1
        for size in range(1, min(LONGEST_STATEMENT, len(starts) - at) + 1):
            part = "\n".join(lines[starts[at] : ends[at + size - 1]])
            budget -= len(part)
            if budget < 0:
                break
            try:
                tree = ast.increment_lineno(_parse(part), starts[at])
            except SyntaxError as trouble:
                reason = trouble.msg or "it cannot be parsed"
                where = starts[at] + (trouble.lineno or 1)
                if not any(sign in reason for sign in UNFINISHED):
                    break
            else:
                found.body.extend(tree.body)
                reason, taken = "", size
                break
        if reason and len(left_out) < MOST_LEFT_OUT:
            left_out.append(LeftOut(where, reason, "\n".join(lines[starts[at] : ends[at]])))
        at += taken
    return Parsed(found, left_out)


def _begins(before: str, line: str) -> bool:
    return not CONTINUES.match(line) and not before.rstrip().endswith("\\") and not before.startswith("@")
