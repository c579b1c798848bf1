"""Find and mask values in a job that look like secrets, by their name or form.

Environment variables, arguments and commands are searched by name and form, all other text of a body by the form of
tokens. Names such as `--max-tokens` and values such as a path or number are not secrets. Names and forms come from the
guides of Secret Manager and of GitHub's secret scanning (docs.github.com, supported secret scanning patterns, read
2026-11-21).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.bounds import digest_of
from jobs.spec.paths import join
from jobs.spec.secret_names import is_secret_name, is_secret_value
from jobs.spec.secret_texts import MASK, Span, flag_of, masked, password_spans, spans, token_spans

ENV_LISTS = frozenset({"env"})
WORD_LISTS = frozenset({"args", "command"})
MIN_TEXT_LENGTH = 4
"""A shorter secret is masked in its own field only, because it may be part of words elsewhere."""
BETWEEN_WORDS = re.compile(r"[\s=,:;/&?\"']")
MIN_REPEATED_LENGTH = 8
"""A secret of this length is also masked where another field of the body repeats it."""
SEARCH_VERSION = 1
"""Raise it when the search finds more: what was stored by another version is searched again when it is loaded."""
MAX_SECRETS = 100
"""A text about a body with more secrets is hidden as a whole: each text would be searched for each of them."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A text of a body that contains secrets: its path in the REST body, and the positions of the secrets."""

    path: str
    text: str
    spans: tuple[Span, ...]

    @property
    def values(self) -> list[str]:
        """The secrets themselves."""
        return [self.text[start:end] for start, end in self.spans]


def find_secrets(body: Any, path: str = "") -> Iterator[Secret]:
    """Yield the secrets of a REST body, or of the part of it at `path`."""
    if isinstance(body, str):
        yield from _found(path, body, token_spans(body))
    elif isinstance(body, Mapping):
        for name, value in body.items():
            here = join(path, str(name))
            if name in ENV_LISTS and isinstance(value, list):
                yield from env_secrets(value, here)
            elif name in WORD_LISTS and isinstance(value, list):
                yield from word_secrets(value, here)
            else:
                yield from find_secrets(value, here)
    elif isinstance(body, list):
        for index, value in enumerate(body):
            yield from find_secrets(value, f"{path}[{index}]")


def env_secrets(env: Sequence[Any], path: str) -> Iterator[Secret]:
    """Yield the secrets in environment variables, which are objects with name and value."""
    for index, variable in enumerate(env):
        if not isinstance(variable, Mapping):
            continue
        name, value = variable.get("name"), variable.get("value")
        if isinstance(value, str):
            by_name = isinstance(name, str) and is_secret_name(name) and is_secret_value(name, value)
            yield from _found(f"{path}[{index}].value", value, [(0, len(value))] if by_name else spans(value))


def word_secrets(words: Sequence[Any], path: str) -> Iterator[Secret]:
    """Yield the secrets in arguments or the words of a command: `--token=x`, `--token x`, `export TOKEN=x`."""
    flag = ""
    for index, word in enumerate(words):
        if not isinstance(word, str):
            continue
        named = bool(flag) and not word.startswith("-") and is_secret_name(flag) and is_secret_value(flag, word)
        found = [(0, len(word))] if named else password_spans(flag, word) or spans(word)
        yield from _found(f"{path}[{index}]", word, found)
        flag = flag_of(word)


def _found(path: str, text: str, found: Sequence[Span]) -> Iterator[Secret]:
    if found:
        yield Secret(path, text, tuple(found))


def mask_secrets(body: Any) -> Any:
    """Return a copy of a REST body with every secret replaced by MASK."""
    return Masker(body).body


def secrets_as_json(body: Any) -> dict[str, Any]:
    """Return where the secrets of a body are, to store beside it, so that it is searched once: `Masker(body, kept)`."""
    found = {secret.path: [list(span) for span in secret.spans] for secret in find_secrets(body)}
    return {"version": SEARCH_VERSION, "digest": _digest(body), "found": found}


def _kept_secrets(body: Any, kept: Mapping[str, Any] | None) -> list[Secret]:
    """Return the secrets of a body from the JSON of `secrets_as_json`; search if that is of another body or search."""
    is_current = isinstance(kept, Mapping) and kept.get("version") == SEARCH_VERSION
    if not (kept and is_current and kept.get("digest") == _digest(body)):
        return list(find_secrets(body))
    found: Mapping[str, list[list[int]]] = kept["found"]
    texts = [each for each in _texts(body, "") if each[0] in found] if found else []
    return [Secret(path, text, tuple((start, end) for start, end in found[path])) for path, text in texts]


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a body with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, join(path, str(name)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}[{index}]")


def _digest(body: Any) -> str:
    return digest_of(json.dumps(body, sort_keys=True))


def holds_mask(body: Any) -> bool:
    """Return whether a body contains a masked value, which cannot be submitted."""
    if isinstance(body, str):
        return MASK in body
    if isinstance(body, Mapping):
        return any(map(holds_mask, body.values()))
    return isinstance(body, list | tuple) and any(map(holds_mask, body))


class Masker:
    """Masks the secrets of one body, in the body itself and in text about it, such as an error that quotes it.

    `kept` is the result of `secrets_as_json` for the body; without it the body is searched.
    """

    def __init__(self, body: Any, kept: Mapping[str, Any] | None = None) -> None:
        secrets = _kept_secrets(body, kept)
        self._at = {secret.path: masked(secret.text, secret.spans) for secret in secrets}
        self._values = sorted({value for secret in secrets for value in secret.values}, key=len, reverse=True)
        self._long = frozenset(value for value in self._values if len(value) >= MIN_REPEATED_LENGTH)
        self.body = self._masked(body, "") if secrets else body

    def hide(self, value: Any) -> Any:
        """Return text, or JSON with text in it, without the body's secrets and without other tokens."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {name: self.hide(item) for name, item in value.items()}
        return [self.hide(item) for item in value] if isinstance(value, list) else value

    def _text(self, text: str) -> str:
        if len(self._values) > MAX_SECRETS:
            return MASK if text else text
        for value in self._values:
            # The second form is the value as JSON and Python write it inside quotes.
            for form in (value, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")):
                if len(form) >= MIN_TEXT_LENGTH:
                    text = text.replace(form, MASK)
        return masked(text, spans(text))

    def _repeats(self, text: str) -> bool:
        """Return whether a text contains a secret of another field; of very many, whether one is a word of it."""
        if len(self._long) > MAX_SECRETS:
            return not self._long.isdisjoint([text, *BETWEEN_WORDS.split(text)])
        return any(secret in text for secret in self._long)

    def _masked(self, value: Any, path: str) -> Any:
        if isinstance(value, str):
            if path in self._at or len(value) < MIN_REPEATED_LENGTH:
                return self._at.get(path, value)
            return self._text(value) if self._repeats(value) else value
        if isinstance(value, Mapping):
            return {name: self._masked(item, f"{path}.{name}" if path else str(name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._masked(item, f"{path}[{index}]") for index, item in enumerate(value)]
        return value
