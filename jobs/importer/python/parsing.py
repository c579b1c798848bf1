"""Parse text to a Python syntax tree, skipping notebook commands, other languages and truncated lines.

Nothing is run. Source: IPython's manual, "Built-in magic commands" and "System shell access", read 2026-11-21.
"""

import ast
import contextlib
import re
import textwrap
import warnings
from typing import NamedTuple

COMMAND = re.compile(r"([ \t]*)(?:!(?!=)|%(?=[A-Za-z%]))")
SET = re.compile(r"([ \t]*)%(?:set_)?env[ \t]+([A-Za-z_]\w*)(?:[ \t]*=[ \t]*|[ \t]+)(\S.*)")
OUTPUT = re.compile(r"([ \t]*[A-Za-z_][\w.,\[\]\"' \t]*=[ \t]*)(?:!|%(?=[A-Za-z]))")
CONTINUES = re.compile(r"[ \t)\]}#]|$|(?:elif|else|except|finally)\b")
UNFILLED = re.compile(r"(\b\w+[ \t]*(?<![=!<>])=)(?=[ \t]*(?:[,)#]|$))")
"""Gaps that a tutorial leaves for its readers to fill in: `name = # TODO`, `name=,`."""
UNFINISHED = ("was never closed", "unterminated triple-quoted", "unexpected EOF", "expected an indented block")
MAX_LENGTH, MAX_GAPS, MAX_LESSON = 500_000, 20, 100_000
MAX_STATEMENT_PARTS, MAX_PARSED, MAX_LEFT_OUT = 60, 1_000_000, 20
ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors of Python's parser for a text that is not Python."""


class LeftOut(NamedTuple):
    """A part of the text that is not Python: its line, the reason, and its text."""

    line: int
    reason: str
    text: str


class Parsed(NamedTuple):
    """A program, and the parts of the text that are not in it."""

    tree: ast.Module
    left_out: list[LeftOut]


def parse(text: str) -> Parsed:
    """Parse a program without its parts that are not Python. Raise SyntaxError if nothing else remains."""
    try:
        return Parsed(_parse(text), [])
    except SyntaxError as error:
        first = error
    without = without_commands(text)
    with contextlib.suppress(SyntaxError):
        return Parsed(_parse_filled(without), [])
    parsed = _parse_in_parts(without)
    if not parsed.tree.body:
        raise first
    return parsed


def is_program(text: str) -> bool:
    """Return whether a whole text is Python, except for a notebook's commands."""
    with contextlib.suppress(*ERRORS):
        return bool(_parse(without_commands(text)))
    return False


def without_commands(text: str) -> str:
    """Replace the lines that are commands of a notebook; every other line keeps its number."""
    is_indented = all(line[0] in " \t" for line in text.split("\n") if line.strip())
    lines = (textwrap.dedent(text) if is_indented else text).split("\n")
    in_command = False
    for number, line in enumerate(lines):
        output, command = OUTPUT.match(line), COMMAND.match(line)
        if in_command:
            lines[number] = ""
        elif (setting := SET.fullmatch(line)) is not None:
            lines[number] = _environment(*setting.groups())
        elif output is not None or command is not None:
            lines[number] = f"{output[1]}shell()" if output is not None else f"{command[1] if command else ''}pass"
        is_command = in_command or (not SET.fullmatch(line) and bool(output or command))
        in_command = is_command and line.rstrip().endswith("\\")
    return "\n".join(lines)


def _environment(indent: str, name: str, value: str) -> str:
    """Return the assignment that `%env NAME=value` makes, with names of the program filled in, as IPython does."""
    filled = re.sub(
        r"\{\{|\}\}|\$\{?([A-Za-z_]\w*)\}?", lambda used: f"{{{used[1]}}}" if used[1] else used[0], value.strip()
    )
    return f"{indent}environ[{name!r}] = {'f' if '{' in filled else ''}{filled!r}"


def _parse(text: str) -> ast.Module:
    """Parse without Python's warnings, such as invalid escapes. Raise ValueError if the text is too long."""
    if len(text) > MAX_LENGTH:
        raise ValueError("The program is too long to be read.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _parse_filled(text: str) -> ast.Module:
    """Parse a program with `...` in the gaps of a tutorial; only lines that are not Python are changed."""
    lines = text.split("\n")
    for _ in range(MAX_GAPS if len(text) <= MAX_LESSON else 1):
        try:
            return _parse("\n".join(lines))
        except SyntaxError as error:
            at = min(error.lineno or 1, len(lines)) - 1
            filled = UNFILLED.sub(r"\1 ...", lines[at])
            if filled == lines[at]:
                raise
            lines[at] = filled
    return _parse("\n".join(lines))


def _parse_in_parts(text: str) -> Parsed:
    """Parse statement by statement; a statement begins on a line without indent."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if number == 0 or _begins(lines[number - 1], line)]
    ends = [*starts[1:], len(lines)]
    parsed, budget, at = Parsed(ast.Module([], []), []), MAX_PARSED, 0
    while at < len(starts):
        reason, taken, where = "it is too long to be looked through", 1, starts[at] + 1
        for size in range(1, min(MAX_STATEMENT_PARTS, len(starts) - at) + 1):
            part = "\n".join(lines[starts[at] : ends[at + size - 1]])
            budget -= len(part)
            if budget < 0:
                break
            try:
                parsed.tree.body.extend(ast.increment_lineno(_parse(part), starts[at]).body)
            except SyntaxError as error:
                reason, where = error.msg or "it cannot be parsed", starts[at] + (error.lineno or 1)
                if not any(sign in reason for sign in UNFINISHED):
                    break
            else:
                reason, taken = "", size
                break
        if reason and len(parsed.left_out) < MAX_LEFT_OUT:
            parsed.left_out.append(LeftOut(where, reason, "\n".join(lines[starts[at] : ends[at]])))
        at += taken
    return parsed


def _begins(before: str, line: str) -> bool:
    return not CONTINUES.match(line) and not before.rstrip().endswith("\\") and not before.startswith("@")
