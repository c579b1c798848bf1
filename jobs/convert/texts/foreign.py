"""Texts that hold no job: what they are is said, so that nobody looks for a mistake in them."""

import re

from jobs.convert.sdk.parsing import is_whole
from jobs.convert.texts.nodes import Notes
from jobs.convert.texts.recognise import COMMENT, CREATE

LONGEST = 500_000
LANGUAGES = (
    ("HTML", re.compile(r"\A\s*<(?:!doctype[ \t]+html|html)\b", re.IGNORECASE)),
    ("Go", re.compile(r"^package[ \t]+\w+[ \t]*$", re.MULTILINE)),
    (
        "Java",
        re.compile(r"^import[ \t]+(?:static[ \t]+)?[\w.]+;|\bpublic[ \t]+(?:static|class|void|final)\b", re.MULTILINE),
    ),
    ("C#", re.compile(r"^using[ \t]+[\w.]+;", re.MULTILINE)),
    (
        "JavaScript",
        re.compile(
            r"^[ \t]*(?:(?:export[ \t]+)?(?:const|let|var)[ \t]+[\w{][^=\n]*=|import\b[^\n]*\bfrom[ \t]+['\"])",
            re.MULTILINE,
        ),
    ),
    (
        "Terraform",
        re.compile(r"^(?:resource|module|locals|provider|data|variable|terraform)\b[^\n:=]*\{", re.MULTILINE),
    ),
    ("R", re.compile(r"^[ \t]*(?:library\(\w+\)|\w+[ \t]*<-[ \t])", re.MULTILINE)),
    (
        "protobuf's text format",
        re.compile(r"^[ \t]*(?:job_spec|trial_job_spec|worker_pool_specs|study_spec)[ \t]*\{", re.MULTILINE),
    ),
)
UNTOLD = frozenset({"no_job", "unreadable_yaml"})
"""What is said of a text that is none of the formats."""
PAGE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
FIELD = re.compile(
    r"^[ \t]*(?:-[ \t]+)?['\"]?(?:worker_?pool_?specs?|(?:trial_?)?job_?spec|machine_?spec|container_?spec|study_?spec"
    r"|python_?package_?spec|image_?uri)['\"]?[ \t]*:",
    re.MULTILINE | re.IGNORECASE,
)
JOB = re.compile(r"worker_?pool_?specs?|CustomJob|TrainingJob|TrainingPipeline|HyperparameterTuningJob", re.IGNORECASE)


def foreign(text: str) -> tuple[str, int] | None:
    """Return the language of a program that speaks of jobs, and the line where it does; None for any other text."""
    found = JOB.search(text)
    if found is None:
        return None
    name = next((name for name, pattern in LANGUAGES if pattern.search(text)), "")
    return (name, text.count("\n", 0, found.start()) + 1) if name else None


def explain(text: str, started: int, notes: Notes) -> None:
    """Say what a text is in which no job was found, instead of what it is not: the notes since `started`."""
    if len(text) > LONGEST:
        return
    told = notes.findings[started:]
    language = foreign(text)
    if language is not None and not PAGE.search(text) and not is_whole(text):
        name, line = language
        message = f"This is {name}, which Trainboard does not read."
        remedy = "Give the job that it sends as JSON or YAML, or SDK Python."
        notes.findings[started:] = []
        notes.refuse("other_language", line, message, remedy)
    elif (line := _commented(text)) and all(note.code in UNTOLD for note in told):
        notes.findings[started:] = []
        notes.refuse("no_job", line, "The command that creates a job is a comment here.", "Take the comment signs off.")
    elif any(note.code == "unreadable_yaml" for note in told) and not FIELD.search(text):
        notes.findings[started:] = [note for note in told if note.code not in UNTOLD]
        remedy = "Give YAML, JSON, a gcloud or curl command, or SDK Python."
        notes.refuse("no_job", 1, "No job was found in it.", remedy)


def _commented(text: str) -> int:
    """Return the line of a command that creates a job, where all such commands are comments; else 0."""
    comments = [found for found in COMMENT.finditer(text) if "gcloud" in found[0] and CREATE.search(found[0])]
    if not comments or CREATE.search(COMMENT.sub("", text)):
        return 0
    return text.count("\n", 0, comments[0].start()) + 1
