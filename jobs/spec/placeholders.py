"""Find placeholders, the marks in a template or example where a value has to be filled in.

The importer and the rules use the same detection. Detected in every field: ${NAME}, $NAME, <NAME>, {{ name }}, {NAME},
[NAME], [your-name], your-name. Detected where a value never has capitals: a bare A_WORD. Detected in text that a
program reads: words such as DATASET_ID and addresses such as gs://MODEL_BUCKET. Source of the marks: 539 published
specs and the samples of Google's training pages, read 2026-11-22.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from jobs.spec.fields import Message
from jobs.spec.placeholder_words import ADDRESS, FILLER, LEFT_OPEN
from jobs.spec.programs import program_placeholders
from jobs.spec.shape import Slot, slots

MARKED = re.compile(
    r"\$\{[^{}\n]*\}|<[A-Za-z][^<>\n]*>|\{\{[^{}\n]*\}\}|%[A-Z_]+%|@[A-Z_]{3,}@"
    r"|\[[A-Z][A-Z0-9_ -]*\]|\[your[ _-][a-z0-9 _-]*\]"
)
WIDER = re.compile(
    r"__[A-Z][A-Z0-9_]*__|\(\([\w .-]+\)\)|<%[^%\n]*%>|\{%[^%\n]*%\}|\$\[[\w .-]+\]|\$\([\w .-]+\)"
    r"|%\(\w+\)[sd]|%[sd](?![a-z0-9])|@@\w+@@|\(your[^)\n]*\)|(?:^|[/:.@\s])your[-_ ]"
    r"|\[[a-z][a-z0-9 _-]*\]",
    re.IGNORECASE,
)
"""Template marks that have another meaning in the text of a program."""
SMALL_SIGNS = re.compile(r"[$<{\[(%\u2026]|@@|__|\.{3}|x{3}|your|todo|tbd|fixme|change|fill|replace|enter|insert")
"""Found in every placeholder without capitals; checking for these first is many times faster."""
BARE = re.compile(r"\$[A-Za-z_]\w*|(?<!\$)\{[A-Za-z_][\w.-]*\}")
CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*")
ENDS = re.compile(r"[/:.@\s]")
MAX_LENGTH = 2000
NEVER_CAPITALS = frozenset(
    """machine_type image_uri executor_image_uri network service_account tensorboard output_uri_prefix package_uris
    persistent_resource_id boot_disk_type kms_key_name reserved_ip_ranges tpu_topology network_attachment server
    instance_ip dataset_id labels""".split()
)
NAMES = NEVER_CAPITALS - {"labels"}
PROGRAM = frozenset({"args", "command", "value"})
"""Text that a program reads, in which $NAME and {name} have their own meaning."""
PROSE = frozenset({"description", "version_description", "documentation", "error", "message"})


class Placeholder(NamedTuple):
    """A field whose text contains a placeholder: its path in the REST body, and the whole text."""

    path: str
    text: str


def placeholders(job: Message) -> Iterator[Placeholder]:
    """Yield the text fields of a resource that contain a placeholder, in the order in which they were given."""
    return _in_message(job)


def holds_placeholder(slot: Slot, text: str) -> bool:
    """Return whether the text of a field contains a placeholder; not for text that a program reads."""
    text = text[:MAX_LENGTH]
    if text.islower() and not SMALL_SIGNS.search(text):
        return False
    if MARKED.search(text) or BARE.search(text):
        return True
    if (slot.kind.name != "text" or slot.name in NAMES) and (WIDER.search(text) or LEFT_OPEN.fullmatch(text.strip())):
        return True
    if slot.kind.name in ("int32", "int64", "number", "duration", "flag"):
        return bool(CAPITALS.fullmatch(text)) and len(text) > 1
    if slot.kind.name == "enum":
        meant = text.endswith(slot.name.upper().rpartition("_")[2]) or text.startswith(("YOUR", "MY"))
        return bool(CAPITALS.fullmatch(text)) and meant
    if slot.name in NEVER_CAPITALS:
        return any(len(part) > 2 and CAPITALS.fullmatch(part) for part in ENDS.split(_lower_part(text)))
    if slot.name == "name":
        return False  # of a variable, which has capitals
    if any(FILLER.fullmatch(part) for part in text.split("/")):
        return True
    return slot.name != "display_name" and ADDRESS.search(text) is not None


def has_mark(text: str) -> bool:
    """Return whether a text contains a mark that no valid value has, such as [NAME]."""
    return bool(MARKED.search(text[:MAX_LENGTH]))


@cache
def is_program(model: type[Message]) -> bool:
    """Return whether a message describes a program call, with `args` and `env`."""
    return {"args", "env"} <= slots(model).keys()


def _lower_part(text: str) -> str:
    """Return the part of an image or gs:// address that never has capitals: no tag, no path below the bucket."""
    if text.startswith("gs://"):
        return text[5:].partition("/")[0]
    name, at, tag = text.rpartition(":")
    return name if at and "/" not in tag and tag not in ("TAG", "IMAGE_TAG", "VERSION") else text


@cache
def _searched(model: type[Message]) -> dict[str, Slot]:
    """Return the fields of a message that may contain a placeholder, except those that a program reads."""
    read_by_program = {"args", "command", "env"} if is_program(model) else set()
    return {
        name: slot
        for name, slot in slots(model).items()
        if not slot.output and name not in read_by_program
        if slot.model or slot.mapping or (slot.kind.name == "text" and name not in PROSE)
    }


def _in_message(message: Message) -> Iterator[Placeholder]:
    searched = _searched(type(message))
    for name in message.model_fields_set:
        slot = searched.get(name)
        value = getattr(message, name) if slot else None
        if not slot or not value:
            continue
        for path, text in _in_field(slot, value):
            yield Placeholder(f"{slot.alias}{path}", text)
    if is_program(type(message)):
        program: Any = message
        env = [(each.name, each.value) for each in program.env]
        command, args = list(getattr(program, "command", ())), list(program.args)
        yield from (Placeholder(*found) for found in program_placeholders(command, args, env))


def _in_field(slot: Slot, value: Any) -> Iterator[tuple[str, str]]:
    """Yield (path below the field, text)."""
    if slot.mapping:
        for name, item in value.items():
            texts = (text for text in (name, item) if isinstance(text, str) and holds_placeholder(slot, text))
            yield from ((f"[{name}]", text) for text in islice(texts, 1))
    elif slot.many:
        for index, item in enumerate(value):
            yield from ((f"[{index}]{path}", text) for path, text in _in_value(slot, item))
    else:
        yield from _in_value(slot, value)


def _in_value(slot: Slot, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Message):
        yield from ((f".{path}", text) for path, text in _in_message(value))
    elif holds_placeholder(slot, value):
        yield "", value
