"""Keep what a program may do apart from what it does: the writes of branches, which are undone and merged.

What all possible branches leave the same stays known. Everything else that they touch becomes open.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from jobs.importer.nodes import Node
from jobs.importer.python.values import (
    MAX_DEPTH,
    Held,
    Jobs,
    Scope,
    is_data,
    items_of,
    same_scalar,
    shortened,
    text_of,
    unknown,
)
from jobs.spec import quoted
from jobs.texts import translatable as _

MAX_STEPS, MAX_VALUES_SHOWN = 60_000, 3
SIZE_COST = 20
"""The items of a list, or characters of a text, that are gone through for one step."""
EXIT, RETURN, BREAK, CONTINUE, MAYBE = "exit", "return", "break", "continue", "maybe"
"""How a block may end: the program ends or fails, the function, loop or turn ends; perhaps one of them."""
Block = Callable[[], str]


class TooManySteps(Exception):
    """The program is too long to be followed."""


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


class Slot(NamedTuple):
    """A place that a program writes: a name of a scope, or the contents of a node."""

    holder: Any
    key: str | None = None

    def get(self) -> Any:
        """Return what is there, so that later writes leave it as it is."""
        if self.key is not None:
            return self.holder.names.get(self.key)
        held = self.holder.value
        return (held.copy() if isinstance(held, dict | list) else held, self.holder.open)

    def set(self, state: Any) -> None:
        """Write what `get` returned."""
        if self.key is None:
            held, self.holder.open = state
            self.holder.value = held.copy() if isinstance(held, dict | list) else held
        elif state is None:
            self.holder.names.pop(self.key, None)
        else:
            self.holder.names[self.key] = state


class Branches:
    """Counts the steps of a program, and records its writes while a block is read that may not run."""

    def __init__(self) -> None:
        self.steps = MAX_STEPS
        self.journals: list[dict[tuple[int, str | None], tuple[Slot, Any]]] = []
        self.blocks = [0]
        self.choices = 0

    def spend(self, steps: int) -> None:
        """Count steps. Raise TooManySteps when the program's are used up."""
        self.steps -= steps
        if self.steps < 0:
            raise TooManySteps

    def spend_on(self, *nodes: Node | None) -> None:
        """Count what it takes to go through texts, lists and mappings once."""
        sizes = (len(each.value) for each in nodes if each is not None and isinstance(each.value, str | list | dict))
        self.spend(sum(sizes) // SIZE_COST)

    def made(self, value: Any, line: int) -> Held:
        """Return a new mapping or list; the block that makes it need not keep what it was."""
        self.spend(1 + len(value) // SIZE_COST)
        return Held(value, line, born=self.blocks[-1])

    def put(self, scope: Scope, name: str, node: Node | None) -> None:
        """Write a name; None removes it."""
        self._record(Slot(scope, name))
        Slot(scope, name).set(node)

    def change(self, node: Node, text: str, line: int) -> bool:
        """Prepare a change of a value; return False if it is open: what it may be is open then, too."""
        for kin in node.kin if isinstance(node, Held) else ():
            self.open(kin, text, line, has_entries=True)
        if not node.open:
            self._record(Slot(node))
        return not node.open

    def open(self, node: Node, text: str, line: int, *, has_entries: bool = False) -> None:
        """Make a value, and everything in it, open: something unknown may change it."""
        waiting, seen = [node], set()
        while waiting:
            self.spend(1)
            current = waiting.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            waiting += [*(current.kin if isinstance(current, Held) else ()), *items_of(current)]
            if isinstance(current, Held):
                current.has_entries = current.has_entries or has_entries or isinstance(current.value, dict)
            if not current.is_scalar and not current.open:
                self._record(Slot(current))
                changed = unknown(text, line)
                current.value, current.open = changed.value, changed.open

    def derived(self, text: str, line: int, origins: Iterable[Node], *, is_outside: bool = False) -> Held:
        """Return an open value that may be, or be in, one of other values: a change of it may change them."""
        kin = [each for each in origins if isinstance(each, Held) or items_of(each)]
        is_outside = is_outside or any(each.open and each.is_outside for each in kin if isinstance(each, Held))
        result = unknown(text, line, "", kin, is_outside=is_outside)
        result.has_entries = any(bool(e.entries) or (isinstance(e, Held) and e.has_entries) for e in kin)
        return result

    def choose(self, blocks: Sequence[Block], condition: str, line: int) -> str:
        """Read blocks of which the program runs one; return how they end."""
        endings: list[str] = []
        outcomes: list[dict[tuple[int, str | None], Any]] = []
        touched: dict[tuple[int, str | None], tuple[Slot, Any]] = {}
        for block in blocks:
            self.choices += 1
            self.journals.append({})
            self.blocks.append(self.choices)
            endings.append(block())
            self.blocks.pop()
            journal = self.journals.pop()
            outcomes.append({at: slot.get() for at, (slot, _) in journal.items()})
            for slot, before in journal.values():
                slot.set(before)
            touched = journal | touched
        live = [outcome for ending, outcome in zip(endings, outcomes, strict=True) if ending != EXIT]
        # Names are merged last, when what they stand for is as all blocks together leave it.
        for at, (slot, before) in sorted(touched.items(), key=lambda each: each[0][1] is not None):
            self.spend(len(live))
            if live:
                self._record(slot)
                slot.set(self._merged(slot, [outcome.get(at, before) for outcome in live], Reason(condition, line)))
        kinds = {ending for ending in endings if ending != EXIT}
        return EXIT if not kinds else kinds.pop() if len(kinds) == 1 else MAYBE

    def merge(
        self, nodes: Sequence[Node | None], key: str, reason: Reason, *, deep: bool = True, depth: int = 0
    ) -> Node:
        """Return what is known of a value that is one of several; None stands for none at all."""
        self.spend(len(nodes))
        first = next(node for node in nodes if node is not None)
        if all(same_scalar(first, node) for node in nodes):
            return first
        given = [node for node in nodes if node is not None]
        if deep and len(given) == len(nodes) and depth < MAX_DEPTH and not any(node.open for node in given):
            joined: Any = None
            if all(isinstance(node.value, dict) for node in given):
                joined = self._merge_maps([node.value for node in given], reason, deep=deep, depth=depth + 1)
            elif all(isinstance(node.value, list) for node in given):
                joined = self._merge_lists([node.value for node in given], reason, deep=deep, depth=depth + 1)
            elif all(isinstance(node.value, Jobs) for node in given):
                return Node(Jobs(dict.fromkeys(call for node in given for call in node.value)), first.line)
            if joined is not None:
                result = self.made(joined, first.line)
                self._join(result, given)
                return result
        result = self.derived(shortened(key or reason.condition), first.line, given)
        result.open = reason.text(nodes)
        self._join(result, given)
        return result

    def _record(self, slot: Slot) -> None:
        at = id(slot.holder), slot.key
        if not self.journals or at in self.journals[-1] or getattr(slot.holder, "born", 0) == self.blocks[-1]:
            return
        before = slot.get()
        self.spend(1 + (len(before[0]) // 20 if slot.key is None and isinstance(before[0], dict | list) else 0))
        self.journals[-1][at] = slot, before

    def _merged(self, slot: Slot, states: list[Any], reason: Reason) -> Any:
        if slot.key is None:
            if any(is_open for _, is_open in states):
                return next(state for state in states if state[1])
            held = [value for value, _ in states]
            merge = self._merge_maps if isinstance(held[0], dict) else self._merge_lists
            return merge(held, reason, deep=False, depth=0), ""
        if not slot.holder.strict:  # without a value the program would fail
            states = [node for node in states if node is not None]
        return self.merge(states, slot.key, reason) if any(node is not None for node in states) else None

    def _merge_maps(self, maps: Sequence[dict[str, Node]], reason: Reason, *, deep: bool, depth: int) -> Any:
        keys = dict.fromkeys(key for each in maps for key in each)
        return {k: self.merge([each.get(k) for each in maps], k, reason, deep=deep, depth=depth) for k in keys}

    def _merge_lists(self, lists: Sequence[list[Node]], reason: Reason, *, deep: bool, depth: int) -> Any:
        """Return the items that are in every list, and an open one for each that is not."""
        merged: list[Node] = []
        longest: list[Node] = max(lists, key=len)
        for place, item in enumerate(longest):
            items = [each[place] if place < len(each) else None for each in lists]
            shown = f"{_shown(item)} if {reason.condition}" if len(lists) == 2 and None in items else ""
            merged.append(self.merge(items, shown, reason, deep=deep, depth=depth))
        return merged

    def _join(self, merged: Held, given: list[Node]) -> None:
        """Record that values and the one that may be any of them change together."""
        held = [node for node in given if isinstance(node, Held)]
        merged.kin = [*merged.kin, *held]
        for node in held:
            node.kin = [*node.kin, merged]


def _shown(node: Node) -> str:
    text = text_of(node) if is_data(node) else None
    return shortened(text) if text is not None else "..."
