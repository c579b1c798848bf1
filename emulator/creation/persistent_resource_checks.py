"""The checks of Vertex AI when a persistent resource is created or changed, and the defaults that it sets.

Source: "Persistent resources" pages and PersistentResource in the v1 protos, read 2026-08.
"""

from emulator.creation import checks
from emulator.creation.checks import DISK_GB, REQUIRED, Findings
from emulator.protocol.documents import Document


def persistent_resource(document: Document) -> Findings:
    """Check a PersistentResource."""
    yield from checks.display_name(document, required=False)
    yield from checks.labels(document)
    pools = document.get("resourcePools", [])
    if not pools:
        yield "resource_pools", REQUIRED
    for index, pool in enumerate(pools):
        yield from resource_pool(pool, at=f"resource_pools[{index}]")


def resource_pool(pool: Document, *, at: str) -> Findings:
    """Check a resource pool: its machine and its number of replicas or limits."""
    yield from checks.machine(pool.get("machineSpec", {}), at=f"{at}.machine_spec")
    scaling = pool.get("autoscalingSpec")
    if scaling is None:
        if int(pool.get("replicaCount", "0")) < 1:
            yield f"{at}.replica_count", REQUIRED
        return
    minimum, maximum = int(scaling.get("minReplicaCount", "0")), int(scaling.get("maxReplicaCount", "0"))
    if minimum < 1 or minimum >= maximum:
        text = "min_replica_count must be at least 1 and less than max_replica_count."
        yield f"{at}.autoscaling_spec", text
    elif not minimum <= int(pool.get("replicaCount", minimum)) <= maximum:
        yield f"{at}.replica_count", "The replica count must lie between the autoscaling limits."


def fill(document: Document) -> None:
    """Set the ids, disks and counts of resource pools in place, as the service does."""
    for index, pool in enumerate(document["resourcePools"], 1):
        machine = pool["machineSpec"]
        kind = str(machine.get("acceleratorType", "")).lower().replace("_", "-")
        pool.setdefault("id", "-".join(part for part in (machine["machineType"], kind, str(index)) if part))
        disk = pool.setdefault("diskSpec", {})
        disk.setdefault("bootDiskType", "pd-ssd")
        disk.setdefault("bootDiskSizeGb", DISK_GB.start)
        if "replicaCount" not in pool:
            pool["replicaCount"] = pool["autoscalingSpec"]["minReplicaCount"]
