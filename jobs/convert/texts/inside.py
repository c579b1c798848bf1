"""Jobs that a text carries inside something else: steps of workflows, strings of programs, files that scripts write.

Asked only where a text is no job by itself. Every part keeps the lines that it has in the text.
"""

import ast
import re
import shlex
from collections.abc import Iterator

from jobs.convert.commands.shell_commands import Shell
from jobs.convert.sdk.makers import makes_a_job
from jobs.convert.sdk.parsing import parsed
from jobs.convert.sdk.program import Program
from jobs.convert.texts.forms import NO_JOBS, looks_like
from jobs.convert.texts.json_text import read_json
from jobs.convert.texts.nodes import Node, Notes, folded
from jobs.convert.texts.notebook import commands_in
from jobs.convert.texts.pages import (
    MOST_PARTS,
    Part,
    configs_in_prose,
    in_sentences,
    indented_blocks,
    is_page,
    unindented,
)
from jobs.convert.texts.recognise import CONFIG, CREATE, CURL, recognise
from jobs.convert.texts.yaml_text import read_yaml
from jobs.spec import quoted

MOST_NODES = 20_000
DEEPEST = 20
AT_MARGIN = re.compile(
    r"^(?:from[ \t]+\S+[ \t]+import\b|import[ \t]+\w|def[ \t]+\w+\(|class[ \t]+\w+[(:])", re.MULTILINE
)
"""What begins a statement at the margin: the text is a program, whose indents are no blocks of a page."""
LONGEST_GUESS = 100_000
MOST_FILLED = 200_000
VARIABLE = re.compile(r"\$?\{(\w+)\}|\$(\w+)")


def inside(found: str, text: str, shell: str, *, broken: bool) -> Iterator[Part]:
    """Yield the parts of a text in which a job may be, the likeliest first.

    `shell` are the commands of a notebook; `broken` says that the text could not be read to its end as what it was
    taken for, so that it may be something else.
    """
    if found in ("rest", "gcloud-yaml"):
        notes = Notes()
        yield from _in_documents(read_json(text, notes) if found == "rest" else read_yaml(text, notes))
    if found == "python":
        yield from _in_program(text, shell or commands_in(text))
    if shell:
        yield from _in_shell(shell)
    if found == "rest" or len(text) > LONGEST_GUESS or not (broken or found == "python"):
        return
    if broken and is_page(text) and not (found == "python" and AT_MARGIN.search(text)):
        yield from indented_blocks(text)
        yield from configs_in_prose(text)
    if found != "gcloud" and CREATE.search(text):
        yield Part("gcloud", text, "")
    if found not in ("curl", "gcloud") and CURL.search(text):
        yield Part("curl", text, "")
    if found != "python":
        yield from in_sentences(text)
        yield from _in_shell(text)
        if makes_a_job(text):
            yield Part("python", text, "")
        yield from _in_program(text, commands_in(text))


def _in_shell(text: str) -> Iterator[Part]:
    """Yield the jobs in files that a script, or a notebook's cell, writes."""
    shell = Shell(text)
    for _ in shell.commands():
        pass
    for name, word in list(shell.documents.items())[:MOST_PARTS]:
        where = f", in the file {quoted(name)} that is written here"
        if CONFIG.search(word.text) or makes_a_job(word.text):
            yield Part(recognise(word.text), "\n" * (word.line - 1) + word.text, where)
    for word in shell.bodies[:MOST_PARTS]:
        if CONFIG.search(word.text):
            lines = "\n".join(unindented(word.text.split("\n")))
            body = _found_in("\n" * (word.line - 1) + lines)
            yield from (part._replace(where=", in a text that is given here") for part in body)


def _found_in(text: str) -> Iterator[Part]:
    """Yield a text itself, and if it is a document, what is deep in it."""
    yield Part(recognise(text), text, "")
    if recognise(text) in ("rest", "gcloud-yaml"):
        notes = Notes()
        yield from _in_documents(read_json(text, notes) if recognise(text) == "rest" else read_yaml(text, notes))


