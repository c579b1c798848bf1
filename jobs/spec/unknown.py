"""Find what Trainboard does not know in a resource: fields and enum values that its models lack.

Vertex AI may know them already. They are kept and sent as they were written, after a person has confirmed each.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from jobs.catalog import ACCELERATORS
from jobs.spec.fields import Message
from jobs.spec.findings import Finding, Severity, quoted
from jobs.spec.misplaced_fields import describe_misplaced
from jobs.spec.paths import join
from jobs.spec.placeholders import holds_placeholder
from jobs.spec.shape import Slot, fields, find_parents, nearest, nearest_enum
from jobs.texts import day_of
from jobs.texts import translatable as _

SOURCE = "Agent Platform REST reference; google-cloud-aiplatform 2.7.0"
READ = "2026-11-21"
"""The source of the models of this package, and the day it was read."""
FIELD, VALUE, TOO_MANY = "unknown_field", "unknown_value", "too_many_unknown"
"""Codes of the findings."""
INDEX = re.compile(r"\[\d+\]")
NUMBERS = re.compile(r"[0-9]+")
MAX_TEXT_LENGTH = 200
MAX_UNKNOWN = 50
"""Unknown fields, or values, that can be confirmed one by one. A job with more is hardly meant for this API."""
MAX_LISTED = 8
"""Values of an enum that a message lists."""


class _Field(NamedTuple):
    """A field that a message does not have: the path and type of the message, and the name and value of the field."""

    place: str
    model: type[Message]
    name: str
    value: Any


class _Value(NamedTuple):
    """An enum value that its field does not have: its path, its text, and the field."""

    path: str
    text: str
    slot: Slot


def unknown_findings(job: Message) -> Iterator[Finding]:
    """Yield a finding for each unknown field and enum value of a resource, which a person may confirm.

    Beyond MAX_UNKNOWN of a kind, one more finding counts the rest, which cannot be confirmed.
    """
    kept = list(_unknown_fields(job))
    yield from (_of_field(each, type(job)) for each in kept[:MAX_UNKNOWN])
    values = list(_unknown_values(job))
    yield from (_of_value(each) for each in values[:MAX_UNKNOWN])
    if (more := max(0, len(kept) - MAX_UNKNOWN) + max(0, len(values) - MAX_UNKNOWN)) > 0:
        message = _("%(count)s more fields and values are not known to Trainboard.", count=f"{more:,}")
        remedy = _("Write a job with the fields of the API; so many cannot be confirmed.")
        yield Finding(TOO_MANY, Severity.ERROR, "", message, remedy, SOURCE, READ)


def not_known(value: str, as_of: date) -> str:
    """Return the message about a value that the catalogue or the schema of the day `as_of` does not have."""
    words = {"value": quoted(value), "day": day_of(as_of)}
    return _("%(value)s is not known to Trainboard as of %(day)s; Vertex AI decides.", **words)


def nearest_known(value: str, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known value: a question if only letters differ, as in most typos."""
    near = nearest(value, known)
    if not near:
        return _("No known one is similar.")
    if NUMBERS.findall(near) == NUMBERS.findall(value):
        return _("Did you mean `%(near)s`?", near=near)
    return _("The nearest known one is `%(near)s`.", near=near)


def confirmed_value(path: str, text: str) -> str:
    """Return what a person confirms about a text: the field without list indexes, and the text, or a digest if long."""
    if len(text) > MAX_TEXT_LENGTH:
        text = f"sha256:{sha256(text.encode()).hexdigest()}"
    return f"{INDEX.sub('[]', path)}={text}"


def _confirmed_field(path: str, value: Any) -> str:
    """Return what a person confirms about an unknown field: this value, as a digest, as it may be long or secret."""
    digest = sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    return f"{INDEX.sub('[]', path)}=sha256:{digest[:16]}"


def _of_field(found: _Field, root: type[Message]) -> Finding:
    path = join(found.place, quoted(found.name)[1:-1])
    message = _(
        "%(name)s is not a field of %(place)s that is known to Trainboard as of %(day)s; Vertex AI decides.",
        name=quoted(found.name),
        place=found.place or root.__name__,
        day=day_of(date.fromisoformat(READ)),
    )
    confirm = _confirmed_field(path, found.value)
    return Finding(FIELD, Severity.APPROVAL, path, message, _hint(found, root), SOURCE, READ, confirm=confirm)


def _hint(found: _Field, root: type[Message]) -> str:
    """Return a sentence with the field that was probably meant, or its right place below `root`."""
    name, place = found.name, INDEX.sub("[]", found.place)
    if near := nearest(name, (slot.alias for slot in fields(found.model) if not slot.output)):
        return _("Did you mean `%(near)s`?", near=near)
    if described := describe_misplaced(name):
        return described
    belongs = [home for home in find_parents(name, root) if home.rpartition(".")[0] != place]
    return _("It belongs in `%(place)s`.", place=belongs[0]) if belongs else _("No known one is similar.")


def _of_value(found: _Value) -> Finding:
    names = found.slot.kind.names.values()
    words = {"value": quoted(found.text), "field": found.slot.alias, "day": day_of(date.fromisoformat(READ))}
    message = _(
        "%(value)s is not a value of %(field)s that is known to Trainboard as of %(day)s; Vertex AI decides.", **words
    )
    remedy = _("No known one is similar.")
    if len(names) <= MAX_LISTED:
        remedy = _("Trainboard knows %(keys)s.", keys=", ".join(names))
    if near := nearest_enum(found.text, names):
        remedy = _("Did you mean `%(near)s`?", near=near)
    confirm = confirmed_value(found.path, found.text)
    return Finding(VALUE, Severity.APPROVAL, found.path, message, remedy, SOURCE, READ, confirm=confirm)


def _unknown_fields(job: Message) -> Iterator[_Field]:
    for place, message in _messages(job, ""):
        yield from (_Field(place, type(message), name, value) for name, value in message.unknown_fields.items())


def _unknown_values(job: Message) -> Iterator[_Value]:
    """Yield the unknown enum values; not placeholders, and not accelerators that this site has recorded."""
    for place, message in _messages(job, ""):
        for slot in _enums(type(message)):
            text = getattr(message, slot.name)
            is_known = text in slot.kind.names.values() or text in ACCELERATORS.recorded
            if not is_known and not holds_placeholder(slot, text):
                yield _Value(join(place, slot.alias), text, slot)


def _messages(message: Message, path: str) -> Iterator[tuple[str, Message]]:
    """Yield a message and all messages within it, each with its path."""
    yield path, message
    for slot in _nested(type(message)):
        value = getattr(message, slot.name)
        here = join(path, slot.alias)
        if isinstance(value, Message):
            yield from _messages(value, here)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                yield from _messages(item, f"{here}[{index}]")


@cache
def _nested(model: type[Message]) -> tuple[Slot, ...]:
    return tuple(
        slot for slot in fields(model) if (slot.model is not None or slot.kind.name == "task") and not slot.output
    )


@cache
def _enums(model: type[Message]) -> tuple[Slot, ...]:
    return tuple(slot for slot in fields(model) if slot.kind.name == "enum" and not slot.output)
