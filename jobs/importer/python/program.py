"""Find the jobs that a program creates: the calls of the SDK, with the calls that run them. Nothing is run.

Source: google-cloud-aiplatform 2.7.0, read 2026-11-26; its arguments are in `sdk_signatures.json`.
"""

import ast
from typing import Any

from jobs.importer.nodes import Node, Path
from jobs.importer.python import calls
from jobs.importer.python.branches import Reason
from jobs.importer.python.functions import Functions
from jobs.importer.python.names import TooManySteps
from jobs.importer.python.values import (
    OUTSIDE,
    Class,
    Function,
    JobCall,
    Jobs,
    Object,
    is_data,
    items_of,
    placed_at,
    unknown,
)
from jobs.importer.sdk_names import LOCAL_SCRIPT, MAKERS, MESSAGE_FIELDS, SIGNATURES, positions
from jobs.texts import translatable as _

RESOURCES = ("_gca_resource", "gca_resource", "job_spec")
"""Attributes in which the SDK's classes keep the request that they send."""
INIT_OWNERS = ("aiplatform", "vertexai", "aip", "vertex_ai", "")
MESSAGE_MODULES = frozenset({"aiplatform_v1", "aiplatform_v1beta1", "gapic", "types"})
"""Modules whose classes have the names of the SDK's, and are messages."""
DEFINES = ("DEFINE_string", "DEFINE_integer", "DEFINE_float", "DEFINE_boolean", "DEFINE_bool", "DEFINE_enum")
CONVERSIONS = {"int": int, "float": float}
OPAQUE = frozenset({"exec", "globals", "locals", "eval"})


