"""Texts that a program puts together: `format`, `%`, `join`. What is not known stays as a hole in its place.

Source: Python's manual, "Format String Syntax" and "printf-style String Formatting", read 2026-11-21.
"""

import ast
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from jobs.convert.texts.nodes import Node

LONGEST = 200_000
METHODS = {
    "lower": 0,
    "upper": 0,
    "strip": 0,
    "replace": 2,
    "removeprefix": 1,
    "removesuffix": 1,
    "rstrip": 1,
    "split": 1,
}
"""Methods of texts that are known without running anything, and how many arguments they are read with."""
PERCENT = re.compile(r"%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")


def formatted(text: str, given: Sequence[Node], named: Mapping[str, Node]) -> str:
    """Return `text.format(*given, **named)`; fields that are not given stay as holes."""
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError:
        return text
    found: list[str] = []
    unnamed = 0
    for literal, field, _, _ in pieces:
        found.append(literal)
        if field is None:
            continue
        name = re.split(r"[.\[]", field)[0]
        if name == "":
            name, unnamed = str(unnamed), unnamed + 1
        node = named.get(name)
        if name.isdecimal() and len(name) < 5 and int(name) < len(given):
            node = given[int(name)]
        whole = field in (name, "") and node is not None and node.is_scalar
        found.append(node.text() if node is not None and whole else "${" + (field or name) + "}")
    return bounded(found)


def percent(text: str, right: Node) -> str:
    """Return `text % right`; what is not given stays as a hole."""
    values = list(right.value) if isinstance(right.value, list) else [right]
    names = right.value if isinstance(right.value, dict) else {}

    def pieces() -> Iterator[str]:
        end = 0
        for found in PERCENT.finditer(text):
            yield text[end : found.start()]
            end = found.end()
            if found[2] == "%":
                yield "%"
                continue
            node = names.get(found[1]) if found[1] else (values.pop(0) if values else None)
            yield node.text() if node is not None and node.is_scalar else "${" + (found[1] or "value") + "}"
        yield text[end:]

    return bounded(pieces())


def changed(node: Node, method: str, given: Sequence[object]) -> Node | None:
    """Return what a method such as lower or replace makes of a known text; None where the text is not known."""
    text = node.value
    if not isinstance(text, str) or "${" in text:
        return None
    if method == "split":
        return _split(text, given, node.line)
    words = [word for word in given if isinstance(word, str)]
    if len(words) != len(given) or len(words) != METHODS[method]:
        return None
    if method == "replace" and (text.count(words[0]) + 1) * len(words[1]) > LONGEST:
        return None
    return Node(getattr(text, method)(*words)[:LONGEST], node.line)


def _split(text: str, marks: Sequence[object], line: int) -> Node | None:
    """Return the parts of a text between marks, or between blanks where no mark is given."""
    mark = marks[0] if marks else None
    if len(marks) > 1 or not isinstance(mark, str | None) or mark == "" or (mark and "${" in mark):
        return None
    return Node([Node(part, line) for part in text.split(mark)], line)


def bounded(pieces: Iterable[str]) -> str:
    """Return the pieces in one text of at most LONGEST characters, whatever their number."""
    found: list[str] = []
    size = 0
    for piece in pieces:
        found.append(piece[: LONGEST - size])
        size += len(found[-1])
        if size >= LONGEST:
            break
    return "".join(found)


def put_together(
    call: ast.Call,
    function: ast.Attribute,
    of: Callable[[ast.expr], Node],
    named: Callable[[], Mapping[str, Node]],
    hole: Callable[[ast.expr], Node],
) -> str | None:
    """Return what text.format(...), text.join([...]) and os.path.join(...) give; None for what is not known.

    `of` gives an expression's value, `named` the named arguments, `hole` the hole for an expression.
    """

    def known(expression: ast.expr) -> Node:
        """Return a hole for a name that is bound to nothing yet, as in PROJECT = ""."""
        node = of(expression)
        return hole(expression) if node.value == "" and not isinstance(expression, ast.Constant) else node

    if function.attr == "join" and isinstance(function.value, ast.Attribute | ast.Name):
        path = function.value.attr if isinstance(function.value, ast.Attribute) else function.value.id
        if path == "path":
            return _joined("/", [known(part) for part in call.args], trimmed=True)
    owner = of(function.value).value
    if not isinstance(owner, str):
        return None
    if function.attr == "join" and len(call.args) == 1:
        parts = of(call.args[0])
        return _joined(owner, parts.value) if isinstance(parts.value, list) else None
    if function.attr == "format" and "${" not in owner:
        return formatted(owner, [known(part) for part in call.args], named())
    return None


def _joined(mark: str, parts: Sequence[Node], *, trimmed: bool = False) -> str | None:
    if not all(part.is_scalar for part in parts):
        return None
    texts = [part.text() for part in parts]
    if trimmed:
        texts = [*(text.removesuffix(mark) for text in texts[:-1]), *texts[-1:]]
    return bounded(piece for place, text in enumerate(texts) for piece in ((mark, text) if place else (text,)))
