"""The routes: Google's methods in both versions, and the control plane.

Custom verbs follow a colon. Google's client polls operations below `/ui/`.
"""

import functools
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from emulator.emulator import Emulator
from emulator.methods import (
    advice,
    artifacts,
    cloud_access,
    compute_types,
    experiments,
    jobs,
    locations,
    log_entries,
    operations,
    persistent_resources,
    quotas,
    resources,
    storage,
    time_series,
    token,
)
from emulator.protocol import partial_responses
from emulator.protocol.calls import Call
from emulator.state.records import (
    Artifact,
    Context,
    Execution,
    Job,
    MetadataStore,
    Model,
    Nested,
    PersistentResource,
    Pipeline,
    Record,
    Study,
    Tensorboard,
    TensorboardExperiment,
    TensorboardRun,
    TensorboardTimeSeries,
)
from emulator.web import control, page

Handler = Callable[[Emulator, Call], Any | Awaitable[Any]]
PARENT = "/v1/projects/{project}/locations/{location}"
REPOSITORY = PARENT + "/repositories/{repository}"
QUOTAS = "/v1/projects/{project}/locations/global/services/{service}/quotaInfos"
COMPUTE = "/compute/v1/projects/{project}/aggregated"
ADVICE = "/compute/v1/projects/{project}/regions/{region}/advice"
ACCOUNT = "/v1/projects/-/serviceAccounts/{account}"
TEST = "testIamPermissions"
BUCKET_TEST = "/storage/v1/b/{bucket}/iam/testPermissions"
MESSAGES: dict[str, str] = {each.kind: each.message for each in (Job, Study, Pipeline, PersistentResource, Model)}
"""Message types of the responses to get and list, by collection."""
HTTP = {
    "create": ("POST", ""),
    "list": ("GET", ""),
    "get": ("GET", "/{id}"),
    "patch": ("PATCH", "/{id}"),
    "delete": ("DELETE", "/{id}"),
    "cancel": ("POST", "/{id}:cancel"),
    "reboot": ("POST", "/{id}:reboot"),
    "addContextChildren": ("POST", "/{id}:addContextChildren"),
    "addContextArtifactsAndExecutions": ("POST", "/{id}:addContextArtifactsAndExecutions"),
}
"""The HTTP method of each method of a collection, and its path below the collection."""
KINDS = (Job.kind, Study.kind, Pipeline.kind, PersistentResource.kind)
PARTS = {"holder": f"(?P<holder>(?:{'|'.join(KINDS)})/[^/:]+)"}
PARTS |= {name: f"(?P<{name}>.+)" for name in ("object", "package", "image")}


STORE, TENSORBOARD = "/metadataStores/{store}", "/tensorboards/{tensorboard}"
EXPERIMENT = TENSORBOARD + "/experiments/{experiment}"
EXPERIMENT_METHODS = {
    "create": experiments.create,
    "list": experiments.list_,
    "get": experiments.get,
    "patch": experiments.patch,
    "delete": experiments.delete,
}


class Route(NamedTuple):
    """One method."""

    verb: str
    pattern: re.Pattern[str]
    method: str
    handler: Handler


def route(verb: str, path: str, method: str, handler: Handler) -> Route:
    """Return a route. `{name}` is one path segment, and `/v1/projects` matches all versions of the path."""
    pattern = re.sub(r"\{(\w+)\}", lambda match: PARTS.get(match[1], f"(?P<{match[1]}>[^/:]+)"), path)
    return Route(
        verb, re.compile(pattern.replace("/v1/projects", "/(?P<version>v1|v1beta1|ui)/projects", 1)), method, handler
    )


def _collection(kind: type[Record], usual: str, **handlers: Handler) -> list[Route]:
    """Return the routes of a collection: the shared methods in `usual`, and its own handlers by name."""
    for name in usual.split():
        handlers[name] = functools.partial(resources.METHODS[name], kind=kind)
    return [
        route(HTTP[name][0], f"{PARENT}/{kind.kind}{HTTP[name][1]}", f"{kind.kind}.{name}", handler)
        for name, handler in handlers.items()
    ]


