"""Give YAML whose indentation was lost, as in a text copied from a page, its indentation back.

The names decide: a name belongs to the innermost open message that has a field of this name.
"""

import re
from collections.abc import Mapping

from jobs.importer.nodes import Node, Notes
from jobs.importer.syntax.yaml_text import read_yaml
from jobs.spec import CustomJob, CustomJobSpec, HyperparameterTuningJob, Message
from jobs.spec.shape import Slot, slots
from jobs.texts import translatable as _

FLAT = re.compile(r"(?:- *)?(?:['\"]?(\w+)['\"]?:(?: .*)?|[^\s#].*)?(?:#.*)?")
HOLDER = re.compile(
    r"^(?:- *)?(?:worker_?pool_?specs|(?:trial_?)?job_?spec|machine_?spec|study_?spec):[ ]*$", re.M | re.I
)
MAX_LINES = 2_000
ROOTS = (CustomJobSpec, CustomJob, HyperparameterTuningJob)


def read_any_yaml(text: str, notes: Notes) -> list[Node]:
    """Return the documents of a YAML text, also of one without any indentation, which is reported."""
    lines = text.split("\n")
    is_flat = len(lines) <= MAX_LINES and not any(
        line[0] in " \t" and line.lstrip()[:1] not in ("", "#") for line in lines if line
    )
    found = (_below(root, lines) for root in ROOTS) if is_flat and HOLDER.search(text) else ()
    if (whole := next((each for each in found if each is not None), None)) is None:
        return read_yaml(text, notes)
    message = _("The indentation of this YAML is lost. It is rebuilt from the names of the fields.")
    notes.note("indentation_lost", 1, message, _("Check that each field is where you mean it."))
    return read_yaml("\n".join(whole), notes)


def _below(root: type[Message], lines: list[str]) -> list[str] | None:
    """Return the lines indented as fields of `root`, None if one is no field of an open message.

    `open_at` holds (fields of a message, column of its names, column of its hyphen or -1), the innermost last.
    """
    open_at: list[tuple[Mapping[str, Slot], int, int]] = [(slots(root), 0, -1)]
    words = -1  # the column of a list of words
    found = []
    for line in lines:
        match, is_item = FLAT.fullmatch(line.rstrip()), line.startswith("-")
        name = match[1] if match is not None else None
        if name is None:
            if line.startswith("- ") and words < 0:
                return None
            found.append(" " * max(words, 0) + line if line.startswith("- ") else line)
            continue
        while open_at and not (name in open_at[-1][0] and (open_at[-1][2] >= 0 or not is_item)):
            open_at.pop()
        if not open_at:
            return None
        fields, column, hyphen = open_at[-1]
        bare, slot = line.lstrip("- ").rstrip(), fields[name]
        found.append(f"{' ' * hyphen}- {bare}" if is_item else " " * column + bare)
        words = column + 2 if bare.endswith(":") and slot.many and slot.model is None else -1
        if bare.endswith(":") and slot.model is not None:
            open_at.append((slots(slot.model), column + 2 * (1 + slot.many), column + 2 if slot.many else -1))
    return found
