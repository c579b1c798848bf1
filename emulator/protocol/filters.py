"""The filter language of Vertex AI's lists and Cloud Logging (AIP-160): parse text to a tree, compile it to a test.

Grammar: comparisons `field OP value` with = != < <= > >= : (and =~ !~ for logs), NOT or -, AND (or nothing), OR,
parentheses. NOT binds most tightly, then OR, then AND, as both AIP-160 and the Logging query language define.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from emulator.protocol.errors import invalid

TOKEN = re.compile(
    r"""\s*(?:
      (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<mark>\(|\)|<=|>=|!=|=~|!~|=|<|>|:)
    | (?P<word>(?:[^\s()"'<>=!:,]|!(?![=~])|"(?:[^"\\]|\\.)*")+)
    | (?P<bad>\S)
    )""",
    re.VERBOSE,
)
OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">=", ":", "=~", "!~"})
ORDER_TESTS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda mine, theirs: mine == theirs,
    "!=": lambda mine, theirs: mine != theirs,
    "<": lambda mine, theirs: mine < theirs,
    "<=": lambda mine, theirs: mine <= theirs,
    ">": lambda mine, theirs: mine > theirs,
    ">=": lambda mine, theirs: mine >= theirs,
}
"""Operators for ordered values. Times are timestamps of equal length, which can be compared as text."""
MAX_DEPTH = 50
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`field OP value`. `field` "" is a bare word that is searched everywhere. `is_quoted`: the value was in quotes."""

    field: str
    operator: str
    value: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """Negates its part."""

    part: "Tree"


@dataclass(frozen=True, slots=True)
class Both:
    """AND over all parts."""

    parts: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """OR over all parts."""

    parts: tuple["Tree", ...]


Tree = Comparison | Not | Both | Either


class _Parser:
    """A recursive descent parser for the tokens of one filter."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        for match in TOKEN.finditer(text):
            kind = str(match.lastgroup)
            if kind == "bad":
                raise self.error(f"unexpected {match[kind]!r} at position {match.start(kind)}")
            self.tokens.append((kind, match[kind]))
        self.at = 0
        self.depth = 0

    def error(self, why: str) -> Exception:
        return invalid(f"Invalid filter: {why}. Filter: {self.text[:200]}")

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.at += 1
        return token

    def expression(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("nested too deeply")
        parts = [self.alternatives()]
        while self.peek()[0] != "end" and self.peek() != ("mark", ")"):
            if self.peek() == ("word", "AND"):
                self.take()
            parts.append(self.alternatives())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def alternatives(self) -> Tree:
        parts = [self.term()]
        while self.peek() == ("word", "OR"):
            self.take()
            parts.append(self.term())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def term(self) -> Tree:
        if self.peek() == ("word", "NOT"):
            self.take()
            return Not(self.simple())
        kind, text = self.peek()
        if kind == "word" and text.startswith("-") and len(text) > 1:
            self.tokens[self.at] = (kind, text[1:])
            return Not(self.simple())
        return self.simple()

    def simple(self) -> Tree:
        kind, text = self.take()
        if (kind, text) == ("mark", "("):
            inside = self.expression()
            if self.take() != ("mark", ")"):
                raise self.error("a parenthesis is not closed")
            return inside
        if kind not in ("word", "quoted") or text in ("AND", "OR", "NOT"):
            raise self.error(f"expected a comparison, found {text or 'the end'!r}")
        if self.peek()[0] == "mark" and self.peek()[1] in OPERATORS:
            return self.comparison(text if kind == "word" else unquoted(text))
        return Comparison("", ":", unquoted(text) if kind == "quoted" else text, kind == "quoted")

    def comparison(self, field: str) -> Tree:
        operator = self.take()[1]
        kind, text = self.peek()
        if (kind, text) == ("mark", "("):
            return self._several(field, operator)
        self.take()
        if kind == "quoted":
            return Comparison(field, operator, unquoted(text), is_quoted=True)
        if kind != "word":
            raise self.error(f"{field} {operator} needs a value")
        while self.peek() == ("mark", ":"):  # an unquoted time of day
            text += self.take()[1] + self.take()[1]
        return Comparison(field, operator, text)

    def _several(self, field: str, operator: str) -> Tree:
        """Parse `field OP (a OR b)` into a comparison with each value."""
        inside = self.simple()

        def spread(tree: Tree) -> Tree:
            match tree:
                case Comparison("", ":", value, is_quoted):
                    return Comparison(field, operator, value, is_quoted)
                case Not(part):
                    return Not(spread(part))
                case Both(parts):
                    return Both(tuple(map(spread, parts)))
                case Either(parts):
                    return Either(tuple(map(spread, parts)))
            raise self.error(f"{field} {operator} (...) may hold values only")

        return spread(inside)


def unquoted(text: str) -> str:
    """Return a quoted text without its quotes and escapes."""
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def parse(text: str) -> Tree | None:
    """Parse a filter. Return None if it is empty. Raise ApiError 400 if it is invalid."""
    parser = _Parser(text)
    if not parser.tokens:
        return None
    tree = parser.expression()
    if parser.peek()[0] != "end":
        raise parser.error(f"unexpected {parser.peek()[1]!r}")
    return tree


def compile_tree(tree: Tree, test: Callable[[Comparison], Callable[[T], bool]]) -> Callable[[T], bool]:
    """Compile a tree to one function. `test` compiles a comparison and raises an error for unknown fields."""
    match tree:
        case Comparison():
            return test(tree)
        case Not(part):
            inside = compile_tree(part, test)
            return lambda thing: not inside(thing)
        case Both(parts):
            every = [compile_tree(part, test) for part in parts]
            return lambda thing: all(check(thing) for check in every)
        case Either(parts):
            some = [compile_tree(part, test) for part in parts]
            return lambda thing: any(check(thing) for check in some)
