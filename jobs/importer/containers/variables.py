"""The variables that a text sets for the commands and programs in it, in one table, and the places that use them.

Read are variables of make, substitutions of Cloud Build, `env` of a GitHub workflow, `variables` of GitLab, and
files of NAME=value lines. A name that a text sets to different values is left open. Source: GNU make's manual,
"Variables"; the pages on variables of Cloud Build, GitHub Actions and GitLab, read 2026-11-26.
"""

import re
from collections.abc import Mapping

from jobs.importer.nodes import Node, Notes
from jobs.importer.syntax.yaml_text import read_yaml

RULE = re.compile(r"^[A-Za-z0-9_.%/-]+(?:[ \t]+[\w./%-]+)*[ \t]*::?(?!=)[^\n]*\n(?:\t|[ \t]*\n\t)", re.MULTILINE)
MAKE = re.compile(r"^(?:export[ \t]+|override[ \t]+)*([A-Za-z_]\w*)[ \t]*(\+|:{0,2}|\?)=[ \t]*([^\n]*)", re.MULTILINE)
EVALUATED = re.compile(r"^[ \t]*\$\(eval[ \t]+([^\n]*)\)[ \t]*$", re.MULTILINE)
USED_BY_MAKE, OF_SHELL = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\})"), "\0"
"""A variable of make, and what stands for its sign of the shell, `$$`, meanwhile."""
SETS = re.compile(r"^[ \t-]*(?:substitutions|env|variables)[ \t]*:", re.MULTILINE)
OF_BUILD = re.compile(r"\$(?:\{(_\w+)\}|(_[A-Z][A-Z0-9_]*))")
OF_GITHUB = re.compile(r"\$\{\{[ \t]*env\.(\w+)[ \t]*\}\}")
LINE = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(['\"]?)([^\n]*?)\2[ \t]*$", re.MULTILINE)
MAX_NODES, MAX_DEPTH, MAX_VALUE, MAX_TEXT = 20_000, 8, 2_000, 300_000
Variables = dict[str, str]


def with_variables(text: str) -> tuple[str, Variables]:
    """Return a text with the variables of make, Cloud Build and GitHub replaced, and all that it sets for shells."""
    if len(text) > MAX_TEXT:
        return text, {}
    if RULE.search(text) and (MAKE.search(text) or EVALUATED.search(text)):
        return _made(text), {}
    if not SETS.search(text):
        return text, {}
    build, env = _set_in(text)
    replaced = OF_BUILD.sub(lambda used: build.get(used[1] or used[2], used[0]), text) if build else text
    replaced = OF_GITHUB.sub(lambda used: env.get(used[1], used[0]), replaced) if env else replaced
    return (replaced if len(replaced) <= 2 * MAX_TEXT else text), env


def of_files(texts: Mapping[str, str]) -> Variables:
    """Return the variables that the given files of NAME=value lines set, such as `.env`."""
    held = [text[:MAX_TEXT] for name, text in texts.items() if name.endswith(".env")]
    return {name: value for text in held for name, _, value in LINE.findall(text) if "$" not in value}


def _made(text: str) -> str:
    """Return a makefile with its variables replaced; `$$` is a sign of the shell, a function of make stays open."""
    values: dict[str, str | None] = {}
    text = text.replace("$$", OF_SHELL)
    for name, sign, value in MAKE.findall(EVALUATED.sub(r"\1", text)):
        value = re.sub(r"(?<![ \t])[ \t]+#.*", "", value).rstrip("\\ \t")
        is_again = name in values and sign != "?"
        values[name] = None if is_again and values[name] != value else values.get(name, value)
    known = {name: value for name, value in values.items() if value is not None and "$(shell" not in value}
    for _turn in range(MAX_DEPTH):  # a value may have other variables in it
        if sum(len(known.get(used[1] or used[2], "")) for used in USED_BY_MAKE.finditer(text)) > MAX_TEXT:
            known.clear()
        text = USED_BY_MAKE.sub(lambda used: known.get(used[1] or used[2], f"${{{used[1] or used[2]}}}"), text)
    return text.replace(OF_SHELL, "$")


def _set_in(text: str) -> tuple[Variables, Variables]:
    """Return the substitutions, and the variables of `env` and `variables`, of YAML documents."""
    build: dict[str, str | None] = {}
    env: dict[str, str | None] = {}
    waiting = [(node, 0) for node in read_yaml(text, Notes())]
    for node, depth in waiting:  # which grows
        for name, item in node.entries.items():
            if name in ("substitutions", "env", "variables"):
                _add(build if name == "substitutions" else env, item)
        if depth < MAX_DEPTH and not node.is_scalar:
            items = node.value if isinstance(node.value, list) else node.value.values()
            inner = [(item, depth + 1) for item in items if not item.is_scalar]
            waiting += inner[: MAX_NODES - len(waiting)]
    known = [{name: value for name, value in each.items() if value is not None} for each in (build, env)]
    return known[0], known[1]


def _add(values: dict[str, str | None], node: Node) -> None:
    for name, item in node.entries.items():
        held = item.get("value") if item.entries else item
        value = held.text() if held is not None and held.is_scalar and held.value is not None else None
        is_short = value is not None and len(value) <= MAX_VALUE and "\n" not in value and "${{" not in value
        values[name] = value if is_short and values.get(name, value) == value else None
