"""projects.locations.persistentResources: create, get, list, patch, delete, reboot (PersistentResourceService v1).

All writes are long-running operations.
"""

import re

from emulator.capacity.pools import most
from emulator.creation import checks, pool_checks
from emulator.methods.resources import answer, find, listed, operation, parent
from emulator.protocol import answers, documents
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import exists, invalid, precondition
from emulator.state.records import Pool
from emulator.world import World

ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
CHANGEABLE = {"displayName", "labels", "resourcePools"}


def create(world: World, call: Call) -> Document:
    """Take in a resource; the operation ends when its machines are there."""
    call.refuse_unknown_arguments("persistentResourceId", "persistent_resource_id")
    where, identifier = parent(call), call.argument("persistent_resource_id", "persistentResourceId")
    if not ID.fullmatch(identifier):
        raise invalid(f'persistent_resource_id "{identifier}" must match the pattern {ID.pattern}')
    document = documents.read("PersistentResource", call.json(), at="persistent_resource")
    checks.refuse(pool_checks.persistent_resource(document))
    if world.store.get(Pool, f"{where}/persistentResources/{identifier}") is not None:
        raise exists(f"The PersistentResource {where}/persistentResources/{identifier} already exists.")
    pool_checks.fill(document)
    pool = world.intake.new_pool(
        project=call.params["project"], location=call.params["location"], document=document, identifier=identifier
    )
    world.pools.submit(pool)
    return _begin(world, call, pool, "CreatePersistentResourceOperationMetadata", holder=True)


def _begin(world: World, call: Call, pool: Pool, metadata: str, *, holder: bool) -> Document:
    begun = operation(world, call, pool, metadata, holder=f"persistentResources/{pool.id}" if holder else "")
    if metadata != "DeleteOperationMetadata":
        begun.document["metadata"]["progressMessage"] = f"{pool.state.capitalize()} the persistent resource."
    pool.operation = begun.name
    world.store.save(begun)
    world.store.save(pool)
    return begun.document


def get(world: World, call: Call) -> Document:
    """Return a resource."""
    call.refuse_unknown_arguments()
    return answer(call, find(world, call, Pool))


def list_(world: World, call: Call) -> Document:
    """Return a page of resources; there is no filter."""
    return listed(world, call, Pool, arguments=("pageSize", "page_size", "pageToken", "page_token"))


def patch(world: World, call: Call) -> Document:
    """Change what `updateMask` names: display name, labels, replica counts and limits."""
    call.refuse_unknown_arguments("updateMask", "update_mask")
    pool = find(world, call, Pool)
    mask = call.argument("update_mask", "updateMask")
    if not mask:
        raise invalid("update_mask is required.")
    given = documents.read("PersistentResource", call.json(), at="persistent_resource")
    changed: Document = {}
    for path in answers.mask_paths("PersistentResource", re.sub(r"(resource_?[pP]ools)[.\w]*", r"\1", mask)):
        if path[0] not in CHANGEABLE:
            raise invalid(f"The field {path[0]} cannot be updated.")
        changed[path[0]] = given.get(path[0], "" if path[0] == "displayName" else {})
    if "resourcePools" in changed:
        changed["resourcePools"] = _changed_pools(pool, changed["resourcePools"])
    world.pools.update(pool, changed)
    return _begin(world, call, pool, "UpdatePersistentResourceOperationMetadata", holder=True)


def _changed_pools(pool: Pool, given: list[Document]) -> list[Document]:
    """Return the pools with their new counts; their machines cannot change."""
    present = pool.document["resourcePools"]
    if len(given) != len(present):
        raise invalid("Resource pools can be neither added nor removed.")
    result = []
    for index, (old, new) in enumerate(zip(present, given, strict=True)):
        if new.get("machineSpec", old["machineSpec"]) != old["machineSpec"]:
            raise invalid(f"resource_pools[{index}].machine_spec cannot be changed.")
        merged = old | {key: new[key] for key in ("replicaCount", "autoscalingSpec") if key in new}
        checks.refuse(pool_checks.resource_pool(merged, at=f"resource_pools[{index}]"))
        if int(old.get("usedReplicaCount", "0")) > most(merged):
            raise precondition(f"resource_pools[{index}] has more replicas in use.")
        result.append(merged)
    return result


def delete(world: World, call: Call) -> Document:
    """Delete a resource; its jobs are cancelled."""
    pool = find(world, call, Pool)
    world.pools.delete(pool)
    return _begin(world, call, pool, "DeleteOperationMetadata", holder=False)


def reboot(world: World, call: Call) -> Document:
    """Restart a resource's machines."""
    pool = find(world, call, Pool)
    world.pools.reboot(pool)
    return _begin(world, call, pool, "RebootPersistentResourceOperationMetadata", holder=True)
