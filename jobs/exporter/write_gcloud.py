"""gcloud's commands: as flags, and as the frame of a config file.

Source: gcloud's reference, "gcloud ai custom-jobs create", "gcloud ai hp-tuning-jobs create" and "gcloud topic
escaping", read 2026-11-21.
"""

import re
from typing import Any

from jobs.convert.commands.gcloud_command import read_gcloud
from jobs.convert.commands.gcloud_pools import MACHINE
from jobs.convert.texts.nodes import Notes, plain
from jobs.exporter.shapes import request
from jobs.spec import Submission, read, rest_body

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^-]+")
MARKS = "|;~#!&*+/"
SPEC_FLAGS = ("persistentResourceId", "serviceAccount", "network", "enableWebAccess", "enableDashboardAccess")
NAMES = {"custom_job": "custom-jobs", "hyperparameter_tuning_job": "hp-tuning-jobs"}
FLAGS = {
    "persistentResourceId": "persistent-resource-id",
    "serviceAccount": "service-account",
    "network": "network",
    "enableWebAccess": "enable-web-access",
    "enableDashboardAccess": "enable-dashboard-access",
}


class NotWritable(ValueError):
    """The format cannot hold this job; the message says why."""


def quote(text: str) -> str:
    """Quote a word for a POSIX shell; control characters become bash's $'...' escapes."""
    if PLAIN.fullmatch(text):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return "$'" + "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped) + "'"


def joined(items: list[str]) -> str | None:
    """Join a list for gcloud, at commas or at a mark that no item holds; None where gcloud cannot take it."""
    if not all(items):
        return None
    if not any("," in item or item != item.strip() for item in items) and not items[0].startswith("^"):
        return ",".join(items)
    mark = next((sign for sign in MARKS if not any(sign in item for item in items)), "")
    return f"^{mark}^{mark.join(items)}" if mark else None


def config(submission: Submission, body: dict[str, Any]) -> dict[str, Any]:
    """Return what belongs into the file of --config: the job spec, or all of a tuning job that no flag takes."""
    if submission.kind == "custom_job":
        spec: dict[str, Any] = body.get("jobSpec", {})
        return spec
    return {name: value for name, value in body.items() if name not in ("displayName", "labels", "encryptionSpec")}


def outer_flags(submission: Submission) -> list[str]:
    """Return the flags for what a config file cannot hold: where, the name, the labels, the key."""
    body = request(submission.job)
    flags = [f"--project={quote(submission.project)}"] if submission.project else []
    flags += [f"--region={quote(submission.region)}"] if submission.region else []
    flags += [f"--display-name={quote(body['displayName'])}"] if body.get("displayName") else []
    if labels := body.get("labels"):
        pairs = joined([f"{name}={value}" for name, value in labels.items()])
        if pairs is None or any("=" in name for name in labels):
            raise NotWritable("gcloud cannot write a label whose name holds =; rename it.")
        flags.append(f"--labels={quote(pairs)}")
    if key := body.get("encryptionSpec", {}).get("kmsKeyName"):
        flags.append(f"--kms-key={quote(key)}")
    return flags


def heading(submission: Submission) -> str:
    """Return the comment that shows the command for a config file."""
    flags = [*outer_flags(submission), "--config=job.yaml"]
    return f"# gcloud ai {NAMES[submission.kind]} create {' '.join(flags)}\n"


def command(submission: Submission, yaml_text: str) -> str:
    """Return the command: by flags alone where reading them back gives the same job, else with a config."""
    start = f"gcloud ai {NAMES[submission.kind]} create"
    short = _flags(submission)
    if short is not None:
        text = " \\\n  ".join([start, *outer_flags(submission), *short]) + "\n"
        if _same(text, submission):
            return text
    mark = "EOF"
    while re.search(rf"^{mark}\s*$", yaml_text, re.MULTILINE):
        mark += "_"
    flags = [start, *outer_flags(submission), f"--config=/dev/stdin <<'{mark}'"]
    return " \\\n  ".join(flags) + f"\n{yaml_text}{mark}\n"


def _same(text: str, submission: Submission) -> bool:
    drafts = read_gcloud(text, Notes(), lambda *_: None, lambda _: None)
    if len(drafts) != 1:
        return False
    job, findings = read(drafts[0].kind, plain(drafts[0].body))
    return not findings and job is not None and rest_body(job) == request(submission.job)


def _flags(submission: Submission) -> list[str] | None:
    """Return the flags of a custom job, or None when it needs more than flags can say."""
    if submission.kind != "custom_job":
        return None
    spec = request(submission.job).get("jobSpec", {})
    pools = spec.get("workerPoolSpecs", [])
    if not pools or any(name not in ("workerPoolSpecs", *SPEC_FLAGS) for name in spec):
        return None
    flags: list[str] = []
    for pool in pools:
        found = _pool(pool)
        if found is None:
            return None
        flags.append(f"--worker-pool-spec={quote(found)}")
    task = pools[0].get("containerSpec") or pools[0].get("pythonPackageSpec") or {}
    for name, flag in (("command", "command"), ("args", "args"), ("packageUris", "python-package-uris")):
        if items := task.get(name):
            flags.append(f"--{flag}={quote(joined(items) or '')}")
    given = {FLAGS[name]: spec[name] for name in SPEC_FLAGS if spec.get(name)}
    return flags + [f"--{flag}" if value is True else f"--{flag}={quote(value)}" for flag, value in given.items()]


def _pool(pool: dict[str, Any]) -> str | None:
    pairs = {name: pool.get("machineSpec", {}).get(field) for name, field in MACHINE.items()}
    pairs["replica-count"] = pool.get("replicaCount")
    pairs["container-image-uri"] = pool.get("containerSpec", {}).get("imageUri")
    pairs["executor-image-uri"] = pool.get("pythonPackageSpec", {}).get("executorImageUri")
    pairs["python-module"] = pool.get("pythonPackageSpec", {}).get("pythonModule")
    given = {name: str(value) for name, value in pairs.items() if value is not None}
    if any("," in value or "^" in value for value in given.values()):
        return None
    return ",".join(f"{name}={value}" for name, value in given.items())
