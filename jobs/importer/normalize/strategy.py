"""Find requests for Spot or Flex-start that were not read into a job, so that it is not imported as Standard."""

import ast
import re
from collections.abc import Iterator

from jobs.importer.nodes import Node, folded
from jobs.importer.python.parsing import ERRORS, parse

CHEAPER = frozenset({"SPOT", "FLEX_START", "DWS_FLEX_START", "LOW_COST"})
NUMBERS = {2: "LOW_COST", 4: "SPOT", 6: "FLEX_START"}
WORDS = r"(?:spot|(?:dws[_-]?)?flex[_-]?start|low[_-]?cost)"
REQUEST = re.compile(
    r"(?<![\w$])(?:SPOT|(?:DWS_)?FLEX_START|LOW_COST)(?!\w)"
    rf"|(?i:strategy['\"]?[ \t]*(?:[:=,)][ \t]*)+['\"]?(?:{WORDS}\b|[246]\b)"
    rf"|--(?:scheduling-)?strategy[= \t]+['\"]?{WORDS}"
    r"|\b(?:\w*use_?)?(?:spot|flex_?start|preemptible)(?:_?vms?)?['\"]?[ \t]*[:=][ \t]*['\"]?(?:true|yes)\b)"
)
WORD = re.compile(rf"(?i:{WORDS})")
COMMENT = re.compile(r"^[ \t]*(?:#|//).*|[ \t](?:#|//)[ \t].*", re.MULTILINE)
DESCRIBING = frozenset({"help", "choices", "description", "epilog"})
"""Arguments that only describe another argument."""


def find_lost_request(text: str, *, is_python: bool, bodies: list[Node]) -> int:
    """Return the line where a text requests Spot or Flex-start; 0 if there is none or one of its `bodies` has it."""
    if not REQUEST.search(text) and not (is_python and WORD.search(text)):
        return 0
    carried: set[int] = set()
    for body in bodies:
        for name, node in _values(body):
            word = NUMBERS.get(node.value, "") if isinstance(node.value, int) else node.text()
            if folded(name) == "scheduling.strategy" and (word.upper() in CHEAPER or node.open):
                return 0
            if REQUEST.search(word) or WORD.fullmatch(word):
                carried.update((node.line, node.line + 1))
    lines = _in_program(text) if is_python else _in_lines(text)
    return next((line for line in lines if line not in carried), 0)


def _values(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the scalars below a node, each with its name and the name around it."""
    waiting = [("", node)]
    while waiting:
        name, node = waiting.pop()
        if node.is_scalar:
            yield name, node
        elif isinstance(node.value, list):
            waiting.extend((name, item) for item in node.value)
        else:
            waiting.extend((f"{name.rpartition('.')[2]}.{key}", item) for key, item in node.value.items())


def _in_lines(text: str) -> Iterator[int]:
    for number, line in enumerate(COMMENT.sub("", text).split("\n"), 1):
        if REQUEST.search(line):
            yield number


def _in_program(text: str) -> Iterator[int]:
    """Yield the lines of values, except docstrings, help texts and comparisons."""
    try:
        program = parse(text)
    except ERRORS:
        yield from _in_lines(text)
        return
    waiting: list[ast.AST] = [program.tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant | ast.Attribute | ast.Name) and _requests(node):
            yield node.lineno
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, ast.Compare) or (isinstance(node, ast.keyword) and node.arg in DESCRIBING):
            continue
        if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and REQUEST.search(ast.unparse(node)):
            yield node.lineno
        else:
            keys = node.keys if isinstance(node, ast.Dict) else ()
            waiting.extend(inner for inner in ast.iter_child_nodes(node) if inner not in keys)
    for part in program.left_out:
        yield from (part.line + line - 1 for line in _in_lines(part.text))


def _requests(node: ast.Constant | ast.Attribute | ast.Name) -> bool:
    if not isinstance(node, ast.Constant):
        return (node.attr if isinstance(node, ast.Attribute) else node.id) in CHEAPER
    value = COMMENT.sub("", node.value) if isinstance(node.value, str) else ""
    return bool(REQUEST.search(value) or WORD.fullmatch(value))
