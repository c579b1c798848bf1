"""Find jobs embedded in other text: workflow steps, strings of programs, files that scripts write.

This is used only for a text that is not a job itself. The lines of a part keep their numbers in the whole text.
"""

import contextlib
import re
import textwrap
from collections.abc import Iterator

from jobs.importer.containers.markdown import (
    MAX_PARTS,
    Part,
    commands_in_sentences,
    configs_in_prose,
    indented_blocks,
    is_page,
    on_line,
)
from jobs.importer.containers.notebook import commands_in
from jobs.importer.detect import CONFIG, CREATE, CURL, detect_format, is_document
from jobs.importer.nodes import Node, Notes
from jobs.importer.python.parsing import ERRORS, parse
from jobs.importer.python.program import Program
from jobs.importer.readers.documents import NO_JOBS, looks_like
from jobs.importer.readers.gcloud import command_of
from jobs.importer.sdk_names import MAKES_A_JOB
from jobs.importer.syntax.json_text import read_json
from jobs.importer.syntax.shell import Shell
from jobs.importer.syntax.yaml_text import read_yaml

AT_MARGIN = re.compile(
    r"^(?:from[ \t]+\S+[ \t]+import\b|import[ \t]+\w|def[ \t]+\w+\(|class[ \t]+\w+[(:])", re.MULTILINE
)
"""Statements without indent: the text is a program, so its indented lines are not blocks of a page."""
VARIABLE = re.compile(r"\$?\{(\w+)\}|\$(\w+)")
MAX_NODES, MAX_DEPTH = 20_000, 20
MAX_GUESSED, MAX_FILLED = 100_000, 200


def embedded_parts(
    format_key: str, text: str, shell: str, *, is_broken: bool, is_followed: bool = True
) -> Iterator[Part]:
    """Yield the parts of a text that may contain a job, the likeliest first.

    `shell` is the commands of a notebook. `is_broken` means that the text could not be read to its end in its format,
    so it may have another format. `is_followed` is false for what takes too many steps to be read again.
    """
    if is_document(format_key) and is_followed:
        yield from _in_documents(format_key, text)
    if format_key == "python":
        yield from _in_program(text, shell or commands_in(text), is_followed=is_followed)
    if shell:
        yield from _in_shell(shell)
    if format_key == "rest" or len(text) > MAX_GUESSED or not (is_broken or format_key == "python"):
        return
    if is_broken and is_page(text) and not (format_key == "python" and AT_MARGIN.search(text)):
        yield from indented_blocks(text)
        yield from configs_in_prose(text)
    if format_key != "gcloud" and CREATE.search(text):
        yield Part("gcloud", text, "")
    if format_key not in ("curl", "gcloud") and CURL.search(text):
        yield Part("curl", text, "")
    if format_key != "python":
        yield from commands_in_sentences(text)
        yield from _in_shell(text)
        if MAKES_A_JOB.search(text):
            yield Part("python", text, "")
        yield from _in_program(text, commands_in(text))


def _in_shell(text: str) -> Iterator[Part]:
    """Yield the jobs in files that a script, or the cell of a notebook, writes."""
    shell = Shell(text)
    for _ in shell.commands():
        pass
    for word in [*shell.documents.values(), *shell.bodies][:MAX_PARTS]:
        if CONFIG.search(word.text) or MAKES_A_JOB.search(word.text):
            body = on_line(word.line, textwrap.dedent(word.text))
            format_key, where = detect_format(body), ", in a text that is written here"
            yield Part(format_key, body, where)
            yield from (part._replace(where=where) for part in _in_documents(format_key, body))


def _in_documents(format_key: str, text: str) -> Iterator[Part]:
    """Yield commands in steps of workflows and manifests, and jobs deep in documents about something else."""
    read = {"rest": read_json, "gcloud-yaml": read_yaml}.get(format_key)
    waiting = [(node, 0, False) for node in reversed(read(text, Notes()) if read is not None else [])]
    seen = parts = 0
    while waiting and seen < MAX_NODES and parts < MAX_PARTS:
        node, depth, is_other = waiting.pop()
        seen += 1
        part = _of_node(node, depth)
        if part is not None and not (is_other and part.node is not None):
            parts += 1
            yield part
        elif depth < MAX_DEPTH and not node.is_scalar:
            is_other = is_other or any(node.get(name) for name in NO_JOBS)
            items = node.value if isinstance(node.value, list) else node.value.values()
            waiting.extend((item, depth + 1, is_other) for item in reversed(items))


def _of_node(node: Node, depth: int) -> Part | None:
    where = f", in line {node.line} of another document"
    if isinstance(node.value, str) and CREATE.search(node.value):
        return Part("gcloud", on_line(node.line + ("\n" in node.value), node.value), where)
    if isinstance(node.value, list):
        command = command_of(node)
        return Part("gcloud", on_line(node.line, command), where) if command else None
    is_job = depth and looks_like(node) in ("job", "spec", "tuning", "pipeline")
    return Part("", "", where, node=node) if is_job else None


def _in_program(text: str, shell: str, *, is_followed: bool = True) -> Iterator[Part]:
    """Yield the commands of a program: those of its notebook, then those in its strings and lists, then configs."""
    program = Program(Notes(), {})
    with contextlib.suppress(*ERRORS):  # names known so far still serve for the shell's commands
        program.follow(parse(text if is_followed else "").tree)
    texts: list[tuple[int, str]] = []
    for node in program.texts:
        text = node.value if isinstance(node.value, str) else command_of(node)
        if not CREATE.search(text) and not CONFIG.search(text):
            continue
        pieces = [each for each in texts if each[1] in text]  # of which it is made
        texts = [each for each in texts if each not in pieces]
        if not any(text in whole for _, whole in texts) and len(texts) < MAX_PARTS:
            texts.append((pieces[0][0] if pieces else node.line, text))
    configs = [(line, held) for line, held in texts if CONFIG.search(held) and not CREATE.search(held)]
    config = configs[0][1] if configs else None
    if CREATE.search(shell):
        yield Part("gcloud", _filled(shell, program), ", in a notebook's commands", config)
    for line, held in texts:
        if CREATE.search(held):
            yield Part("gcloud", on_line(line, held), f", in a text of the program, line {line}", config)
    for line, held in configs:
        yield Part(detect_format(held), on_line(line, held), f", in a text of the program, line {line}")


def _filled(shell: str, program: Program) -> str:
    """Replace variables in a notebook's commands with the values of the program's names, as IPython does."""
    held = {name: node for name, node in program.module.names.items() if name not in program.rebound}
    nodes = {name: node for name, node in (program.environment | held).items() if isinstance(node.value, str | int)}
    texts = {name: node.text() for name, node in nodes.items() if not node.open}
    known = {name: text for name, text in texts.items() if text and "\n" not in text and len(text) <= MAX_FILLED}
    return VARIABLE.sub(lambda used: known.get(used[1] or used[2], used[0]), shell)
