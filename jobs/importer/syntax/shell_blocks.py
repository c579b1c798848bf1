"""Know which variables of a script depend on a condition, and which commands a loop repeats.

Source: POSIX, "Shell Command Language", 2.9.4 Compound Commands; bash's manual, "Looping Constructs".
"""

import re
from dataclasses import dataclass, field

LOOPS = frozenset({"for", "while", "until", "select"})
BEFORE_COMMAND = frozenset({"if", "elif", "else", "then", "do", "while", "until", "!", "{"})
"""Reserved words that a command follows without a separator."""
SETTING = re.compile(r"\b([A-Za-z_]\w*)[ \t]*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)([A-Za-z_]\w*)")
"""A variable that an arithmetic expression changes."""
MAX_OPEN = 50


@dataclass
class Block:
    """A compound command that is not closed yet.

    `line` is where a loop begins, else 0. `before` has the values that variables had before the current branch changed
    them, None if they had none. `outcomes` has the values that each of them may have after the block.
    """

    line: int
    before: dict[str, str | None] = field(default_factory=dict)
    outcomes: dict[str, set[str]] = field(default_factory=dict)


class Blocks:
    """The open blocks of a script and its variables.

    A value that is set in a branch holds until the branch ends. After the block, a variable that may have one of
    several values is unknown: its value is its own name as a placeholder. One without a value before the block keeps
    the only value that the block gives it, because scripts set their defaults so.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self.open: list[Block] = []
        self.too_deep = 0
        self.header = 0
        self.is_elif = False

    @property
    def loop(self) -> int:
        """The line of the innermost loop that is open, or 0."""
        return next((block.line for block in reversed(self.open) if block.line), 0)

    def assign(self, name: str, value: str | None, *, is_conditional: bool = False) -> None:
        """Set a variable; None makes it unknown, and so does a condition that may leave it another value."""
        old = self.variables.get(name)
        if self.open:
            self.open[-1].before.setdefault(name, old)
        if value is None or (is_conditional and old is not None and old != value):
            value = f"${{{name}}}"
        self.variables[name] = value

    def change(self, expression: str) -> None:
        """Make the variables unknown that an arithmetic expression changes."""
        for match in SETTING.finditer(expression):
            self.assign(match[1] or match[2], None)

    def read(self, words: list[str], line: int) -> None:
        """Open, change or close a block for a reserved word that may begin a command, and the two words after it."""
        first = words[0].lstrip("@-+")
        if first in LOOPS:
            self.header = line
            if first in ("for", "select") and len(words) > 1 and words[1].isidentifier():
                self.assign(words[1], None)
        elif first == "then" or (first == "do" and self.header):
            if not self.is_elif:
                self._begin(self.header if first == "do" else 0)
            self.header, self.is_elif = 0, False
        elif first == "case" and words[2:] == ["in"]:
            self._begin(0)
        elif first in ("else", "elif"):
            self.is_elif = first == "elif"
            self.end_branch()
        elif first in ("fi", "done", "esac"):
            self._end()

    def end_branch(self) -> None:
        """End a branch of the innermost block: its variables have the values from before it again."""
        if not self.open or self.too_deep:
            return
        block = self.open[-1]
        for name, old in block.before.items():
            possible = block.outcomes.setdefault(name, set() if old is None else {old})
            possible.add(self.variables.pop(name))
            if old is not None:
                self.variables[name] = old
        block.before.clear()

    def _begin(self, line: int) -> None:
        if len(self.open) < MAX_OPEN:
            self.open.append(Block(line))
        else:
            self.too_deep += 1

    def _end(self) -> None:
        if self.too_deep:
            self.too_deep -= 1
        elif self.open:
            self.end_branch()
            for name, possible in self.open.pop().outcomes.items():
                self.assign(name, possible.pop() if len(possible) == 1 else None)
