"""Parsers of texts that people, logs and answers bring, as functions of one text."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from dashboard.drawing.terminal import render_line
from jobs import cron, importer
from jobs.diagnosis.cues.lines import read_lines
from jobs.diagnosis.failure_record import find_failure
from jobs.diagnosis.output_lines import Output
from jobs.metrics.lines import read_line
from jobs.spec import read
from jobs.spec.placeholders import placeholders
from jobs.spec.programs import program_placeholders
from jobs.spec.secrets import Masker, mask_secrets

WORDS = [
    *"aA01 \n\t_-./:=\"'()[]{}<>$\\,@#|&;%!?*+~`^é",
    "://", "--", "${", "$(", "<<", "'''", "/*", "*/", "://u:p@", "-u ", "TOKEN=", "sk-", "eyJ", "-----BEGIN ", "http",
    "gcloud ai custom-jobs create ", "--config=", "import ", "for x in ", "def f(", "lambda:", " if ", "\\\n", "- ",
    "displayName: ", "step", "epoch", "loss", "Traceback", "Error: ", "100%", "1/2", "\x1b[", "&a ", "*a", "{{", "{%",
]  # fmt: skip


def _job(args: list[str], command: list[str]) -> dict[str, Any]:
    container = {"imageUri": "gcr.io/p/i", "args": args, "command": command}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": container}
    return {"displayName": "x", "jobSpec": {"workerPoolSpecs": [pool]}}


def _placeholders(text: str) -> None:
    job, _ = read("custom_job", _job([text, *text.split("\n")], ["sh", "-c", text]))
    if job is not None:
        list(placeholders(job))


PARSERS: dict[str, Callable[[str], object]] = {
    "secrets in one argument": lambda text: mask_secrets(_job([text], [])),
    "secrets in many arguments": lambda text: mask_secrets(_job(text.split("\n"), text.split(" "))),
    "secrets quoted by an error": lambda text: Masker(_job(text.split("\n"), [])).hide(text),
    "placeholders of a job": _placeholders,
    "placeholders of a program": lambda text: list(program_placeholders(["sh", "-c", text], [text], [])),
    "metrics in a line of a log": read_line,
    "drawing of a line of a log": lambda text: render_line(text, text[:3]),
    "cues in a log": read_lines,
    "failure in a log": lambda text: find_failure([Output("workerpool0-0", line) for line in text.split("\n")]),
    "times of a schedule": lambda text: cron.problem_of(text, "UTC", datetime(2026, 1, 1, tzinfo=UTC)),
    "import of a text": importer.read_text,
}
