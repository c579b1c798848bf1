"""The part of Artifact Registry that is needed to look up a container image: a repository, a tag, a Docker image.

Every image exists, with a size derived from its name, until the control plane sets another (`/_emulator/images`).
Sources: the discovery document of artifactregistry v1 in google-api-python-client 2.202.0, read 2026-11-23. As with
Google's services, a caller without the permission gets 403 even if the object does not exist.
"""

import re
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

from emulator.emulator import Emulator
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import ApiError, invalid, not_found

MIN_SIZE, SIZE_RANGE = 200 * 2**20, 8 * 2**30
DIGEST = re.compile(r"(?P<package>.+)@(?P<digest>sha256:[0-9a-f]{64})")
MEDIA_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
KNOWN = {"missing", "remote", "sizes"}


def get_repository(emulator: Emulator, call: Call) -> Document:
    """Return a repository. It is a remote one if the control plane has set this."""
    name, path = _repository(emulator, call, "repositories")
    mode = "REMOTE_REPOSITORY" if path in emulator.images["remote"] else "STANDARD_REPOSITORY"
    return {"name": name, "format": "DOCKER", "mode": mode}


def get_tag(emulator: Emulator, call: Call) -> Document:
    """Return a tag of a package, which names a version by its digest."""
    name, path = _repository(emulator, call, "tags")
    package, tag = call.params["package"], call.params["tag"]
    image = f"{path}/{package}:{tag}"
    _check_exists(emulator, image)
    parent = f"{name}/packages/{package.replace('/', '%2F')}"
    return {"name": f"{parent}/tags/{tag}", "version": f"{parent}/versions/{_digest(image)}"}


def get_image(emulator: Emulator, call: Call) -> Document:
    """Return a Docker image by its digest. Raise ApiError 400 for a name without a digest."""
    name, path = _repository(emulator, call, "dockerimages")
    match = DIGEST.fullmatch(call.params["image"])
    if match is None:
        raise invalid("Request contains an invalid argument: a docker image is named by its digest.")
    image = f"{path}/{match[0]}"
    _check_exists(emulator, image)
    document = {"name": f"{name}/dockerImages/{match[0]}", "uri": image, "mediaType": MEDIA_TYPE}
    size = _size(emulator, image, match["digest"])
    return document if size is None else document | {"imageSizeBytes": str(size)}


def show_images(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return the missing images, the remote repositories, and the sizes that were set."""
    return emulator.images


def change_images(emulator: Emulator, call: Call) -> Document:
    """Replace the settings by `{"missing": [pattern], "remote": [repository], "sizes": {image: bytes or null}}`."""
    body = call.json()
    if not isinstance(body, dict) or set(body) - KNOWN or not _is_well_formed(body):
        raise invalid("The body must be a JSON object with missing and remote, lists of text, and sizes, an object.")
    emulator.images = {"missing": body.get("missing", []), "remote": body.get("remote", []),
                       "sizes": body.get("sizes", {})}  # fmt: skip
    return emulator.images


def _repository(emulator: Emulator, call: Call, kind: str) -> tuple[str, str]:
    """Return a repository's resource name and its address. Raise ApiError 403 or 404 if it cannot be seen."""
    project, location, repository = (call.params[key] for key in ("project", "location", "repository"))
    name = f"projects/{project}/locations/{location}/repositories/{repository}"
    if (permission := f"artifactregistry.{kind}.get") in emulator.denied:
        raise ApiError(403, f'Permission "{permission}" denied on resource "{name}" (or it may not exist).')
    path = f"{location}-docker.pkg.dev/{project}/{repository}"
    _check_exists(emulator, path)
    return name, path


def _check_exists(emulator: Emulator, image: str) -> None:
    if any(fnmatchcase(image, pattern) for pattern in emulator.images["missing"]):
        raise not_found("Requested entity was not found.")


def _digest(image: str) -> str:
    return f"sha256:{sha256(image.encode()).hexdigest()}"


def _size(emulator: Emulator, image: str, digest: str) -> int | None:
    """Return the size set for the image by digest or tag, else one derived from its digest."""
    for name, size in emulator.images["sizes"].items():
        if name == image or _digest(name) == digest:
            return None if size is None else int(size)
    return MIN_SIZE + int(digest[-12:], 16) % SIZE_RANGE


def _is_well_formed(body: dict[str, Any]) -> bool:
    lists = [body.get(key, []) for key in ("missing", "remote")]
    sizes = body.get("sizes", {})
    if not all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in lists):
        return False
    return isinstance(sizes, dict) and all(
        size is None or (isinstance(size, int) and not isinstance(size, bool)) for size in sizes.values()
    )
