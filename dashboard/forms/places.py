"""From a path in the REST body to the field of the form that writes it: one table for both directions of reading."""

import re

JOB_FIELDS: dict[str, str] = {
    "displayName": "name",
    "labels": "labels",
    "jobSpec.scheduling.timeout": "timeout",
    "jobSpec.scheduling.maxWaitDuration": "max_wait",
    "jobSpec.scheduling": "strategy",
    "jobSpec.serviceAccount": "service_account",
    "jobSpec.baseOutputDirectory": "output",
}
POOL_FIELDS: dict[str, str] = {
    "machineSpec.acceleratorType": "accelerator_type",
    "machineSpec.acceleratorCount": "accelerator_count",
    "machineSpec": "machine_type",
    "replicaCount": "replicas",
    "diskSpec.bootDiskSizeGb": "disk_gb",
    "diskSpec": "disk_type",
    "containerSpec.command": "command",
    "containerSpec.args": "args",
    "containerSpec.env": "env",
    "containerSpec": "image",
    "pythonPackageSpec.packageUris": "package_uris",
    "pythonPackageSpec.pythonModule": "module",
    "pythonPackageSpec.args": "args",
    "pythonPackageSpec.env": "env",
    "pythonPackageSpec": "executor_image",
    "": "machine_type",
}
CODES: dict[str, str] = {
    "region_is_given": "region",
    "region_trains": "region",
    "region_not_allowed": "region",
}
"""Findings about what is not in the body, because it is in the address that the body is sent to."""
POOL = re.compile(r"^jobSpec\.workerPoolSpecs\[(\d+)\]\.?")


def place_of(code: str, path: str) -> tuple[int | None, str]:
    """Return (pool index or None, field name) for a finding's code and path; (None, "") where no field writes it."""
    if code in CODES:
        return None, CODES[code]
    found = POOL.match(path)
    if found:
        return int(found[1]), _longest(path[found.end() :], POOL_FIELDS)
    if path == "jobSpec.workerPoolSpecs":
        return 0, "machine_type"
    return None, _longest(path, JOB_FIELDS)


def _longest(path: str, fields: dict[str, str]) -> str:
    """Return the field of the longest part of the table that `path` begins with."""
    parts = re.split(r"[.\[]", path)
    for length in range(len(parts), 0, -1):
        name = fields.get(".".join(parts[:length]))
        if name:
            return name
    return fields.get("", "")
