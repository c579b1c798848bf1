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


def _usual_id(machine: Document) -> str:
    if "acceleratorType" not in machine:
        return str(machine["machineType"])
    kind = str(machine["acceleratorType"]).lower().replace("_", "-")
    return f"{machine['machineType']}-{kind}-{machine['acceleratorCount']}"


def fill(document: Document) -> None:
    """Set the ids, disks and counts of resource pools in place, as the service does.

    Ids as recorded are `n1-standard-4` and `n1-highmem-2-nvidia-tesla-t4-1`. A further pool of the same machines gets a
    number at the end (unconfirmed).
    """
    pools = document["resourcePools"]
    taken = {pool["id"] for pool in pools if "id" in pool}
    for pool in pools:
        if "id" not in pool:
            usual = _usual_id(pool["machineSpec"])
            ids = [usual, *(f"{usual}-{number}" for number in range(2, len(pools) + 1))]
            pool["id"] = next(each for each in ids if each not in taken)
            taken.add(pool["id"])
        disk = pool.setdefault("diskSpec", {})
        disk.setdefault("bootDiskType", "pd-ssd")
        disk.setdefault("bootDiskSizeGb", DISK_GB.start)
        if "replicaCount" not in pool:
            pool["replicaCount"] = pool["autoscalingSpec"]["minReplicaCount"]
