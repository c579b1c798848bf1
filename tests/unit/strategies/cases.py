"""Specs at the boundary of each rule: one that passes and one with a finding.

A case is `(code, field, passes, found)`. `passes` and `found` are changes to a valid submission, `{path: value}`. A
path that starts with @ is a field of the submission itself, and ABSENT removes the value.
"""

import copy
import re
from typing import Any

from jobs.spec import CUSTOM_TASK, Submission, read

ABSENT = object()
PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
POOL = {
    "machineSpec": {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1},
    "replicaCount": "1",
    "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
    "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/i:1"},
}
PACKAGE = {
    "executorImageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
    "packageUris": ["gs://bucket/trainer-1.tar.gz"],
    "pythonModule": "trainer.task",
}
SPEC = {
    "workerPoolSpecs": [POOL],
    "scheduling": {"timeout": "7200s"},
    "baseOutputDirectory": {"outputUriPrefix": "gs://bucket/out"},
}
STUDY = {
    "metrics": [{"metricId": "accuracy", "goal": "MAXIMIZE"}],
    "parameters": [
        {"parameterId": "lr", "doubleValueSpec": {"minValue": 0.001, "maxValue": 1}, "scaleType": "UNIT_LOG_SCALE"},
        {"parameterId": "opt", "categoricalValueSpec": {"values": ["sgd", "adam"]}},
    ],
}
TUNED = {"studySpec": STUDY, "maxTrialCount": 20, "parallelTrialCount": 2, "trialJobSpec": SPEC}
BODIES: dict[str, dict[str, Any]] = {
    "custom_job": {"displayName": "job", "jobSpec": SPEC},
    "hyperparameter_tuning_job": {"displayName": "job", **TUNED},
    "training_pipeline": {
        "displayName": "job",
        "trainingTaskDefinition": CUSTOM_TASK,
        "trainingTaskInputs": SPEC,
        "modelToUpload": {"displayName": "m", "containerSpec": {"imageUri": "i"}},
        "inputDataConfig": {"datasetId": "1", "fractionSplit": {"trainingFraction": 0.9, "testFraction": 0.1}},
    },
}


def put(body: Any, path: str, value: object) -> None:
    """Set the value at a path, filling the way with objects and empty pools."""
    parts: list[Any] = [int(number) if number else name for name, number in PART.findall(path)]
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if isinstance(part, int):
            body.extend({} for _ in range(part + 1 - len(body)))
        if after is None and value is ABSENT:
            body.pop(part)
        elif after is None:
            body[part] = copy.deepcopy(value)
        elif isinstance(part, str) and part not in body:
            body[part] = [] if isinstance(after, int) else {}
        body = body[part] if after is not None else body


def submission(kind: str, changes: dict[str, Any]) -> Submission:
    """Return the sound submission of a kind with some changes; the JSON must be one that `read` takes whole."""
    body = copy.deepcopy(BODIES[kind])
    around = {"project": "p", "region": "us-central1"}
    for path, value in changes.items():
        if path.startswith("@"):
            around[path[1:]] = value
        else:
            put(body, path, value)
    job, findings = read(kind, body)
    assert not findings, findings
    return Submission(kind=kind, job=job, **around)


def pool(index: int = 1, **changes: Any) -> dict[str, Any]:
    """Return the change that adds a sound pool at an index."""
    return {f"jobSpec.workerPoolSpecs[{index}]": POOL | changes}