def _operations() -> list[Route]:
    routes = []
    for prefix in (PARENT, PARENT + "/{holder}"):
        one = prefix + "/operations/{id}"
        routes += [
            route("GET", one, "operations.get", operations.get),
            route("GET", prefix + "/operations", "operations.list", operations.list_),
            route("POST", one + ":wait", "operations.wait", operations.wait),
            route("POST", one + ":cancel", "operations.cancel", operations.cancel),
            route("DELETE", one, "operations.delete", operations.delete),
        ]
    return routes


def _experiment_part(kind: type[Nested], names: str, path: str = "", **handlers: Handler) -> list[Route]:
    """Return the routes of a kind that experiments consist of, below `path`."""
    for name in names.split():
        handlers[name] = functools.partial(EXPERIMENT_METHODS[name], kind=kind)
    # Cloud Monitoring has a collection timeSeries too.
    label = "tensorboardTimeSeries" if kind is TensorboardTimeSeries else kind.kind
    return [
        route(HTTP[name][0], f"{PARENT}{path}/{kind.kind}{HTTP[name][1]}", f"{label}.{name}", handler)
        for name, handler in handlers.items()
    ]


ROUTES = [
    *_collection(Job, "list get delete cancel", create=jobs.create_custom_job),
    *_collection(Study, "list delete cancel", create=jobs.create_study, get=jobs.get_study),
    *_collection(Pipeline, "list get delete cancel", create=jobs.create_pipeline),
    *_collection(
        PersistentResource,
        "list get",
        create=persistent_resources.create,
        delete=persistent_resources.delete,
        patch=persistent_resources.patch,
        reboot=persistent_resources.reboot,
    ),
    *_collection(Model, "list", get=jobs.get_model, delete=jobs.delete_model),
    *_experiment_part(MetadataStore, "create list get delete"),
    *_experiment_part(
        Context,
        "create list get patch delete",
        STORE,
        addContextChildren=experiments.add_children,
        addContextArtifactsAndExecutions=experiments.add_artifacts_and_executions,
    ),
    *_experiment_part(Artifact, "create list get patch delete", STORE),
    *_experiment_part(Execution, "create list get patch delete", STORE),
    *_experiment_part(Tensorboard, "create list get delete"),
    *_experiment_part(TensorboardExperiment, "create list get delete", TENSORBOARD),
    *_experiment_part(TensorboardRun, "create list get delete", EXPERIMENT),
    *_experiment_part(TensorboardTimeSeries, "create list get delete", f"{EXPERIMENT}/runs/{{run}}"),
    *_operations(),
    route("GET", PARENT, "locations.get", locations.get),
    route("GET", "/v1/projects/{project}/locations", "locations.list", locations.list_),
    route("GET", f"{COMPUTE}/machineTypes", "machineTypes.aggregatedList", compute_types.list_machines),
    route("GET", f"{COMPUTE}/acceleratorTypes", "acceleratorTypes.aggregatedList", compute_types.list_accelerators),
    route("POST", f"{ADVICE}/capacity", "advice.capacity", advice.capacity),
    route("POST", f"{ADVICE}/capacityHistory", "advice.capacityHistory", advice.capacity_history),
    route("POST", f"{ADVICE}/calendarMode", "advice.calendarMode", advice.calendar_mode),
    route("POST", "/v2/entries:list", "entries.list", log_entries.list_),
    route("GET", "/v3/projects/{project}/timeSeries", "timeSeries.list", time_series.list_),
    route("POST", "/token", "token", token.exchange),
    route("POST", "/upload/storage/v1/b/{bucket}/o", "storage.upload", storage.upload),
    route("PUT", "/upload/storage/v1/b/{bucket}/o", "storage.upload", storage.resume),
    route("GET", "/download/storage/v1/b/{bucket}/o/{object}", "storage.objects.get", storage.get_object),
    route("GET", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.get", storage.get_object),
    route("DELETE", "/storage/v1/b/{bucket}/o/{object}", "storage.objects.delete", storage.delete_object),
    route("GET", "/storage/v1/b/{bucket}/o", "storage.objects.list", storage.list_objects),
    route("GET", "/storage/v1/b/{bucket}", "storage.buckets.get", storage.get_bucket),
    route("GET", "/storage/v1/b", "storage.buckets.list", storage.list_buckets),
    route("POST", "/storage/v1/b", "storage.buckets.insert", storage.insert_bucket),
    route("GET", BUCKET_TEST, f"storage.buckets.{TEST}", cloud_access.test_bucket_permissions),
    route("POST", f"/v3/projects/{{project}}:{TEST}", f"projects.{TEST}", cloud_access.test_permissions),
    route("POST", f"{ACCOUNT}:{TEST}", f"serviceAccounts.{TEST}", cloud_access.test_permissions),
    route("GET", "/v1/projects/{project}/services:batchGet", "services.batchGet", cloud_access.get_services),
    route("GET", QUOTAS, "quotaInfos.list", quotas.list_infos),
    route("GET", REPOSITORY, "repositories.get", artifacts.get_repository),
    route("GET", REPOSITORY + "/packages/{package}/tags/{tag}", "tags.get", artifacts.get_tag),
    route("GET", REPOSITORY + "/dockerImages/{image}", "dockerImages.get", artifacts.get_image),
    route("GET", "/_emulator/", "_emulator.page", page.show),
    route("POST", "/_emulator/", "_emulator.page", page.submit),
    route("GET", "/_emulator/health", "_emulator.health", control.health),
    route("GET", "/_emulator/truth", "_emulator.truth", control.truth),
    route("GET", "/_emulator/clock", "_emulator.clock", control.clock),
    route("POST", "/_emulator/clock", "_emulator.clock", control.set_clock),
    route("GET", "/_emulator/script", "_emulator.script", control.scripts),
    route("POST", "/_emulator/script", "_emulator.script", control.script),
    route("GET", "/_emulator/settings", "_emulator.settings", control.settings),
    route("POST", "/_emulator/settings", "_emulator.settings", control.change_settings),
    route("GET", "/_emulator/faults", "_emulator.faults", control.faults),
    route("POST", "/_emulator/faults", "_emulator.faults", control.plan_fault),
    route("DELETE", "/_emulator/faults", "_emulator.faults", control.forget_faults),
    route("GET", "/_emulator/capacity", "_emulator.capacity", control.capacity),
    route("POST", "/_emulator/capacity", "_emulator.capacity", control.change_capacity),
    route("DELETE", "/_emulator/capacity", "_emulator.capacity", control.clear_capacity),
    route("POST", "/_emulator/preempt", "_emulator.preempt", control.preempt),
    route("POST", "/_emulator/evict", "_emulator.evict", control.evict),
    route("POST", "/_emulator/maintenance", "_emulator.maintenance", control.maintenance),
    route("GET", "/_emulator/access", "_emulator.access", cloud_access.show_access),
    route("POST", "/_emulator/access", "_emulator.access", cloud_access.change_access),
    route("GET", "/_emulator/images", "_emulator.images", artifacts.show_images),
    route("POST", "/_emulator/images", "_emulator.images", artifacts.change_images),
]


Match = tuple[Route, dict[str, str]]


def resolve(verb: str, path: str) -> Match | None:
    """Return the route of a request and the variables of its path, None if there is none."""
    for each in ROUTES:
        if each.verb == verb and (match := each.pattern.fullmatch(path)):
            return each, match.groupdict()
    return None


def selected_fields(route: Route, call: Call) -> list[partial_responses.Path]:
    """Return the fields that a call selects, [] for all. Raise ApiError 400 for a field that no response has.

    Our own control plane has no such parameter. Responses without a description here (operations, storage, log entries)
    are not checked, and an unknown field is omitted.
    """
    if route.method.startswith("_emulator") or not call.fields:
        return []
    paths = partial_responses.parse(call.fields)
    collection, _, verb = route.method.rpartition(".")
    message = MESSAGES.get(collection)
    if message is not None and verb in ("get", "list"):
        partial_responses.check(paths, message, collection=collection if verb == "list" else "")
    return paths
