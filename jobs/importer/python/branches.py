"""Keep what a program may do apart from what it does: the writes of branches, which are undone and merged.

What all possible branches leave the same stays known. Everything else that they touch becomes open.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jobs.importer.nodes import Node
from jobs.importer.python.values import MAX_DEPTH, Jobs, is_data, items_of, same, shortened, text_of, unknown
from jobs.spec import quoted
from jobs.texts import translatable as _

EXIT, LEFT, MAYBE = "exit", "left", "maybe"
"""How a block may end: the program ends or fails; the function or the turn of a loop ends; perhaps it does."""
MAX_VALUES_SHOWN = 3
Block = Callable[[], str]
ORDER = {"entry": 0, "node": 1, "list": 2, "name": 3}
"""The kinds of places in the order in which they are merged: what others may stand for comes first."""


class Slot(NamedTuple):
    """A place that a program writes: a name of a scope, an entry of a mapping, a whole list, or a node itself."""

    kind: str
    holder: Any
    key: str = ""

    def get(self) -> Any:
        """Return what is there; None if there is nothing."""
        if self.kind == "list":
            return list(self.holder)
        if self.kind == "node":
            return Node(self.holder.value, self.holder.line, self.holder.raw, self.holder.open)
        return self.holder.get(self.key)

    def set(self, value: Any) -> None:
        """Write what `get` returned."""
        if self.kind == "list":
            self.holder[:] = value
        elif self.kind == "node":
            self.holder.value, self.holder.raw, self.holder.open = value.value, value.raw, value.open
        elif value is None:
            self.holder.pop(self.key, None)
        else:
            self.holder[self.key] = value


class Branches:
    """Records writes while a block is read that may not run. `spend` counts the steps that copies and merges take."""

    def __init__(self, spend: Callable[[int], None]) -> None:
        self.spend = spend
        self.journals: list[dict[tuple[int, str, str], tuple[Slot, Any]]] = []
        self.blocks = [0]
        self.serial = 0
        self.made: dict[int, tuple[Any, int]] = {}
        """Mappings and lists by the block in which they are made: it need not keep what they were."""
        self.origins: dict[int, tuple[Any, list[Node]]] = {}
        """Merged mappings and lists, with those that they may really be: a change of one may be one of the others."""

    def record(self, kind: str, holder: Any, key: str = "") -> None:
        """Record what is at a place before it is written, once in each block."""
        for node in self.origins.pop(id(holder), (None, []))[1]:
            self.open(node, "either", node.line)
        slot_id = (id(holder), kind, key)
        if self.made.get(id(holder), (None, -1))[1] == self.blocks[-1]:
            return
        if self.journals and slot_id not in self.journals[-1]:
            slot = Slot(kind, holder, key)
            self.spend(1 + (len(holder) if kind == "list" else 0))
            self.journals[-1][slot_id] = slot, slot.get()

    def put(self, holder: dict[str, Node], key: str, node: Node | None, kind: str = "entry") -> None:
        """Write a name or an entry; None removes it."""
        self.record(kind, holder, key)
        Slot(kind, holder, key).set(node)

    def open(self, node: Node, text: str, line: int) -> None:
        """Make a value, and everything in it, open: something unknown may change it."""
        waiting = [node, *self.origins.pop(id(node.value), (None, []))[1]]
        while waiting:
            self.spend(1)
            current = waiting.pop()
            inner = list(items_of(current))
            if current.is_scalar or current.open:
                continue
            waiting.extend(inner)
            self.record("node", current)
            changed = unknown(text, line)
            current.value, current.open = changed.value, changed.open

    def make(self, node: Node) -> Node:
        """Record that a mapping or a list is made in the current block; return it."""
        self.made[id(node.value)] = node.value, self.blocks[-1]
        return node

    def derive(self, node: Node, origins: Sequence[Node]) -> Node:
        """Return an open value that may be, or be in, one of other values: a change of it may change them."""
        held = [each for each in origins if not each.is_scalar]
        held += [inner for each in origins if each.open for inner in self.origins.get(id(each.value), (None, []))[1]]
        if held:
            self.origins[id(node.value)] = node.value, held
        return node

    def choose(self, blocks: Sequence[Block], condition: str, line: int) -> str:
        """Read blocks of which the program runs one; return how they end."""
        endings: list[str] = []
        outcomes: list[dict[tuple[int, str, str], Any]] = []
        touched: dict[tuple[int, str, str], tuple[Slot, Any]] = {}
        for block in blocks:
            self.journals.append({})
            self.serial += 1
            self.blocks.append(self.serial)
            endings.append(block())
            self.blocks.pop()
            journal = self.journals.pop()
            outcomes.append({key: slot.get() for key, (slot, _) in journal.items()})
            for slot, before in journal.values():
                slot.set(before)
            touched = {**journal, **touched}
        live = [outcome for ending, outcome in zip(endings, outcomes, strict=True) if ending != EXIT]
        # Names are merged last, when what they stand for is as all blocks together leave it.
        changed = {id(slot.holder.value if slot.kind == "node" else slot.holder) for slot, _ in touched.values()}
        for key, (slot, before) in sorted(touched.items(), key=lambda each: ORDER[each[1][0].kind]):
            self.spend(len(live))
            after = [outcome.get(key, before) for outcome in live]
            if after:
                self.record(*slot)
                slot.set(self._merged(slot, after, Reason(condition, line), changed))
        kinds = {ending for ending in endings if ending != EXIT}
        return EXIT if not kinds else kinds.pop() if len(kinds) == 1 else MAYBE

    def _merged(self, slot: Slot, after: list[Any], reason: "Reason", changed: set[int]) -> Any:
        if slot.kind == "list":
            return self.merge_lists(after, reason)
        if slot.kind == "name":
            after = [node for node in after if node is not None]  # without a value the program would fail
        elif any(node is not None and node.value is not after[0].value for node in after if after[0] is not None):
            held = [node for node in after if node is not None and self._holds(node, changed)]
            if held:  # its parts may be merged later than this
                return self.derive(unknown(shortened(slot.key), held[0].line, reason.text(after)), held)
        return self.merge(after, slot.key, reason) if any(node is not None for node in after) else None

    def merge(self, nodes: Sequence[Node | None], key: str, reason: "Reason", depth: int = 0) -> Node:
        """Return what is known of a value that is one of several; None stands for none at all."""
        self.spend(len(nodes))
        first = next(node for node in nodes if node is not None)
        if all(_is_one(first, node) for node in nodes):
            return first
        given = [node for node in nodes if node is not None]
        if len(given) == len(nodes) and depth < MAX_DEPTH and not any(node.open for node in given):
            if all(isinstance(node.value, dict) for node in given):
                keys = dict.fromkeys(key for node in given for key in node.value)
                merged = {key: self.merge([n.value.get(key) for n in given], key, reason, depth + 1) for key in keys}
                return self._joined(Node(merged, first.line), given)
            if all(isinstance(node.value, list) for node in given):
                items = self.merge_lists([node.value for node in given], reason, depth + 1)
                return self._joined(Node(items, first.line), given)
            if all(isinstance(node.value, Jobs) for node in given):
                return Node(Jobs(dict.fromkeys(call for node in given for call in node.value)), first.line)
        return self.derive(unknown(shortened(key or reason.condition), first.line, reason.text(nodes)), given)

    def _holds(self, node: Node, changed: set[int]) -> bool:
        """Return whether a value has a part that a block changes."""
        waiting = [node]
        while waiting:
            self.spend(1)
            current = waiting.pop()
            if not current.is_scalar:
                if id(current.value) in changed:
                    return True
                waiting.extend(items_of(current))
        return False

    def _joined(self, merged: Node, given: list[Node]) -> Node:
        self.origins[id(merged.value)] = merged, given
        return merged

    def merge_lists(self, lists: Sequence[list[Node]], reason: "Reason", depth: int = 0) -> list[Node]:
        """Return the items that are in every list, and an open one for each that is not."""
        longest = max(lists, key=len)
        merged: list[Node] = []
        for place, item in enumerate(longest):
            items = [each[place] if place < len(each) else None for each in lists]
            shown = _shown(item)
            key = f"{shown} if {reason.condition}" if len(lists) == 2 and None in items else reason.condition
            merged.append(self.merge(items, key, reason, depth + 1))
        return merged


class Reason(NamedTuple):
    """The condition that decides between branches, and its line."""

    condition: str
    line: int

    def text(self, nodes: Sequence[Node | None]) -> str:
        """Return why a value is open that is one of several."""
        shown = list(dict.fromkeys(_("nothing") if node is None else quoted(_shown(node)) for node in nodes))
        return _(
            "It depends on the condition %(condition)s in line %(line)s: %(values)s.",
            condition=quoted(self.condition),
            line=self.line,
            values=" / ".join(shown[:MAX_VALUES_SHOWN]),
        )


def _is_one(first: Node, node: Node | None) -> bool:
    """Return whether a value is the same one; equal mappings and lists are two."""
    return node is not None and (node.value is first.value or (first.is_scalar and same(first, node)))


def _shown(node: Node) -> str:
    text = text_of(node) if is_data(node) else None
    return shortened(text) if text is not None else "..."
