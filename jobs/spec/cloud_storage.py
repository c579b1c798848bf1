"""Addresses in Cloud Storage. Source: cloud.google.com/storage/docs/buckets, bucket name requirements, 2026-11-22."""

import re

SCHEME = "gs://"
MAX_BUCKET_CHARACTERS = 222
BUCKET_PART = re.compile(r"[a-z0-9_-]{1,63}", re.ASCII)
"""One of the parts between dots; a name without dots has one part."""
BUCKET_ENDS = re.compile(r"[a-z0-9].+[a-z0-9]", re.ASCII)


def bucket_of(uri: str) -> str:
    """Return the bucket of a `gs://` address; "" if it is not one or names no bucket."""
    return uri[len(SCHEME) :].partition("/")[0] if uri.startswith(SCHEME) else ""


def is_bucket(name: str) -> bool:
    """Return whether a bucket name is valid: 3 to 63 characters, up to 222 with dots."""
    if not 3 <= len(name) <= MAX_BUCKET_CHARACTERS or not BUCKET_ENDS.fullmatch(name):
        return False
    return all(map(BUCKET_PART.fullmatch, name.split(".")))


def is_storage_uri(uri: str) -> bool:
    """Return whether an address names a valid bucket, with or without a path after it."""
    return is_bucket(bucket_of(uri))
