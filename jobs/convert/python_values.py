"""Python expressions to trees, read with `ast` and never executed. What only a run could know stays a placeholder."""

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobs.convert.tree import Items, Map, Node, Notes, Pair, Scalar, Unreadable, node_of

SUMS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}
LARGEST_NUMBER = 10**15
LONGEST_TEXT = 200_000
DEEPEST = 80
ENVIRONMENT = frozenset({"getenv", "get"})
SPANS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1, "weeks": 604_800}
SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE"}
RANGES = {
    "DoubleParameterSpec": ("doubleValueSpec", ("min", "max", "scale")),
    "IntegerParameterSpec": ("integerValueSpec", ("min", "max", "scale")),
    "CategoricalParameterSpec": ("categoricalValueSpec", ("values",)),
    "DiscreteParameterSpec": ("discreteValueSpec", ("values", "scale")),
}
ENUM_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
MESSAGE = re.compile(
    r"[A-Z]\w*(?:Spec|Scheduling|Var|Destination|Affinity|Mount|Config|Job|Pipeline|Split|Model|Port)|Scheduling|Model"
)


@dataclass(slots=True, eq=False)
class Call:
    """A call that makes or runs a job: the last part of its name, what it is called on, its arguments."""

    name: str
    line: int
    on: "Value | None"
    arguments: Map
    positional: list["Value"]


Value = Node | Call


