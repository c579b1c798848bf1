"""Find the jobs that a program creates: the calls of the SDK, with the calls that run them. Nothing is run.

Source: google-cloud-aiplatform 2.7.0, read 2026-11-26; its arguments are in `sdk_signatures.json`.
"""

import ast
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from jobs.importer.nodes import Node, Path
from jobs.importer.python import calls, values
from jobs.importer.python.branches import EXIT, Reason, TooManySteps
from jobs.importer.python.calls import NotKnown
from jobs.importer.python.expressions import Given
from jobs.importer.python.functions import Functions
from jobs.importer.python.values import (
    Function,
    Held,
    JobCall,
    Jobs,
    Module,
    Object,
    Scope,
    elements,
    is_data,
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
MESSAGE_CHANGES = frozenset("CopyFrom MergeFrom Clear ClearField update append extend add".split())
OPAQUE = frozenset({"exec", "globals", "locals", "eval"})
Steps = list[tuple[ast.expr, str | int | None]]


class Program(Functions):
    """Reads a program. `job_calls` are the calls that create jobs, `init` has the arguments of `aiplatform.init`."""

    def follow(self, tree: ast.Module) -> None:
        """Read the whole program; what it never runs only if nothing else creates a job."""
        self.job_calls: list[JobCall] = []
        self.init = Scope(strict=True)
        self.module.names["__name__"] = Node("__main__", 1)
        try:
            self.block(tree.body)
            while self.skipped and not self.job_calls:
                self.scope, statements = self.skipped.pop(0)
                self.choose([partial(self._aside, statements)], "", 1)
            self.scope = self.module
            found = len(self.job_calls)
            for function in self.functions if not found else ():
                if id(function.body) not in self.entered:
                    self.enter_unknown(function)
        except TooManySteps:
            message = _("The program takes too many steps to be followed.")
            self.notes.error("too_much", None, message, _("Give only the job."))

    def _aside(self, statements: Sequence[ast.stmt]) -> str:
        """Read what the program never runs; what it writes is undone."""
        self.block(statements)
        return EXIT

    def _call(self, call: ast.Call) -> Node | None:
        func, path, line = call.func, self.path_of(call.func), call.lineno
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        owner = self.evaluate(func.value) if isinstance(func, ast.Attribute) and not path else None
        callee = None if path else owner.value if owner is not None else self.evaluate(func).value
        if isinstance(callee, Jobs) and name in MESSAGE_CHANGES:
            return self.open_at(call) if self.set_field(func, self.open_at(call)) else None
        given, first = self.given_to(call), []
        self.spend_on(owner, *given.values)
        if isinstance(callee, Object) and owner is not None:
            found = callee.get(name)
            is_own = callee.kind is not None and name in callee.attributes.entries
            kind, callee = callee.kind, found.value if found is not None else None
            if isinstance(callee, Function) and not is_own and callee.kind != "static":
                first = [owner] if kind is not None or callee.kind == "class" else []
        if isinstance(callee, Function):
            return self.enter(callee, given._replace(placed=[*first, *given.placed]), line)
        if isinstance(callee, Object) and callee.kind is None:
            return self.instantiate(callee, given, line)
        if isinstance(callee, Jobs) and name in ("run", "submit"):
            return self._run(callee, name, given, call)
        is_inside = owner is not None and bool(owner.open) and not (isinstance(owner, Held) and owner.is_outside)
        is_sdk = self.is_sdk(path) if path else is_inside
        is_message: Any = MESSAGE_MODULES.intersection(path.split(".")) or MESSAGE_FIELDS.get(name, set()) & set(
            given.named
        )
        if is_sdk and name in MAKERS and not is_message:
            return self._make(name, given, line)
        if name == "init" and path.rpartition(".")[0].rpartition(".")[2] in INIT_OWNERS and is_sdk:
            for word, node in self._named("init", given).items():
                self.put(self.init, word, node if node.value else self.init.names.get(word))
            return Node(None, line)
        try:
            found = None if given.is_open else self._of_program(call, name, path, given)
            found = found or (None if given.is_open else self._value_of(name, path, owner, given, call))
        except NotKnown:
            found = None
        return found or self._unknown_call(call, name, owner, given)

    def _value_of(self, name: str, path: str, owner: Node | None, given: Given, call: ast.Call) -> Node | None:
        """Return the value of a call of Python's own functions and methods, or of a message of the SDK."""
        placed, named, line = given.placed, given.named, call.lineno
        if owner is not None:
            found = self._method(name, owner, given, call)
        elif path.endswith(("environ.get", "getenv", "environ.setdefault")) and placed:
            return self.look_up(placed[0], placed[1] if len(placed) > 1 else named.get("default"), line)
        elif name.endswith("ParameterSpec") and name in SIGNATURES:
            return self.made({**self._named(name, given), "__kind__": Node(name, line)}, line)
        elif path in calls.COMPOSING and not named:
            return calls.composed(calls.COMPOSING[path], placed, line)
        elif path in calls.STRUCTURES:
            is_odd = (node.open or not isinstance(node.value, list | dict | str | int) for node in placed)
            if any(is_odd) or any(map(values.is_too_long, placed)):
                raise NotKnown
            return self.node_of(calls.carried_out(calls.STRUCTURES[path], placed, named), line)
        elif path == "json.dumps" and placed:  # from_json() takes the value back from its text
            text = self._plainly(path, given, line)
            return Held(text.value, line, "", text.open, [placed[0]])
        elif path in ("copy.deepcopy", "deepcopy"):
            return self.copied(placed[0])
        else:
            found = self._plainly(path, given, line) if path in calls.PLAIN else None
        message = calls.message_of(name, placed, named, line) if found is None else found
        return None if message is None else self.node_of(message, line)

    def _plainly(self, path: str, given: Given, line: int) -> Node:
        is_deep = any(not item.is_scalar for node in given.placed for item in values.items_of(node))
        try:
            if is_deep and path not in ("len", "json.dumps", "any", "all"):
                raise NotKnown  # its result may be, or have, one of the values
            named = {name: self.plain(node) for name, node in given.named.items()}
            return self.node_of(calls.carried_out(calls.PLAIN[path], list(map(self.plain, given.placed)), named), line)
        except NotKnown:
            return self.derived(path, line, given.placed)

    def _method(self, name: str, owner: Node, given: Given, call: ast.Call) -> Node | None:
        """Return the value of a method of a mapping, a list or a text, and carry out its change."""
        held, placed, line = owner.value, given.placed, call.lineno
        if owner.open or not is_data(owner):
            is_setting = name == "get" and len(placed) == 2 and not (isinstance(owner, Held) and owner.has_entries)
            return self.default(placed[1], line) if is_setting else None
        if (type(held), name) in calls.CHANGES:
            return self.changed(name, owner, placed, given.named, call) or self.open_at(call, owner)
        if (type(held), name) in calls.METHODS:
            return self.node_of(calls.carried_out(calls.METHODS[type(held), name], [held, *placed]), line)
        if isinstance(held, list) and name in calls.LIST_METHODS:
            method = getattr(self.plain(owner), name)
            return self.node_of(calls.carried_out(method, list(map(self.plain, placed))), line)
        if not isinstance(held, str):
            return owner if name == "total_seconds" else None
        if name == "format":
            return calls.formatted(held, placed, given.named, line)
        if name == "join" and len(placed) == 1 and isinstance(placed[0].value, list | dict):
            return calls.joined(owner, elements(placed[0]), line)
        if name == "joinpath":
            return calls.composed(calls.COMPOSING["Path"], [owner, *placed], line)
        if name not in calls.TEXT_METHODS or given.named:
            return owner if name == "as_posix" else None
        return self.node_of(calls.text_method(name, held, list(map(self.plain, placed))), line)

    def _of_program(self, call: ast.Call, name: str, path: str, given: Given) -> Node | None:
        """Return the value of calls about the program itself: its command line, its names, its objects."""
        placed, line = given.placed, call.lineno
        if name == "add_argument" and placed:
            dest, node = self.option(placed, given.named, call)
            self.arguments.value[dest] = node
        elif name in ("parse_args", "parse_known_args"):
            for default in self.arguments.entries.values():
                self.default(default, line)
            held = Node(Object(self.arguments), line)
            return held if name == "parse_args" else self.made([held, self.open_at(call)], line)
        elif name.startswith("DEFINE_") and len(placed) > 1 and placed[1].value not in (None, ""):
            self.arguments.value[calls.key_of(placed[0])] = placed[1]
        elif path in ("typer.Option", "typer.Argument"):
            return self._optional(placed[0] if placed else given.named.get("default", calls.NOTHING), name, line)
        elif path == "setattr" and len(call.args) == 3:
            self.set_field(ast.copy_location(ast.Attribute(call.args[0], calls.key_of(placed[1])), call), placed[2])
        elif path == "super":  # methods of a base class may change the object in any way
            owner = self.scope.find("self")
            return self.derived("super()", line, [owner] if owner is not None else [], is_outside=True)
        elif path in OPAQUE:
            message = _("The program changes its own names here, which cannot be followed.")
            self.notes.error("not_followed", line, message, _("Write the values out."))
        elif name in ("vars", "asdict") and call.args and isinstance(held := self.evaluate(call.args[0]).value, Object):
            return self.made(dict(held.attributes.entries), line)
        elif path in ("field", "dataclasses.field"):
            factory = next((word.value for word in call.keywords if word.arg == "default_factory"), None)
            made = ast.copy_location(ast.Call(factory or call.func, [], []), call)
            return self.evaluate(made) if factory is not None else given.named.get("default")
        return None

    def option(self, placed: list[Node], named: dict[str, Node], call: ast.Call) -> tuple[str, Node]:
        """Return the name of `add_argument(*flags, **options)`, and its value if it is missing; open if it must not be.

        Nothing and an empty text are taken by conditions only: where the job has the value, somebody gives it.
        """
        flags, line = [node.text() for node in placed], call.lineno
        name = next((flag for flag in flags if flag.startswith("--")), flags[0])
        action, default = named.get("action", calls.NOTHING).value, named.get("default", calls.NOTHING)
        if default.value is None and (action in ("store_true", "store_false") or "is_flag" in named):
            default = Node(action == "store_false", line)
        is_click = self.path_of(call.func).startswith("click.")
        kind = next((word.value for word in call.keywords if word.arg == "type" and not is_click), None)
        if kind is not None and isinstance(default.value, str) and default.value and not default.open:
            made = ast.copy_location(ast.Call(kind, [ast.Constant(default.value)], []), call)
            default = self.evaluate(ast.fix_missing_locations(made))
        dest = (named["dest"].text() if "dest" in named else name).lstrip("-").replace("-", "_")
        is_needed = not (name.startswith("-") or named.get("nargs", calls.NOTHING).value in ("?", "*"))
        is_needed = is_needed or self.truth(named.get("required", calls.NOTHING)) is not False
        default = unknown(f"args.{dest}", line) if is_needed and default.value in (None, "") else default
        return dest, self._optional(default, f"args.{dest}", line)

    def _optional(self, default: Node, name: str, line: int) -> Node:
        """Return the default of an option, or an open value for one that is nothing or an empty text."""
        if default.value not in (None, ""):
            return default
        held = unknown(name, line)
        held.default = default
        return held

    def _unknown_call(self, call: ast.Call, name: str, owner: Node | None, given: Given) -> Node:
        """Return an open value; what a function of another module is given may be changed by it."""
        line, is_outside = call.lineno, self._is_from_outside(call.func)
        for node in given.values if is_outside else ():
            self.open(node, self.source(call), line)
        is_changed = name in calls.MUTATING or (owner is not None and isinstance(owner.value, Object))
        if owner is not None and (is_changed or (isinstance(owner, Held) and owner.is_outside)):
            self.open(owner, self.source(call), line)
            if (
                is_changed
                and isinstance(call.func, ast.Attribute)
                and not isinstance(call.func.value, ast.Name | ast.Call)
            ):
                is_first = name == "append" and len(given.placed) == 1
                node = self.made(given.placed, line) if is_first else self.open_at(call)
                self.set_field(call.func.value, node)
        self.spend_on(*given.values)  # for the second time, since all that is in them is kept
        inner = [item for node in given.values for item in values.items_of(node)]
        origins = [*given.values, *inner, *([owner] if owner is not None else [])]
        return self.derived(self.source(call), line, origins, is_outside=is_outside)

    def _is_from_outside(self, callee: ast.expr) -> bool:
        """Return whether a module of the user may define what is called, so that it may change what it is given."""
        path = self.path_of(callee)
        root = path.partition(".")[0]
        if path.rpartition(".")[2][:1].isupper() or path in calls.HARMLESS or path in calls.PLAIN:
            return False  # a class keeps what it is given
        is_keeping = root in calls.KEEPING or (root in sys.stdlib_module_names and root not in calls.CHANGING_MODULES)
        if is_keeping or Module(path).is_sdk or getattr(callee, "attr", "") in calls.LOGGING:
            return False
        owner = callee
        while isinstance(owner, ast.Attribute | ast.Call | ast.Subscript):
            owner = owner.func if isinstance(owner, ast.Call) else owner.value
        node = self.scope.find(owner.id) if isinstance(owner, ast.Name) else None
        return (node is not None or path == root) if path else isinstance(node, Held) and node.is_outside

    def _make(self, maker: str, given: Given, line: int) -> Node:
        """Add a call that creates a job."""
        args = self._named(f"CustomJob.{maker}" if maker == LOCAL_SCRIPT else maker, given)
        made = JobCall(maker, Node({}, line), dict(self.init.names), len(self.journals), given.is_open)
        custom = args.get("custom_job")
        if custom is not None and isinstance(custom.value, Jobs) and len(custom.value) == 1:
            made.custom = custom.value[0]
            made.custom.is_used = True
            args["custom_job"] = made.custom.args
        made.args = self.copied(Node(args, line), name=maker)
        self.job_calls.append(made)
        return Node(Jobs([made]), line)

    def _named(self, signature: str, given: Given) -> dict[str, Node]:
        """Return all arguments of a call by name."""
        names = positions(signature)
        names = [*names, *(f"argument {place}" for place in range(len(names) + 1, len(given.placed) + 1))]
        return {**dict(zip(names, given.placed, strict=False)), **given.named}

    def _run(self, jobs: Jobs, name: str, given: Given, call: ast.Call) -> Node:
        for made in jobs:
            maker = "CustomJob" if made.maker == LOCAL_SCRIPT else made.maker
            args = self.copied(Node(self._named(f"{maker}.{name}", given), call.lineno), name=name)
            if made.run is not None:
                reason = Reason(_("which of several calls runs the job"), call.lineno)
                args = self.merge([made.run, args], "", reason) if self.journals else made.run
            made.run, made.is_submitted, made.run_init = args, name == "submit", dict(self.init.names)
        return self.open_at(call)

    def set_field(self, target: ast.expr, node: Node) -> bool:
        """Set a field of a value, as in `job.job_spec.network = "n"`; return False if there is no such field."""
        path: Steps = []
        owner = target
        while isinstance(owner, ast.Attribute | ast.Subscript):
            key = Node(owner.attr, 0) if isinstance(owner, ast.Attribute) else self.data(owner.slice)
            path.insert(0, (owner, key.value if isinstance(key.value, str | int) and not key.open else None))
            owner = owner.value
        module = self.path_of(owner)
        if module and ".".join([module, *(str(step) for _, step in path[:-1])]).endswith("environ"):
            if path[-1][1] is not None:
                self.put(self.variables, str(path[-1][1]), node)
            return True
        return self._set_at(self.evaluate(owner), path, placed_at(node, target.lineno))

    def _set_at(self, holder: Node, path: Steps, node: Node) -> bool:
        for place, (part, step) in enumerate(path):
            is_last = place == len(path) - 1
            if isinstance(holder.value, Jobs):
                return self._edit(holder.value, [step for _, step in path[place:]], node)
            holder = holder.value.attributes if isinstance(holder.value, Object) else holder
            held = holder.value
            if step is None or holder.open or not isinstance(held, dict | list):
                self.open(holder, self.source(part), node.line)
                return False
            if isinstance(held, list) and not (isinstance(step, int) and -len(held) <= step < len(held)):
                return False
            key = step if isinstance(held, list) else str(step)
            if is_last or (isinstance(held, dict) and key not in held):
                if not self.change(holder, self.source(part), node.line):
                    return False
                holder.value[key] = node if is_last else self.made({}, node.line)
            holder = holder.value[key]
        return True

    def _edit(self, jobs: Jobs, steps: list[str | int | None], node: Node) -> bool:
        """Add a field that is set in the request of a job."""
        if steps[0] not in RESOURCES or None in steps:
            return False
        path: Path = [step for step in (steps if steps[0] == "job_spec" else steps[1:]) if step is not None]
        step = str(path[-1]) if path else "job"
        for made in jobs:
            is_open = len(self.journals) > made.depth
            value = unknown(step, node.line) if is_open else self.copied(node, name=step)
            made.edits.append((path, value))
        return True
