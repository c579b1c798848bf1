"""Container images in Artifact Registry: the parts of an image's name, and what is known of the image. Pure.

Source: "Repository and image names" (docs.cloud.google.com/artifact-registry/docs/docker/names, read 2026-11-23).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jobs.spec.findings import Finding, Severity
from jobs.spec.submission import Submission
from jobs.spec.worker_pool import ContainerSpec
from jobs.texts import translatable as _

MAX_NAME_LENGTH = 500
"""Longer names are not looked up. The path of an image may have 255 characters."""
GOOGLE_PROJECTS = frozenset({"vertex-ai", "deeplearning-platform-release"})
"""Projects of Google's own images. Everybody may pull these, but API access to them is not documented."""
DEFAULT_TAG = "latest"
_PART = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_NAME = re.compile(
    r"(?P<location>[a-z]+(?:-[a-z]+[0-9]+)?)-docker\.pkg\.dev"
    r"/(?P<project>[a-z][a-z0-9-]{4,28}[a-z0-9])/(?P<repository>[a-z](?:[a-z0-9.-]{0,61}[a-z0-9])?)"
    rf"/(?P<package>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@dataclass(frozen=True, slots=True)
class RegistryImage:
    """The parts of an Artifact Registry image's name; if there is a digest, it identifies the image."""

    location: str
    project: str
    repository: str
    package: str
    tag: str
    digest: str

    @property
    def repository_path(self) -> str:
        """The repository as people write it, such as europe-docker.pkg.dev/PROJECT/REPOSITORY."""
        return f"{self.location}-docker.pkg.dev/{self.project}/{self.repository}"


class ImageStatus(StrEnum):
    """The answer of Artifact Registry about an image, or of Cloud Storage about a folder; the values are stored."""

    FOUND = "found"
    NO_IMAGE = "no_image"
    NO_REPOSITORY = "no_repository"
    CHECKPOINTS = "checkpoints"
    """Of an output folder: it holds checkpoints."""
    NO_CHECKPOINTS = "no_checkpoints"
    UNKNOWN = "unknown"
    """The lookup failed, or its answer does not mention the image."""


@dataclass(frozen=True, slots=True)
class ImageState:
    """What is known of an image or a folder, and when it was read. `status` is None while the answer is pending.

    `size_bytes` are those of the image, or of the newest checkpoint in the folder.
    """

    status: ImageStatus | None
    size_bytes: int | None = None
    read_at: datetime | None = None

    @property
    def is_missing(self) -> bool:
        """Whether Artifact Registry has no such image."""
        return self.status in (ImageStatus.NO_IMAGE, ImageStatus.NO_REPOSITORY)


def registry_image(name: str) -> RegistryImage | None:
    """Return the parts of an image's name; None for images elsewhere, Google's own images and invalid names.

    Projects with a domain (example.com:project) are not supported.
    """
    found = _NAME.fullmatch(name) if len(name) <= MAX_NAME_LENGTH else None
    if found is None or found["project"] in GOOGLE_PROJECTS:
        return None
    parts = {key: value or "" for key, value in found.groupdict().items()}
    return RegistryImage(**parts | {"tag": parts["tag"] or DEFAULT_TAG})


def images_of(submission: Submission) -> Iterator[tuple[int, str, str]]:
    """Yield the worker pool's index, the field's path and the image's name for each pool that names an image."""
    for index, pool in submission.pools:
        task = pool.task
        if isinstance(task, ContainerSpec):
            name, image = "containerSpec.imageUri", task.image_uri
        elif task is not None:
            name, image = "pythonPackageSpec.executorImageUri", task.executor_image_uri
        else:
            continue
        if image:
            yield index, submission.pool_path(index, name), image


def missing_images(submission: Submission, states: Mapping[str, ImageState]) -> list[Finding]:
    """Return a note for each worker pool whose image is missing in Artifact Registry; `states` are by name.

    This is never an error, because somebody may push the image before the job starts.
    """
    found = []
    for _index, path, name in images_of(submission) if states else ():
        state, image = states.get(name), registry_image(name)
        if state is None or image is None or not state.is_missing or state.read_at is None:
            continue
        when, repository = f"{state.read_at:%Y-%m-%d %H:%M}", image.repository_path
        if state.status is ImageStatus.NO_REPOSITORY:
            message = _("There is no repository %(repository)s (read %(when)s UTC).", repository=repository, when=when)
            remedy = _("Check location, project and repository in the name of the image.")
        else:
            tag = f"@{image.digest}" if image.digest else f":{image.tag}"
            message = _(
                "There is no image %(image)s in %(repository)s (read %(when)s UTC).",
                image=image.package + tag,
                repository=repository,
                when=when,
            )
            remedy = _("Check the name of the image, or push it before the job starts.")
        found.append(Finding("image_is_missing", Severity.NOTE, path, message, remedy))
    return found
