"""Find jobs in pages of prose: fenced and indented blocks of Markdown, runs of JSON and YAML, commands in sentences.

Source: CommonMark's specification, "Fenced code blocks" and "Indented code blocks", read 2026-11-21.
"""

import itertools
import re
import textwrap
from collections.abc import Iterator
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
MAX_PARTS, INDENT = 50, 4
TASK = re.compile(r"(?:container|python_?package)_?spec|image_?uri", re.IGNORECASE)
"""Fields for what a worker pool runs; a block without them shows only part of a job."""
MACHINE = re.compile(r"machine_?(?:spec|type)", re.IGNORECASE)
OBJECT = re.compile(r"\s*\{\s*\"(?:displayName|display_name|jobSpec|trialJobSpec|studySpec|workerPoolSpecs)\"\s*:")
IN_BACKTICKS = re.compile(r"(?<!`)`([^`\n]{1,1500})`(?!`)")
IN_QUOTES = re.compile(r"(?<!\\)\"((?:[^\"\\\n]|\\.){1,1500})\"")
FLAG = re.compile(r"--[\w-]{1,100}[ =]\S")
Block = tuple[int, list[str]]
"""A run of lines of a page, and the number of its first line, from 0."""


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


def on_line(line: int, text: str) -> str:
    """Return a text that begins on a line, from 1, with empty lines before it so that line numbers are kept."""
    return "\n" * (line - 1) + text


def fenced_blocks(text: str) -> list[Part]:
    """Return the fenced blocks of a page that mention jobs; a config block is also the file of a command."""
    lines = text.split("\n")
    rest, blocks, start = list(lines), [], -1
    for number, line in enumerate([*lines, "```"]):  # an unclosed fence runs to the end
        if FENCE.match(line) and (start < 0 or not FENCE_END.fullmatch(line)):
            start = number
        elif start >= 0 and FENCE_END.fullmatch(line):
            blocks.append((start + 1, lines[start + 1 : number]))
            rest[start : number + 1] = [""] * (number + 1 - start)
            start = -1
    fenced = _parts(blocks, IN_BLOCK)
    return sorted([*fenced, *indented_blocks("\n".join(rest))], key=_rank) if fenced else []


def indented_blocks(text: str) -> list[Part]:
    """Return the indented blocks of a page that mention jobs, as `fenced_blocks` does."""
    lines = text.split("\n")
    is_page = any(line.strip() and not line[0].isspace() for line in lines)
    return _parts(list(_indented(lines)), INDENTED) if is_page else []


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


def _parts(blocks: list[Block], where: str) -> list[Part]:
    texts = ((start + 1, textwrap.dedent("\n".join(lines))) for start, lines in blocks)
    signs = (CREATE, SDK_FIELD, SDK)
    jobs = (each for each in texts if "trialJobSpec" in each[1] or any(sign.search(each[1]) for sign in signs))
    named = [(detect_format(text), on_line(line, text)) for line, text in itertools.islice(jobs, MAX_PARTS)]
    configs = [text for name, text in named if is_document(name) and names_a_job(text) and TASK.search(text)]
    config = configs[0].strip("\n") if len(configs) == 1 else None
    return sorted((Part(name, text, where, config) for name, text in named), key=_rank)


def _rank(part: Part) -> int:
    """Return a sort key for the blocks of a page: whole jobs, commands without their config, parts of a job."""
    if is_document(part.format):
        return 0 if TASK.search(part.text) else 2
    if part.format == "python":
        return int(not MACHINE.search(part.text))
    return int(part.config is None and "--config" in part.text)


def _indented(lines: list[str]) -> Iterator[Block]:
    """Yield the runs of lines that begin after a blank line and are indented as far as their first line.

    A line that is indented further after a blank line ends a run too, except inside of brackets or a config.
    """
    start, held, least, is_after_blank, is_config = -1, list[str](), 0, True, False
    for number, line in enumerate(lines):
        if not line.strip():
            is_after_blank = True
            continue
        indent = len(line.expandtabs(INDENT)) - len(line.expandtabs(INDENT).lstrip())
        deeper = is_after_blank and indent >= least + INDENT and not is_config
        if held and (indent < least or (deeper and not held[-1].rstrip().endswith(("{", "[", ",")))):
            yield start, held
            held = []
        if not held and indent >= INDENT and is_after_blank:
            start, least, is_config = number, indent, False
        if held or start == number:
            held += [""] * (number - start - len(held)) + [line]
        is_config = is_config or bool(CONFIG.match(line))
        is_after_blank = False
    if held:
        yield start, held
