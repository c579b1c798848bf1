"""Convert a job as people write it into what the API accepts, field by field, with a note for each change.

Numbers in text fields become text as written, a single value becomes a list if the field is a list, seconds become
durations, fields that Vertex AI fills in are dropped, and placeholders are recorded. The name and trial counts that
gcloud's config files leave out are added. `jobs.spec.read` checks the rest.
"""

import re
from typing import Any

from jobs.bounds import parse_digits
from jobs.importer.nodes import Draft, Node, Notes, env_of
from jobs.importer.syntax.yaml_text import surprises
from jobs.spec import CustomJobSpec, EnvVar, Message, TuningTaskInputs, quoted
from jobs.spec.paths import join
from jobs.spec.placeholders import PROGRAM, has_mark, holds_placeholder, is_program
from jobs.spec.programs import program_placeholders
from jobs.spec.shape import Slot, slots
from jobs.texts import translatable as _

MAX_UNKNOWN, MAX_NAME, MAX_QUOTED = 200, 128, 50
MARK = re.compile(r"\b(?:YOUR|MY)[_-]|\$\{(?!\w+:?[-=+])|\$\w|(?<!-)<\w|\{\{|(?<![A-Z])[A-Z]{2,}_[A-Z]{2,}|/[A-Z]{3,}")
"""What is a placeholder in a word of a long text."""
BRACED = re.compile(r"[A-Za-z_][\w.-]*")


