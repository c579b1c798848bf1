"""Holes: marks that a template leaves where a value belongs, as 301 of 539 published specs do.

Recognised: ${NAME}, $NAME, <NAME>, {{ name }}, {NAME}, [NAME], [your-name] and, where a value never has capitals, a
bare A_WORD.
"""

import re

from jobs.spec.shape import Slot

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
"""Marks of templates that mean something else in a program's own text."""
LEFT_OPEN = re.compile(
    r"\.{3}|\u2026|<[^<>\n]*>|x{3,}|todo|fixme|tbd|change[_-]?me|fill[_-]?me|(?:replace|enter|insert)[_ -].*|replaceme",
    re.IGNORECASE,
)
"""Whole values that stand for one that is to come."""
BARE = re.compile(r"\$[A-Za-z_]\w*|(?<!\$)\{[A-Za-z_][\w.-]*\}")
CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*")
SNAKE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
ENDS = re.compile(r"[/:.@\s]")
LONGEST = 2000
NEVER_CAPITALS = frozenset(
    """machine_type image_uri executor_image_uri network service_account tensorboard output_uri_prefix package_uris
    persistent_resource_id boot_disk_type kms_key_name reserved_ip_ranges tpu_topology network_attachment
    labels""".split()
)
NAMES = NEVER_CAPITALS - {"labels"}
PROGRAM = frozenset({"args", "command", "value"})
"""Text that a program reads, where $NAME and {name} have meanings of their own."""


def has_hole(slot: Slot, text: str) -> bool:
    """Tell whether the text given for a field still holds a hole."""
    text = text[:LONGEST]
    if slot.name in PROGRAM:
        return bool(MARKED.search(text)) and not re.search(r"\$\{\w+[^\w}]|[;&|]", text)
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
    return slot.name in ("display_name", "experiment") and bool(SNAKE.fullmatch(text))


def has_mark(text: str) -> bool:
    """Tell whether a text holds a mark that no value of any field has, such as [NAME]."""
    return bool(MARKED.search(text[:LONGEST]))


def _lower_part(text: str) -> str:
    """Return what of an image or gs:// address has no capitals of its own: no tag, no objects below the bucket."""
    if text.startswith("gs://"):
        return text[5:].partition("/")[0]
    name, at, tag = text.rpartition(":")
    return name if at and "/" not in tag and tag not in ("TAG", "IMAGE_TAG", "VERSION") else text
