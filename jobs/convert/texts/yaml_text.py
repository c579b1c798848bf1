"""YAML to nodes: events of PyYAML's safe loader, so that no tag runs code; lines kept, doubles found, bombs bounded.

Plain words are read as YAML 1.1 does, which is what gcloud uses, except that dates stay text; how a word was written
is kept for fields that want text. Source: yaml.org, "YAML 1.1" types; gcloud's `--config` help, read 2026-11-21.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from jobs.convert.texts.nodes import Node, Notes
from jobs.convert.texts.templates import first_mark, without_marks
from jobs.spec import quoted
from jobs.spec.reading import DEEPEST, MOST_VALUES

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
WORDS = {
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
OCTAL = re.compile(r"[-+]?0[0-7_]+")
HEX = re.compile(r"[-+]?0x[0-9a-fA-F_]+")
CLOCK = re.compile(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+")
REAL = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)")
STANDARD = "tag:yaml.org,2002:"
SCALAR_TAGS = frozenset({f"{STANDARD}{kind}" for kind in ("int", "float", "bool", "null")})
LONGEST_NUMBER = 40


class Unreadable(Exception):
    """The text is no YAML that Trainboard reads; carries the line and what to do."""

    def __init__(self, message: str, line: int, remedy: str = "") -> None:
        super().__init__(message)
        self.line, self.remedy = line, remedy


def read_yaml(text: str, notes: Notes) -> list[Node]:
    """Return the documents of a YAML text that hold anything. Notes and leaves out what cannot be read."""
    own = Notes()
    found = _documents(text, own)
    if any(note.code == "unreadable_yaml" for note in own.findings) and (mended := without_marks(text)) != text:
        again = Notes()
        message = "The text is a template: marks of it that are no YAML are read as placeholders, or passed over."
        again.advise("template", first_mark(text), message)
        documents = _documents(mended, again)
        if not any(note.code == "unreadable_yaml" for note in again.findings):
            own, found = again, documents
    notes.findings.extend(own.findings)
    notes.left_out += own.left_out
    return found


def _documents(text: str, notes: Notes) -> list[Node]:
    found: list[Node] = []
    builder = Builder(notes)
    try:
        documents = (builder.take(event) for event in yaml.parse(text, Loader=LOADER))
        found.extend(document for document in documents if document is not None and document.value is not None)
    except Unreadable as trouble:
        notes.refuse("unreadable_yaml", trouble.line, str(trouble), trouble.remedy)
    except yaml.MarkedYAMLError as trouble:
        notes.refuse("unreadable_yaml", *_explain(trouble, text))
    except (yaml.YAMLError, ValueError) as trouble:
        notes.refuse("unreadable_yaml", None, f"This is no YAML: {quoted(str(trouble), limit=120)}.")
    return found


def _explain(trouble: yaml.MarkedYAMLError, text: str) -> tuple[int, str, str]:
    mark = trouble.problem_mark or trouble.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.split("\n")
    here = lines[line - 1] if line <= len(lines) else ""
    tab = next((n for n in (line, line - 1, line + 1) if 0 < n <= len(lines) and re.match(r" *\t", lines[n - 1])), 0)
    if tab:
        return tab, "The line is indented with a tab, which YAML does not allow.", "Indent with blanks."
    if "{{" in here or "{%" in here:
        return line, "A template mark such as {{ name }} stands where YAML needs a value.", "Put it in quotes."
    problem = (trouble.problem or "it cannot be parsed").removesuffix(".")
    return line, f"This is no YAML: {problem}.", "Check indents, colons and quotes on this line and the one before."


class _Open:
    """A mapping or list whose end has not come."""

    def __init__(self, node: Node, anchor: str | None) -> None:
        self.node, self.anchor = node, anchor
        self.key: Node | None = None
        self.merges: list[Node] = []
        self.size = 1
        self.hole = ""


class Builder:
    """Builds documents of events. Bounded in depth, in values written out, and in values merged."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.open: list[_Open] = []
        self.merged = 0

    def take(self, event: yaml.Event) -> Node | None:
        """Take the next event; return a document when it ends."""
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.anchors.clear()
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(self.open) >= DEEPEST:
                raise Unreadable(f"It is nested more than {DEEPEST} levels deep.", line)
            self._tag(event.tag, line, event.implicit)
            self.open.append(_Open(Node({} if isinstance(event, yaml.MappingStartEvent) else [], line), event.anchor))
        elif isinstance(event, yaml.ScalarEvent):
            return self._close(self._scalar(event, line), event.anchor, 1)
        elif isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor or "", line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self.open.pop()
            self._merge(done)
            if done.hole and not done.node.value:
                done.node = Node(done.hole, done.node.line)
            return self._close(done.node, done.anchor, done.size)
        return None

    def _alias(self, anchor: str, line: int) -> Node | None:
        if anchor not in self.anchors:
            raise Unreadable(f"The alias *{quoted(anchor)[1:-1]} refers to nothing before it.", line)
        node, size = self.anchors[anchor]
        if size > MOST_VALUES:
            raise Unreadable(f"Written out, the aliases hold more than {MOST_VALUES:,} values.", line)
        return self._close(Node(node.value, line, node.raw), None, size)

    def _close(self, node: Node, anchor: str | None, size: int) -> Node | None:
        if anchor is not None:
            self.anchors[anchor] = (node, size)
        if not self.open:
            return node
        around = self.open[-1]
        around.size += size
        if around.size > MOST_VALUES:
            raise Unreadable(f"Written out, it holds more than {MOST_VALUES:,} values.", node.line)
        if isinstance(around.node.value, list):
            around.node.value.append(node)
        elif around.key is None:
            around.key = node
        else:
            self._entry(around, around.key, node)
            around.key = None
        return None

    def _entry(self, around: _Open, key: Node, node: Node) -> None:
        if not key.is_scalar:
            if isinstance(key.value, dict) and len(key.value) == 1 and node.value is None:
                around.hole = f"{{{{ {next(iter(key.value))} }}}}"  # {{ name }} without quotes
                return
            self.notes.refuse("odd_name", key.line, "A name in a mapping must be a word.", "Quote {{ }} and [ ].")
            return
        name = key.text() or "null"
        if name == "<<" and key.raw == "<<":
            around.merges.append(node)
        elif name in around.node.value:
            first = around.node.value[name].line
            message = f"{quoted(name)} is given twice, first on line {first}; the first is read."
            self.notes.refuse("given_twice", key.line, message, "Keep one of them.")
        else:
            around.node.value[name] = Node(node.value, key.line, node.raw)

    def _merge(self, done: _Open) -> None:
        for merge in done.merges:
            for source in merge.value if isinstance(merge.value, list) else [merge]:
                if not isinstance(source.value, dict):
                    self.notes.refuse("odd_merge", merge.line, "<< takes in mappings only.", "Give it an alias *name.")
                    continue
                self.merged += len(source.value)
                if self.merged > MOST_VALUES:
                    raise Unreadable(f"The merges << take in more than {MOST_VALUES:,} values.", merge.line)
                for name, node in source.value.items():
                    done.node.value.setdefault(name, Node(node.value, merge.line, node.raw))

    def _tag(self, tag: str | None, line: int, implicit: object) -> None:
        if tag and tag != "!" and not implicit and tag not in (f"{STANDARD}map", f"{STANDARD}seq"):
            message = f"The tag {quoted(tag)} is not followed; Trainboard runs nothing that a file names."
            self.notes.refuse("tag", line, message, "Write the value without a tag.")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Node:
        text = event.value
        if event.tag in (f"{STANDARD}str", "!") or (event.tag is None and event.style in ("'", '"', "|", ">")):
            return Node(text, line)
        if event.tag is not None and event.tag not in SCALAR_TAGS:
            self._tag(event.tag, line, implicit=False)
            return Node(text, line)
        return Node(resolve(text), line, text)


def resolve(text: str) -> Any:
    """Read a plain word as YAML 1.1 does; dates, `.inf` and overlong numbers stay text."""
    if text in NOTHING:
        return None
    if text in WORDS:
        return WORDS[text]
    if len(text) > LONGEST_NUMBER or not re.search(r"[0-9]", text):
        return text
    digits = text.replace("_", "")
    for pattern, base in ((DECIMAL, 10), (OCTAL, 8), (HEX, 16)):
        if pattern.fullmatch(text):
            return int(digits, base)
    if CLOCK.fullmatch(text):
        return _sixties(digits)
    if REAL.fullmatch(text):
        return float(digits)
    return text


def _sixties(text: str) -> int:
    total = 0
    for part in text.lstrip("+-").split(":"):
        total = total * 60 + int(part)
    return -total if text.startswith("-") else total


def surprises(node: Node) -> Iterator[str]:
    """Say where YAML 1.1 makes a number of something that looks like another: `010` is 8, `1:30` is 90."""
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        if OCTAL.fullmatch(node.raw):
            yield f"YAML reads {quoted(node.raw)} as an octal number, {node.value}."
        elif CLOCK.fullmatch(node.raw):
            yield f"YAML reads {quoted(node.raw)} in sixties, as {node.value}."
