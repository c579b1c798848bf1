"""Which format a text is in: recognised by what it says, never asked for."""

import re

from jobs.convert.sdk.makers import looks_like_python, makes_a_job

COMMENT = re.compile(r"^[ \t]*#[^\n]*\n?", re.MULTILINE)
CREATE = re.compile(
    r"\b(?:custom-jobs|hp-tuning-jobs)[ \t\\`^\n]+create\b|\bjobs[ \t\\`^\n]+submit[ \t\\`^\n]+training\b"
)
CURL = re.compile(r"^[ \t]*(?:(?:[$!%][ \t]*)?curl[ \t\\]|Invoke-(?:WebRequest|RestMethod)\b)", re.MULTILINE)
JSON = re.compile(r"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*[{\[]", re.DOTALL)
YAML_KEY = re.compile(r"[ \t]*(?:-[ \t]+)?['\"]?[A-Za-z_][\w-]*['\"]?[ \t]*:(?:[ \t]|$)")
PYTHON = re.compile(r"^[ \t]*(?:from[ \t]+\S+[ \t]+import\b|import[ \t]+\w|def[ \t]+\w+\(|class[ \t]+\w)", re.MULTILINE)
BOUND = re.compile(r"^[ \t]*\w+[ \t]*(?::[^=\n]{1,200})?=[ \t]*(?:dict\(|[\[{])", re.MULTILINE)
FIELD = re.compile(r"\b(?:machine_spec|machineSpec|worker_pool_specs|workerPoolSpecs|study_spec)\b")
CONFIG = re.compile(
    r"^[ \t]*['\"]?(?:workerPoolSpecs|worker_pool_specs|trialJobSpec|jobSpec)['\"]?[ \t]*:", re.MULTILINE
)
HEADING = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n)*")
FENCE = re.compile(r"[ \t]*(?:```+[^`\n]*|~~~+[^\n]*)$")
CLOSES = re.compile(r"[ \t]*(?:```+|~~~+)[ \t]*")
FIRST_LINES = (
    ("gcloud", re.compile(r"[ \t$!%]*gcloud[ \t]")),
    ("curl", re.compile(r"[ \t$!%]*curl[ \t\\]")),
    ("python", re.compile(r"(?:from[ \t]+[\w.]+[ \t]+import|import[ \t]+\w|dict\(|\([ \t]*(?:[\[{(]|dict\(|$))")),
    ("gcloud-yaml", YAML_KEY),
    ("gcloud-yaml", re.compile(r"(?:-[ \t]|---|%YAML)")),
)


def recognise(text: str) -> str:
    """Return rest, gcloud-yaml, gcloud, curl or python."""
    bare = COMMENT.sub("", text)
    if JSON.match(text) and not text.lstrip().startswith(("{{", "{%")):
        return "rest"
    first = next((line for line in bare.split("\n") if line.strip()), "")
    for found, pattern in FIRST_LINES:
        if pattern.match(first):
            return found
    commands = "gcloud" in bare and bool(CREATE.search(bare))
    if makes_a_job(bare) or ((looks_like_python(bare) or FIELD.search(bare)) and PYTHON.search(bare)):
        return "python"
    if commands or CURL.search(bare):
        return "gcloud" if commands else "curl"
    return "python" if BOUND.search(bare) and FIELD.search(bare) else "gcloud-yaml"


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
    """Empty the lines outside a ``` block with which a text begins, so that the others keep their numbers."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[start].startswith("%%"):  # a cell of a notebook: %%writefile job.yaml
        return "\n".join(["" if number == start else line for number, line in enumerate(lines)])
    if not FENCE.match(lines[start]):
        return text
    end = next((number for number in range(start + 1, len(lines)) if CLOSES.fullmatch(lines[number])), len(lines))
    return "\n".join(line if start < number < end else "" for number, line in enumerate(lines))
