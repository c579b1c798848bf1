"""The checks of Vertex AI when a job is created, with its messages. Nothing is checked again later.

Sources: field comments of the v1 protos ("Required.", limits), "Configure compute resources for training" and "Create
custom training jobs" in Google's documentation (read 2026-08), and error texts seen in public issue threads. A check
yields (snake_case field path, message). `raise_findings` joins them tab-separated as the service does.
"""

import re
from collections.abc import Iterable

from emulator.capacity.machines import MACHINES
from emulator.creation import strategy_checks
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid
from emulator.protocol.names import is_bucket

Findings = Iterable[tuple[str, str]]
PLAIN_LABEL = re.compile(r"[a-z0-9_-]{0,64}")
REQUIRED = "Required field is not set."
MAX_NAME_CHARACTERS, MAX_ENV, MAX_PACKAGES, MAX_ARGS_CHARACTERS, MAX_POOLS, MAX_LABELS = 128, 100, 100, 100_000, 4, 64
MAX_LABEL_CHARACTERS = 64
DISK_GB = range(100, 64_001)


def raise_findings(findings: Findings) -> None:
    """Raise ApiError 400 with all findings, numbered and tab-separated, if there are any."""
    listed = list(findings)
    if listed:
        items = "".join(f"{number}.Field: {at}; Message: {text}\t" for number, (at, text) in enumerate(listed, 1))
        raise invalid(f"List of found errors:\t{items}", violations=listed)


def name_and_labels(resource: Document) -> Findings:
    """Check the fields that all resources have."""
    yield from display_name(resource)
    yield from labels(resource)


def display_name(resource: Document, *, required: bool = True) -> Findings:
    """Check the display name: 1 to 128 characters."""
    name = resource.get("displayName", "")
    if not name and required:
        yield "display_name", REQUIRED
    if len(name) > MAX_NAME_CHARACTERS:
        yield "display_name", f"The display name must be at most {MAX_NAME_CHARACTERS} characters long."


def labels(resource: Document) -> Findings:
    """Check the labels: at most 64, of lowercase letters, digits, underscores and dashes, up to 64 characters."""
    entries = resource.get("labels", {})
    if len(entries) > MAX_LABELS:
        yield "labels", f"At most {MAX_LABELS} labels are allowed."
    for key, value in entries.items():
        if not key or not key[0].isalpha() or not _is_label(key):
            yield "labels", f'Label key "{key}" is not valid.'
        if not _is_label(value):
            yield "labels", f'Label value "{value}" of key "{key}" is not valid.'


def _is_label(text: str) -> bool:
    if PLAIN_LABEL.fullmatch(text):
        return True
    return len(text) <= MAX_LABEL_CHARACTERS and all(
        char in "_-" or char.isdigit() or (char.isalpha() and char == char.lower()) for char in text
    )


def custom_job(job: Document) -> Findings:
    """Check a CustomJob."""
    yield from name_and_labels(job)
    if "jobSpec" not in job:
        yield "job_spec", REQUIRED
    else:
        yield from job_spec(job["jobSpec"], at="job_spec")


def job_spec(spec: Document, *, at: str) -> Findings:
    """Check a CustomJobSpec: worker pools, scheduling, output directory."""
    prefix = f"{at}." if at else ""
    pools = spec.get("workerPoolSpecs", [])
    if not pools or not pools[0]:
        yield f"{prefix}worker_pool_specs", REQUIRED
    if len(pools) > MAX_POOLS:
        yield f"{prefix}worker_pool_specs", f"At most {MAX_POOLS} worker pools are allowed."
    for index, pool in enumerate(pools):
        if pool:
            yield from worker_pool(pool, at=f"{prefix}worker_pool_specs[{index}]", is_first=index == 0)
    yield from strategy_checks.scheduling(spec, at=prefix)
    if "baseOutputDirectory" in spec:
        uri = spec["baseOutputDirectory"].get("outputUriPrefix", "")
        where = f"{prefix}base_output_directory.output_uri_prefix"
        if not uri:
            yield where, REQUIRED
        elif not _is_storage_path(uri):
            yield where, f'"{uri}" is not a valid Google Cloud Storage path.'
    if spec.get("tensorboard") and not spec.get("serviceAccount"):
        yield f"{prefix}service_account", "`service_account` is required when `tensorboard` is set."


