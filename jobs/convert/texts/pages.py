"""Pages that show jobs among prose: fenced and indented blocks of Markdown, commands in sentences.

Source: CommonMark's specification, "Fenced code blocks" and "Indented code blocks", read 2026-11-21.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jobs.convert.sdk.makers import looks_like_python, makes_a_job
from jobs.convert.texts.nodes import Node
from jobs.convert.texts.recognise import CLOSES, CONFIG, CREATE, FENCE, FIELD, YAML_KEY, recognise

IN_BLOCK = ", in a fenced block"
INDENTED = ", in an indented block"
IN_PROSE = ", between sentences"
MOST_PARTS = 50
BULLETS = ("- ", "-\t")
INDENT = 4
TASK = re.compile(r"(?:container|python_?package)_?spec|image_?uri", re.IGNORECASE)
"""What a worker pool runs; a block without it shows a piece of a job."""
MACHINE = re.compile(r"machine_?(?:spec|type)", re.IGNORECASE)
OBJECT = re.compile(r"\s*\{\s*\"(?:displayName|display_name|jobSpec|trialJobSpec|studySpec|workerPoolSpecs)\"\s*:")
IN_BACKTICKS = re.compile(r"(?<!`)`([^`\n]{1,1500})`(?!`)")
IN_QUOTES = re.compile(r"(?<!\\)\"((?:[^\"\\\n]|\\.){1,1500})\"")


class Part(NamedTuple):
    """A part of a text that may hold a job: its format, its text with lines kept, where it stands, a config file that
    stands beside it; or a value that was read already.
    """

    format: str
    text: str
    where: str
    config: str | None = None
    node: Node | None = None


class _Block(NamedTuple):
    """Lines of a page that belong together, the number of the first from 0, and their indent."""

    start: int
    lines: list[str]
    indent: int


def blocks(text: str) -> list[Part]:
    """Return the blocks of a page with fences that speak of jobs; that of a config counts as a command's file."""
    lines = text.split("\n")
    found: list[_Block] = []
    start: int | None = None
    for number, line in enumerate(lines):
        if not FENCE.match(line):
            continue
        if start is None or not CLOSES.fullmatch(line):
            start = number
            continue
        found.append(_Block(start + 1, lines[start + 1 : number], 0))
        start = None
    for block in found:
        lines[block.start - 1 : block.start + len(block.lines) + 1] = [""] * (len(block.lines) + 2)
    if found and (fenced := _parts(found, IN_BLOCK)):
        return sorted([*fenced, *indented_blocks("\n".join(lines))], key=_rank)
    return []


def objects_in_prose(text: str) -> list[Part]:
    """Return the JSON objects that begin at the margin of a page and hold a job."""
    lines = text.split("\n")
    starts = (place for place, line in enumerate(lines) if place and line.rstrip() == "{")
    held = ("\n" * start + "\n".join(lines[start:]) for start in itertools.islice(starts, MOST_PARTS))
    return [Part("rest", part, IN_PROSE) for part in held if OBJECT.match(part)]


def is_page(text: str) -> bool:
    """Tell whether sentences stand at the margin, and not the lines of one document that is broken somewhere."""
    margin = [line for line in text.split("\n") if line.strip() and line[0] not in " \t#"]
    of_data = [line for line in margin if line[0] in "[]{}'\"," or YAML_KEY.match(line)]
    return 2 * len(of_data) < len(margin)


def indented_blocks(text: str) -> list[Part]:
    """Return the indented blocks of a page that speak of jobs, as `blocks` does."""
    lines = text.split("\n")
    return _parts(_indented(lines), INDENTED) if any(_indent(line) == 0 for line in lines if line.strip()) else []


def configs_in_prose(text: str) -> Iterator[Part]:
    """Yield the runs of YAML that begin at the margin of a page which marks no blocks, if they show a job."""
    lines = text.split("\n")
    start, shows, parts = 0, False, 0
    for number, line in enumerate([*lines, "."]):
        if not line.strip() or line[0] in " \t#" or line.startswith(BULLETS) or YAML_KEY.match(line):
            shows = shows or bool(CONFIG.match(line))
            continue
        if shows and parts < MOST_PARTS:
            parts += 1
            yield Part("gcloud-yaml", "\n" * start + "\n".join(lines[start:number]), IN_PROSE)
        start, shows = number + 1, False


def names_a_job(text: str) -> bool:
    """Tell whether a block shows a job, and does not only speak of Vertex AI."""
    return bool(CREATE.search(text) or FIELD.search(text) or CONFIG.search(text) or makes_a_job(text))


def in_sentences(text: str) -> Iterator[Part]:
    """Yield the commands between backticks in the sentences of a page, and those in the quotes of other languages."""
    for pattern, where in ((IN_BACKTICKS, ", in a sentence"), (IN_QUOTES, ", in quotes")):
        held = ((found.start(), found[1]) for found in pattern.finditer(text) if "gcloud" in found[1])
        for start, quoted_text in itertools.islice(held, MOST_PARTS):
            command = quoted_text if pattern is IN_BACKTICKS else re.sub(r"\\(.)", r"\1", quoted_text)
            if CREATE.search(command) and re.search(r"--[\w-]+[ =]\S", command):
                yield Part("gcloud", "\n" * text.count("\n", 0, start) + command, where)


def unindented(lines: list[str]) -> list[str]:
    """Take off the indent that all lines share."""
    depth = min((_indent(line) for line in lines if line.strip()), default=0)
    return [line[depth:] for line in lines]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parts(found: Iterable[_Block], where: str) -> list[Part]:
    speaking = (block for block in found if _speaks("\n".join(block.lines)))
    texts = [
        "\n" * block.start + "\n".join(unindented(block.lines)) for block in itertools.islice(speaking, MOST_PARTS)
    ]
    named = [(recognise(text), text) for text in texts]
    configs = [text for name, text in named if _is_document(name) and names_a_job(text) and TASK.search(text)]
    beside = configs[0].strip("\n") if len(configs) == 1 else None
    return sorted((Part(name, text, where, beside) for name, text in named), key=_rank)


def _rank(part: Part) -> int:
    """Order the blocks of a page: whole jobs, then commands whose config is not shown, then pieces of a job."""
    if _is_document(part.format):
        return 0 if TASK.search(part.text) else 2
    if part.format == "python" and not MACHINE.search(part.text):
        return 1
    return int(part.format in ("gcloud", "curl") and part.config is None and "--config" in part.text)


def _is_document(name: str) -> bool:
    return name in ("rest", "gcloud-yaml")


def _indented(lines: list[str]) -> Iterator[_Block]:
    """Yield the runs of indented lines; what is indented further after a blank line, as code in a list's item is,
    begins anew, unless the run is a config or an open bracket already.
    """
    block: _Block | None = None
    blank, config = True, False
    for number, line in enumerate(lines):
        if not line.strip():
            blank = True
            continue
        indent = _indent(line.expandtabs(INDENT))
        if block is not None:
            deeper = blank and indent >= block.indent + INDENT and not config
            if indent < block.indent or (deeper and not block.lines[-1].rstrip().endswith(("{", "[", ","))):
                yield block
                block = None
        if block is not None:
            block.lines.extend([""] * (number - block.start - len(block.lines)))
            block.lines.append(line)
        elif indent >= INDENT and blank:
            block, config = _Block(number, [line], indent), False
        config = config or bool(CONFIG.match(line))
        blank = False
    if block is not None:
        yield block


def _speaks(text: str) -> bool:
    return bool(CREATE.search(text) or FIELD.search(text) or looks_like_python(text) or "trialJobSpec" in text)
