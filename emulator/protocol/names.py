"""Names: resource names, project numbers, server-assigned ids, bucket names."""

import hashlib
import re
import secrets

BUCKET = re.compile(r"(?=.{3,222}\Z)(?=[a-z0-9])(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}(?<=[a-z0-9])")
"""3 to 63 characters, or up to 222 in parts separated by dots (Cloud Storage, bucket name requirements, 2026-11-22)."""


def project_number(project: str) -> str:
    """Return the number of a project: the argument if it is a number, else a number derived from the id.

    Vertex AI answers with the project number, whichever the request used.
    """
    if project.isdigit():
        return project
    digest = int.from_bytes(hashlib.sha256(project.encode()).digest()[:8])
    return str(100_000_000_000 + digest % 900_000_000_000)


def new_id() -> str:
    """Return a server-assigned id: 19 decimal digits."""
    return str(10**18 + secrets.randbelow(8 * 10**18))


def is_bucket(name: str) -> bool:
    """Return whether this is a valid Cloud Storage bucket name. Such a name is also a plain folder name."""
    return BUCKET.fullmatch(name) is not None


def is_object(name: str) -> bool:
    """Return whether an object's name stays inside its bucket's folder."""
    return "\0" not in name and not name.startswith("/") and ".." not in name.split("/") and len(name) <= 1024
