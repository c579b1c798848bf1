"""Strip what loggers and launchers write before each line of a program's output: process, rank, time and level.

Source of the formats: torch.distributed.elastic (`[rank2]:`, `[default0]:`); Ray and vLLM (`(Engine pid=9)`); Open MPI
(`[1,2]<stderr>:`); glog; PyTorch/XLA's pods (`10.0.0.4 [2]`), read 2026-11-26. `Termination log message:` comes before
what a container wrote to Kubernetes' /dev/termination-log, which Vertex AI quotes in a job's error (vertex-ai-samples
issue 1898, read 2026-11-27).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

TRACEBACK = "Traceback (most recent call last)"
MAX_LABEL = 80
_PREFIX = re.compile(
    r"\x1b\[[0-9;]{0,20}m"
    r"|\[?rank\s?(?P<rank>\d{1,6})\]?:\s?"
    r"|\[(?:default|trainer|worker)(?P<local>\d{1,6})\]:\s?"
    r"|(?:\[\d{1,6},(?P<mpi>\d{1,6})\]<std\w{2,3}>:|(?P<host>\d{1,3}(?:\.\d{1,3}){3}:?) (?:\[(?P<pod>\d{1,6})\])?)\s?"
    r"|(?P<process>\([^()]{0,80}pid=\d{1,9}[^()]{0,80}\))\s?"
    r"|\s{2,40}[|+]\s(?=[\s\w])"
    r"|\[?(?:\d{4}[-/])?\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,10}Z?\]?(?:\s-\s|\s\|?\s?|: )?"
    r"|\d\d:\d\d:\d\d (?=\S|\s\s)|(?:\[[^\]]{0,160}\])?[^\[]{0,120} \[\d[\d:]{0,9}<[^\]]{0,80}\](?=\S)"  # a bar
    r"|\[?[\w./-]{1,80}\.(?:py|cc|cpp|h):\d{1,6}(?::\w{1,80})?(?:\]| --)\s?|[\w.]{1,60} - (?=[A-Z]{4,8} - )"
    r"|\[[\w.]{1,60}\](?=\[[A-Z]{4,8}\])|\s?Termination log message:\s?|Exception in thread \"[^\"]{1,80}\" (?=[a-z])"
    r"|Unhandled exception\. (?=\w)"
)
_LEVEL = re.compile(
    r"\[?(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\]?(?::[A-Za-z_][\w.]{0,80}:|\s?[:|-]\s?|\s+(?=\S))"
)
_GLOG = re.compile(r"(?P<level>[IWEF])(?:\d{4} \d\d:\d\d:\d+\.\d+\s+\d+)? [\w./-]{1,200}:\d+\]\s?")
_HINT = re.compile(r"Set the environment variable|Set TORCH|note: run with|Exiting\.?\Z|wandb:(?!.{0,40}rror)")
_FLAT = re.compile(r' (File "[^"]{1,400}", line \d|(?:[A-Za-z_]\w{0,80}\.){0,9}[A-Z]\w{0,80}(?:Error|Exception): )')
"""Where a traceback that was written as one line has its lines."""


class Output(NamedTuple):
    """One line that a replica wrote. `key` identifies it for the caller."""

    replica: str
    text: str
    key: int = 0


@dataclass(slots=True)
class Text:
    """A line without its prefixes: the process that wrote it, and its level."""

    text: str
    process: tuple[str, str]
    rank: int | None
    level: str
    key: int
    order: int


def clean(output: Sequence[Output]) -> Iterator[Text]:
    """Yield the lines without prefixes, in order; a message of several lines is one line each."""
    order = 0
    rows = [_unescaped(_error_file(row.text) if '"py_callstack"' in row.text else row.text) for row in output]
    labels = _labels("\n".join(rows).splitlines())
    for row, message in zip(output, rows, strict=True):
        process, rank, is_own = "", None, False  # lines after a prefixed one belong to it, unless they are prefixed too
        for part in message.splitlines():
            text, level = part[:1_000], ""
            if label := next((each for each in labels if text.startswith(each)), ""):
                process, text = label, text[len(label) :]
            elif process in labels:
                process = ""
            if is_own and process and not _PREFIX.match(text):
                process, rank = "", None
            while found := _PREFIX.match(text) or (_GLOG.match(text) or _LEVEL.match(text) if not level else None):
                if found.re is not _PREFIX:
                    level, text = found["level"], text[found.end() :]
                    continue
                number = found["rank"] or found["local"] or found["mpi"] or found["pod"]
                is_own = is_own or bool(process and (number or found["process"] or found["host"]))
                rank = int(number) if number else rank
                process = found["process"] or (f"rank {number}" if number else "") or process or found["host"] or ""
                text = text[found.end() :]
            if _HINT.match(text):  # they follow every failure
                continue
            yield Text(text, (row.replica, process), rank, level, row.key, order)
            order += 1


def _labels(lines: Sequence[str]) -> set[str]:
    """Return what stands before a traceback and its next lines, such as `Step #4: ` or the task numbers of srun."""
    found = set[str]()
    for at, line in enumerate(lines):
        label = line[: line.index(TRACEBACK)] if TRACEBACK in line[:MAX_LABEL] else ""
        following = any(each.startswith(f"{label} ") for each in lines[at + 1 : at + 4])
        if label.strip() and following and not _PREFIX.match(line):
            found.add(label)
    return found


def _unescaped(text: str) -> str:
    """Return the text with the line breaks and quotes that JSON escapes, and those of a traceback without any."""
    if "\\n" in text and not text.startswith("    "):  # but a traceback quotes code as it is
        text = text.replace("\\n", "\n").replace('\\"', '"')
    if f"{TRACEBACK}: File" not in text.replace('"', ""):
        return text
    return _FLAT.sub(lambda found: f"\n  {found[1]}" if found[1].startswith("File") else f"\n{found[1]}", text)


def _error_file(text: str) -> str:
    """Return the traceback in the error file of torch.distributed.elastic, which a program may print."""
    try:
        return str(json.loads(text[text.index("{") :])["message"]["extraInfo"]["py_callstack"])
    except (ValueError, KeyError, TypeError):
        return text