def dotted(node: ast.expr) -> list[str]:
    """Return the parts of a dotted name, innermost first; empty where it is none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [*parts, node.id][::-1] if isinstance(node, ast.Name) else []


class Values:
    """Evaluates expressions over the names that the program has set so far."""

    def __init__(self, notes: Notes, jobs: frozenset[str]) -> None:
        self.notes, self.jobs = notes, jobs
        self.known: dict[str, Value] = {}
        self.size = 0

    def of(self, node: ast.expr | None, depth: int = 0) -> Value:
        """Return the value of an expression, a placeholder where it is not known."""
        if node is None:
            return Scalar("null", 0)
        self.size += 1
        if depth > DEEPEST or self.size > 100_000:
            raise Unreadable(
                "Its expressions are deeper or larger than Trainboard reads.", getattr(node, "lineno", None)
            )
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        found = handler(node, depth + 1) if handler is not None else None
        return found if found is not None else hole(node)

    def node(self, expression: ast.expr | None, depth: int = 0) -> Node:
        """Return the value of an expression as a tree; a call in its place is a placeholder."""
        found = self.of(expression, depth)
        return Scalar("${" + found.name + "}", found.line, quoted=True) if isinstance(found, Call) else found

    def _constant(self, node: ast.Constant, _: int) -> Value | None:
        value = node.value
        if isinstance(value, str):
            return Scalar(value, node.lineno, quoted=True)
        if isinstance(value, bool) or value is None or isinstance(value, float):
            return node_of(value, node.lineno)
        return node_of(value, node.lineno) if isinstance(value, int) and abs(value) < 10**40 else None

    def _name(self, node: ast.Name, _: int) -> Value | None:
        return self.known.get(node.id)

    def _dict(self, node: ast.Dict, depth: int) -> Value:
        found = Map(node.lineno)
        for key, value in zip(node.keys, node.values, strict=True):
            inner = self.node(value, depth)
            if key is None:
                found.pairs.extend(inner.pairs if isinstance(inner, Map) else [])
                if not isinstance(inner, Map):
                    self._lost(value.lineno, "What ** adds to this dict")
                continue
            name = self.node(key, depth)
            if isinstance(name, Scalar):
                found.pairs.append(Pair(name.text, key.lineno, inner))
        return found

    def _list(self, node: ast.List | ast.Tuple, depth: int) -> Value:
        found = Items(node.lineno)
        for item in node.elts:
            inner = self.node(item.value if isinstance(item, ast.Starred) else item, depth)
            if not isinstance(item, ast.Starred):
                found.nodes.append(inner)
            elif isinstance(inner, Items):
                found.nodes.extend(inner.nodes)
            else:
                self._lost(item.lineno, "What * adds to this list")
        return found

    _tuple = _list

    def _lost(self, line: int, what: str) -> None:
        message = f"{what} is known only when the program runs."
        self.notes.add("known_only_at_run_time", "", line, message, "Write it out.", refuse=True)

    def _joinedstr(self, node: ast.JoinedStr, depth: int) -> Value:
        parts = []
        for part in node.values:
            inner = self.node(part.value if isinstance(part, ast.FormattedValue) else part, depth)
            parts.append(inner.text if isinstance(inner, Scalar) else "${...}")
        return Scalar("".join(parts)[:LONGEST_TEXT], node.lineno, quoted=True)

    def _binop(self, node: ast.BinOp, depth: int) -> Value | None:
        left, right = self.node(node.left, depth), self.node(node.right, depth)
        if isinstance(left, Items) and isinstance(right, Items) and isinstance(node.op, ast.Add):
            return Items(left.line, [*left.nodes, *right.nodes])
        if not isinstance(left, Scalar) or not isinstance(right, Scalar):
            return None
        if isinstance(node.op, ast.Add) and (left.quoted or right.quoted):
            return Scalar((left.text + right.text)[:LONGEST_TEXT], node.lineno, quoted=True)
        a, b = left.value(), right.value()
        if isinstance(a, int | float) and isinstance(b, int | float) and type(node.op) in SUMS:
            safe = (
                abs(a) < LARGEST_NUMBER
                and abs(b) < LARGEST_NUMBER
                and (b or not isinstance(node.op, ast.Div | ast.FloorDiv))
            )
            return node_of(SUMS[type(node.op)](a, b), node.lineno) if safe else None
        return None

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> Value | None:
        inner = self.node(node.operand, depth)
        value = inner.value() if isinstance(inner, Scalar) and not inner.quoted else None
        return (
            node_of(-value, node.lineno) if isinstance(node.op, ast.USub) and isinstance(value, int | float) else None
        )

    def _attribute(self, node: ast.Attribute, depth: int) -> Value | None:
        if node.attr in ("name", "value"):
            inner = self.node(node.value, depth)
            if isinstance(inner, Scalar) and ENUM_NAME.fullmatch(inner.text):
                return inner
        parts = dotted(node)
        if len(parts) > 1 and ENUM_NAME.fullmatch(node.attr) and parts[-2][:1].isupper():
            return Scalar(node.attr, node.lineno, quoted=True)
        return None

    def _subscript(self, node: ast.Subscript, depth: int) -> Value | None:
        around, key = self.node(node.value, depth), self.node(node.slice, depth)
        if not isinstance(key, Scalar):
            return None
        if isinstance(around, Map):
            return around.get(key.text)
        value = key.value()
        if isinstance(around, Items) and isinstance(value, int) and -len(around.nodes) <= value < len(around.nodes):
            return around.nodes[value]
        return (
            Scalar("${" + key.text + "}", node.lineno, quoted=True) if dotted(node.value)[-1:] == ["environ"] else None
        )

    def _call(self, node: ast.Call, depth: int) -> Value | None:
        name = (dotted(node.func) or [node.func.attr if isinstance(node.func, ast.Attribute) else ""])[-1]
        if name in self.jobs:
            return self.job_call(node, name, depth)
        if name in RANGES:
            return self._range(node, name, depth)
        if name in ("timedelta", "Duration"):
            return self._span(node, name, depth)
        if name in ENVIRONMENT and len(node.args) > 1:
            return self.of(node.args[1], depth)
        if name in ENVIRONMENT and node.args and isinstance(node.args[0], ast.Constant):
            return Scalar("${" + str(node.args[0].value) + "}", node.lineno, quoted=True)
        if name in ("ParseDict", "str", "int", "float", "list", "tuple", "Path", "deepcopy") and node.args:
            inner = self.node(node.args[0], depth)
            return Scalar(inner.text, inner.line, quoted=name == "str") if isinstance(inner, Scalar) else inner
        if name == "dict" or MESSAGE.fullmatch(name):
            found = self.node(node.args[0], depth) if node.args else Map(node.lineno)
            pairs = found.pairs if isinstance(found, Map) else []
            return Map(node.lineno, [*pairs, *self.keywords(node, depth).pairs])
        return self._text_method(node, name, depth)

    def _text_method(self, node: ast.Call, name: str, depth: int) -> Value | None:
        """Read `"...".format(...)`, `.split()` and `",".join([...])` of text that is known."""
        on = self.node(node.func.value, depth) if isinstance(node.func, ast.Attribute) else None
        if not isinstance(on, Scalar) or not on.quoted:
            return None
        if name == "format":
            given = [self.node(item, depth) for item in node.args]
            texts = iter([item.text if isinstance(item, Scalar) else "${...}" for item in given])
            named = {pair.key: pair.node for pair in self.keywords(node, depth).pairs}

            def fill(found: re.Match[str]) -> str:
                inner = named.get(found[1])
                return inner.text if isinstance(inner, Scalar) else next(texts, "${" + (found[1] or "...") + "}")

            return Scalar(
                re.sub(r"\{(\w*)(?:![rsa])?(?::[^{}]*)?\}", fill, on.text)[:LONGEST_TEXT], node.lineno, quoted=True
            )
        if name in ("strip", "lower", "upper") and not node.args:
            return Scalar(getattr(on.text, name)(), node.lineno, quoted=True)
        return node_of(on.text.split(), node.lineno) if name == "split" and not node.args else None

    def keywords(self, node: ast.Call, depth: int) -> Map:
        """Return the keyword arguments of a call, `**known` included."""
        found = Map(node.lineno)
        for keyword in node.keywords:
            inner = self.node(keyword.value, depth)
            if keyword.arg is not None:
                found.pairs.append(Pair(keyword.arg, keyword.value.lineno, inner))
            elif isinstance(inner, Map):
                found.pairs.extend(inner.pairs)
            else:
                self._lost(keyword.value.lineno, "What ** adds to this call")
        return found

    def job_call(self, node: ast.Call, name: str, depth: int) -> Call:
        """Return a call that makes or runs a job with its arguments, job calls among them kept as calls."""
        on = self.of(node.func.value, depth) if isinstance(node.func, ast.Attribute) else None
        call = Call(name, node.lineno, on, Map(node.lineno), [self.of(item, depth) for item in node.args])
        for keyword in node.keywords:
            inner = self.of(keyword.value, depth)
            if isinstance(inner, Call):
                call.positional.append(inner)
        call.arguments = self.keywords(node, depth)
        return call

    def _range(self, node: ast.Call, name: str, depth: int) -> Value:
        """Read the SDK's parameter ranges, e.g. `DoubleParameterSpec(min=0.1, max=1, scale="log")`."""
        field, order = RANGES[name]
        given = dict(zip(order, (self.node(item, depth) for item in node.args), strict=False))
        given |= {pair.key: pair.node for pair in self.keywords(node, depth).pairs}
        names = {"min": "minValue", "max": "maxValue", "values": "values"}
        spec = Map(node.lineno, [Pair(names[key], node.lineno, value) for key, value in given.items() if key in names])
        found = Map(node.lineno, [Pair(field, node.lineno, spec)])
        scale = given.get("scale")
        if isinstance(scale, Scalar) and scale.text in SCALES:
            found.put("scaleType", Scalar(SCALES[scale.text], scale.line, quoted=True))
        if given.keys() & {"conditional_parameter_spec", "parent_values"}:
            self._lost(node.lineno, "A conditional parameter of this call")
        return found

    def _span(self, node: ast.Call, name: str, depth: int) -> Value | None:
        total: float = 0
        given = [("days" if name == "timedelta" else "seconds", item) for item in node.args[:1]]
        for unit, expression in [*given, *((keyword.arg or "", keyword.value) for keyword in node.keywords)]:
            inner = self.node(expression, depth)
            value = inner.value() if isinstance(inner, Scalar) and not inner.quoted else None
            if (
                unit not in SPANS
                or not isinstance(value, int | float)
                or isinstance(value, bool)
                or abs(value) > LARGEST_NUMBER
            ):
                return None
            total += value * SPANS[unit]
        return Scalar(f"{total:.6f}".rstrip("0").rstrip(".") + "s", node.lineno, quoted=True)


def hole(node: ast.expr) -> Scalar:
    """Return a placeholder for an expression that is not known, named after it."""
    parts = dotted(node) or dotted(getattr(node, "func", node)) or [type(node).__name__.lower()]
    return Scalar("${" + ".".join(parts)[:60] + "}", getattr(node, "lineno", 0))