def _in_documents(documents: list[Node]) -> Iterator[Part]:
    """Yield commands in steps of workflows and manifests, and jobs deep in documents that describe nothing else."""
    waiting = [(node, 0, False) for node in reversed(documents)]
    seen = parts = 0
    while waiting and seen < MOST_NODES and parts < MOST_PARTS:
        node, depth, other = waiting.pop()
        seen += 1
        part = _of_node(node, depth)
        if part is not None and not (other and part.node is not None):
            parts += 1
            yield part
        elif depth < DEEPEST and isinstance(node.value, dict):
            other = other or any(folded(name) in NO_JOBS for name in node.value)
            waiting.extend((item, depth + 1, other) for item in reversed(node.value.values()))
        elif depth < DEEPEST and isinstance(node.value, list):
            waiting.extend((item, depth + 1, other) for item in reversed(node.value))


def _of_node(node: Node, depth: int) -> Part | None:
    if isinstance(node.value, str) and CREATE.search(node.value):
        shift = node.line if "\n" in node.value else node.line - 1
        return Part("gcloud", "\n" * shift + node.value, f", in line {node.line} of another document")
    if isinstance(node.value, list):
        words = [item.text() for item in node.value if item.is_scalar]
        if command := _command_of(words):
            return Part("gcloud", "\n" * (node.line - 1) + command, f", in line {node.line} of another document")
    if depth and isinstance(node.value, dict) and looks_like(node) in ("job", "spec", "tuning", "pipeline"):
        return Part("", "", f", in line {node.line} of another document", node=node)
    return None


def _command_of(words: list[str]) -> str:
    """Return the command that a list of words is, as steps of Cloud Build and subprocess take it."""
    kinds = {"custom-jobs", "hp-tuning-jobs"}
    if "create" not in words or not kinds & set(words) or len(words) > 500:
        return ""
    start = next((place for place, word in enumerate(words) if word == "gcloud"), None)
    return shlex.join(words[start:] if start is not None else ["gcloud", *words])


def _in_program(text: str, shell: str) -> Iterator[Part]:
    """Yield the commands of a program: a notebook's, those in its texts and lists; then configs in its texts."""
    notes = Notes()
    program = Program(notes)
    try:
        tree = parsed(text).tree
        program.walk(tree)
        texts = [(line, _whole(held, program)) for line, held in _texts(tree, program)]
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        texts = []
    configs = [(line, held) for line, held in texts if CONFIG.search(held) and not CREATE.search(held)]
    config = configs[0][1] if configs else None
    if CREATE.search(shell):
        yield Part("gcloud", _filled(shell, program), ", in a notebook's commands", config)
    for line, held in texts:
        if CREATE.search(held):
            yield Part("gcloud", "\n" * (line - 1) + held, f", in a text of the program, line {line}", config)
    for line, held in configs:
        yield Part(recognise(held), "\n" * (line - 1) + held, f", in a text of the program, line {line}")


def _texts(tree: ast.Module, program: Program) -> Iterator[tuple[int, str]]:
    """Yield the texts of a program that speak of jobs, with their lines, each text whole."""
    inner: set[int] = set()
    parts = 0
    for node in ast.walk(tree):
        if parts >= MOST_PARTS:
            return
        if id(node) in inner or not isinstance(node, ast.Constant | ast.JoinedStr | ast.List | ast.Tuple):
            continue
        inner.update(id(child) for child in ast.iter_child_nodes(node) if not isinstance(node, ast.List | ast.Tuple))
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            continue
        value = program.values.of(node)
        if isinstance(value.value, list):
            held = _command_of([item.text() for item in value.value if item.is_scalar])
        else:
            held = value.value if isinstance(value.value, str) else ""
        if CREATE.search(held) or CONFIG.search(held):
            parts += 1
            yield node.lineno, held


def _whole(held: str, program: Program) -> str:
    """Return the text that a config becomes where the program adds to it: the longest that a name is bound to."""
    if not CONFIG.search(held):
        return held
    values = (node.value for node in program.values.names.values())
    grown = [value for value in values if isinstance(value, str) and value.startswith(held)]
    return max([held, *grown], key=len)


def _filled(shell: str, program: Program) -> str:
    """Put what names of the program are bound to into a notebook's commands, as IPython does."""
    names = program.values.names
    size = 0

    def put(found: re.Match[str]) -> str:
        nonlocal size
        node = names.get(found[1] or found[2])
        known = node is not None and isinstance(node.value, str | int) and node.value != "" and size < MOST_FILLED
        text = node.text() if node is not None and known else ""
        if not known or "${" in text or "\n" in text:
            return found[0]
        size += len(text)
        return text

    return VARIABLE.sub(put, shell)
