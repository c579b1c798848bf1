"""Parse YAML to nodes, from the events of PyYAML's safe loader: no tag runs code, sizes are bounded, lines are kept.

Plain words follow YAML 1.1, which gcloud uses, except that dates stay text. The original spelling of a word is kept for
text fields. Source: yaml.org, "YAML 1.1" types; gcloud's `--config` help; the syntax of Jinja's and Helm's templates,
read 2026-11-21.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from jobs.importer.nodes import Node, Notes
from jobs.spec import quoted
from jobs.spec.reading import MAX_DEPTH, MAX_VALUES
from jobs.texts import translatable as _

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TAG_OF: Any = yaml.resolver.Resolver().resolve
CONSTRUCTOR = yaml.constructor.SafeConstructor()
STANDARD = "tag:yaml.org,2002:"
SCALARS = {
    f"{STANDARD}{kind}": getattr(CONSTRUCTOR, f"construct_yaml_{kind}") for kind in ("int", "float", "bool", "null")
}
OCTAL = re.compile(r"[-+]?0[0-7_]+")
MAX_NUMBER_LENGTH, MAX_MARKED_LINE = 40, 500
LOGIC = re.compile(
    r"[ \t]*(?:\{%.*%\}|<%.*%>|\{\{-?[ ]*(?:if|else|end|range|with|define|include)\b.*\}\}|\$\(.*\))[ \t]*"
)
MARK = re.compile(
    r"^([ \t]*(?:-[ \t]+)?(?:[\w.-]+[ \t]*:[ \t]+)?)((?:[%@`]|\{\{|\{%|\$\{\{)[^#\n]*?)([ \t]*(?:[ \t]#.*)?)$"
)


class Unreadable(Exception):
    """The text is not YAML that Trainboard can read; the arguments are the line and a message."""


class TooMuch(Unreadable):
    """The text has more values than Trainboard reads."""


def read_yaml(text: str, notes: Notes) -> list[Node]:
    """Return the non-empty documents of a YAML text. Parts that cannot be read are left out and reported in `notes`.

    Template marks that YAML cannot parse are read as text if they are values, and skipped if they are logic.
    """
    own = Notes()
    documents = _documents(text, own)
    if own.has("unreadable_yaml"):
        lines = text.split("\n")
        changed = [_without_mark(line) for line in lines]
        first = next((number for number, line in enumerate(lines, 1) if changed[number - 1] != line), 0)
        again = Notes()
        message = _("The text is a template: template marks that are not YAML are read as placeholders or ignored.")
        again.note("template", first, message)
        mended = _documents("\n".join(changed), again) if first else []
        if first and not again.has("unreadable_yaml"):
            own, documents = again, mended
    notes.extend(own)
    return documents


def _without_mark(line: str) -> str:
    """Quote a value that begins with a template mark; empty a line with only template logic."""
    if len(line) > MAX_MARKED_LINE:
        return line
    quote = "'"
    return "" if LOGIC.fullmatch(line) else MARK.sub(lambda m: f"{m[1]}'{m[2].replace(quote, quote * 2)}'{m[3]}", line)


def _documents(text: str, notes: Notes) -> list[Node]:
    documents: list[Node] = []
    try:
        documents.extend(node for node in Builder(text, notes).documents() if node.value is not None)
    except Unreadable as error:
        notes.error("too_much" if isinstance(error, TooMuch) else "unreadable_yaml", *error.args)
    except yaml.MarkedYAMLError as error:
        notes.error("unreadable_yaml", *_explain(error, text.split("\n")))
    except (yaml.YAMLError, ValueError) as error:
        problem = quoted(str(error), limit=120)
        notes.error("unreadable_yaml", None, _("This is not valid YAML: %(problem)s.", problem=problem))
    return documents


def _explain(error: yaml.MarkedYAMLError, lines: list[str]) -> tuple[int, str, str]:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    for tab in (line, line - 1, line + 1):
        if 0 < tab <= len(lines) and re.match(r" *\t", lines[tab - 1]):
            return tab, _("The line is indented with a tab. YAML allows only spaces."), _("Indent with blanks.")
    if line <= len(lines) and re.search(r"\{[{%]", lines[line - 1]):
        return line, _("A template mark such as {{ name }} stands where YAML needs a value."), _("Put it in quotes.")
    problem = (error.problem or "it cannot be parsed").removesuffix(".")
    remedy = _("Check indents, colons and quotes on this line and the one before.")
    return line, _("This is not valid YAML: %(problem)s.", problem=problem), remedy


class Builder:
    """Builds documents from events, bounded in depth, in values written out and in values merged."""

    def __init__(self, text: str, notes: Notes) -> None:
        self.events = yaml.parse(text, Loader=LOADER)
        self.notes = notes
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.size = self.merged = self.written = 0

    def documents(self) -> Iterator[Node]:
        """Yield the documents of the text, one after another."""
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.clear()
                self.size = 0
                yield self._node(next(self.events), 0)

    def _node(self, event: Any, depth: int) -> Node:
        """Return the value that begins with an event, with its aliases expanded."""
        line, before = event.start_mark.line + 1, self.size
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                name = quoted(event.anchor)[1:-1]
                raise Unreadable(line, _("The alias *%(name)s refers to nothing before it.", name=name))
            held, size = self.anchors[event.anchor]
            node = Node(held.value, line, held.raw)
        else:
            self.written += 1  # in all documents of the text
            node, size = self._written(event, line, depth), 1
        self.size += size
        if self.written > MAX_VALUES:
            raise TooMuch(line, _("The text has more than %(limit)s values.", limit=f"{MAX_VALUES:,}"))
        if self.size > MAX_VALUES:
            words = _("With all references expanded, it has more than %(limit)s values.", limit=f"{MAX_VALUES:,}")
            raise TooMuch(line, words)
        if not isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            self.anchors[event.anchor] = (node, self.size - before)
        return node

    def _written(self, event: Any, line: int, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, line)
        if depth >= MAX_DEPTH:
            raise Unreadable(line, _("It is nested more than %(limit)s levels deep.", limit=MAX_DEPTH))
        if event.tag not in (None, "!", f"{STANDARD}map", f"{STANDARD}seq") and not event.implicit:
            self._refuse_tag(event.tag, line)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(line, depth)
        items: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return Node(items, line)

    def _mapping(self, line: int, depth: int) -> Node:
        entries: dict[str, Node] = {}
        merges: list[Node] = []
        placeholder = ""
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, node = self._node(event, depth + 1), self._node(next(self.events), depth + 1)
            name = "null" if key.value is None and not key.raw else key.text()
            if not key.is_scalar and len(key.entries) == 1 and node.value is None:
                placeholder = f"{{{{ {next(iter(key.value))} }}}}"  # {{ name }} without quotes
            elif not key.is_scalar:
                message = _("A name in a mapping must be a word.")
                self.notes.error("odd_name", key.line, message, _("Quote {{ }} and [ ]."))
            elif name == "<<" and key.raw == "<<":
                merges.append(Node(node.value, key.line))
            elif name in entries:
                self.notes.given_twice(name, entries[name], key.line)
            else:
                entries[name] = Node(node.value, key.line, node.raw)
        for merge in merges:
            self._merge(entries, merge)
        return Node(entries, line) if entries or not placeholder else Node(placeholder, line)

    def _merge(self, entries: dict[str, Node], merge: Node) -> None:
        for source in merge.value if isinstance(merge.value, list) else [merge]:
            if not isinstance(source.value, dict):
                self.notes.error("odd_merge", merge.line, _("<< merges mappings only."), _("Give it an alias *name."))
            self.merged += len(source.entries)
            if self.merged > MAX_VALUES:
                words = _("The merges << bring in more than %(limit)s values.", limit=f"{MAX_VALUES:,}")
                raise TooMuch(merge.line, words)
            for name, node in source.entries.items():
                entries.setdefault(name, Node(node.value, merge.line, node.raw))

    def _refuse_tag(self, tag: str, line: int) -> None:
        message = _("The tag %(tag)s is ignored; Trainboard runs nothing that a file names.", tag=quoted(tag))
        self.notes.error("tag", line, message, _("Write the value without a tag."))

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Node:
        text, tag = event.value, event.tag
        if tag in (f"{STANDARD}str", "!") or (tag is None and event.style in ("'", '"', "|", ">")):
            return Node(text, line)
        if tag is not None and tag not in SCALARS:
            self._refuse_tag(tag, line)
            return Node(text, line)
        return Node(resolve(text), line, text)


def resolve(text: str) -> Any:
    """Return a plain word as YAML 1.1 reads it; dates, `.inf` and overlong numbers stay text."""
    tag = TAG_OF(yaml.ScalarNode, text, (True, False)) if len(text) <= MAX_NUMBER_LENGTH else ""
    value = SCALARS[tag](yaml.ScalarNode(tag, text)) if tag in SCALARS else text
    return value if not isinstance(value, float) or abs(value) < float("inf") else text


def surprises(node: Node) -> Iterator[str]:
    """Yield a sentence if YAML 1.1 reads a word as an unexpected number: `010` is 8, `1:30` is 90."""
    if type(node.value) is int and OCTAL.fullmatch(node.raw):
        yield _("YAML reads %(text)s as an octal number, %(number)s.", text=quoted(node.raw), number=node.value)
    elif type(node.value) is int and ":" in node.raw:
        yield _("YAML reads %(text)s as a base-60 number, %(number)s.", text=quoted(node.raw), number=node.value)
