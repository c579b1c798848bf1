"""Which path leads to which method: Google's in both of its versions, and ours.

Custom verbs stand behind a colon. `/ui/` is the address under which Google's client polls operations.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from emulator.methods import (
    custom_jobs,
    locations,
    log_entries,
    operations,
    persistent_resources,
    storage,
    token,
    training_pipelines,
    tuning_jobs,
)
from emulator.protocol import partial
from emulator.protocol.calls import Call
from emulator.state.records import Job, Model, Pipeline, Pool, Study
from emulator.web import control, page
from emulator.world import World

Handler = Callable[[World, Call], Any | Awaitable[Any]]
PARENT = "/v1/projects/{project}/locations/{location}"
MESSAGES: dict[str, str] = {each.kind: each.message for each in (Job, Study, Pipeline, Pool, Model)}
"""What get and list answer with, by collection."""
KINDS = ("customJobs", "hyperparameterTuningJobs", "trainingPipelines", "persistentResources")
PARTS = {"holder": f"(?P<holder>(?:{'|'.join(KINDS)})/[^/:]+)", "object": "(?P<object>.+)"}


class Route(NamedTuple):
    """One method."""

    verb: str
    pattern: re.Pattern[str]
    method: str
    handler: Handler


def route(verb: str, path: str, method: str, handler: Handler) -> Route:
    """Return a route; `{name}` stands for one path segment, and `/v1/projects` for all versions of the address."""
    pattern = re.sub(r"\{(\w+)\}", lambda found: PARTS.get(found[1], f"(?P<{found[1]}>[^/:]+)"), path)
    return Route(
        verb, re.compile(pattern.replace("/v1/projects", "/(?P<version>v1|v1beta1|ui)/projects", 1)), method, handler
    )


def _resource(kind: str, module: Any) -> list[Route]:
    one, many = PARENT + f"/{kind}/{{id}}", PARENT + f"/{kind}"
    return [
        route("POST", many, f"{kind}.create", module.create),
        route("GET", many, f"{kind}.list", module.list_),
        route("GET", one, f"{kind}.get", module.get),
        route("DELETE", one, f"{kind}.delete", module.delete),
    ]


def _own_verbs() -> list[Route]:
    pool = PARENT + "/persistentResources/{id}"
    return [
        *(
            route("POST", f"{PARENT}/{kind}/{{id}}:cancel", f"{kind}.cancel", module.cancel)
            for kind, module in zip(KINDS, (custom_jobs, tuning_jobs, training_pipelines), strict=False)
        ),
        route("PATCH", pool, "persistentResources.patch", persistent_resources.patch),
        route("POST", pool + ":reboot", "persistentResources.reboot", persistent_resources.reboot),
    ]


def _operations() -> list[Route]:
    found = []
    for prefix in (PARENT, PARENT + "/{holder}"):
        one = prefix + "/operations/{id}"
        found += [
            route("GET", one, "operations.get", operations.get),
            route("GET", prefix + "/operations", "operations.list", operations.list_),
            route("POST", one + ":wait", "operations.wait", operations.wait),
            route("POST", one + ":cancel", "operations.cancel", operations.cancel),
            route("DELETE", one, "operations.delete", operations.delete),
        ]
    return found


def _storage() -> list[Route]:
    return [
        route("POST", "/upload/storage/v1/b/{bucket}/o", "storage.upload", storage.upload),
        route("PUT", "/upload/storage/v1/b/{bucket}/o", "storage.upload", storage.resume),
        route("GET", "/download/storage/v1/b/{bucket}/o/{object}", "storage.objects.get", storage.get_object),
        route("GET", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.get", storage.get_object),
        route("DELETE", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.delete", storage.delete_object),
        route("GET", "/storage/v1/b/{bucket}/o", "storage.objects.list", storage.list_objects),
        route("GET", "/storage/v1/b/{bucket}", "storage.buckets.get", storage.get_bucket),
        route("GET", "/storage/v1/b", "storage.buckets.list", storage.list_buckets),
        route("POST", "/storage/v1/b", "storage.buckets.insert", storage.insert_bucket),
    ]


ROUTES = [
    *_resource("customJobs", custom_jobs),
    *_resource("hyperparameterTuningJobs", tuning_jobs),
    *_resource("trainingPipelines", training_pipelines),
    *_resource("persistentResources", persistent_resources),
    *_own_verbs(),
    route("GET", PARENT + "/models/{id}", "models.get", training_pipelines.get_model),
    route("GET", PARENT + "/models", "models.list", training_pipelines.list_models),
    route("DELETE", PARENT + "/models/{id}", "models.delete", training_pipelines.delete_model),
    *_operations(),
    route("GET", PARENT, "locations.get", locations.get),
    route("GET", "/v1/projects/{project}/locations", "locations.list", locations.list_),
    route("POST", "/v2/entries:list", "entries.list", log_entries.list_),
    route("POST", "/token", "token", token.exchange),
    *_storage(),
    route("GET", "/_emulator/", "_emulator.page", page.show),
    route("POST", "/_emulator/", "_emulator.page", page.press),
    route("GET", "/_emulator/health", "_emulator.health", control.health),
    route("GET", "/_emulator/truth", "_emulator.truth", control.truth),
    route("GET", "/_emulator/clock", "_emulator.clock", control.clock),
    route("POST", "/_emulator/clock", "_emulator.clock", control.set_clock),
    route("GET", "/_emulator/script", "_emulator.script", control.scripts),
    route("POST", "/_emulator/script", "_emulator.script", control.script),
    route("GET", "/_emulator/faults", "_emulator.faults", control.faults),
    route("POST", "/_emulator/faults", "_emulator.faults", control.plan_fault),
    route("DELETE", "/_emulator/faults", "_emulator.faults", control.forget_faults),
    route("GET", "/_emulator/capacity", "_emulator.capacity", control.capacity),
    route("POST", "/_emulator/capacity", "_emulator.capacity", control.change_capacity),
    route("DELETE", "/_emulator/capacity", "_emulator.capacity", control.clear_capacity),
    route("POST", "/_emulator/preempt", "_emulator.preempt", control.preempt),
    route("POST", "/_emulator/maintenance", "_emulator.maintenance", control.maintenance),
]


def resolve(verb: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the route of a request and what its path holds; None if there is none here."""
    for found in ROUTES:
        if found.verb == verb and (match := found.pattern.fullmatch(path)):
            return found, match.groupdict()
    return None


def kept_fields(found: Route, call: Call) -> list[partial.Path]:
    """Return what a call's `fields` keeps of the answer, [] = everything; ApiError 400 for a field that it never has.

    Our own control plane has no such parameter. What is not described here (operations, storage, log entries) is
    not checked: an unknown field is left out of the answer.
    """
    if found.method.startswith("_emulator") or not call.fields:
        return []
    paths = partial.parse(call.fields)
    collection, _, verb = found.method.rpartition(".")
    message = MESSAGES.get(collection)
    if message is not None and verb in ("get", "list"):
        partial.check(paths, message, collection=collection if verb == "list" else "")
    return paths