def worker_pool(pool: Document, *, at: str, is_first: bool) -> Findings:
    """Check a worker pool: replicas, machine, disk, and exactly one of container and Python package."""
    replicas = int(pool.get("replicaCount", "1"))
    if is_first and replicas != 1:
        yield f"{at}.replica_count", "The replica count of the first worker pool must be 1."
    if replicas < 0:
        yield f"{at}.replica_count", "The replica count must not be negative."
    yield from machine(pool.get("machineSpec", {}), at=f"{at}.machine_spec")
    size = pool.get("diskSpec", {}).get("bootDiskSizeGb", DISK_GB.start)
    if size not in DISK_GB:
        limits = f"between {DISK_GB.start} and {DISK_GB.stop - 1}"
        yield f"{at}.disk_spec.boot_disk_size_gb", f"Boot disk size must be {limits} GB, got {size}."
    if "containerSpec" in pool:
        yield from _task(pool["containerSpec"], at=f"{at}.container_spec", required=("imageUri",))
    elif "pythonPackageSpec" in pool:
        needed = ("executorImageUri", "packageUris", "pythonModule")
        yield from _task(pool["pythonPackageSpec"], at=f"{at}.python_package_spec", required=needed)
    else:
        yield at, "One of `container_spec` or `python_package_spec` must be set."


def _task(task: Document, *, at: str, required: tuple[str, ...]) -> Findings:
    for name in required:
        if not task.get(name):
            yield f"{at}.{re.sub('([A-Z])', lambda match: '_' + match[1].lower(), name)}", REQUIRED
    if len(task.get("packageUris", [])) > MAX_PACKAGES:
        yield f"{at}.package_uris", f"At most {MAX_PACKAGES} package URIs are allowed."
    for index, uri in enumerate(task.get("packageUris", [])):
        if not _is_storage_path(uri):
            yield f"{at}.package_uris[{index}]", f'"{uri}" is not a valid Google Cloud Storage path.'
    if sum(map(len, task.get("args", []))) > MAX_ARGS_CHARACTERS:
        yield f"{at}.args", f"The combined length of all args must be at most {MAX_ARGS_CHARACTERS} characters."
    if len(task.get("env", [])) > MAX_ENV:
        yield f"{at}.env", f"At most {MAX_ENV} environment variables are allowed."
    for index, variable in enumerate(task.get("env", [])):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable.get("name", "")):
            yield f"{at}.env[{index}].name", "The name of an environment variable must be a valid C identifier."


def _is_storage_path(uri: str) -> bool:
    return uri.startswith("gs://") and is_bucket(uri[5:].partition("/")[0])


def machine(spec: Document, *, at: str) -> Findings:
    """Check for a machine type that training offers, with accelerators that fit it."""
    name = spec.get("machineType", "")
    kind, count = spec.get("acceleratorType", ""), spec.get("acceleratorCount", 0)
    if not name:
        yield f"{at}.machine_type", REQUIRED
        return
    if bool(kind) != bool(count):
        text = "Both `accelerator_type` and `accelerator_count` should be specified or none."
        yield f"{at}.accelerator_type", text
    elif name in MACHINES and kind and not MACHINES[name].accepts(str(kind), count):
        raise invalid(f'Accelerator "{kind}" is not supported for machine type "{name}"')
    if name not in MACHINES:
        raise invalid(f'Machine type "{name}" is not supported.')
    affinity = spec.get("reservationAffinity", {})
    if affinity.get("reservationAffinityType") == "SPECIFIC_RESERVATION":
        if affinity.get("key") != "compute.googleapis.com/reservation-name":
            text = "The key of a specific reservation must be `compute.googleapis.com/reservation-name`."
            yield f"{at}.reservation_affinity.key", text
        if not affinity.get("values"):
            yield f"{at}.reservation_affinity.values", REQUIRED


def fill_job_spec(spec: Document) -> None:
    """Set the defaults of a CustomJobSpec in place: the boot disk of each pool, and the slash of the output prefix."""
    for pool in spec.get("workerPoolSpecs", []):
        if pool:
            machine_type = pool.get("machineSpec", {}).get("machineType")
            hyper = machine_type in ("a3-ultragpu-8g", "a4-highgpu-8g")
            disk = pool.setdefault("diskSpec", {})
            disk.setdefault("bootDiskType", "hyperdisk-balanced" if hyper else "pd-ssd")
            disk.setdefault("bootDiskSizeGb", DISK_GB.start)
            pool.setdefault("replicaCount", "1")
    if "baseOutputDirectory" in spec:
        prefix = spec["baseOutputDirectory"]["outputUriPrefix"]
        spec["baseOutputDirectory"]["outputUriPrefix"] = prefix if prefix.endswith("/") else prefix + "/"
