"""Worker pools: the machines of a job and what runs on them.

Source: google-cloud-aiplatform 2.7.0, types/{custom_job,machine_resources,reservation_affinity,env_var}.py, read
2026-11-21.
"""

from typing import Annotated

from jobs.spec.fields import FreeObject, Int32, Int64, Message, Text, enum

ACCELERATOR_TYPES = enum(
    "ACCELERATOR_TYPE_UNSPECIFIED",
    "NVIDIA_TESLA_K80",
    "NVIDIA_TESLA_P100",
    "NVIDIA_TESLA_V100",
    "NVIDIA_TESLA_P4",
    "NVIDIA_TESLA_T4",
    "TPU_V2",
    "TPU_V3",
    "NVIDIA_TESLA_A100",
    "NVIDIA_A100_80GB",
    "TPU_V4_POD",
    "NVIDIA_L4",
    "TPU_V5_LITEPOD",
    "NVIDIA_H100_80GB",
    "NVIDIA_H100_MEGA_80GB",
    "NVIDIA_H200_141GB",
    "NVIDIA_B200",
    "NVIDIA_GB200",
    "NVIDIA_RTX_PRO_6000",
)
AFFINITY_TYPES = enum("TYPE_UNSPECIFIED", "NO_RESERVATION", "ANY_RESERVATION", "SPECIFIC_RESERVATION")
DEFAULT_BOOT_DISK_GB = 100


class EnvVar(Message):
    """An environment variable; Vertex AI expands `$(OTHER)` in its value."""

    name: Text = ""
    value: Text = ""


class ContainerSpec(Message):
    """A container: its image, and the replacements of its ENTRYPOINT (`command`) and CMD (`args`)."""

    image_uri: Text = ""
    command: tuple[Text, ...] = ()
    args: tuple[Text, ...] = ()
    env: tuple[EnvVar, ...] = ()


class PythonPackageSpec(Message):
    """Python packages that one of Google's prebuilt images installs, and the module that it runs."""

    executor_image_uri: Text = ""
    package_uris: tuple[Text, ...] = ()
    python_module: Text = ""
    args: tuple[Text, ...] = ()
    env: tuple[EnvVar, ...] = ()


class ReservationAffinity(Message):
    """The Compute Engine reservation that machines are taken from."""

    reservation_affinity_type: Annotated[str, *AFFINITY_TYPES] = "TYPE_UNSPECIFIED"
    key: Text = ""
    values: tuple[Text, ...] = ()


class MachineSpec(Message):
    """One machine: its type, accelerators, TPU topology and reservation."""

    machine_type: Text = ""
    accelerator_type: Annotated[str, *ACCELERATOR_TYPES] = "ACCELERATOR_TYPE_UNSPECIFIED"
    accelerator_count: Int32 = 0
    gpu_partition_size: Text = ""
    tpu_topology: Text = ""
    reservation_affinity: ReservationAffinity | None = None

    @property
    def accelerator(self) -> str:
        """The accelerator type, or "" if there is none."""
        return "" if self.accelerator_type == "ACCELERATOR_TYPE_UNSPECIFIED" else self.accelerator_type


class DiskSpec(Message):
    """The boot disk of each replica; size in GB."""

    boot_disk_type: Text = ""
    boot_disk_size_gb: Int32 | None = None

    @property
    def size_gb(self) -> int:
        """The size in GB; absent and 0 mean Vertex AI's default."""
        return self.boot_disk_size_gb or DEFAULT_BOOT_DISK_GB


class NfsMount(Message):
    """A Network File System share, mounted at /mnt/nfs/<mountPoint>."""

    server: Text = ""
    path: Text = ""
    mount_point: Text = ""


class LustreMount(Message):
    """A Lustre instance, mounted at /mnt/lustre/<mountPoint>."""

    instance_ip: Text = ""
    volume_handle: Text = ""
    filesystem: Text = ""
    mount_point: Text = ""


class WorkerPoolSpec(Message):
    """Replicas of one machine that run one task. An empty pool skips its role."""

    container_spec: ContainerSpec | None = None
    python_package_spec: PythonPackageSpec | None = None
    machine_spec: MachineSpec = MachineSpec()
    replica_count: Int64 | None = None
    nfs_mounts: tuple[NfsMount, ...] = ()
    lustre_mounts: tuple[LustreMount, ...] = ()
    disk_spec: DiskSpec = DiskSpec()

    @property
    def replicas(self) -> int:
        """The number of replicas; an absent count means one, as gcloud reads it."""
        return 1 if self.replica_count is None else self.replica_count

    @property
    def is_empty(self) -> bool:
        """Whether the pool is empty, which skips its role."""
        return (
            self.container_spec is None
            and self.python_package_spec is None
            and not self.replica_count
            and not self.nfs_mounts
            and not self.lustre_mounts
            and self.machine_spec == MachineSpec()
            and self.disk_spec == DiskSpec()
        )

    @property
    def task(self) -> ContainerSpec | PythonPackageSpec | None:
        """The container or package that the pool runs; the container if both are given."""
        return self.container_spec if self.container_spec is not None else self.python_package_spec


class DnsPeeringConfig(Message):
    """A DNS zone of another network that the job may resolve."""

    domain: Text = ""
    target_project: Text = ""
    target_network: Text = ""


class PscInterfaceConfig(Message):
    """Private Service Connect: the network attachment that connects the job to a network."""

    network_attachment: Text = ""
    dns_peering_configs: tuple[DnsPeeringConfig, ...] = ()


class EncryptionSpec(Message):
    """The customer-managed key that protects the resource."""

    kms_key_name: Text = ""


class Status(Message):
    """google.rpc.Status: why a resource failed."""

    code: Int32 = 0
    message: Text = ""
    details: tuple[FreeObject, ...] = ()