class Normalizer:
    """Normalizes a body. `placeholders` collects the paths of placeholders, with the text that is kept of each."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.placeholders: dict[str, str] = {}
        self.unknown = 0

    def message(self, model: type[Message], node: Node, path: str = "") -> Node:
        """Return a message of type `model` normalized; a value that is not a mapping is returned unchanged."""
        if not isinstance(node.value, dict):
            return node
        known = slots(model)
        entries: dict[str, Node] = {}
        for name, item in node.value.items():
            slot = known.get(name) or known.get(name.removesuffix("_"))
            if slot is None:
                slot_name, here = name, join(path, quoted(name)[1:-1])
            else:
                slot_name, here = slot.alias, join(path, slot.alias)
            if item.value is None:
                message = _("%(alias)s has no value; it is left out.", alias=slot_name)
                self.notes.note("empty_value", item.line, message, path=here)
            elif slot is None:
                entries |= {name: item} if self._keeps_unknown(name, item, path) else {}
            elif slot.output and model.__name__ not in ("Trial", "Model"):
                message = _("%(alias)s is filled in by Vertex AI; it is left out.", alias=slot.alias)
                self.notes.note("output_field", item.line, message, path=here)
            elif (value := self._field(slot, item, here, node)) is not None:
                entries[name if name in known else slot.name] = value
        if is_program(model):
            self._program(Node(entries, node.line), path)
        return Node(entries, node.line)

    def _program(self, program: Node, path: str) -> None:
        """Record the placeholders in command, args and env, which are detected together."""
        words = {name: program.entries.get(name) for name in ("command", "args", "env")}
        items = {name: node.value if node and isinstance(node.value, list) else [] for name, node in words.items()}
        command, args = ([item.text() for item in items[name]] for name in ("command", "args"))
        named = [[item.entries.get(name) for name in ("name", "value")] for item in items["env"]]
        env = [(name.text() if name else "", value.text() if value else "") for name, value in named]
        held = {f"{name}[{n}]": item for name in ("command", "args") for n, item in enumerate(items[name])}
        held |= {f"env[{n}].value": value for n, (_, value) in enumerate(named) if value is not None}
        texts = {place: item.text() for place, item in held.items() if item.open}
        for place, text in (texts | dict(program_placeholders(command, args, env))).items():
            self._record_placeholder(text, held[place], f"{path}.{place}", is_kept=True)

    def _keeps_unknown(self, name: str, node: Node, path: str) -> bool:
        """Count an unknown field; return whether it is kept, as it is written, for Vertex AI to decide."""
        self.unknown += 1
        if self.unknown == MAX_UNKNOWN + 1:
            message = _("From %(name)s on, unknown fields are not checked.", name=quoted(name))
            self.notes.error("more_unknown_fields", node.line, message, "", path)
        return self.unknown <= MAX_UNKNOWN

    def _field(self, slot: Slot, node: Node, path: str, around: Node) -> Node | None:
        if slot.mapping:
            return self._mapping(slot, node, path)
        if not slot.many:
            return self._one(slot, node, path, around)
        if slot.model is EnvVar and isinstance(node.value, dict) and not {"name", "value"} & set(node.value):
            message = _("env must be a list of name and value pairs; it is read as such a list.")
            self.notes.error("env_as_mapping", node.line, message, _("Write - name: A and value: b."), path)
            node = env_of(node)
        if not isinstance(node.value, list):
            if slot.model is not None and self._is_placeholder(slot, node, path):
                return None
            message = _("%(alias)s is a list in the API; the single value is read as a list of one.", alias=slot.alias)
            self.notes.note("single_value", node.line, message, _("Put a hyphen or [ ] around it."), path)
            node = Node([node], node.line)
        items = []
        for place, item in enumerate(node.value):
            is_skipped = item.value is None and slot.model is not None
            found = None if is_skipped else self._one(slot, item, f"{path}[{place}]", around)
            items.append(found or Node({} if slot.model is not None else item.value, item.line))
        return Node(items, node.line)

    def _one(self, slot: Slot, node: Node, path: str, around: Node) -> Node | None:
        """Normalize one value; return None for a placeholder in a field that is not text."""
        if slot.kind.name == "task":
            # The same decision about a pipeline's inputs as in `jobs.spec.read`.
            definition = around.get("trainingTaskDefinition")
            named = definition.value if definition is not None and isinstance(definition.value, str) else ""
            is_tuning = node.get("studySpec", "trialJobSpec") is not None and "custom_task" not in named
            model = TuningTaskInputs if is_tuning or "hyperparameter_tuning" in named else CustomJobSpec
            return self.message(model, node, path)
        if slot.kind.name == "free":
            return node
        if slot.model is not None:
            return None if self._is_placeholder(slot, node, path) else self.message(slot.model, node, path)
        node = _unbracketed(node)
        if slot.kind.name == "duration":
            node = self._duration(slot, node, path)
        if slot.kind.name == "text":
            node = self._text(slot, node, path)
        elif node.raw:
            for surprise in surprises(node):
                self.notes.note("yaml_number", node.line, surprise, _("Write it as a plain decimal number."), path)
        is_placeholder = self._is_placeholder(slot, node, path)
        is_kept = slot.kind.name == "text" and slot.name != "training_task_definition"
        return node if is_kept or not is_placeholder else None

    def _is_placeholder(self, slot: Slot, node: Node, path: str) -> bool:
        if not isinstance(node.value, str) or slot.name in PROGRAM:
            return False
        if not node.open and not holds_placeholder(slot, node.value):
            return False
        self._record_placeholder(node.value, node, path, is_kept=slot.kind.name == "text")
        return True

    def _record_placeholder(self, text: str, node: Node, path: str, *, is_kept: bool) -> None:
        self.placeholders[path] = text if is_kept else ""
        marked = quoted(next(filter(MARK.search, text.split()), text) if len(text) > MAX_QUOTED else text)
        message = _("%(text)s is a placeholder.", text=marked)
        if not is_kept:
            message = _("%(text)s is a placeholder; it is left out until you fill it in.", text=marked)
        shown = f"{message} {node.open}" if node.open else message
        self.notes.note("placeholder", node.line, shown, _("Replace it with the real value before you submit."), path)

    def _text(self, slot: Slot, node: Node, path: str) -> Node:
        if isinstance(node.value, str) or not node.is_scalar:
            return node
        text = node.text() or "null"
        message = _(
            "%(alias)s holds text in the API; %(text)s without quotes is read as text, as written.",
            alias=slot.alias,
            text=quoted(text),
        )
        self.notes.note("number_as_text", node.line, message, _("Put it in quotes."), path)
        return Node(text, node.line)

    def _duration(self, slot: Slot, node: Node, path: str) -> Node:
        """Return seconds as a duration, given as a number, digits, or a proto's seconds and nanos."""
        value = node.value
        if isinstance(value, dict) and set(value) <= {"seconds", "nanos"}:
            return Node(_of_parts(node), node.line)
        if isinstance(value, float):
            value = f"{value:.9f}".rstrip("0").rstrip(".")
        is_digits = isinstance(value, str) and re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", value)
        if type(value) is not int and not (is_digits and (node.value is not value or value.isdecimal())):
            return node
        written = f"{value}s"
        message = _(
            "%(alias)s is seconds with an s in the API; %(value)s is read as %(written)s.",
            alias=slot.alias,
            value=quoted(node.value),
            written=quoted(written),
        )
        self.notes.note("seconds_without_s", node.line, message, _('Write "%(written)s".', written=written), path)
        return Node(written, node.line)

    def _mapping(self, slot: Slot, node: Node, path: str) -> Node | None:
        if not isinstance(node.value, dict):
            return None if self._is_placeholder(slot, node, path) else node
        entries: dict[str, Node] = {}
        for name, item in node.value.items():
            here = f"{path}[{quoted(name)[1:-1]}]"
            entries[name] = self._text(slot, item, here) if item.value is not None else Node("", item.line)
            if not self._is_placeholder(slot, Node(name, item.line), here):
                self._is_placeholder(slot, entries[name], here)
        return Node(entries, node.line)


