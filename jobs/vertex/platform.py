"""Information from Google Cloud about the calling account: its permissions, the enabled services, and Google's time.

Sources: the discovery documents of cloudresourcemanager v3 (projects.testIamPermissions), iam v1
(projects.serviceAccounts.testIamPermissions), storage v1 (buckets.testIamPermissions) and serviceusage v1
(services.batchGet) in google-api-python-client 2.202.0, read 2026-11-23; `quotas`, `images` and `advice` name their
own.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from google.auth.exceptions import GoogleAuthError

from jobs.cost.advice import Method, Vms
from jobs.spec.images import ImageStatus, RegistryImage
from jobs.vertex import advice, answers, auth, errors, images, quotas, wire
from jobs.vertex.caller import Caller, nothing, pages_of

MAX_RESULTS = 500
"""The default and the maximum of Compute Engine's lists."""
MAX_SERVICES = 30
"""Maximum number of services in one batchGet."""


class PlatformClient(Caller):
    """Call the APIs around Vertex AI. An emulator on plain HTTP answers for all of them."""

    def granted(self, project: str, permissions: Sequence[str]) -> frozenset[str]:
        """Return those of the permissions that the account has in a project. Raise VertexError."""
        url = f"{self._base('cloudresourcemanager')}/v3/projects/{quote(project, safe='')}:testIamPermissions"
        call = answers.Call("POST", url, "Resource Manager")
        return _permissions(self._send(call, body={"permissions": list(permissions)}))

    def granted_on_bucket(self, bucket: str, permissions: Sequence[str]) -> frozenset[str]:
        """Return those of the permissions that the account has on a bucket, given without gs://. Raise VertexError."""
        url = f"{self._storage_endpoint}/storage/v1/b/{quote(bucket, safe='')}/iam/testPermissions"
        call = answers.Call("GET", url, "Cloud Storage")
        return _permissions(self._send(call, query={"permissions": list(permissions)}))

    def granted_on_account(self, email: str, permissions: Sequence[str]) -> frozenset[str]:
        """Return those of the permissions that the account has on a service account. Raise VertexError."""
        url = f"{self._base('iam')}/v1/projects/-/serviceAccounts/{quote(email, safe='@')}:testIamPermissions"
        return _permissions(self._send(answers.Call("POST", url, "IAM"), body={"permissions": list(permissions)}))

    def enabled(self, project: str, services: Sequence[str]) -> frozenset[str]:
        """Return those of the services, such as aiplatform.googleapis.com, that are enabled in a project."""
        parent = f"projects/{quote(project, safe='')}"
        call = answers.Call("GET", f"{self._base('serviceusage')}/v1/{parent}/services:batchGet", "Service Usage")
        names = [f"{parent}/services/{service}" for service in services[:MAX_SERVICES]]
        listed = self._send(call, query={"names": names}).get("services")
        found = [wire.mapping(each) for each in (listed if isinstance(listed, list) else [])]
        on = {wire.text(each.get("name")).rpartition("/")[2] for each in found if each.get("state") == "ENABLED"}
        return frozenset(on & set(services))

    def server_time(self, project: str) -> datetime | None:
        """Return the time in the answer's Date header, to the second, or None if it has none. Raise VertexError."""
        url = f"{self._base('cloudresourcemanager')}/v3/projects/{quote(project, safe='')}:testIamPermissions"
        call = answers.Call("POST", url, "Resource Manager")
        response = self._exchange(call, None, {"permissions": ["resourcemanager.projects.get"]})
        try:
            return parsedate_to_datetime(response.headers.get("Date", "")).astimezone(UTC)
        except (ValueError, TypeError):
            return None

    def quota_limits(self, project: str, *, most: int) -> list[quotas.QuotaLimit]:
        """Return at most `most` limits of training quotas in a project. Raise VertexError."""
        url = self._base("cloudquotas") + quotas.infos_path(project)
        call, found = answers.Call("GET", url, "Cloud Quotas"), list[quotas.QuotaLimit]()
        for items in self._paged(call, "quotaInfos", {}, before_page=nothing, tries=2):
            found += [limit for item in items for limit in quotas.limits_in(item)]
            if len(found) >= most:
                break
        return found[:most]

    def quota_usage(self, project: str, *, now: datetime) -> dict[tuple[str, str], int]:
        """Return the use of training quotas by metric and region. Raise VertexError."""
        path, query = quotas.usage_path(project, now=now)
        call = answers.Call("GET", f"{self._monitoring_endpoint}{path}", "Cloud Monitoring")
        found: dict[tuple[str, str], int] = {}
        for items in self._paged(call, "timeSeries", query, before_page=nothing, tries=2):
            found.update(used for item in items if (used := quotas.usage_in(item)) is not None)
        return found

    def compute_types(self, project: str, collection: str) -> Iterator[list[Any]]:
        """Yield the machineTypes or acceleratorTypes of each page and zone. Raise VertexError.

        The items of a page are by zone: {"zones/us-central1-a": {"machineTypes": [...]}}. Zones that cannot be reached
        are left out (compute v1, aggregatedList, returnPartialSuccess; read 2026-11-26).
        """
        url = f"{self._base('compute')}/compute/v1/projects/{quote(project, safe='')}/aggregated/{collection}"
        call = answers.Call("GET", url, "Compute Engine")

        def ask(token: str) -> dict[str, Any]:
            query = {"maxResults": str(MAX_RESULTS), "returnPartialSuccess": "true"}
            answer = self._send(call, query=query | ({"pageToken": token} if token else {}))
            return answer | {"items": list(wire.mapping(answer.get("items")).values())}

        for zones in pages_of(call, "items", ask):
            for zone in zones:
                listed = wire.mapping(zone).get(collection)
                yield listed if isinstance(listed, list) else []

    def advice(self, project: str, region: str, method: Method, vms: Vms, *, now: datetime) -> dict[str, Any]:
        """Return Compute Engine's advice about VMs, as `advice.read`. Raise VertexError."""
        call = answers.Call("POST", self._base("compute") + advice.path(project, region, method), "Compute Engine")
        try:
            return advice.read(method, self._send(call, body=advice.body(method, vms, now=now)))
        except ValueError as error:
            raise answers.unusable(call, str(error)) from None

    def image(self, image: RegistryImage) -> images.ImageAnswer:
        """Return whether Artifact Registry has an image, and its size. Makes at most three calls. Raise VertexError."""
        try:
            digest = image.digest or self._digest(image)
            found = self._send(self._registry_call(images.image_path(image, digest)))
        except errors.NotFound:
            return images.ImageAnswer(self._why_missing(image))
        return images.ImageAnswer(ImageStatus.FOUND, images.size_in(found))

    def _digest(self, image: RegistryImage) -> str:
        call = self._registry_call(images.tag_path(image))
        digest = images.digest_in(self._send(call))
        if digest is None:
            raise answers.unusable(call, "the tag names no version")
        return digest

    def _why_missing(self, image: RegistryImage) -> ImageStatus:
        try:
            repository = self._send(self._registry_call(images.repository_path(image)))
        except errors.NotFound:
            return ImageStatus.NO_REPOSITORY
        return ImageStatus.NO_IMAGE if images.is_standard(repository) else ImageStatus.UNKNOWN

    def _registry_call(self, path: str) -> answers.Call:
        return answers.Call("GET", self._base("artifactregistry") + path, "Artifact Registry")

    def account(self) -> str:
        """Return the owner of the credentials as an IAM member, such as serviceAccount:NAME, or "" if unknown.

        Raise AuthFailed if there are no credentials. Over plain HTTP none are needed, and the result is "".
        """
        try:
            credentials = self._credentials.for_url(self._base("cloudresourcemanager"))
        except GoogleAuthError as error:
            raise errors.AuthFailed(auth.words_for(error)) from error
        email = getattr(credentials, "service_account_email", "")
        if isinstance(email, str) and "@" in email:
            return f"serviceAccount:{email}"
        person = getattr(credentials, "account", "")
        return f"user:{person}" if isinstance(person, str) and "@" in person else ""

    def _base(self, service: str) -> str:
        return self._endpoint if auth.is_plain(self._endpoint) else f"https://{service}.googleapis.com"


def _permissions(answer: Mapping[str, Any]) -> frozenset[str]:
    listed = answer.get("permissions")
    return frozenset(each for each in (listed if isinstance(listed, list) else []) if isinstance(each, str))
