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
MAX_LENGTH, MAX_PARSED, MAX_LEFT_OUT = 500_000, 1_000_000, 20
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
    """Parse a program without its parts that are not Python. Raise SyntaxError if nothing else remains.

    The statement with an error is left out, and the rest is parsed again; a gap that a tutorial leaves is filled first.
    """
    first, left_out, lines, budget = None, list[LeftOut](), text.split("\n"), MAX_PARSED
    while True:
        try:
            tree = _parse("\n".join(lines))
            break
        except SyntaxError as error:
            at, first, budget = min(error.lineno or 1, len(lines)) - 1, first or error, budget - len(text)
            if first is error:
                lines = without_commands(text).split("\n")
                continue
            if budget < 0:
                raise first from None
            if (filled := UNFILLED.sub(r"\1 ...", lines[at])) != lines[at]:
                lines[at] = filled
                continue
            start = next((n for n in range(at, 0, -1) if _begins(lines[n - 1], lines[n])), 0)
            end = next((n for n in range(at + 1, len(lines)) if _begins(lines[n - 1], lines[n])), len(lines))
            if len(left_out) < MAX_LEFT_OUT:
                left_out.append(LeftOut(at + 1, error.msg or "it cannot be parsed", "\n".join(lines[start:end])))
            lines[start:end] = [""] * (end - start)
    if first is not None and not tree.body:
        raise first
    return Parsed(tree, left_out)


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


def _begins(before: str, line: str) -> bool:
    return not CONTINUES.match(line) and not before.rstrip().endswith("\\") and not before.startswith("@")
