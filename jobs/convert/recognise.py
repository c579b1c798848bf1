"""Which format a text is in: recognised by what it says, never asked for."""

import re

from jobs.convert.python_text import looks_like_python, makes_a_job

COMMENT = re.compile(r"^[ \t]*#[^\n]*\n?", re.MULTILINE)
GCLOUD = re.compile(r"\bgcloud\b[^\n]*?(?:[\\`^][ \t]*\n[^\n]*?){0,6}\b(?:custom-jobs|hp-tuning-jobs)\b")
CREATE = re.compile(r"\b(?:custom-jobs|hp-tuning-jobs)[ \t\\`^\n]+create\b")
CURL = re.compile(r"^[ \t]*(?:[$!%][ \t]*)?curl[ \t\\]", re.MULTILINE)
JSON = re.compile(r"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*[{\[]", re.DOTALL)
YAML_KEY = re.compile(r"^[ \t]*(?:-[ \t]+)?['\"]?[A-Za-z_][\w-]*['\"]?[ \t]*:(?:[ \t]|$)", re.MULTILINE)
PYTHON = re.compile(r"^[ \t]*(?:from[ \t]+\S+[ \t]+import\b|import[ \t]+\w|def[ \t]+\w+\(|class[ \t]+\w)", re.MULTILINE)
BOUND = re.compile(r"^[ \t]*\w+[ \t]*(?::[^=\n]+)?=[ \t]*(?:dict\(|[\[{])", re.MULTILINE)
FIELD = re.compile(r"\b(?:machine_spec|machineSpec|worker_pool_specs|workerPoolSpecs|study_spec)\b")
HEADING = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n)*")
FENCE = re.compile(r"^[ \t]*```")


def recognise(text: str) -> str:
    """Return rest, gcloud-yaml, gcloud, curl or python."""
    bare = COMMENT.sub("", text)
    if JSON.match(text) and not text.lstrip().startswith(("{{", "{%")) and not _is_python(bare):
        return "rest"
    commands = bool(GCLOUD.search(bare) and CREATE.search(bare))
    if _is_python(bare):
        return "python"
    if CURL.search(bare) and not commands:
        return "curl"
    if commands and not _starts_as_yaml(bare):
        return "gcloud"
    return "gcloud-yaml"


def command_in_comment(text: str) -> str:
    """Return the command that the comment at the head of a text shows, comment signs taken off; else nothing."""
    found = HEADING.match(text)
    head = re.sub(r"^[ \t]*#+ ?", "", found[0] if found else "", flags=re.MULTILINE)
    return head if CREATE.search(head) else ""


def comment_line(text: str, *, after_heading: bool) -> int | None:
    """Return the line of the first whole-line comment, of those after the comment at the head if so wished."""
    found = HEADING.match(text) if after_heading else None
    start = found.end() if found else 0
    comment = COMMENT.search(text, start)
    return text.count("\n", 0, comment.start()) + 1 if comment else None


def unfenced(text: str) -> str:
    """Replace what is outside the first ``` block of a text by empty lines, so that lines keep their numbers."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if FENCE.match(line)]
    if not fences or YAML_KEY.match(lines[0]):
        return text
    start, end = fences[0], fences[1] if len(fences) > 1 else len(lines)
    return "\n".join(line if start < number < end else "" for number, line in enumerate(lines))


def _is_python(bare: str) -> bool:
    if _starts_as_yaml(bare):
        return False
    if makes_a_job(bare) or (looks_like_python(bare) and PYTHON.search(bare)):
        return True
    return bool(BOUND.search(bare) and FIELD.search(bare))


def _starts_as_yaml(bare: str) -> bool:
    first = next((line for line in bare.split("\n") if line.strip() and line.strip() != "---"), "")
    return bool(YAML_KEY.match(first)) or first.startswith("- ")
