"""Marks of templates that YAML itself cannot read: quoted where they are values, passed over where they are logic.

Source: the syntax of Jinja's and Helm's templates; POSIX, "Shell Command Language", read 2026-11-21.
"""

import re

LONGEST_LINE = 500
LOGIC = re.compile(
    r"[ \t]*(?:\{%.*%\}|<%.*%>|\{\{-?[ ]*(?:if|else|end|range|with|define|include)\b.*\}\}|\$\(.*\))[ \t]*"
)
MARK = re.compile(
    r"^([ \t]*(?:-[ \t]+)?(?:[\w.-]+[ \t]*:[ \t]+)?)((?:[%@`]|\{\{|\{%|\$\{\{)[^#\n]*?)([ \t]*(?:[ \t]#.*)?)$"
)


def without_marks(text: str) -> str:
    """Quote values that begin with a mark of a template; empty the lines that hold nothing but a template's logic."""
    return "\n".join(_without_mark(line) if len(line) <= LONGEST_LINE else line for line in text.split("\n"))


def _without_mark(line: str) -> str:
    return "" if LOGIC.fullmatch(line) else MARK.sub(_in_quotes, line)


def _in_quotes(found: re.Match[str]) -> str:
    return f"{found[1]}'{found[2].replace(chr(39), chr(39) * 2)}'{found[3]}"


def first_mark(text: str) -> int:
    """Return the number of the first line that `without_marks` changes, from 1; 0 where it changes none."""
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if len(line) <= LONGEST_LINE and _without_mark(line) != line), 0)
