"""Create, patch, delete and reboot persistent resources (PersistentResourceService v1).

All writes are long-running operations.
"""

import re

from emulator.capacity.resource_pools import max_replicas
from emulator.creation import checks, persistent_resource_checks
from emulator.emulator import Emulator
from emulator.methods.resources import get_record, new_operation, parent_name, project_and_location
from emulator.protocol import answers, documents
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import exists, invalid, precondition
from emulator.state.records import PersistentResource

ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
CHANGEABLE = {"displayName", "labels", "resourcePools"}


def create(emulator: Emulator, call: Call) -> Document:
    """Create a persistent resource. The operation is done when its machines are available."""
    call.check_arguments("persistentResourceId", "persistent_resource_id")
    where, identifier = parent_name(call), call.argument("persistent_resource_id", "persistentResourceId")
    if not ID.fullmatch(identifier):
        raise invalid(f'persistent_resource_id "{identifier}" must match the pattern {ID.pattern}')
    document = documents.parse("PersistentResource", call.json(), at="persistent_resource", version=call.version)
    checks.raise_findings(persistent_resource_checks.persistent_resource(document))
    if emulator.store.get(PersistentResource, f"{where}/persistentResources/{identifier}") is not None:
        raise exists(f"The PersistentResource {where}/persistentResources/{identifier} already exists.")
    persistent_resource_checks.fill(document)
    resource = emulator.factory.new_persistent_resource(document, **project_and_location(call), identifier=identifier)
    emulator.persistent_resources.submit(resource)
    return _start_operation(emulator, call, resource, "CreatePersistentResourceOperationMetadata")


def _start_operation(
    emulator: Emulator, call: Call, resource: PersistentResource, metadata: str, *, is_nested: bool = True
) -> Document:
    """Start an operation. With `is_nested`, its name is below the resource's."""
    holder = f"persistentResources/{resource.id}" if is_nested else ""
    operation = new_operation(emulator, call, resource, metadata, holder=holder)
    if metadata != "DeleteOperationMetadata":
        text = f"{resource.state.capitalize()} the persistent resource."
        operation.document["metadata"]["progressMessage"] = text
    resource.operation = operation.name
    emulator.store.save(operation)
    emulator.store.save(resource)
    return operation.document


def patch(emulator: Emulator, call: Call) -> Document:
    """Change the fields in `updateMask`: display name, labels, replica counts and limits."""
    call.check_arguments("updateMask", "update_mask")
    resource = get_record(emulator, call, PersistentResource)
    mask = call.argument("update_mask", "updateMask")
    if not mask:
        raise invalid("update_mask is required.")
    body = documents.parse("PersistentResource", call.json(), at="persistent_resource", version=call.version)
    changed: Document = {}
    for path in answers.mask_paths("PersistentResource", re.sub(r"(resource_?[pP]ools)[.\w]*", r"\1", mask)):
        if path[0] not in CHANGEABLE:
            raise invalid(f"The field {path[0]} cannot be updated.")
        changed[path[0]] = body.get(path[0], "" if path[0] == "displayName" else {})
    if "resourcePools" in changed:
        changed["resourcePools"] = _changed_pools(resource, changed["resourcePools"])
    emulator.persistent_resources.update(resource, changed)
    return _start_operation(emulator, call, resource, "UpdatePersistentResourceOperationMetadata")


def _changed_pools(resource: PersistentResource, changed: list[Document]) -> list[Document]:
    """Return the resource pools with their new counts. Their machines cannot be changed."""
    present = resource.document["resourcePools"]
    if len(changed) != len(present):
        raise invalid("Resource pools can be neither added nor removed.")
    result = []
    for index, (old, new) in enumerate(zip(present, changed, strict=True)):
        if new.get("machineSpec", old["machineSpec"]) != old["machineSpec"]:
            raise invalid(f"resource_pools[{index}].machine_spec cannot be changed.")
        merged = old | {key: new[key] for key in ("replicaCount", "autoscalingSpec") if key in new}
        checks.raise_findings(persistent_resource_checks.resource_pool(merged, at=f"resource_pools[{index}]"))
        if int(old.get("usedReplicaCount", "0")) > max_replicas(merged):
            raise precondition(f"resource_pools[{index}] has more replicas in use.")
        result.append(merged)
    return result


def delete(emulator: Emulator, call: Call) -> Document:
    """Delete a persistent resource. Its jobs are cancelled."""
    resource = get_record(emulator, call, PersistentResource)
    emulator.persistent_resources.delete(resource)
    return _start_operation(emulator, call, resource, "DeleteOperationMetadata", is_nested=False)


def reboot(emulator: Emulator, call: Call) -> Document:
    """Restart the machines of a persistent resource."""
    resource = get_record(emulator, call, PersistentResource)
    emulator.persistent_resources.reboot(resource)
    return _start_operation(emulator, call, resource, "RebootPersistentResourceOperationMetadata")