def _unbracketed(node: Node) -> Node:
    """Return [NAME] and {NAME}, which YAML parses as a list and a mapping, as placeholders."""
    if isinstance(node.value, list) and len(node.value) == 1 and has_mark(f"[{node.value[0].text()}]"):
        return Node(f"[{node.value[0].text()}]", node.line)
    name, held = next(iter(node.entries.items()), ("", None))
    is_braced = len(node.entries) == 1 and held is not None and held.value is None and BRACED.fullmatch(name)
    return Node("{" + name + "}", node.line) if is_braced else node


def _of_parts(node: Node) -> Any:
    """Return a proto's seconds and nanos as a duration; a value that is not a number unchanged."""
    held = [node.entries.get(name, Node(0, node.line)).value for name in ("seconds", "nanos")]
    values = [parse_digits(value) if isinstance(value, str) else value for value in held]
    if not all(isinstance(value, int) and 0 <= value < 10**12 for value in values):
        return node.value
    return f"{values[0]}{f'.{values[1]:09d}'.rstrip('0') if values[1] else ''}s"


def add_defaults(tree: Node, draft: Draft, format_key: str, name: str, notes: Notes) -> Node:
    """Return the tree with the name from the caller and the default trial counts, where they are missing.

    Only values that gcloud's config files leave out are added, and the name of a value that a program passes to a tool.
    """
    is_value = "the Python value" in draft.form
    if not isinstance(tree.value, dict) or not (is_value or "a bare" in draft.form or format_key == "gcloud-yaml"):
        return tree
    entries = dict(tree.value)
    if draft.kind == "hyperparameter_tuning_job" and not is_value:
        for field in ("maxTrialCount", "parallelTrialCount"):
            if tree.get(field) is None:
                message = _("%(field)s is not given; gcloud takes 1 unless a flag sets it.", field=field)
                notes.note("count_assumed", None, message, _("Give %(field)s.", field=field), field)
                entries[field] = Node(1, tree.line)
    if name and tree.get("displayName") is None:
        message = _("The file has no display name, which gcloud takes as a flag; %(name)s is used.", name=quoted(name))
        notes.note("name_assumed", None, message, _("Give displayName beside jobSpec."), "displayName")
        entries = {"displayName": Node(name[:MAX_NAME], tree.line), **entries}
    return Node(entries, tree.line)
