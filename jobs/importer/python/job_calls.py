"""The calls of a program that create jobs, each with the call that runs it and the fields set in its request."""

import ast
from dataclasses import dataclass, field

from jobs.importer.nodes import Node, Path
from jobs.importer.python.operations import name_of
from jobs.importer.sdk_names import CREATES

RESOURCES = ("_gca_resource", "gca_resource")
"""Attributes in which the SDK's classes keep the request that they send."""


@dataclass
class JobCall:
    """A call that creates a job, with the arguments of the call that runs it.

    `is_submitted` means that the second call is `submit`, not `run`. `name` is the name that the job is assigned to.
    `function` is the function that creates it, if it was not called yet. `edits` are fields set in the request.
    `is_open` means that some arguments are not known.
    """

    maker: str
    args: Node
    run: Node | None = None
    is_submitted: bool = False
    name: str = ""
    is_open: bool = False
    function: str = ""
    edits: list[tuple[Path, Node]] = field(default_factory=list)

    @property
    def sent(self) -> Node | None:
        """The custom job that a tuning job runs, or the job that a client's call sends."""
        if self.maker in CREATES:
            return (self.args.get("request") or self.args).get(CREATES[self.maker])
        return self.args.get("custom_job") if self.maker == "HyperparameterTuningJob" else None


def call_of(calls: list[JobCall], owner: ast.expr) -> JobCall | None:
    """Return the latest job call that the `owner` of `owner.run(...)` is or was assigned."""
    name = name_of(owner)
    return next(
        (
            made
            for made in reversed(calls)
            if (name and made.name == name) or (isinstance(owner, ast.Call) and made.args.line == owner.lineno)
        ),
        None,
    )


def add_edit(calls: list[JobCall], name: str, path: Path, node: Node) -> bool:
    """Add a field set in the request of the job assigned to `name`; return False if there is no such job."""
    made = next((made for made in reversed(calls) if made.name == name), None)
    if made is None or path[0] not in RESOURCES:
        return False
    made.edits.append((path[1:], node))
    return True
