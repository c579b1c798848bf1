"""Brings a job as people write it to what the API takes, field by field along the typed spec, and says each change.

Numbers in text fields become text as written, one value where a list belongs becomes a list of one, seconds become
durations, fields that Vertex AI fills in are dropped, and holes are named. The rest is left to `jobs.spec.read`.
"""

import re
from typing import Any

from jobs.convert.texts.nodes import Node, Notes, folded, node_of
from jobs.convert.texts.yaml_text import surprises
from jobs.spec import CustomJobSpec, EnvVar, Message, TuningTaskInputs, quoted
from jobs.spec.placeholders import PROGRAM, has_mark, holds_placeholder, is_program
from jobs.spec.programs import program_placeholders
from jobs.spec.reading import join
from jobs.spec.shape import Slot, slots

Root = type[Message]
MOST_STRANGE = 200
BRACED = re.compile(r"[A-Za-z_][\w.-]*")


class Tidier:
    """Walks a body along the spec; `holes` collects the paths of placeholders, with the texts that are kept."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.holes: dict[str, str] = {}
        self.strange = 0

    def message(self, model: Root, node: Node, path: str = "") -> Node:
        """Return a message of type `model` tidied; what is no mapping is returned as it is."""
        if not isinstance(node.value, dict):
            return node
        known = slots(model)
        entries: dict[str, Node] = {}
        for name, item in node.value.items():
            slot = known.get(name) or known.get(name.removesuffix("_"))
            if slot is None:
                if self._strange(name, item, path):
                    entries[name] = item
                continue
            here = join(path, slot.alias)
            if slot.output and model.__name__ not in ("Trial", "Model"):
                self.notes.advise(
                    "output_field", item.line, f"{slot.alias} is filled in by Vertex AI; it is left out.", path=here
                )
            elif item.value is None:
                self.notes.advise("empty_value", item.line, f"{slot.alias} has no value; it is left out.", path=here)
            elif (tidied := self._field(slot, item, here, node)) is not None:
                entries[name if name in known else slot.name] = tidied
        if is_program(model):
            self._program(entries, path)
        return Node(entries, node.line)

    def _program(self, entries: dict[str, Node], path: str) -> None:
        """Name the placeholders in what a program reads, which are known by all of its words."""
        words = {name: entries[name].value if name in entries else [] for name in ("command", "args", "env")}
        words = {name: items if isinstance(items, list) else [] for name, items in words.items()}
        command, args = ([item.text() for item in words[name]] for name in ("command", "args"))
        named = [(item.get("name"), item.get("value")) for item in words["env"]]
        env = [(name.text() if name else "", value.text() if value else "") for name, value in named]
        for place, text in program_placeholders(command, args, env):
            field, _, index = place.removesuffix("].value").removesuffix("]").partition("[")
            self._hole(text, words[field][int(index)].line, f"{path}.{place}", is_kept=True)

    def _strange(self, name: str, node: Node, path: str) -> bool:
        """Count a field that the message does not have; tell whether it is left to be refused by its name."""
        self.strange += 1
        if self.strange == MOST_STRANGE + 1:
            message = f"From {quoted(name)} on, fields that Vertex AI does not know are no longer looked at."
            self.notes.refuse("more_unknown_fields", node.line, message, "", path)
        return self.strange <= MOST_STRANGE

    def _field(self, slot: Slot, node: Node, path: str, around: Node) -> Node | None:
        if slot.mapping:
            return self._mapping(slot, node, path)
        if not slot.many:
            return self._one(slot, node, path, around)
        if slot.model is EnvVar and isinstance(node.value, dict) and not {"name", "value"} & set(node.value):
            message = "env must be a list of name and value; the names and values are read as such a list."
            self.notes.refuse("env_as_mapping", node.line, message, "Write - name: A and value: b.", path)
            node = Node(
                [node_of({"name": name, "value": item}, item.line) for name, item in node.value.items()], node.line
            )
        if not isinstance(node.value, list):
            if isinstance(node.value, str) and slot.model is not None and self._is_hole(slot, node, path):
                return None
            message = f"{slot.alias} is a list in the API; the single value is read as a list of one."
            self.notes.advise("single_value", node.line, message, "Put a hyphen or [ ] around it.", path)
            node = Node([node], node.line)
        return Node([self._item(slot, item, f"{path}[{n}]", around) for n, item in enumerate(node.value)], node.line)

    def _item(self, slot: Slot, node: Node, path: str, around: Node) -> Node:
        if node.value is None and slot.model is not None:
            return Node({}, node.line)
        return self._one(slot, node, path, around) or Node({} if slot.model is not None else node.value, node.line)

    def _one(self, slot: Slot, node: Node, path: str, around: Node) -> Node | None:
        """Tidy one value; None when it is a hole where no text may stand."""
        if slot.kind.name == "task":
            return self.message(task_model(node, around), node, path)
        if slot.kind.name == "free":
            return node
        if slot.model is not None:
            if self._is_hole(slot, node, path):
                return None
            return self.message(slot.model, node, path)
        node = _unbracketed(node)
        if slot.kind.name == "duration":
            node = self._duration(slot, node, path)
        if slot.kind.name == "text":
            node = self._text(slot, node, path)
            if slot.name == "training_task_definition" and self._is_hole(slot, node, path):
                return None
        elif node.raw:
            for surprise in surprises(node):
                self.notes.advise("yaml_number", node.line, surprise, "Write it as a plain decimal number.", path)
        if self._is_hole(slot, node, path) and slot.kind.name != "text":
            return None
        return node

    def _is_hole(self, slot: Slot, node: Node, path: str) -> bool:
        if not isinstance(node.value, str) or slot.name in PROGRAM or not holds_placeholder(slot, node.value):
            return False
        self._hole(node.value, node.line, path, is_kept=slot.kind.name == "text")
        return True

    def _hole(self, text: str, line: int, path: str, *, is_kept: bool) -> None:
        self.holes[path] = text if is_kept else ""
        message = f"{quoted(text)} is a placeholder" + ("." if is_kept else "; it is left out until it is filled.")
        self.notes.advise("hole", line, message, "Put the real value there before submitting.", path)

    def _text(self, slot: Slot, node: Node, path: str) -> Node:
        if isinstance(node.value, str) or not node.is_scalar:
            return node
        text = node.text() or "null"
        message = f"{slot.alias} holds text in the API; {quoted(text)} without quotes is read as text, as written."
        self.notes.advise("number_as_text", node.line, message, "Put it in quotes.", path)
        return Node(text, node.line)

    def _duration(self, slot: Slot, node: Node, path: str) -> Node:
        seconds: Any = None
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            seconds = f"{node.value:.9f}".rstrip("0") if isinstance(node.value, float) else str(node.value)
        elif isinstance(node.value, str) and node.value.isascii() and node.value.isdecimal():
            seconds = node.value
        elif isinstance(node.value, dict) and set(node.value) <= {"seconds", "nanos"}:
            return Node(_of_parts(node), node.line)
        if seconds is None:
            return node
        written = f"{seconds.rstrip('.')}s"
        message = f"{slot.alias} is seconds with an s in the API; {quoted(node.value)} is read as {quoted(written)}."
        self.notes.advise("seconds_without_s", node.line, message, f'Write "{written}".', path)
        return Node(written, node.line)

    def _mapping(self, slot: Slot, node: Node, path: str) -> Node | None:
        if isinstance(node.value, str) and self._is_hole(slot, node, path):
            return None
        if not isinstance(node.value, dict):
            return node
        found: dict[str, Node] = {}
        for name, item in node.value.items():
            here = f"{path}[{quoted(name)[1:-1]}]"
            found[name] = self._text(slot, item, here) if item.value is not None else Node("", item.line)
            named = Node(name, item.line)
            if not self._is_hole(slot, named, here) and isinstance(found[name].value, str):
                self._is_hole(slot, found[name], here)
        return Node(found, node.line)


def task_model(node: Node, around: Node) -> Root:
    """Return what a pipeline's inputs are, as `jobs.spec.read` decides it."""
    definition = around.get("trainingTaskDefinition", "training_task_definition")
    named = definition.value if definition is not None and isinstance(definition.value, str) else ""
    names = {folded(name) for name in node.value} if isinstance(node.value, dict) else set()
    looks = bool(names & {"studyspec", "trialjobspec"})
    return (
        TuningTaskInputs
        if "hyperparameter_tuning" in named or (looks and "custom_task" not in named)
        else CustomJobSpec
    )


def _unbracketed(node: Node) -> Node:
    """Read [NAME] and {NAME}, which YAML takes for a list and a mapping, as the placeholders that they are."""
    if isinstance(node.value, list) and len(node.value) == 1 and has_mark(f"[{node.value[0].text()}]"):
        return Node(f"[{node.value[0].text()}]", node.line)
    if isinstance(node.value, dict) and len(node.value) == 1:
        (name, held), *_ = node.value.items()
        return Node("{" + name + "}", node.line) if held.value is None and BRACED.fullmatch(name) else node
    return node


def _of_parts(node: Node) -> Any:
    """Write a proto's seconds and nanos as a duration, or leave what is no number."""
    seconds, nanos = node.get("seconds"), node.get("nanos")
    values = [0 if part is None else part.value for part in (seconds, nanos)]
    if any(isinstance(value, str) and value.isdecimal() for value in values):
        values = [int(value) if isinstance(value, str) and value.isdecimal() else value for value in values]
    whole, fraction = values
    if not all(isinstance(value, int) and 0 <= value < 10**12 for value in values):
        return node.value
    return f"{whole}{f'.{fraction:09d}'.rstrip('0') if fraction else ''}s"
