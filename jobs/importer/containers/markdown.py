"""Find jobs in pages of prose: fenced and indented blocks of Markdown, and commands in sentences.

Source: CommonMark's specification, "Fenced code blocks" and "Indented code blocks", read 2026-11-21.
"""

import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jobs.importer.detect import (
    CONFIG,
    CREATE,
    FENCE,
    FENCE_END,
    SDK_FIELD,
    YAML_KEY,
    detect_format,
    is_document,
    names_a_job,
)
from jobs.importer.nodes import Node
from jobs.importer.sdk_names import SDK

IN_BLOCK, INDENTED, IN_PROSE = ", in a fenced block", ", in an indented block", ", between sentences"
MAX_PARTS = 50
INDENT = 4
TASK = re.compile(r"(?:container|python_?package)_?spec|image_?uri", re.IGNORECASE)
"""Fields for what a worker pool runs; a block without them shows only part of a job."""
MACHINE = re.compile(r"machine_?(?:spec|type)", re.IGNORECASE)
OBJECT = re.compile(r"\s*\{\s*\"(?:displayName|display_name|jobSpec|trialJobSpec|studySpec|workerPoolSpecs)\"\s*:")
IN_BACKTICKS = re.compile(r"(?<!`)`([^`\n]{1,1500})`(?!`)")
IN_QUOTES = re.compile(r"(?<!\\)\"((?:[^\"\\\n]|\\.){1,1500})\"")
FLAG = re.compile(r"--[\w-]{1,100}[ =]\S")


class Part(NamedTuple):
    """A part of a text that may contain a job.

    It has a format, a text on the same lines as in the whole text, a description of its place for people, and the text
    of a config file for its command; or a value that was read already.
    """

    format: str
    text: str
    where: str
    config: str | None = None
    node: Node | None = None


class _Block(NamedTuple):
    """A run of lines of a page: the number of the first line, from 0, the lines, and their indent."""

    start: int
    lines: list[str]
    indent: int


def on_line(line: int, text: str) -> str:
    """Return a text that begins on a line, from 1, with empty lines before it so that line numbers are kept."""
    return "\n" * (line - 1) + text


def fenced_blocks(text: str) -> list[Part]:
    """Return the fenced blocks of a page that mention jobs; a config block is also the file of a command."""
    lines = text.split("\n")
    blocks: list[_Block] = []
    start: int | None = None
    for number, line in enumerate([*lines, "```"]):  # an unclosed fence runs to the end
        if FENCE.match(line) and (start is None or not FENCE_END.fullmatch(line)):
            start = number
        elif start is not None and FENCE_END.fullmatch(line):
            blocks.append(_Block(start + 1, lines[start + 1 : number], 0))
            start = None
    for block in blocks:
        lines[block.start - 1 : block.start + len(block.lines) + 1] = [""] * (len(block.lines) + 2)
    fenced = _parts(blocks, IN_BLOCK)
    return sorted([*fenced, *indented_blocks("\n".join(lines))], key=_rank) if fenced else []


def indented_blocks(text: str) -> list[Part]:
    """Return the indented blocks of a page that mention jobs, as `fenced_blocks` does."""
    lines = text.split("\n")
    return _parts(_indented(lines), INDENTED) if any(_indent(line) == 0 for line in lines if line.strip()) else []


def objects_in_prose(text: str) -> list[Part]:
    """Return the JSON objects that begin at the margin of a page and contain a job."""
    lines = text.split("\n")
    starts = (place for place, line in enumerate(lines) if place and line.rstrip() == "{")
    objects = (on_line(place + 1, "\n".join(lines[place:])) for place in itertools.islice(starts, MAX_PARTS))
    return [Part("rest", part, IN_PROSE) for part in objects if OBJECT.match(part)]


def configs_in_prose(text: str) -> Iterator[Part]:
    """Yield the runs of YAML that begin at the margin of a page without marked blocks, if they contain a job."""
    lines = text.split("\n")
    start, shows, parts = 0, False, 0
    for number, line in enumerate([*lines, "."]):
        if not line.strip() or line[0] in " \t#" or line.startswith(("- ", "-\t")) or YAML_KEY.match(line):
            shows = shows or bool(CONFIG.match(line))
            continue
        if shows and parts < MAX_PARTS:
            parts += 1
            yield Part("gcloud-yaml", on_line(start + 1, "\n".join(lines[start:number])), IN_PROSE)
        start, shows = number + 1, False


def commands_in_sentences(text: str) -> Iterator[Part]:
    """Yield the commands in backticks in the sentences of a page, and in quoted strings of other languages."""
    for pattern, where in ((IN_BACKTICKS, ", in a sentence"), (IN_QUOTES, ", in quotes")):
        quotes = (quote for quote in pattern.finditer(text) if "gcloud" in quote[1])
        for quote in itertools.islice(quotes, MAX_PARTS):
            command = quote[1] if pattern is IN_BACKTICKS else re.sub(r"\\(.)", r"\1", quote[1])
            if CREATE.search(command) and FLAG.search(command):
                yield Part("gcloud", on_line(text.count("\n", 0, quote.start()) + 1, command), where)


def is_page(text: str) -> bool:
    """Return whether a text is prose: less than half of its unindented lines are data, unlike in a broken document."""
    margin = [line for line in text.split("\n") if line.strip() and line[0] not in " \t#"]
    of_data = [line for line in margin if line[0] in "[]{}'\"," or YAML_KEY.match(line)]
    return 2 * len(of_data) < len(margin)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parts(blocks: Iterable[_Block], where: str) -> list[Part]:
    texts = ((block.start + 1, textwrap.dedent("\n".join(block.lines))) for block in blocks)
    placed = [on_line(line, text) for line, text in texts if _mentions_jobs(text)][:MAX_PARTS]
    named = [(detect_format(text), text) for text in placed]
    configs = [text for name, text in named if is_document(name) and names_a_job(text) and TASK.search(text)]
    config = configs[0].strip("\n") if len(configs) == 1 else None
    return sorted((Part(name, text, where, config) for name, text in named), key=_rank)


def _mentions_jobs(text: str) -> bool:
    return bool(CREATE.search(text) or SDK_FIELD.search(text) or SDK.search(text) or "trialJobSpec" in text)


def _rank(part: Part) -> int:
    """Return a sort key for the blocks of a page: whole jobs, commands without their config, parts of a job."""
    if is_document(part.format):
        return 0 if TASK.search(part.text) else 2
    if part.format == "python":
        return int(not MACHINE.search(part.text))
    return int(part.config is None and "--config" in part.text)


def _indented(lines: list[str]) -> Iterator[_Block]:
    """Yield the runs of indented lines.

    A line indented further after a blank line, such as code in a list item, begins a new run, unless the run is a
    config or has an open bracket.
    """
    block: _Block | None = None
    blank, is_config = True, False
    for number, line in enumerate(lines):
        if not line.strip():
            blank = True
            continue
        indent = _indent(line.expandtabs(INDENT))
        if block is not None:
            deeper = blank and indent >= block.indent + INDENT and not is_config
            if indent < block.indent or (deeper and not block.lines[-1].rstrip().endswith(("{", "[", ","))):
                yield block
                block = None
        if block is not None:
            block.lines.extend([""] * (number - block.start - len(block.lines)))
            block.lines.append(line)
        elif indent >= INDENT and blank:
            block, is_config = _Block(number, [line], indent), False
        is_config = is_config or bool(CONFIG.match(line))
        blank = False
    if block is not None:
        yield block
