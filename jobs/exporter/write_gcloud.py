"""Render gcloud's config file, and the command that uses it.

Source: gcloud's reference, "gcloud ai custom-jobs create", "gcloud ai hp-tuning-jobs create" and "gcloud topic
escaping", read 2026-11-21.
"""

import re
import shlex
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import yaml

from jobs.exporter.shapes import request, values
from jobs.spec import Submission
from jobs.spec.fields import write_duration

DELIMITERS = "|;~#!&*+/"
COMMANDS = {
    "custom_job": "gcloud ai custom-jobs create",
    "hyperparameter_tuning_job": "gcloud ai hp-tuning-jobs create",
}
FLAGGED = ("displayName", "labels", "encryptionSpec")
"""Fields that gcloud takes as flags, not in the config file."""


class NotWritable(ValueError):
    """The format does not support this job; the message gives the reason."""


class Dumper(yaml.SafeDumper):
    """Writes lists indented and without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: every part is written out."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their name."""
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: Dumper, text: str) -> yaml.ScalarNode:
    """Write text with line ends or invisible characters in double quotes, where they are escaped."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


Dumper.add_representer(str, _text)
Dumper.add_representer(timedelta, lambda dumper, length: _text(dumper, write_duration(length)))


def gcloud_yaml(submission: Submission) -> str:
    """Return the file for gcloud's --config, below a comment with the command that uses it."""
    return f"# {' '.join([*_command(submission), '--config=job.yaml'])}\n{_config(submission)}"


def gcloud(submission: Submission) -> str:
    """Return the gcloud command with the config as its input."""
    config = _config(submission)
    mark = "EOF"
    while re.search(rf"^{mark}\s*$", config, re.MULTILINE):
        mark += "_"
    return " \\\n  ".join([*_command(submission), f"--config=/dev/stdin <<'{mark}'"]) + f"\n{config}{mark}\n"


def _config(submission: Submission) -> str:
    """Return the config file in YAML that 1.1 and 1.2 read alike: the job spec, or a tuning job without its flags."""
    body = values(submission.job, by_alias=True)
    if beside := ", ".join(_without_flag(submission)):
        raise NotWritable(f"gcloud has neither a flag nor a place in its config for {beside}; use REST.")
    is_custom = submission.kind == "custom_job"
    config = body.get("jobSpec", {}) if is_custom else {name: body[name] for name in body if name not in FLAGGED}
    text: str = yaml.dump(config, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10**9)
    return text


def _without_flag(submission: Submission) -> Iterator[str]:
    """Yield the unknown fields that are neither in the config file nor flags."""
    key = submission.job.encryption_spec
    yield from submission.job.unknown_fields if submission.kind == "custom_job" else ()
    yield from key.unknown_fields if key is not None else ()


def _command(submission: Submission) -> list[str]:
    """Return the command with flags for what the config file cannot contain: project, region, name, labels, key."""
    body = request(submission.job)
    flags = {
        "project": submission.project,
        "region": submission.region,
        "display-name": body.get("displayName"),
        "labels": _labels(body.get("labels", {})),
        "kms-key": body.get("encryptionSpec", {}).get("kmsKeyName"),
    }
    return [COMMANDS[submission.kind], *(f"--{name}={_quote(value)}" for name, value in flags.items() if value)]


def _labels(labels: dict[str, str]) -> str:
    """Join labels with commas, or with a delimiter that occurs in none of them."""
    if any("=" in name for name in labels):
        raise NotWritable("gcloud cannot write a label whose name holds =; rename it.")
    pairs = [f"{name}={value}" for name, value in labels.items()]
    if not any("," in pair or pair != pair.strip() for pair in pairs) and not "".join(pairs[:1]).startswith("^"):
        return ",".join(pairs)
    mark = next((sign for sign in DELIMITERS if not any(sign in pair for pair in pairs)), "")
    if not mark:
        raise NotWritable("gcloud cannot write labels that hold all of its delimiters.")
    return f"^{mark}^{mark.join(pairs)}"


def _quote(text: str) -> str:
    """Quote a word for a POSIX shell; control characters become bash's $'...' escapes."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return "$'" + "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped) + "'"