W = "jobSpec.workerPoolSpecs[0]"
M, C, Y = f"{W}.machineSpec", f"{W}.containerSpec", f"{W}.pythonPackageSpec"
PY: dict[str, Any] = {C: ABSENT, Y: PACKAGE}
N1 = {M: {"machineType": "n1-standard-16"}}
CPU = {"machineType": "n1-standard-4"}
TPU = {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"}
CLOUD_TPU = {"machineType": "cloud-tpu", "acceleratorType": "TPU_V2", "acceleratorCount": 8}
SPOT, FLEX = {"jobSpec.scheduling.strategy": "SPOT"}, {"jobSpec.scheduling.strategy": "FLEX_START"}
RESERVATION = {
    "reservationAffinityType": "SPECIFIC_RESERVATION",
    "key": "compute.googleapis.com/reservation-name",
    "values": ["projects/p/zones/us-central1-a/reservations/r"],
}
R = f"{M}.reservationAffinity"
RESERVED = {R: RESERVATION}
ANY = {R: {"reservationAffinityType": "ANY_RESERVATION"}}
NONE = {R: {"reservationAffinityType": "NO_RESERVATION"}}
PR = {"jobSpec.persistentResourceId": "pool-1"}
TB = {"jobSpec.tensorboard": "projects/p/locations/us-central1/tensorboards/1"}
SA = {"jobSpec.serviceAccount": "robot@p.iam.gserviceaccount.com"}
NET = {"jobSpec.network": "projects/123/global/networks/default"}
NFS = {"server": "10.0.0.2", "path": "/share", "mountPoint": "data"}
LUSTRE = {"instanceIp": "10.0.0.3", "volumeHandle": "v", "filesystem": "fs", "mountPoint": "data"}
KMS = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
CONTEXT = "projects/p/locations/us-central1/metadataStores/default/contexts/e"
H100 = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}
MEGA = {"machineType": "a3-megagpu-8g", "acceleratorType": "NVIDIA_H100_MEGA_80GB", "acceleratorCount": 8}
GB200 = {"machineType": "a4x-highgpu-4g", "acceleratorType": "NVIDIA_GB200", "acceleratorCount": 4}
T4 = CPU | {"acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
REDUCER = {"imageUri": "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"}

Case = tuple[str, str, dict[str, Any], dict[str, Any]]

NAMES: list[Case] = [
    ("display_name_is_given", "displayName", {"displayName": "x"}, {"displayName": ""}),
    ("display_name_is_short", "displayName", {"displayName": "ü" * 128}, {"displayName": "ü" * 129}),
    ("region_is_given", "", {"@region": "us-central1"}, {"@region": ""}),
    ("region_trains", "", {"@region": "us-west4", M: CPU}, {"@region": "us-west9", M: CPU}),
    ("region_is_short", "", {"@region": "a" * 40, M: CPU}, {"@region": "a" * 41, M: CPU}),
    ("unknown_field", "jobSpec.logFormat", {"jobSpec.network": ""}, {"jobSpec.logFormat": "json"}),
    ("unknown_value", f"{M}.acceleratorType", {M: CPU}, {M: CPU | {"acceleratorType": "NVIDIA_B300"}}),
    ("too_many_unknown", "", {f"x{n}": n for n in range(50)}, {f"x{n}": n for n in range(51)}),
    ("labels_are_valid", "labels[a]", {"labels": {"a": "é_-9" * 16}}, {"labels": {"a": "é_-9" * 16 + "x"}}),
    ("labels_are_valid", "labels[Team]", {"labels": {"größe": "東京"}}, {"labels": {"Team": "x"}}),
    ("labels_are_valid", "labels[a]", {"labels": {"a": ""}}, {"labels": {"a": "a.b"}}),
    ("labels_are_valid", "labels", {"labels": {}}, {"labels": {"": "x"}}),
    ("label_keys_start_with_a_letter", "labels[9a]", {"labels": {"a9": ""}}, {"labels": {"9a": ""}}),
    (
        "labels_are_at_most_64",
        "labels",
        {"labels": {f"l{n}": "" for n in range(62)}},
        {"labels": {f"l{n}": "" for n in range(63)}},
    ),
    (
        "labels_leave_trainboards_alone",
        "labels[trainboard_job]",
        {"labels": {"trainboard": "x"}},
        {"labels": {"trainboard_job": "x"}},
    ),
    ("output_fields_are_left_out", "state", {}, {"state": "JOB_STATE_QUEUED"}),
    (
        "placeholders_are_filled",
        f"{C}.imageUri",
        {C: {"imageUri": "gcr.io/p/i:V1_RC"}},
        {C: {"imageUri": "gcr.io/${P}/i"}},
    ),
    ("placeholders_are_filled", f"{M}.machineType", {M: CPU}, {M: {"machineType": "MACHINE_TYPE"}}),
    ("placeholders_are_filled", "displayName", {"displayName": "NIGHT_RUN"}, {"displayName": "{{ name }}"}),
    (
        "placeholders_are_filled",
        "jobSpec.baseOutputDirectory.outputUriPrefix",
        {"jobSpec.baseOutputDirectory.outputUriPrefix": "gs://bucket/MNIST"},
        {"jobSpec.baseOutputDirectory.outputUriPrefix": "gs://YOUR_BUCKET/x"},
    ),
    (
        "placeholders_are_filled",
        f"{W}.nfsMounts[0].server",
        {f"{W}.nfsMounts": [{"server": "10.0.0.1"}]},
        {f"{W}.nfsMounts": [{"server": "NFS_IP_ADDRESS"}]},
    ),
    (
        "placeholders_are_filled_or_confirmed",
        f"{C}.args[0]",
        {"@confirmed": frozenset({"--key=${args.key}"}), f"{C}.args": ["--key=${args.key}"]},
        {"@confirmed": frozenset({"--key"}), f"{C}.args": ["--key=${args.key}"]},
    ),
    (
        "confirmed_values_are_recorded",
        f"{C}.env[0].value",
        {f"{C}.env": [{"name": "LOG_LEVEL", "value": "INFO"}]},
        {"@confirmed": frozenset({"DATASET_ID"}), f"{C}.env": [{"name": "A", "value": "DATASET_ID"}]},
    ),
]
POOLS: list[Case] = [
    ("pools_are_given", "jobSpec.workerPoolSpecs", {}, {"jobSpec.workerPoolSpecs": [{}, {"replicaCount": 0}]}),
    ("first_pool_is_used", W, pool(1), {"jobSpec.workerPoolSpecs": [{}, POOL]}),
    ("first_pool_has_one_replica", f"{W}.replicaCount", {f"{W}.replicaCount": 1}, {f"{W}.replicaCount": 2}),
    ("pools_are_at_most_four", "jobSpec.workerPoolSpecs[4]", pool(3), pool(4)),
    ("replicas_are_at_least_one", "jobSpec.workerPoolSpecs[1].replicaCount", pool(1), pool(1, replicaCount=0)),
    ("replica_count_is_given", f"{W}.replicaCount", {}, {f"{W}.replicaCount": ABSENT}),
    ("pools_run_one_task", W, PY, {Y: PACKAGE}),
    ("pools_run_one_task", W, {}, {C: ABSENT}),
    ("evaluators_are_one", "jobSpec.workerPoolSpecs[3].replicaCount", pool(3), pool(3, replicaCount=2)),
    (
        "reduction_servers_have_no_gpus",
        "jobSpec.workerPoolSpecs[2].machineSpec.acceleratorType",
        pool(2, containerSpec=REDUCER, machineSpec=CPU),
        pool(2, containerSpec=REDUCER),
    ),
    (
        "reduction_servers_are_in_the_third_pool",
        "jobSpec.workerPoolSpecs[1]",
        pool(2, containerSpec=REDUCER, machineSpec=CPU),
        pool(1, containerSpec=REDUCER, machineSpec=CPU),
    ),
]
MACHINES: list[Case] = [
    ("machine_type_is_given", f"{M}.machineType", {}, {M: {}}),
    ("machine_type_trains", f"{M}.machineType", {M: CPU}, {M: {"machineType": "n1-standard-2"}}),
    ("machine_type_trains", f"{M}.machineType", {M: CPU}, {M: {"machineType": "n2d-standard-4"}}),
    (
        "small_machines_keep_memory",
        f"{M}.machineType",
        {M: {"machineType": "e2-highmem-4"}},
        {M: {"machineType": "e2-standard-4"}},
    ),
    ("accelerator_has_type_and_count", f"{M}.acceleratorCount", {}, {f"{M}.acceleratorCount": ABSENT}),
    ("accelerator_has_type_and_count", f"{M}.acceleratorType", {M: CPU}, {f"{M}.acceleratorType": ABSENT}),
    (
        "accelerator_has_type_and_count",
        f"{M}.acceleratorType",
        {M: CPU | {"acceleratorType": "ACCELERATOR_TYPE_UNSPECIFIED", "acceleratorCount": 0}},
        {M: CPU | {"acceleratorType": "ACCELERATOR_TYPE_UNSPECIFIED", "acceleratorCount": 1}},
    ),
    (
        "accelerators_are_not_retired",
        f"{M}.acceleratorType",
        {M: T4},
        {M: T4 | {"acceleratorType": "NVIDIA_TESLA_K80"}},
    ),
    (
        "accelerators_are_not_retired",
        f"{M}.acceleratorType",
        {M: T4 | {"acceleratorType": "NVIDIA_TESLA_V100"}},
        {M: T4 | {"acceleratorType": "NVIDIA_TESLA_P100"}},
    ),
    ("accelerators_fit_the_machine", f"{M}.acceleratorType", {}, {f"{M}.acceleratorCount": 2}),
    (
        "accelerators_fit_the_machine",
        f"{M}.acceleratorCount",
        N1 | {f"{M}.acceleratorType": "NVIDIA_TESLA_V100", f"{M}.acceleratorCount": 2},
        N1 | {f"{M}.acceleratorType": "NVIDIA_TESLA_V100", f"{M}.acceleratorCount": 1},
    ),
    ("accelerators_fit_the_machine", f"{M}.acceleratorType", {M: T4}, {f"{M}.machineType": "e2-standard-4"}),
    (
        "accelerators_fit_the_machine",
        f"{M}.acceleratorCount",
        {M: CLOUD_TPU | {"acceleratorCount": 32}},
        {M: CLOUD_TPU | {"acceleratorCount": 16}},
    ),
    ("fixed_accelerators_are_named", f"{M}.acceleratorType", {}, {M: {"machineType": "a2-highgpu-1g"}}),
    ("region_has_the_accelerator", f"{M}.acceleratorType", {"@region": "us-west4"}, {"@region": "us-west1"}),
    (
        "region_has_the_accelerator",
        f"{M}.machineType",
        {M: TPU, "@region": "us-west4"},
        {M: TPU, "@region": "us-east5"},
    ),
    (
        "region_has_the_accelerator",
        f"{M}.acceleratorType",
        {M: CLOUD_TPU, "@region": "asia-east1"},
        {M: CLOUD_TPU | {"acceleratorCount": 32}, "@region": "asia-east1"},
    ),
    ("accelerators_share_a_zone", "jobSpec.workerPoolSpecs", pool(1), pool(1, machineSpec=T4)),
    (
        "gpu_partitions_count_one",
        f"{M}.acceleratorCount",
        {f"{M}.gpuPartitionSize": "1g.10gb"},
        {f"{M}.gpuPartitionSize": "1g.10gb", f"{M}.acceleratorCount": 2},
    ),
    ("gb200_comes_from_a_reservation", R, {M: GB200} | RESERVED, {M: GB200} | ANY),
    ("tpu_topology_is_known", f"{M}.tpuTopology", {M: TPU}, {M: TPU | {"tpuTopology": "3x3"}}),
    ("tpu_topology_fits", f"{M}.tpuTopology", {M: TPU}, {M: {"machineType": "ct5lp-hightpu-4t"}}),
    ("tpu_topology_fits", f"{M}.tpuTopology", {M: CPU}, {M: CPU | {"tpuTopology": "2x2"}}),
    ("tpu_pools_have_one_replica", f"{W}.replicaCount", {M: TPU}, {M: TPU, f"{W}.replicaCount": 2}),
    ("tpu_jobs_have_one_pool", W, {M: TPU}, {M: TPU} | pool(1)),
    ("cloud_tpu_names_its_cores", f"{M}.acceleratorType", {M: CLOUD_TPU}, {M: {"machineType": "cloud-tpu"}}),
]
