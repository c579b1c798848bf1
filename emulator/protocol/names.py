"""Names: resource names, project numbers, server-assigned ids, bucket names."""

import hashlib
import re
import secrets

BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def project_number(project: str) -> str:
    """Return the number of a project: itself if it is one already, else one that is always the same for the id.

    Vertex AI answers with the project number whatever the request used.
    """
    if project.isdigit():
        return project
    digest = int.from_bytes(hashlib.sha256(project.encode()).digest()[:8])
    return str(100_000_000_000 + digest % 900_000_000_000)


def new_id() -> str:
    """Return a server-assigned id: 19 decimal digits."""
    return str(10**18 + secrets.randbelow(8 * 10**18))


def is_bucket(name: str) -> bool:
    """Tell whether this can be a Cloud Storage bucket's name; such a name is one plain folder name too."""
    return bool(BUCKET.fullmatch(name)) and ".." not in name


def is_object(name: str) -> bool:
    """Tell whether an object's name stays inside its bucket's folder."""
    return "\0" not in name and not name.startswith("/") and ".." not in name.split("/") and len(name) <= 1024
