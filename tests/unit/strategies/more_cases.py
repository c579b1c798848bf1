"""Specs at the boundary of the rules of tasks, surroundings, time and strategies."""

from tests.unit.strategies.cases import (
    ABSENT,
    ANY,
    CONTEXT,
    CPU,
    FLEX,
    H100,
    KMS,
    LUSTRE,
    MEGA,
    NET,
    NFS,
    NONE,
    PACKAGE,
    PR,
    PY,
    RESERVATION,
    RESERVED,
    SA,
    SPOT,
    T4,
    TB,
    TPU,
    C,
    Case,
    M,
    R,
    W,
    Y,
    pool,
)

OUT = "jobSpec.baseOutputDirectory.outputUriPrefix"
WAIT, TIMEOUT = "jobSpec.scheduling.maxWaitDuration", "jobSpec.scheduling.timeout"
S = "jobSpec.scheduling"
PYTHON = {"imageUri": "python:3.11-slim"}
NVIDIA_117, NVIDIA_118 = ({"imageUri": f"nvidia/cuda:11.{minor}.1-cudnn8-runtime-ubuntu22.04"} for minor in (7, 8))
NVIDIA_129, NVIDIA_130 = {"imageUri": "gcr.io/p/i:2-cuda12.9"}, {"imageUri": "gcr.io/p/i:3-cu130"}
TRAINING = "us-docker.pkg.dev/vertex-ai/training"
GPU_IMAGE = f"{TRAINING}/tf-gpu.2-17.py310:latest"
TF_11, TF_12 = f"{TRAINING}/tf-gpu.2-14.py310:latest", f"{TRAINING}/tf-gpu.2-15.py310:latest"
V100 = CPU | {"acceleratorType": "NVIDIA_TESLA_V100", "acceleratorCount": 1}
B200 = {"machineType": "a4-highgpu-8g", "acceleratorType": "NVIDIA_B200", "acceleratorCount": 8}


def env(count: int) -> list[dict[str, str]]:
    return [{"name": f"V{n}", "value": ""} for n in range(count)]


