"""Find the values of function parameters and of command line arguments."""

import ast

from jobs.importer.nodes import Node, Notes
from jobs.importer.python.evaluator import Evaluator
from jobs.texts import translatable as _

Function = ast.FunctionDef | ast.AsyncFunctionDef


def defaults(function: Function, values: Evaluator) -> dict[str, Node | None]:
    """Return the parameters of a function with their defaults; None and "" are for the caller to fill in."""
    placed, named = [*function.args.posonlyargs, *function.args.args], function.args.kwonlyargs
    found: dict[str, Node | None] = dict.fromkeys(each.arg for each in (*placed, *named))
    given = list(zip(reversed(placed), reversed(function.args.defaults), strict=False))
    for parameter, default in (*given, *zip(named, function.args.kw_defaults, strict=True)):
        if default is not None and not (isinstance(default, ast.Constant) and default.value in (None, "")):
            found[parameter.arg] = values.evaluate(default)
    return found


def bound(function: Function, call: ast.Call, values: Evaluator) -> dict[str, Node | None]:
    """Return the parameters of a function with the values from a call."""
    placed = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and placed[:1] in (["self"], ["cls"]):
        placed.pop(0)
    given = dict(zip(placed, map(values.evaluate, call.args), strict=False)) | values.arguments(call).entries
    parameters = defaults(function, values)
    rest = {name: node for name, node in given.items() if name not in parameters}
    others = {function.args.kwarg.arg: Node(rest, call.lineno)} if function.args.kwarg is not None else {}
    return parameters | given | others


def default_of_argument(call: ast.Call, values: Evaluator) -> dict[str, Node]:
    """Return `{name: default}` of `parser.add_argument(*flags, **options)`; empty if there is no default."""
    flags, options = [values.evaluate(flag).text() for flag in call.args], values.arguments(call).entries
    name = next((flag for flag in flags if flag.startswith("--")), flags[0])
    action, default = options.get("action"), options.get("default")
    if default is None and action is not None and action.value in ("store_true", "store_false"):
        default = Node(action.value == "store_false", action.line)
    if default is None or default.value in (None, ""):
        return {}
    return {(options["dest"].text() if "dest" in options else name).lstrip("-").replace("-", "_"): default}


def parsed_arguments(arguments: dict[str, Node], notes: Notes, call: ast.Call) -> Node:
    """Return the result of `parser.parse_args()` without arguments: their defaults."""
    message = _("Command-line arguments are read with their default values; change those that differ.")
    notes.note("defaults_taken", call.lineno, message)
    return Node(arguments, call.lineno)
