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
    yield from (number for number, line in enumerate(COMMENT.sub("", text).split("\n"), 1) if REQUEST.search(line))


def _in_program(text: str) -> Iterator[int]:
    """Yield the lines of values, except docstrings, help texts, names of entries and comparisons."""
    try:
        program = parse(text)
    except ERRORS:
        yield from _in_lines(text)
        return
    waiting: list[ast.AST] = [program.tree]
    while waiting:
        match node := waiting.pop():
            case ast.Constant(value=str(word)):
                word = COMMENT.sub("", word)
                yield from [node.lineno] if REQUEST.search(word) or WORD.fullmatch(word) else []
            case ast.Attribute(attr=word) | ast.Name(id=word) if word in CHEAPER:
                yield node.lineno
            case ast.keyword(value=ast.Constant()) if node.arg not in DESCRIBING and REQUEST.search(ast.unparse(node)):
                yield node.lineno
            case ast.Dict():
                waiting.extend(each for each in node.values)
            case ast.Expr(value=ast.Constant()) | ast.Compare():
                pass
            case _ if not (isinstance(node, ast.keyword) and node.arg in DESCRIBING):
                waiting.extend(ast.iter_child_nodes(node))
    for part in program.left_out:
        yield from (part.line + line - 1 for line in _in_lines(part.text))