TASKS: list[Case] = [
    ("container_has_an_image", f"{C}.imageUri", {}, {f"{C}.imageUri": ""}),
    (
        "images_are_references",
        f"{C}.imageUri",
        {f"{C}.imageUri": "localhost:5000/i:V1"},
        {f"{C}.imageUri": "https://x/i"},
    ),
    (
        "images_are_references",
        f"{C}.imageUri",
        {f"{C}.imageUri": "python@sha256:" + "a" * 64},
        {f"{C}.imageUri": "a b"},
    ),
    ("gpus_have_an_image_with_cuda", f"{C}.imageUri", {M: CPU, C: PYTHON}, {C: PYTHON}),
    ("gpus_have_an_image_with_cuda", f"{Y}.executorImageUri", PY | {f"{Y}.executorImageUri": GPU_IMAGE}, PY),
    ("cuda_knows_the_gpu", f"{C}.imageUri", {C: NVIDIA_118, M: H100}, {C: NVIDIA_117, M: H100}),
    ("cuda_knows_the_gpu", f"{C}.imageUri", {C: NVIDIA_129, M: V100}, {C: NVIDIA_130, M: V100}),
    ("cuda_knows_the_gpu", f"{C}.imageUri", {C: {"imageUri": TF_12}, M: B200}, {C: {"imageUri": TF_11}, M: B200}),
    ("package_has_an_executor", f"{Y}.executorImageUri", PY, PY | {f"{Y}.executorImageUri": ""}),
    ("executors_are_prebuilt", f"{Y}.executorImageUri", PY, PY | {f"{Y}.executorImageUri": "python:3.11"}),
    ("package_names_its_files", f"{Y}.packageUris", PY, PY | {f"{Y}.packageUris": []}),
    ("package_names_its_files", f"{Y}.packageUris[0]", PY, PY | {f"{Y}.packageUris": ["dist/x.tar.gz"]}),
    (
        "packages_are_at_most_100",
        f"{Y}.packageUris",
        PY | {f"{Y}.packageUris": ["gs://bucket/x"] * 100},
        PY | {f"{Y}.packageUris": ["gs://bucket/x"] * 101},
    ),
    ("package_has_a_module", f"{Y}.pythonModule", PY, {C: ABSENT, Y: PACKAGE | {"pythonModule": ""}}),
    ("package_has_a_module", f"{Y}.pythonModule", PY, PY | {f"{Y}.pythonModule": "trainer/task.py"}),
    ("env_is_at_most_100", f"{C}.env", {f"{C}.env": env(100)}, {f"{C}.env": env(101)}),
    ("env_is_at_most_100", f"{Y}.env", PY | {f"{Y}.env": env(100)}, PY | {f"{Y}.env": env(101)}),
    ("env_names_are_identifiers", f"{C}.env[0].name", {f"{C}.env": [{"name": "_A1"}]}, {f"{C}.env": [{"name": "1A"}]}),
    ("env_names_are_given_once", f"{C}.env[1].name", {f"{C}.env": env(2)}, {f"{C}.env": env(1) * 2}),
    (
        "env_leaves_vertex_names_alone",
        f"{C}.env[0].name",
        {f"{C}.env": [{"name": "MY_AIP_DIR"}]},
        {f"{C}.env": [{"name": "AIP_MODEL_DIR"}]},
    ),
    (
        "secrets_are_kept_in_secret_manager",
        f"{C}.env[0].value",
        {f"{C}.env": [{"name": "TOKENIZER", "value": "bert-base-uncased"}]},
        {f"{C}.env": [{"name": "HF_TOKEN", "value": "abc123xyz"}]},
    ),
    (
        "hidden_secrets_are_filled_in",
        f"{C}.args[1]",
        {f"{C}.args": ["--token", "hidden-secret"]},
        {f"{C}.args": ["--token", "<hidden-secret>"]},
    ),
    ("args_are_short", f"{C}.args", {f"{C}.args": ["x" * 99_999, "y"]}, {f"{C}.args": ["x" * 99_999, "yz"]}),
]
SURROUNDINGS: list[Case] = [
    ("service_account_is_an_address", "jobSpec.serviceAccount", SA, {"jobSpec.serviceAccount": "robot"}),
    ("tensorboard_has_a_service_account", "jobSpec.serviceAccount", TB | SA, TB),
    ("tensorboard_has_an_output", OUT, TB | SA, TB | SA | {OUT: ABSENT}),
    ("tensorboard_is_a_resource", "jobSpec.tensorboard", TB, {"jobSpec.tensorboard": "tensorboards/1"}),
    ("experiments_are_contexts", "jobSpec.experiment", {"jobSpec.experiment": CONTEXT}, {"jobSpec.experiment": "e"}),
    (
        "experiments_are_contexts",
        "jobSpec.experiment",
        {"jobSpec.experiment": CONTEXT, "jobSpec.experimentRun": CONTEXT},
        {"jobSpec.experimentRun": CONTEXT},
    ),
    ("network_is_a_resource", "jobSpec.network", NET, {"jobSpec.network": "default"}),
    (
        "network_has_a_project_number",
        "jobSpec.network",
        NET,
        {"jobSpec.network": "projects/my-project/global/networks/default"},
    ),
    (
        "ip_ranges_have_a_network",
        "jobSpec.reservedIpRanges",
        NET | {"jobSpec.reservedIpRanges": ["r"]},
        {"jobSpec.reservedIpRanges": ["r"]},
    ),
    (
        "private_interface_is_complete",
        "jobSpec.pscInterfaceConfig.dnsPeeringConfigs[0].domain",
        {"jobSpec.pscInterfaceConfig": {"networkAttachment": "a", "dnsPeeringConfigs": [{"domain": "x.internal."}]}},
        {"jobSpec.pscInterfaceConfig": {"networkAttachment": "a", "dnsPeeringConfigs": [{"domain": "x.internal"}]}},
    ),
    ("nfs_mounts_are_complete", "jobSpec.network", NET | {f"{W}.nfsMounts": [NFS]}, {f"{W}.nfsMounts": [NFS]}),
    (
        "nfs_mounts_are_complete",
        f"{W}.nfsMounts[0].path",
        NET | {f"{W}.nfsMounts": [NFS]},
        NET | {f"{W}.nfsMounts": [NFS | {"path": "share"}]},
    ),
    (
        "lustre_mounts_are_complete",
        f"{W}.lustreMounts[0].filesystem",
        {f"{W}.lustreMounts": [LUSTRE]},
        {f"{W}.lustreMounts": [LUSTRE | {"filesystem": ""}]},
    ),
    ("output_is_in_cloud_storage", OUT, {OUT: "gs://bucket"}, {OUT: "/tmp/out"}),
    ("output_is_in_cloud_storage", OUT, {OUT: "gs://bucket/"}, {OUT: "gs://"}),
    ("output_is_in_cloud_storage", OUT, {OUT: "gs://abc/MNIST"}, {OUT: "gs://b/MNIST"}),
    ("output_is_in_cloud_storage", OUT, {OUT: f"gs://{'b' * 63}/x"}, {OUT: f"gs://{'b' * 64}/x"}),
    ("output_is_in_cloud_storage", OUT, {OUT: "gs://${BUCKET}/x"}, {OUT: "gs://bucket-/x"}),
    (
        "encryption_key_is_in_the_region",
        "encryptionSpec.kmsKeyName",
        {"encryptionSpec.kmsKeyName": KMS},
        {"encryptionSpec.kmsKeyName": KMS.replace("us-central1", "us-east1")},
    ),
]
TIME: list[Case] = [
    ("durations_are_not_negative", TIMEOUT, {TIMEOUT: "1s"}, {TIMEOUT: "0s"}),
    ("durations_are_not_negative", WAIT, FLEX | {WAIT: "0s"}, FLEX | {WAIT: "-1s"}),
    ("timeout_is_given", TIMEOUT, {}, {S: ABSENT}),
    ("timeout_is_at_most_seven_days", TIMEOUT, {TIMEOUT: "604800s"}, {TIMEOUT: "604801s"}),
    ("timeout_is_at_most_seven_days", TIMEOUT, FLEX | {TIMEOUT: "691200s"}, SPOT | {TIMEOUT: "691200s"}),
    ("long_runs_save_checkpoints", TIMEOUT, {TIMEOUT: "14400s"}, {TIMEOUT: "14401s"}),
    (
        "retries_and_restarts_agree",
        f"{S}.restartJobOnWorkerRestart",
        {f"{S}.disableRetries": False, f"{S}.restartJobOnWorkerRestart": True},
        {f"{S}.disableRetries": True, f"{S}.restartJobOnWorkerRestart": True},
    ),
    ("waiting_belongs_to_flex_start", WAIT, FLEX | {WAIT: "60s"}, {WAIT: "60s"}),
    ("strategy_name_is_current", f"{S}.strategy", SPOT, {f"{S}.strategy": "LOW_COST"}),
    ("spot_needs_no_reservation", R, SPOT | NONE, SPOT | RESERVED),
    ("flex_start_needs_no_reservation", R, FLEX | NONE, FLEX | ANY),
    ("persistent_resource_needs_no_reservation", R, PR | NONE, PR | ANY),
    ("persistent_resource_needs_no_strategy", f"{S}.strategy", PR | {f"{S}.strategy": "STANDARD"}, PR | SPOT),
    ("persistent_resource_needs_no_strategy", f"{S}.strategy", PR, PR | FLEX),
]
AFFINITIES: list[Case] = [
    ("affinity_has_a_type", f"{R}.reservationAffinityType", ANY, {R: {}}),
    ("specific_reservation_is_named", f"{R}.key", RESERVED, {R: RESERVATION | {"key": "name"}}),
    ("specific_reservation_is_named", f"{R}.values", RESERVED, {R: RESERVATION | {"values": []}}),
    ("specific_reservation_is_named", f"{R}.values[0]", RESERVED, {R: RESERVATION | {"values": ["my-reservation"]}}),
    (
        "other_affinities_name_nothing",
        f"{R}.values",
        ANY,
        {R: RESERVATION | {"reservationAffinityType": "ANY_RESERVATION"}},
    ),
    (
        "reservation_is_in_the_region",
        f"{R}.values[0]",
        RESERVED,
        {"@region": "us-east4", M: H100, R: RESERVATION},
    ),
]
STRATEGY_RULES: list[Case] = [
    ("scarce_machines_are_reserved", f"{M}.machineType", {M: H100}, {M: MEGA}),
    ("spot_uses_a2_or_a3", f"{M}.machineType", SPOT, SPOT | {M: T4}),
    ("spot_has_no_tpu_pods", f"{M}.tpuTopology", SPOT | {M: TPU}, SPOT | {M: TPU | {"tpuTopology": "2x4"}}),
    ("spot_saves_checkpoints", OUT, SPOT, SPOT | {OUT: ABSENT}),
    ("flex_start_gpus_are_offered", f"{M}.machineType", FLEX, FLEX | {M: T4}),
    ("flex_start_gpus_are_offered", f"{M}.machineType", FLEX | {M: H100}, FLEX | {M: CPU}),
    ("flex_start_runs_at_most_seven_days", TIMEOUT, FLEX | {TIMEOUT: "604800s"}, FLEX | {TIMEOUT: "604801s"}),
    (
        "flex_start_has_one_machine_configuration",
        "jobSpec.workerPoolSpecs[2].machineSpec",
        FLEX | pool(2),
        FLEX | pool(2, machineSpec=H100),
    ),
    (
        "flex_start_disks_are_the_same",
        "jobSpec.workerPoolSpecs[1].diskSpec",
        FLEX | pool(1),
        FLEX | pool(1, diskSpec={}),
    ),
    ("flex_start_wait_is_given", WAIT, FLEX | {WAIT: "1s"}, FLEX),
    ("flex_start_wait_is_given", WAIT, FLEX | {WAIT: "1s"}, FLEX | {WAIT: "0s"}),
    (
        "reservation_holds_one_machine",
        "jobSpec.workerPoolSpecs[1].machineSpec",
        RESERVED | pool(1, machineSpec=T4),
        RESERVED | pool(1, machineSpec=T4 | {"reservationAffinity": RESERVATION}),
    ),
    (
        "reservation_covers_every_pool",
        "jobSpec.workerPoolSpecs[1].machineSpec.reservationAffinity",
        RESERVED,
        RESERVED | pool(1),
    ),
    ("any_reservation_falls_back", f"{R}.reservationAffinityType", RESERVED, ANY),
    ("resource_is_named", "jobSpec.persistentResourceId", PR, {"jobSpec.persistentResourceId": "projects/p/x/pool-1"}),
    (
        "resource_is_named",
        "jobSpec.persistentResourceId",
        {"jobSpec.persistentResourceId": "p" * 63},
        {"jobSpec.persistentResourceId": "p" * 64},
    ),
    ("disk_is_spelled_out", f"{W}.diskSpec.bootDiskType", PR, PR | {f"{W}.diskSpec": ABSENT}),
]
DISK, SIZE = f"{W}.diskSpec.bootDiskType", f"{W}.diskSpec.bootDiskSizeGb"
DISKS: list[Case] = [
    ("boot_disk_size_is_in_range", SIZE, {SIZE: 100}, {SIZE: 99}),
    ("boot_disk_size_is_in_range", SIZE, {SIZE: 64_000}, {SIZE: 64_001}),
    ("boot_disk_size_is_in_range", SIZE, {SIZE: 0}, {SIZE: -1}),
    ("boot_disk_type_is_known", DISK, {DISK: "pd-standard"}, {DISK: "pd_standard"}),
    (
        "newest_machines_take_hyperdisk",
        DISK,
        {M: {"machineType": "n4-standard-4"}, DISK: "hyperdisk-balanced"},
        {M: {"machineType": "n4-standard-4"}, DISK: ABSENT},
    ),
]
