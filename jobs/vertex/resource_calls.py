"""The client's calls about persistent resources."""

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.vertex import answers, errors, wire
from jobs.vertex.caller import BeforePage, Caller, nothing
from jobs.vertex.resources import COLLECTION, RESOURCE_CALLS, RemoteResource, remote_resource, resources_url

RemoteResources = list[RemoteResource | None]


class ResourceCaller(Caller):
    """List and change persistent resources. Every method raises `errors.VertexError`."""

    def persistent_resources(
        self, *, project: str, region: str, before_page: BeforePage = nothing, tries: int = 1
    ) -> Iterator[RemoteResources]:
        """Yield the persistent resources of a region page by page, as `pages` does. None stands for an invalid entry.

        Vertex AI accepts no filter, order or field mask here.
        """
        try:
            url = resources_url(self._endpoint, project=project, region=region)
        except ValueError as error:
            raise errors.Refused(str(error), method="GET") from None
        call = answers.Call("GET", url, "Vertex AI")
        query = wire.list_query("", ())
        for items in self._paged(call, COLLECTION, query, before_page=before_page, tries=tries):
            yield [remote_resource(item, region=region) for item in items]

    def persistent_resource(self, *, project: str, region: str, resource_id: str) -> RemoteResource:
        """Return one persistent resource."""
        call = self._to_resource("GET", project, region, resource_id)
        found = remote_resource(self._send(call), region=region)
        if found is None:
            raise answers.unusable(call, "not a persistent resource")
        return found

    def change_resource(
        self, action: str, *, project: str, region: str, resource_id: str, body: Mapping[str, Any]
    ) -> None:
        """Create, resize, reboot or delete a persistent resource. Vertex AI accepts the request and finishes later.

        `body` is the resource for "create", and its resource pools for "resize". Source: PersistentResourceService in
        google-cloud-aiplatform 2.7.0, read 2026-11-21.
        """
        method, verb = RESOURCE_CALLS[action]
        call = self._to_resource(method, project, region, "" if action == "create" else resource_id, verb)
        query = {"persistentResourceId": resource_id} if action == "create" else None
        if action == "resize":
            query = {"updateMask": "resourcePools"}
        operation = self._send(call, query=query, body=None if method == "DELETE" else body)
        if failed := wire.rpc_status(operation.get("error")):
            raise errors.Refused(failed["message"] or "It failed.", method=method, url=call.url, status=200)

    def _to_resource(self, method: str, project: str, region: str, resource_id: str, verb: str = "") -> answers.Call:
        try:
            url = resources_url(self._endpoint, project=project, region=region, resource_id=resource_id)
        except ValueError as error:
            raise errors.Refused(str(error), method=method) from None
        return answers.Call(method, url + verb, "Vertex AI")
