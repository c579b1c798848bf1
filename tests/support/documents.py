"""One job in each shape shown in Google's documentation, written in every usual format.

The shapes are those of Vertex AI's pages on Spot VMs, Flex-start, reservations and persistent resources, and of the
CustomJobSpec protos, read 2026-11-21. Names and values are our own. A body is proto JSON, in which a 64-bit count is a
string; the texts have a number instead, as people write it.
"""

from dataclasses import dataclass, field
from typing import Any

PROJECT, REGION = "vision-research", "us-central1"
IMAGE = "us-docker.pkg.dev/vision-research/train/penguins:1"
RESERVATION = "projects/vision-research/zones/us-central1-a/reservations/spring"
A100 = {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}
L4 = {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
T4 = {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
CREATE = f"gcloud ai custom-jobs create --project={PROJECT} --region={REGION} --display-name=penguins"
INIT = f"""from google.cloud import aiplatform
from google.cloud.aiplatform_v1.types import custom_job as gca_custom_job

aiplatform.init(project="{PROJECT}", location="{REGION}")
"""


@dataclass(frozen=True)
class Document:
    """A job: its REST body, the same job in four formats, the files that its command names, and values for the form.

    `typed` are fields of the compose page. Those of the first worker pool start with `pool-0-`.
    """

    body: dict[str, Any]
    texts: dict[str, str]
    typed: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)


def body(pool: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a CustomJob with one worker pool of one machine."""
    pool = {**pool, "replicaCount": "1", "containerSpec": {"imageUri": IMAGE}}
    return {"displayName": "penguins", "jobSpec": {"workerPoolSpecs": [pool], **spec}}


def rest(pool: str, spec: str) -> str:
    """Return the request in the layout of the documentation."""
    return f"""{{
  "displayName": "penguins",
  "jobSpec": {{
    "workerPoolSpecs": [
      {{
        {pool},
        "replicaCount": 1,
        "containerSpec": {{"imageUri": "{IMAGE}"}}
      }}
    ]{spec and f", {spec}"}
  }}
}}
"""


def scheduled(machine: dict[str, Any], strategy: str, wait: str, typed: dict[str, str]) -> Document:
    """Return the document of a strategy set by `scheduling`. `wait` is its maxWaitDuration in seconds, or ""."""
    name, gpu, count = machine.values()
    limit = {"maxWaitDuration": f"{wait}s"} if wait else {}
    line = f"\n  maxWaitDuration: {wait}s" if wait else ""
    chosen = f"scheduling:\n  strategy: {strategy}{line}\n"
    argument = f"\n    max_wait_duration={wait}," if wait else ""
    tail = f', "maxWaitDuration": "{wait}s"' if wait else ""
    flag = f"machine-type={name},accelerator-type={gpu},accelerator-count={count},replica-count=1"
    wanted = f'"machineType": "{name}", "acceleratorType": "{gpu}", "acceleratorCount": {count}'
    python = f"""{INIT}
job = aiplatform.CustomJob(
    display_name="penguins",
    worker_pool_specs=[
        {{
            "machine_spec": {{
                "machine_type": "{name}",
                "accelerator_type": "{gpu}",
                "accelerator_count": {count},
            }},
            "replica_count": 1,
            "container_spec": {{"image_uri": "{IMAGE}"}},
        }}
    ],
)
job.run(
    scheduling_strategy=gca_custom_job.Scheduling.Strategy.{strategy},{argument}
)
"""
    return Document(
        body({"machineSpec": machine}, scheduling={"strategy": strategy, **limit}),
        {
            "rest": rest(f'"machineSpec": {{{wanted}}}', f'"scheduling": {{"strategy": "{strategy}"{tail}}}'),
            "gcloud-yaml": f"""# {CREATE} --config=job.yaml
workerPoolSpecs:
  machineSpec:
    machineType: {name}
    acceleratorType: {gpu}
    acceleratorCount: {count}
  replicaCount: 1
  containerSpec:
    imageUri: {IMAGE}
{chosen}""",
            "gcloud": f"""{CREATE} \\
  --worker-pool-spec={flag},container-image-uri={IMAGE} \\
  --config=scheduling.yaml
""",
            "python": python,
        },
        {"pool-0-machine_type": name, **typed},
        {"scheduling.yaml": chosen},
    )


SPOT = scheduled(A100, "SPOT", "", {"strategy": "spot"})
FLEX_START = scheduled(L4, "FLEX_START", "1800", {"strategy": "flex_start", "max_wait": "30 min"})
FLEX_START_WITHOUT_END = scheduled(L4, "FLEX_START", "0", {"strategy": "flex_start", "max_wait": "0 s"})

PERSISTENT_RESOURCE = Document(
    body(
        {"machineSpec": T4, "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}},
        persistentResourceId="penguin-house",
    ),
    {
        "rest": rest(
            '"machineSpec": {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", '
            '"acceleratorCount": 1},\n        "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}',
            '"persistentResourceId": "penguin-house"',
        ),
        "gcloud-yaml": f"""# {CREATE} --config=job.yaml
persistentResourceId: penguin-house
workerPoolSpecs:
- machineSpec:
    machineType: n1-standard-8
    acceleratorType: NVIDIA_TESLA_T4
    acceleratorCount: 1
  diskSpec:
    bootDiskType: pd-ssd
    bootDiskSizeGb: 200
  replicaCount: 1
  containerSpec:
    imageUri: {IMAGE}
""",
        "gcloud": f"""{CREATE} \\
  --persistent-resource-id=penguin-house \\
  --worker-pool-spec=machine-type=n1-standard-8,accelerator-type=NVIDIA_TESLA_T4,replica-count=1,boot-disk-type=pd-ssd,boot-disk-size=200,container-image-uri={IMAGE}
""",
        "python": f"""{INIT}
aiplatform.CustomJob(
    display_name="penguins",
    worker_pool_specs=[
        {{
            "machine_spec": {{
                "machine_type": "n1-standard-8",
                "accelerator_type": "NVIDIA_TESLA_T4",
                "accelerator_count": 1,
            }},
            "disk_spec": {{"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 200}},
            "replica_count": 1,
            "container_spec": {{"image_uri": "{IMAGE}"}},
        }}
    ],
    persistent_resource_id="penguin-house",
).run()
""",
    },
    {
        "strategy": "persistent",
        "resource": "penguin-house",
        "pool-0-machine_type": "n1-standard-8",
        "pool-0-accelerator_type": "NVIDIA_TESLA_T4",
        "pool-0-accelerator_count": "1",
        "pool-0-disk_type": "pd-ssd",
        "pool-0-disk_gb": "200",
    },
)

AFFINITY = {
    "reservationAffinityType": "SPECIFIC_RESERVATION",
    "key": "compute.googleapis.com/reservation-name",
    "values": [RESERVATION],
}
RESERVED = Document(
    body({"machineSpec": A100 | {"reservationAffinity": AFFINITY}}),
    {
        "rest": rest(
            f'''"machineSpec": {{
          "machineType": "a2-highgpu-1g",
          "acceleratorType": "NVIDIA_TESLA_A100",
          "acceleratorCount": 1,
          "reservationAffinity": {{
            "reservationAffinityType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": ["{RESERVATION}"]
          }}
        }}''',
            "",
        ),
        "gcloud-yaml": f"""# {CREATE} --config=job.yaml
workerPoolSpecs:
- machineSpec:
    machineType: a2-highgpu-1g
    acceleratorType: NVIDIA_TESLA_A100
    acceleratorCount: 1
    reservationAffinity:
      reservationAffinityType: SPECIFIC_RESERVATION
      key: compute.googleapis.com/reservation-name
      values:
      - {RESERVATION}
  replicaCount: 1
  containerSpec:
    imageUri: {IMAGE}
""",
        "gcloud": f"""{CREATE} \\
  --worker-pool-spec=machine-type=a2-highgpu-1g,accelerator-type=NVIDIA_TESLA_A100,accelerator-count=1,reservation-affinity-type=SPECIFIC_RESERVATION,key=compute.googleapis.com/reservation-name,values={RESERVATION},replica-count=1,container-image-uri={IMAGE}
""",
        "python": f"""{INIT}
spec = {{
    "machine_spec": {{
        "machine_type": "a2-highgpu-1g",
        "accelerator_type": "NVIDIA_TESLA_A100",
        "accelerator_count": 1,
        "reservation_affinity": {{
            "reservation_affinity_type": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": ["{RESERVATION}"],
        }},
    }},
    "replica_count": 1,
    "container_spec": {{"image_uri": "{IMAGE}"}},
}}
aiplatform.CustomJob(display_name="penguins", worker_pool_specs=[spec]).run()
""",
    },
    {"strategy": "reservation", "reservation": RESERVATION, "pool-0-machine_type": "a2-highgpu-1g"},
)

DOCUMENTS: dict[str, Document] = {
    "Spot": SPOT,
    "Flex-start": FLEX_START,
    "Flex-start that waits without end": FLEX_START_WITHOUT_END,
    "persistent resource": PERSISTENT_RESOURCE,
    "reservation": RESERVED,
}
