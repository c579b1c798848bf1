"""Folders under --state: buckets, and a scratch folder per replica. Convert Cloud Storage paths to local ones."""

import re
from pathlib import Path

from emulator.protocol.names import is_bucket, is_object
from emulator.state.records import Job

CLOUD_PATH = re.compile(r"(?:gs://|(?<![\w./-])/gcs/)([a-z0-9][a-z0-9._-]*)(/[^\s\"',;:]*)?")


class Folders:
    """The folders below --state."""

    def __init__(self, state: Path) -> None:
        self.state = state.resolve()
        self.buckets = self.state / "buckets"
        self.work = self.state / "work"

    def scratch(self, job: Job, replica: str) -> Path:
        """Return the replica's own folder, which is its HOME. It is kept over restarts on the same machine."""
        return self.work / job.id / replica

    def local(self, text: str) -> str:
        """Return the text with `gs://bucket/x` and `/gcs/bucket/x` as paths of this machine.

        Paths with an invalid bucket name, or that would leave the bucket's folder, are not changed.
        """

        def path(match: re.Match[str]) -> str:
            bucket, rest = match[1], match[2] or ""
            if not is_bucket(bucket) or not is_object(rest.removeprefix("/")):
                return match[0]
            return f"{self.buckets}/{bucket}{rest}"

        return CLOUD_PATH.sub(path, text)
