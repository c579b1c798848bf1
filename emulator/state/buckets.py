"""Buckets as folders. Objects are files, and their metadata is computed. Every valid bucket name exists.

Not implemented on purpose: generations other than the current one, access control, storage classes, notifications.
"""

import base64
import hashlib
import mimetypes
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import google_crc32c

from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found
from emulator.protocol.names import is_bucket, is_object
from emulator.protocol.timestamps import format_time

MAX_CHECKSUM_BYTES = 64 * 2**20


class Buckets:
    """All buckets below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def bucket(self, name: str) -> Path:
        """Return a bucket's folder. Raise ApiError 400 for an invalid name."""
        if not is_bucket(name):
            raise invalid(f"Invalid bucket name: '{name}'")
        return self._folder / name

    def names(self) -> list[str]:
        """Return the buckets that contain objects or were created."""
        return sorted(path.name for path in self._folder.glob("*") if path.is_dir())

    def path(self, bucket: str, name: str) -> Path:
        """Return an object's file. Raise ApiError 400 for a name that would leave the bucket."""
        if not name or not is_object(name):
            raise invalid(f"Invalid object name: '{name}'")
        return self.bucket(bucket) / name

    def write(self, bucket: str, name: str, data: bytes) -> Document:
        """Store an object as a whole. Return its metadata."""
        path = self.path(bucket, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{uuid.uuid4().hex}.part")
            part.write_bytes(data)
            part.replace(path)
        except OSError as problem:
            raise invalid(f"The object '{name}' cannot be a file here: {problem.strerror}") from None
        return self.metadata(bucket, name)

    def read(self, bucket: str, name: str) -> bytes:
        """Return an object's content. Raise ApiError 404 if there is none."""
        return self._existing(bucket, name).read_bytes()

    def delete(self, bucket: str, name: str) -> None:
        """Delete an object. Raise ApiError 404 if there is none."""
        self._existing(bucket, name).unlink()

    def _existing(self, bucket: str, name: str) -> Path:
        path = self.path(bucket, name)
        if not path.is_file():
            raise not_found(f"No such object: {bucket}/{name}")
        return path

    def metadata(self, bucket: str, name: str) -> Document:
        """Return an object's resource."""
        path = self._existing(bucket, name)
        status = path.stat()
        data = path.read_bytes() if status.st_size <= MAX_CHECKSUM_BYTES else b""
        generation = str(status.st_mtime_ns // 1_000)
        when = format_time(status.st_mtime)
        checksums = {}
        if data or not status.st_size:
            crc32c = google_crc32c.Checksum(data).digest()
            md5 = hashlib.md5(data, usedforsecurity=False).digest()
            checksums = {"crc32c": base64.b64encode(crc32c).decode(), "md5Hash": base64.b64encode(md5).decode()}
        return {
            "kind": "storage#object",
            "id": f"{bucket}/{name}/{generation}",
            "bucket": bucket,
            "name": name,
            "generation": generation,
            "metageneration": "1",
            "contentType": mimetypes.guess_type(name)[0] or "application/octet-stream",
            "storageClass": "STANDARD",
            "size": str(status.st_size),
            "timeCreated": when,
            "updated": when,
            "etag": generation,
            **checksums,
        }

    def object_names(self, bucket: str, prefix: str) -> Iterator[str]:
        """Yield the sorted names of a bucket's objects that start with a prefix."""
        folder = self.bucket(bucket)
        names = (
            (Path(parent) / file).relative_to(folder).as_posix()
            for parent, _, files in os.walk(folder)
            for file in files
            if not (file.startswith(".") and file.endswith(".part"))
        )
        yield from sorted(name for name in names if name.startswith(prefix))
