"""Requests for Spot or Flex-start that did not end up in the job: refused where they stand, never read as Standard."""

import ast
import re
from collections.abc import Iterator

from jobs.convert.sdk.parsing import parsed
from jobs.convert.texts.nodes import Node, folded

CHEAPER = frozenset({"SPOT", "FLEX_START", "DWS_FLEX_START", "LOW_COST"})
NUMBERS = {2: "LOW_COST", 4: "SPOT", 6: "FLEX_START"}
WORDS = r"(?:spot|(?:dws[_-]?)?flex[_-]?start|low[_-]?cost)"
ASKED = re.compile(
    r"(?<![\w$])(?:SPOT|(?:DWS_)?FLEX_START|LOW_COST)(?!\w)"
    rf"|(?i:strategy['\"]?[ \t]*(?:[:=,)][ \t]*)+['\"]?(?:{WORDS}\b|[246]\b)"
    rf"|--(?:scheduling-)?strategy[= \t]+['\"]?{WORDS}"
    r"|\b(?:\w*use_?)?(?:spot|flex_?start|preemptible)(?:_?vms?)?['\"]?[ \t]*[:=][ \t]*['\"]?(?:true|yes)\b)"
)
WORD = re.compile(rf"(?i:{WORDS})")
COMMENT = re.compile(r"^[ \t]*(?:#|//).*|[ \t](?:#|//)[ \t].*", re.MULTILINE)
SAID = frozenset({"help", "choices", "description", "epilog"})


def lost_request(text: str, *, is_python: bool, bodies: list[Node]) -> int:
    """Return the line on which a text asks for Spot or Flex-start; 0 where none does, or one of its `bodies` has it."""
    if not ASKED.search(text) and not (is_python and WORD.search(text)):
        return 0
    carried: set[int] = set()
    for body in bodies:
        for name, node in _values(body):
            word = NUMBERS.get(node.value, "") if isinstance(node.value, int) else node.text()
            if folded(name) == "scheduling.strategy" and word.upper() in CHEAPER:
                return 0
            carried.update((node.line, node.line + 1) if ASKED.search(word) or WORD.fullmatch(word) else ())
    lines = _in_program(text) if is_python else _in_lines(text)
    return next((line for line in lines if line not in carried), 0)


def _values(node: Node) -> Iterator[tuple[str, Node]]:
    waiting = [("", node)]
    while waiting:
        name, node = waiting.pop()
        if isinstance(node.value, dict):
            waiting.extend((f"{name.rpartition('.')[2]}.{key}", item) for key, item in node.value.items())
        elif isinstance(node.value, list):
            waiting.extend((name, item) for item in node.value)
        else:
            yield name, node


def _in_lines(text: str) -> Iterator[int]:
    bare = COMMENT.sub("", text)
    line = at = 0
    for found in ASKED.finditer(bare):
        line, at = line + bare.count("\n", at, found.start()), found.start()
        yield line + 1


def _in_program(text: str) -> Iterator[int]:
    """Yield the lines of values, not of what a program only says: its docstrings, help texts and comparisons."""
    try:
        program = parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _in_lines(text)
        return
    waiting: list[ast.AST] = [program.tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant | ast.Attribute | ast.Name) and _asks(node):
            yield node.lineno
        said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if said or isinstance(node, ast.Compare) or (isinstance(node, ast.keyword) and node.arg in SAID):
            continue
        if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and ASKED.search(ast.unparse(node)):
            yield node.lineno
        else:
            keys = node.keys if isinstance(node, ast.Dict) else ()
            waiting.extend(inner for inner in ast.iter_child_nodes(node) if inner not in keys)
    for part in program.left_out:
        yield from (part.line + line - 1 for line in _in_lines(part.text))


def _asks(node: ast.Constant | ast.Attribute | ast.Name) -> bool:
    if not isinstance(node, ast.Constant):
        return (node.attr if isinstance(node, ast.Attribute) else node.id) in CHEAPER
    value = COMMENT.sub("", node.value) if isinstance(node.value, str) else ""
    return bool(ASKED.search(value) or WORD.fullmatch(value))