class Program(Functions):
    """Reads a program. `job_calls` are the calls that create jobs, `init` the arguments of `aiplatform.init`."""

    job_calls: list[JobCall]
    init: dict[str, Node]

    def follow(self, tree: ast.Module) -> None:
        """Read the whole program; what it never runs only if nothing else creates a job."""
        self.job_calls, self.init = [], {}
        self.functions, self.entered = [], set()
        self.module.names["__name__"] = Node("__main__", 1)
        try:
            self.block(tree.body)
            while self.skipped and not self.job_calls:
                self.scope, statements = self.skipped.pop(0)
                self.block(statements)
            self.scope = self.module
            found = len(self.job_calls)
            for function in self.functions if not found else ():
                if id(function.body) not in self.entered:
                    self.enter_unknown(function)
        except TooManySteps:
            message = _("The program takes too many steps to be followed.")
            self.notes.error("too_much", None, message, _("Give only the job."))

    def _call(self, call: ast.Call) -> Node | None:
        func, path = call.func, self.path_of(call.func)
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        owner = self.evaluate(func.value) if isinstance(func, ast.Attribute) and not path else None
        callee = None if path else owner.value if owner is not None else self.evaluate(func).value
        if isinstance(callee, Object | Class) and owner is not None:
            found = callee.attributes.get(name)
            callee = found.value if found is not None else None
        if isinstance(callee, Function):
            given = self.listed(call.args)
            is_bound = (
                owner is not None
                and callee.placed[:1] in (["self"], ["cls"])
                and isinstance(owner.value, Object | Class)
            )
            return self.enter(
                callee, [owner, *given] if is_bound and owner else given, self.keywords(call), call.lineno
            )
        if isinstance(callee, Class):
            return self.instantiate(callee, self.listed(call.args), self.keywords(call), call.lineno)
        if isinstance(callee, Jobs) and name in ("run", "submit"):
            return self._run(callee, name, call)
        if (
            isinstance(callee, Jobs)
            and _is_change(name)
            and self.set_field(func, unknown(self.source(call), call.lineno))
        ):
            return None
        is_sdk = self.is_sdk(path) if path else owner is not None and bool(owner.open) and owner.raw != OUTSIDE
        if (
            is_sdk
            and name in MAKERS
            and not set(path.split(".")) & MESSAGE_MODULES
            and (made := self._make(call, name)) is not None
        ):
            return made
        if name == "init" and path.rpartition(".")[0].rpartition(".")[2] in INIT_OWNERS and is_sdk:
            for word, node in self.keywords(call).items():
                if node.value:
                    self.branches.put(self.init, word, node)
            return Node(None, call.lineno)
        return self._value_of(call, name, path, owner)

    def _value_of(self, call: ast.Call, name: str, path: str, owner: Node | None) -> Node | None:
        """Return the value of a call that creates no job."""
        given = [self.filled(arg) for arg in call.args] if name == "format" else self.listed(call.args)
        if (known := self._of_program(call, name, path, given)) is not None:
            return known
        named = self.keywords(call)
        line = call.lineno
        if path:
            if path.endswith(("environ.get", "getenv", "environ.setdefault")) and given:
                return self.look_up(given[0], given[1] if len(given) > 1 else named.get("default"), line)
            if path.endswith("path.join"):
                return calls.join(Node("/", line), given, line, is_path=True)
            if path.endswith(("copy.deepcopy", "copy.copy", "deepcopy")) and given:
                return self.copied(given[0])
            if name.endswith("ParameterSpec") and name in SIGNATURES:
                words = zip(SIGNATURES[name]["positions"], given, strict=False)
                return Node({**dict(words), **named, "__kind__": Node(name, line)}, line)
            if (value := calls.message_of(name, given, named, line)) is not None:
                return value
            if path == name and (value := calls.built_in(name, given, named, line)) is not None:
                return value
        elif owner is not None and not owner.open and (is_data(owner) and owner.value is not None):
            return self._method(name, owner, given, named, call)
        elif (
            name == "get"
            and owner is not None
            and len(given) == 2
            and given[1].value not in (None, "")
            and not given[1].open
        ):
            self.note_default(
                line, _("Values that are not set are read with their defaults; change those that differ.")
            )
            return given[1]
        return self._unknown_call(call, name, owner, given, named)

    def _of_program(self, call: ast.Call, name: str, path: str, given: list[Node]) -> Node | None:
        """Return the value of calls about the program itself: its command line, its names, its objects."""
        first = given[0] if given else None
        if name == "add_argument" and given:
            self.arguments.update(self._argument(call, given))
        elif name in ("parse_args", "parse_known_args"):
            self.note_default(
                call.lineno, _("Command-line arguments are read with their default values; change those that differ.")
            )
            held = Node(Object(self.arguments), call.lineno)
            return held if name == "parse_args" else Node([held, unknown(self.source(call), call.lineno)], call.lineno)
        elif (
            name in DEFINES and len(given) > 1 and isinstance(given[0].value, str) and given[1].value not in (None, "")
        ):
            self.arguments[given[0].value] = given[1]
        elif path == "setattr" and len(call.args) == 3 and given[1].value and not given[1].open:
            self.set_field(ast.copy_location(ast.Attribute(call.args[0], given[1].text()), call), given[2])
        elif path in OPAQUE:
            message = _("The program changes its own names here, which cannot be followed.")
            self.notes.error("not_followed", call.lineno, message, _("Write the values out."))
        elif name in ("vars", "asdict") and call.args:
            held = self.evaluate(call.args[0])
            return Node(dict(held.value.attributes), call.lineno) if isinstance(held.value, Object) else None
        elif path.endswith("random.shuffle") and first is not None:
            self.branches.open(first, self.source(call), call.lineno)
        return None

    def _argument(self, call: ast.Call, given: list[Node]) -> dict[str, Node]:
        """Return `{name: default}` of `parser.add_argument(*flags, **options)`; empty if there is no default."""
        flags = [node.text() for node in given]
        options = {word.arg: word.value for word in call.keywords if word.arg is not None}
        name = next((flag for flag in flags if flag.startswith("--")), flags[0])
        action = self.data(options["action"]).value if "action" in options else ""
        default = self.data(options["default"]) if "default" in options else None
        if default is None and action in ("store_true", "store_false"):
            default = Node(action == "store_false", call.lineno)
        if default is None or default.value in (None, ""):
            return {}
        convert = CONVERSIONS.get(self.source(options["type"])) if "type" in options else None
        if convert is not None and isinstance(default.value, str):
            default = calls.carried_out(convert, [default.value[:20]], default.line) or default
        dest = self.data(options["dest"]).text() if "dest" in options else name
        return {dest.lstrip("-").replace("-", "_"): default}

    def _unknown_call(
        self, call: ast.Call, name: str, owner: Node | None, given: list[Node], named: dict[str, Node]
    ) -> Node:
        """Return an open value; what a function of another module is given may be changed by it."""
        outside = self.is_from_outside(call.func)
        for node in (*given, *named.values()) if outside else ():
            self.branches.open(node, self.source(call), call.lineno)
        if owner is not None and name in calls.MUTATING:
            self.branches.open(owner, self.source(call), call.lineno)
        if (
            isinstance(call.func, ast.Attribute)
            and name in calls.MUTATING
            and isinstance(call.func.value, ast.Attribute | ast.Subscript)
        ):
            is_first = name == "append" and len(given) == 1
            self.set_field(
                call.func.value, Node(given, call.lineno) if is_first else unknown(self.source(call), call.lineno)
            )
        result = unknown(self.source(call), call.lineno, raw=OUTSIDE if outside else "")
        inner = (item for node in given for item in items_of(node))
        return self.branches.derive(result, [*given, *inner, *named.values(), *([owner] if owner is not None else [])])

    def _method(self, name: str, owner: Node, given: list[Node], named: dict[str, Node], call: ast.Call) -> Node | None:
        """Return the value of a method of a known mapping, list or text, and carry out its change."""
        held = owner.value
        if owner.is_scalar or (found := calls.method_of(name, owner, given, named, call.lineno)) is None:
            if owner.is_scalar:
                return calls.method_of(name, owner, given, named, call.lineno)
            return self._changed(name, owner, given, named, call)
        return self.copied(found) if name == "copy" and isinstance(held, dict | list) else found

    def _changed(
        self, name: str, owner: Node, given: list[Node], named: dict[str, Node], call: ast.Call
    ) -> Node | None:
        first = given[0] if given else None
        held: Any = owner.value
        key = first.value if first is not None and isinstance(first.value, str) and not first.open else None
        if isinstance(held, list) and name in ("append", "extend", "insert", "clear", "reverse"):
            self.branches.record("list", held)
            if name == "append" and first is not None:
                held.append(placed_at(first, call.lineno))
                return None
            if name == "extend" and first is not None:
                added = calls.elements(first) if isinstance(first.value, list | dict) else [first]
                self.spend(len(added))
                held.extend(added)
                return None
            if name == "insert" and first is not None and type(first.value) is int:
                held.insert(first.value, given[1])
                return None
            if name in ("clear", "reverse"):
                getattr(held, name)()
                return None
        if isinstance(held, dict):
            if name == "update" and (first is None or isinstance(first.value, dict)):
                changes = {**(first.value if first is not None else {}), **named}
                self.spend(len(changes))
                for word, node in changes.items():
                    self.branches.put(held, word, node)
                return None
            if name == "setdefault" and key is not None and len(given) == 2:
                if key not in held:
                    self.branches.put(held, key, given[1])
                return held.get(key)
            if name == "pop" and key is not None:
                found = held.get(key)
                self.branches.put(held, key, None)
                return found or (given[1] if len(given) > 1 else None)
        self.branches.open(owner, self.source(call), call.lineno)
        return None

    def copied(self, node: Node) -> Node:
        """Return a copy of a value that later changes leave as it is."""
        self.spend(1)
        if node.open or node.is_scalar:
            return node
        if isinstance(node.value, dict):
            copied = Node({name: self.copied(item) for name, item in node.value.items()}, node.line)
        else:
            copied = Node([self.copied(item) for item in node.value], node.line)
        return self.branches.make(copied)

    def _make(self, call: ast.Call, maker: str) -> Node | None:
        """Add a call that creates a job; return None for a message that only has the name of a job."""
        named = self.keywords(call)
        if MESSAGE_FIELDS.get(maker, frozenset()) & set(named):
            return None
        is_open = any(word.arg is None and not isinstance(self.data(word.value).value, dict) for word in call.keywords)
        signature = f"CustomJob.{maker}" if maker == LOCAL_SCRIPT else maker
        args = self._arguments(call, signature, named)
        custom = args.get("custom_job")
        made = JobCall(
            maker, Node({}, call.lineno), dict(self.init), is_open=is_open, depth=len(self.branches.journals)
        )
        if custom is not None and isinstance(custom.value, Jobs):
            if len(custom.value) == 1:
                made.custom = custom.value[0]
                made.custom.is_used = True
                args["custom_job"] = made.custom.args
            else:
                args["custom_job"] = unknown("custom_job", call.lineno)
        made.args = self.copied(Node({name: self._held(node) for name, node in args.items()}, call.lineno))
        self.job_calls.append(made)
        return Node(Jobs([made]), call.lineno)

    def _held(self, node: Node) -> Node:
        return node if is_data(node) else unknown("job", node.line)

    def _arguments(self, call: ast.Call, signature: str, named: dict[str, Node]) -> dict[str, Node]:
        """Return all arguments of a call by name."""
        given, names = self.listed(call.args), positions(signature)
        names = [*names, *(f"argument {place}" for place in range(len(names) + 1, len(given) + 1))]
        return {**dict(zip(names, given, strict=False)), **named}

    def _run(self, jobs: Jobs, name: str, call: ast.Call) -> Node:
        named = self.keywords(call)
        for made in jobs:
            maker = "CustomJob" if made.maker == LOCAL_SCRIPT else made.maker
            args = self.copied(Node(self._arguments(call, f"{maker}.{name}", named), call.lineno))
            if made.run is not None:
                reason = Reason(_("which of several calls runs the job"), call.lineno)
                args = self.branches.merge([made.run, args], "", reason) if self.branches.journals else made.run
            made.run, made.is_submitted, made.run_init = args, name == "submit", dict(self.init)
        return unknown(self.source(call), call.lineno)

    def set_field(self, target: ast.expr, node: Node) -> bool:
        """Set a field of a value, as in `job.job_spec.network = "n"`; return False if there is no such field."""
        path: list[tuple[ast.expr, str | int | None]] = []
        owner = target
        while isinstance(owner, ast.Attribute | ast.Subscript):
            key = Node(owner.attr, 0) if isinstance(owner, ast.Attribute) else self.data(owner.slice)
            is_plain = isinstance(key.value, str | int) and not key.open
            path.insert(0, (owner, key.value if is_plain else None))
            owner = owner.value
        if (
            self.path_of(owner)
            and path
            and ".".join([self.path_of(owner), *(str(step) for _, step in path[:-1])]).endswith("environ")
        ):
            if path[-1][1] is not None:
                self.branches.put(self.environment, str(path[-1][1]), node)
            return True
        return self._set_at(self.evaluate(owner), path, placed_at(node, target.lineno))

    def _set_at(self, holder: Node, path: list[tuple[ast.expr, str | int | None]], node: Node) -> bool:
        for place, (part, step) in enumerate(path):
            is_last = place == len(path) - 1
            held = holder.value
            if isinstance(held, Jobs):
                return self._edit(held, [step for _, step in path[place:]], node)
            if isinstance(held, Object | Class):
                held = held.attributes
            if step is None or holder.open or not isinstance(held, dict | list):
                self.branches.open(holder, self.source(part), node.line)
                return False
            if isinstance(held, list):
                if not isinstance(step, int) or not -len(held) <= step < len(held):
                    return False
                if is_last:
                    self.branches.record("list", held)
                    held[step] = node
                holder = held[step]
                continue
            if is_last or str(step) not in held:
                self.branches.put(held, str(step), node if is_last else Node({}, node.line))
            holder = held[str(step)]
        return True

    def _edit(self, jobs: Jobs, steps: list[str | int | None], node: Node) -> bool:
        """Add a field that is set in the request of a job."""
        if steps[0] not in RESOURCES or None in steps:
            return False
        path: Path = [step for step in (steps if steps[0] == "job_spec" else steps[1:]) if step is not None]
        for made in jobs:
            is_open = len(self.branches.journals) > made.depth
            value = unknown(str(path[-1]) if path else "job", node.line) if is_open else self.copied(node)
            made.edits.append((path, value))
        return True


def _is_change(name: str) -> bool:
    """Return whether a method of a message changes it."""
    return name in ("CopyFrom", "MergeFrom", "Clear", "ClearField", "update", "append", "extend", "add")
