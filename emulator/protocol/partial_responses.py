"""Partial responses: `fields=name,customJobs(name,jobSpec/scheduling)` selects the fields of a response.

Syntax ("Partial response" in the documentation of Google's APIs, read 2026-11): selectors are separated by commas;
`a/b` (or `a.b`) is a nested field, `a(b,c)` several of them, `*` every field of a message. A path applies to all
elements of a list. A name may be written in either spelling.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from emulator.protocol import schema
from emulator.protocol.errors import ApiError, invalid

Path = tuple[str, ...]
TOKEN = re.compile(r"[,()/.]|[^,()/.\s]+")
MAX_LENGTH, MAX_DEPTH = 10_000, 50
PAGE_FIELDS = ("nextPageToken",)


def parse(text: str) -> list[Path]:
    """Parse a selector into paths, [] for everything if it is empty. Raise ApiError 400 if it is invalid."""
    if len(text) > MAX_LENGTH:
        raise _error(f"The selector is longer than {MAX_LENGTH} characters.")
    tokens = TOKEN.findall(text)
    paths = list(_selectors(tokens, (), text)) if tokens else []
    if tokens:
        raise _error(f"The selector '{text}' has a closing parenthesis too many.")
    return paths


def _selectors(tokens: list[str], above: Path, text: str) -> Iterator[Path]:
    """Consume selectors from the front of the tokens, up to a closing parenthesis or the end."""
    yield from _selector(tokens, above, text)
    while tokens and tokens[0] != ")":
        if tokens.pop(0) != ",":
            raise _error(f"The selector '{text}' lacks a comma.")
        yield from _selector(tokens, above, text)


def _selector(tokens: list[str], above: Path, text: str) -> Iterator[Path]:
    """Consume one selector from the front of the tokens."""
    path = above
    while True:
        if not tokens or tokens[0] in ",()/.":
            raise _error(f"The selector '{text}' lacks a field name.")
        path = (*path, tokens.pop(0))
        if len(path) > MAX_DEPTH:
            raise _error(f"The selector '{text[:MAX_DEPTH]}...' is nested too deep.")
        if not tokens or tokens[0] not in ("/", ".", "("):
            yield path
            return
        if tokens.pop(0) == "(":
            yield from _selectors(tokens, path, text)
            if not tokens:
                raise _error(f"The selector '{text}' lacks a closing parenthesis.")
            tokens.pop(0)
            return


def check(paths: Sequence[Path], message: str, *, collection: str = "") -> None:
    """Raise ApiError 400 for a path that is not a field of the response's message.

    If `collection` is given, the response is a page of such messages in this field. Paths below `*` are not checked.
    """
    for path in paths:
        inside = path
        if collection and path[0] != "*":
            name = schema.camel(path[0])
            if name in PAGE_FIELDS and len(path) == 1:
                continue
            if name != collection:
                raise _unknown(path)
            inside = path[1:]
        if inside and not _exists(inside, message):
            raise _unknown(path)


def _exists(path: Path, message: str) -> bool:
    for position, step in enumerate(path):
        if step == "*":
            return True
        spelled = schema.names(message).get(step)
        if spelled is None:
            return False
        field = schema.fields(message)[spelled]
        if field.shape == "map" or field.of in ("Struct", "Value", "Any"):
            return True  # any keys
        if field.kind != "message":
            return position + 1 == len(path)
        message = field.of
    return True


def select(answer: Any, paths: Sequence[Path]) -> Any:
    """Return the parts of a response in the paths, or all of it without paths."""
    if not paths:
        return answer
    if isinstance(answer, list):
        return [select(each, paths) for each in answer]
    if not isinstance(answer, dict):
        return answer
    kept = {}
    for name, value in answer.items():
        rests = [path[1:] for path in paths if path[0] in (name, "*") or schema.camel(path[0]) == name]
        if rests:
            kept[name] = value if () in rests else select(value, rests)
    return kept


def _unknown(path: Path) -> ApiError:
    return _error(f"Cannot find matching fields for path '{'.'.join(path)}'.")


def _error(why: str) -> ApiError:
    text = f"Error expanding 'fields' parameter. {why}"
    return invalid(f"Request contains an invalid argument. {text}", violations=[("fields", text)])
