"""Tests of the project's vocabulary: words that were replaced by the field's terms are not used again."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from tests.test_house import ROOT, tracked

REPLACED = {
    "advise": "note",
    "deaf": "unreachable",
    "foreign": "external",
    "hole": "placeholder",
    "judge": "assess",
    "judged": "assess",
    "judging": "assess",
    "purse": "bucket",
    "said": "what it is: claim, output, remark",
    "saw": "poll",
    "sighting": "last_seen",
    "survey": "discovery",
    "telling": "what is chosen: needed, matching",
    "theatre": "",
    "told": "what it is: message, values, notified",
    "took": "",
    "troubles": "last_error",
    "verdict": "outcome",
}
"""Words that no identifier holds any more, in singular or plural: {word: what is said instead}."""
BOUNDS = re.compile(r"(MOST|LONGEST|LARGEST|DEEPEST|SMALLEST|LEAST|SHORTEST)(_[A-Z_]+)?")
DJANGO = frozenset({"ForeignKey"})
PAGE_WORDS = (
    "People and places", "Run time you expect", "Stop it after", "What the board calls it", "Read it<",
    "still to fill in", "to put right", "No machines free", "ended with 0",
)  # fmt: skip
SPOKEN = re.compile(r"\b(tells?|told|telling|says?|said|saying)\b", re.IGNORECASE)
"""A docstring has a function return, contain, show or report something: only people say and tell."""
PACKAGES = ("jobs/", "dashboard/", "emulator/", "cli/")


def sources(*endings: str) -> list[Path]:
    """Return the product's files with these endings, without migrations."""
    paths = (path for path in tracked() if path.startswith((*PACKAGES, "templates/")) and path.endswith(endings))
    return [ROOT / path for path in paths if "/migrations/" not in path]


def parts(name: str) -> set[str]:
    """Return the words of an identifier, in singular: those of `RetryBudgets` are retry and budget."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+", name)
    return {word.lower() for word in words} | {word.lower().removesuffix("s") for word in words}


def names(source: Path) -> set[str]:
    """Return the identifiers of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(source.read_text()).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME} - DJANGO


def test_identifiers_use_the_words_of_the_field() -> None:
    used = {f"{path.relative_to(ROOT)}: {name}" for path in sources(".py") for name in names(path) if is_replaced(name)}

    assert used == set()


def is_replaced(name: str) -> bool:
    return not parts(name).isdisjoint(REPLACED) or BOUNDS.fullmatch(name) is not None


@pytest.mark.parametrize("name", ["ForeignJob", "known_holes", "LONGEST_NAME", "MOST", "judged_usd", "surveys"])
def test_a_replaced_word_is_found(name: str) -> None:
    assert is_replaced(name)


def remarks(text: str) -> set[str]:
    """Return the comments of a module and its docstrings, those below constants and fields included."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.string for token in tokens if token.type == tokenize.COMMENT}
    statements = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))
    values = (node.value for node in statements if isinstance(node, ast.Constant))
    return comments | {value for value in values if isinstance(value, str)}


def test_only_people_say_and_tell_in_docstrings() -> None:
    used = {
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in sources(".py")
        for remark in remarks(path.read_text())
        if (found := SPOKEN.search(remark))
    }

    assert used == set()


def test_remarks_are_comments_and_docstrings() -> None:
    text = '"""One."""\nX = "no"  # Two\n"""Three."""\n\ndef f():\n    """Four."""\n    return "no"\n'

    assert remarks(text) == {"One.", "# Two", "Three.", "Four."}


def test_pages_use_the_words_of_the_field() -> None:
    texts = {path: path.read_text() for path in sources(".py", ".html")}
    used = {
        f"{path.relative_to(ROOT)}: {words}" for path, text in texts.items() for words in PAGE_WORDS if words in text
    }

    assert used == set()
