"""What Vertex AI checks when a persistent resource is created or changed, and what it fills in.

Source: "Persistent resources" pages and PersistentResource in the v1 protos, read 2026-08.
"""

from emulator.creation import checks
from emulator.creation.checks import DISK_GB, REQUIRED, Wrong
from emulator.protocol.documents import Document


def persistent_resource(document: Document) -> Wrong:
    """Everything about a PersistentResource."""
    yield from checks.display_name(document, required=False)
    yield from checks.labels(document)
    pools = document.get("resourcePools", [])
    if not pools:
        yield "resource_pools", REQUIRED
    for index, each in enumerate(pools):
        yield from resource_pool(each, at=f"resource_pools[{index}]")


def resource_pool(each: Document, *, at: str) -> Wrong:
    """One pool: its machine, and how many replicas it has or may have."""
    yield from checks.machine(each.get("machineSpec", {}), at=f"{at}.machine_spec")
    scaling = each.get("autoscalingSpec")
    if scaling is None:
        if int(each.get("replicaCount", "0")) < 1:
            yield f"{at}.replica_count", REQUIRED
        return
    least, greatest = int(scaling.get("minReplicaCount", "0")), int(scaling.get("maxReplicaCount", "0"))
    if least < 1 or least >= greatest:
        text = "min_replica_count must be at least 1 and less than max_replica_count."
        yield f"{at}.autoscaling_spec", text
    elif not least <= int(each.get("replicaCount", least)) <= greatest:
        yield f"{at}.replica_count", "The replica count must lie between the autoscaling limits."


def fill(document: Document) -> None:
    """Give pools their ids, disks and counts, in place, as the service does."""
    for index, each in enumerate(document["resourcePools"], 1):
        machine = each["machineSpec"]
        kind = str(machine.get("acceleratorType", "")).lower().replace("_", "-")
        each.setdefault("id", "-".join(part for part in (machine["machineType"], kind, str(index)) if part))
        disk = each.setdefault("diskSpec", {})
        disk.setdefault("bootDiskType", "pd-ssd")
        disk.setdefault("bootDiskSizeGb", DISK_GB.start)
        if "replicaCount" not in each:
            each["replicaCount"] = each["autoscalingSpec"]["minReplicaCount"]
