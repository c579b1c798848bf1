"""Texts in languages that Trainboard does not read: named, so that nobody looks for a mistake in them."""

import re

from jobs.convert.sdk.parsing import is_whole
from jobs.convert.texts.nodes import Notes

LONGEST = 500_000
LANGUAGES = (
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
PAGE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
JOB = re.compile(r"worker_?pool_?specs?|CustomJob|TrainingJob|TrainingPipeline|HyperparameterTuningJob", re.IGNORECASE)


def foreign(text: str) -> tuple[str, int] | None:
    """Return the language of a program that speaks of jobs, and the line where it does; None for any other text."""
    found = JOB.search(text)
    if found is None:
        return None
    name = next((name for name, pattern in LANGUAGES if pattern.search(text)), "")
    return (name, text.count("\n", 0, found.start()) + 1) if name else None


def name_language(text: str, started: int, notes: Notes) -> None:
    """Say that a program in another language is not read, instead of what it is not: the notes since `started`."""
    language = foreign(text) if len(text) <= LONGEST else None
    if language is not None and not PAGE.search(text) and not is_whole(text):
        name, line = language
        message = f"This is {name}, which Trainboard does not read."
        notes.findings[started:] = []
        notes.refuse("other_language", line, message, "Give the job that it sends as JSON or YAML, or SDK Python.")
