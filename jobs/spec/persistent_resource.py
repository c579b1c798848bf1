"""PersistentResource: machines that stay up and run one job after another.

Source: google-cloud-aiplatform 2.7.0, types/persistent_resource.py, read 2026-11-21.
"""

from typing import Annotated

from jobs.spec.fields import OUTPUT, Flag, Int64, Message, Moment, Text, enum
from jobs.spec.worker_pool import DiskSpec, EncryptionSpec, MachineSpec, PscInterfaceConfig, Status

RESOURCE_STATES = enum(STATE_UNSPECIFIED=0, PROVISIONING=1, RUNNING=3, STOPPING=4, ERROR=5, REBOOTING=6, UPDATING=7)


class AutoscalingSpec(Message):
    """The minimum and maximum number of replicas of a resource pool."""

    min_replica_count: Int64 | None = None
    max_replica_count: Int64 | None = None


class ResourcePool(Message):
    """Replicas of one machine, used by jobs."""

    id: Text = ""
    machine_spec: MachineSpec = MachineSpec()
    replica_count: Int64 | None = None
    disk_spec: DiskSpec = DiskSpec()
    used_replica_count: Annotated[Int64, OUTPUT] = 0
    autoscaling_spec: AutoscalingSpec | None = None

    @property
    def most_replicas(self) -> int:
        """The highest number of replicas that the pool can have."""
        scaling = self.autoscaling_spec
        if scaling is not None and scaling.max_replica_count is not None:
            return scaling.max_replica_count
        return self.replica_count or 0


class ServiceAccountSpec(Message):
    """Whether jobs may use their own service account."""

    enable_custom_service_account: Flag = False
    service_account: Text = ""


class RayMetricSpec(Message):
    """Settings of Ray's metrics."""

    disabled: Flag = False


class RayLogsSpec(Message):
    """Settings of Ray's logs."""

    disabled: Flag = False


class RaySpec(Message):
    """A Ray cluster on the resource."""

    image_uri: Text = ""
    resource_pool_images: dict[Text, Text] = {}
    head_node_resource_pool_id: Text = ""
    ray_metric_spec: RayMetricSpec | None = None
    ray_logs_spec: RayLogsSpec | None = None


class ResourceRuntimeSpec(Message):
    """The service account of the resource, and Ray."""

    service_account_spec: ServiceAccountSpec | None = None
    ray_spec: RaySpec | None = None


class ResourceRuntime(Message):
    """Addresses of a running resource."""

    access_uris: Annotated[dict[Text, Text], OUTPUT] = {}


class PersistentResource(Message):
    """Machines kept for jobs; billed while RUNNING."""

    name: Annotated[Text, OUTPUT] = ""
    display_name: Text = ""
    resource_pools: tuple[ResourcePool, ...] = ()
    state: Annotated[str, *RESOURCE_STATES, OUTPUT] = "STATE_UNSPECIFIED"
    error: Annotated[Status | None, OUTPUT] = None
    create_time: Annotated[Moment | None, OUTPUT] = None
    start_time: Annotated[Moment | None, OUTPUT] = None
    update_time: Annotated[Moment | None, OUTPUT] = None
    labels: dict[Text, Text] = {}
    network: Text = ""
    psc_interface_config: PscInterfaceConfig | None = None
    encryption_spec: EncryptionSpec | None = None
    resource_runtime_spec: ResourceRuntimeSpec | None = None
    resource_runtime: Annotated[ResourceRuntime | None, OUTPUT] = None
    reserved_ip_ranges: tuple[Text, ...] = ()
    satisfies_pzs: Annotated[Flag, OUTPUT] = False
    satisfies_pzi: Annotated[Flag, OUTPUT] = False
