"""Texts in languages that Trainboard does not read: named, so that nobody looks for a mistake in them."""

import re

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
JOB = re.compile(r"worker_?pool_?specs?|CustomJob|TrainingJob|TrainingPipeline|HyperparameterTuningJob", re.IGNORECASE)


def foreign(text: str) -> tuple[str, int] | None:
    """Return the language of a program that speaks of jobs, and the line where it does; None for any other text."""
    found = JOB.search(text)
    if found is None:
        return None
    name = next((name for name, pattern in LANGUAGES if pattern.search(text)), "")
    return (name, text.count("\n", 0, found.start()) + 1) if name else None
