"""Paths of fields in a REST body, such as `jobSpec.workerPoolSpecs[0].replicaCount`.

An entry of a mapping is `labels[team]`. Any entry of a list is `workerPoolSpecs[]`.
"""

import re

from jobs.bounds import parse_digits

STEP = re.compile(r"\[([^\]]{0,300})\]|([^.\[\]]+)")
MAX_INDEX_DIGITS = 9
LETTER = re.compile(r"_([a-z0-9])")
KINDS = re.compile(r"(?:custom_job|hyperparameter_tuning_job|training_pipeline)\.")


def join(path: str, name: str) -> str:
    """Return the path of a field below another path."""
    return f"{path}.{name}" if path and name else path or name


def steps(path: str) -> list[str | int]:
    """Return the field names and list indexes of a path, from the top."""
    return [match[2] or _key_or_index(match[1]) for match in STEP.finditer(path)]


def _key_or_index(text: str) -> str | int:
    index = parse_digits(text, MAX_INDEX_DIGITS)
    return text if index is None else index


def upward(path: str) -> list[str]:
    """Return a path and the paths of all its parents, the longest first."""
    return [path[: match.end()] for match in STEP.finditer(path)][::-1]


def json_path(field: str) -> str:
    """Convert `custom_job.job_spec.worker_pool_specs[0].machine_spec` to `jobSpec.workerPoolSpecs[0].machineSpec`."""
    return LETTER.sub(lambda letter: letter[1].upper(), KINDS.sub("", field.strip(), count=1))
