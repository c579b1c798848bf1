"""Give YAML whose indentation was lost, as in a text copied from a page, its indentation back.

The names decide: a name belongs to the innermost open message that has a field of this name.
"""

import re

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
    if (whole := indented(text)) is None:
        return read_yaml(text, notes)
    message = _("The indentation of this YAML is lost. It is rebuilt from the names of the fields.")
    notes.note("indentation_lost", 1, message, _("Check that each field is where you mean it."))
    return read_yaml(whole, notes)


def indented(text: str) -> str | None:
    """Return a text on the same lines with indentation, None for a text that has some or whose names are ambiguous."""
    lines = text.split("\n")
    bare = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    is_flat = len(lines) <= MAX_LINES and not any(line[0] in " \t" for line in bare)
    if not is_flat or not HOLDER.search(text):
        return None
    for root in ROOTS:
        if (found := _below(root, lines)) is not None:
            return "\n".join(found)
    return None


def _below(root: type[Message], lines: list[str]) -> list[str] | None:
    """Return the lines indented as fields of `root`, None if one is no field of an open message.

    `open_at` holds (message, column of its names, column of its hyphen or -1), the innermost last.
    """
    open_at: list[tuple[type[Message], int, int]] = [(root, 0, -1)]
    words = -1  # the column of a list of words
    found = []
    for line in lines:
        match = FLAT.fullmatch(line.rstrip())
        name = match[1] if match is not None else None
        if name is None:
            if line.startswith("- ") and words < 0:
                return None
            found.append(" " * max(words, 0) + line if line.startswith("- ") else line)
            continue
        is_item = line.startswith("-")
        place = next((n for n in range(len(open_at) - 1, -1, -1) if _slot(open_at[n][0], name)), -1)
        while is_item and place >= 0 and open_at[place][2] < 0:
            place = next((n for n in range(place - 1, -1, -1) if _slot(open_at[n][0], name)), -1)
        slot = _slot(open_at[place][0], name) if place >= 0 else None
        if slot is None:
            return None
        del open_at[place + 1 :]
        _model, column, hyphen = open_at[place]
        bare = line.lstrip("- ")
        found.append(f"{' ' * hyphen}- {bare}" if is_item else " " * column + bare)
        words = -1
        if bare.rstrip().endswith(":") and slot.model is not None:
            open_at.append((slot.model, column + 4, column + 2) if slot.many else (slot.model, column + 2, -1))
        elif bare.rstrip().endswith(":") and slot.many:
            words = column + 2
    return found


def _slot(model: type[Message], name: str) -> Slot | None:
    return slots(model).get(name)
