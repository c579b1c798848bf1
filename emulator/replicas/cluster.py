"""The environment variables of a replica, as described in "Training code requirements" and "Distributed training".

Intended differences: hosts are `127.0.0.1:PORT`, so that replicas reach each other. AIP_ folders are local paths in the
bucket's folder, so that plain file code works. STORAGE_EMULATOR_HOST is for Google's storage client.
"""

import json
import os
import re
from pathlib import Path

from emulator.protocol.documents import Document
from emulator.state.folders import Folders
from emulator.state.records import Job

TF_TYPES = {0: "chief", 1: "worker", 2: "ps", 3: "evaluator"}
REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def host_name(job: Job, replica: str) -> str:
    """Return the host name of a replica, which does not change over restarts."""
    pool, _, index = replica.partition("-")
    return f"cmle-training-{pool}-{job.id[-10:]}-{index}"


def parse_replica(replica: str) -> tuple[int, int]:
    """Return (pool, index) of `workerpool1-2`."""
    pool, _, index = replica.removeprefix("workerpool").partition("-")
    return int(pool), int(index)


def _addresses(job: Job) -> dict[int, list[str]]:
    cluster: dict[int, list[str]] = {}
    for replica in job.replica_names:
        cluster.setdefault(parse_replica(replica)[0], []).append(f"127.0.0.1:{job.ports[replica]}")
    return cluster


def _trial(job: Job) -> dict[str, str]:
    return {"trial": job.trial} if job.trial else {}


def cluster_spec(job: Job, replica: str) -> Document:
    """Return the content of CLUSTER_SPEC."""
    pool, index = parse_replica(replica)
    return {
        "cluster": {f"workerpool{number}": hosts for number, hosts in _addresses(job).items()},
        "environment": "cloud",
        "task": {"type": f"workerpool{pool}", "index": index} | _trial(job),
        "job": json.dumps(job.spec),
    }


def tf_config(job: Job, replica: str) -> Document:
    """Return the content of TF_CONFIG, with roles instead of pools and without the evaluator among the hosts."""
    pool, index = parse_replica(replica)
    hosts = {TF_TYPES[number]: addresses for number, addresses in _addresses(job).items() if number in TF_TYPES}
    hosts.pop("evaluator", None)
    return {
        "cluster": hosts,
        "environment": "cloud",
        "job": job.spec,
        "task": {"type": TF_TYPES.get(pool, "worker"), "index": index, "cloud": job.id} | _trial(job),
    }


def output_folders(job: Job, folders: Folders) -> dict[str, str]:
    """Return the AIP_ folders as local paths, `{}` without a base output directory."""
    prefix = job.spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "")
    if not prefix:
        return {}
    base = folders.local(prefix).rstrip("/") + (f"/{job.trial}" if job.trial else "")
    return {
        "AIP_MODEL_DIR": f"{base}/model/",
        "AIP_CHECKPOINT_DIR": f"{base}/checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": f"{base}/logs/",
    }


def service_variables(job: Job, replica: str, folders: Folders) -> dict[str, str]:
    """Return the variables that the service sets."""
    variables = {
        "CLOUD_ML_PROJECT_ID": job.project,
        "CLOUD_ML_JOB_ID": job.id,
        "GOOGLE_CLOUD_PROJECT": f"emulated-{job.project[-6:]}-tp",
        "HOSTNAME": host_name(job, replica),
        "CLUSTER_SPEC": json.dumps(cluster_spec(job, replica)),
        **output_folders(job, folders),
    }
    if len(job.replica_names) > 1:
        variables["TF_CONFIG"] = json.dumps(tf_config(job, replica))
    if job.trial:
        variables["CLOUD_ML_TRIAL_ID"] = job.trial
        variables["CLOUD_ML_HP_METRIC_FILE"] = str(metric_file(job, folders))
    if job.spec.get("tensorboard"):
        variables["AIP_TENSORBOARD_RESOURCE_NAME"] = job.spec["tensorboard"]
        variables["AIP_TENSORBOARD_API_URI"] = f"{job.location}-aiplatform.googleapis.com"
    return variables


def metric_file(job: Job, folders: Folders) -> Path:
    """Return the file in which a trial's primary reports its metric.

    cloudml-hypertune reads its path from CLOUD_ML_HP_METRIC_FILE.
    """
    return folders.scratch(job, "workerpool0-0") / "hypertune" / "output.metrics"


def expand(value: str, known: dict[str, str]) -> str:
    """Expand `$(NAME)`. An unknown name is kept as it is, and `$$` is one dollar."""

    def replace(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else known.get(match[1], match[0])

    return REFERENCE.sub(replace, value)


def build_environment(
    job: Job, replica: str, task: Document, folders: Folders, inherited: dict[str, str]
) -> dict[str, str]:
    """Return all variables of a replica: inherited, the service's, then the user's, which may refer to earlier ones."""
    variables = inherited | service_variables(job, replica, folders)
    for item in task.get("env", []):
        variables[item["name"]] = folders.local(expand(item.get("value", ""), variables))
    return variables


def inherited_variables(programs: Path, scratch: Path, *, storage: str) -> dict[str, str]:
    """Return the variables that a replica inherits from this machine. The folder `programs` is first in its PATH."""
    path = os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)])
    variables = {
        "PATH": path,
        "HOME": str(scratch),
        "TMPDIR": str(scratch / "tmp"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "PYTHONUNBUFFERED": "1",
    }
    return variables | ({"STORAGE_EMULATOR_HOST": storage} if storage else {})
