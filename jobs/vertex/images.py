"""Container images as Artifact Registry returns them: build requests and read their answers. Pure.

A tag is looked up first. It names a version, which is a digest, and then the image with that digest is requested.
Docker images can be requested by digest only, and the API cannot filter their list. Slashes in the name of a package
are escaped. Source: the discovery document of artifactregistry v1 (packages.tags.get, dockerImages.get,
repositories.get) in google-api-python-client 2.202.0, read 2026-11-23.
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from jobs.spec.images import ImageStatus, RegistryImage
from jobs.vertex import wire

STANDARD = "STANDARD_REPOSITORY"
MAX_SIZE_BYTES = 10**15
"""A larger value is not the size of an image."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_INDEXES = frozenset(
    {"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}
)
"""Lists of images for several processors. Their size is not that of the image that a machine pulls."""


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """The answer of Artifact Registry about an image. The size is None if it gave none."""

    status: ImageStatus
    size_bytes: int | None = None


def repository_path(image: RegistryImage) -> str:
    """Return the path of repositories.get."""
    return f"/v1/projects/{image.project}/locations/{image.location}/repositories/{quote(image.repository, safe='')}"


def tag_path(image: RegistryImage) -> str:
    """Return the path of packages.tags.get."""
    package, tag = quote(image.package, safe=""), quote(image.tag, safe="")
    return f"{repository_path(image)}/packages/{package}/tags/{tag}"


def image_path(image: RegistryImage, digest: str) -> str:
    """Return the path of dockerImages.get."""
    return f"{repository_path(image)}/dockerImages/{quote(f'{image.package}@{digest}', safe='@:')}"


def digest_in(tag: Any) -> str | None:
    """Return the digest of the version that a tag names, or None."""
    digest = wire.text(wire.mapping(tag).get("version")).rpartition("/")[2]
    return digest if _DIGEST.fullmatch(digest) else None


def size_in(image: Any) -> int | None:
    """Return the size of an image in bytes, or None if the answer has no size that a machine would pull."""
    found = wire.mapping(image)
    size = wire.whole(found.get("imageSizeBytes"))
    if size is None or not 0 < size < MAX_SIZE_BYTES or found.get("mediaType") in _INDEXES:
        return None
    return size


def is_standard(repository: Any) -> bool:
    """Return whether a repository holds all of its images itself.

    A remote repository can also provide images that nobody has pulled through it yet. A virtual one provides images of
    other repositories.
    """
    return wire.mapping(repository).get("mode") == STANDARD
