"""How the rules check an address in Cloud Storage, wherever a job has one."""

from collections.abc import Iterator

from jobs.spec import bucket_of, is_storage_uri, quoted
from jobs.strategies.base import Problem
from jobs.strategies.rules.placeholders import MARK, is_placeholder
from jobs.texts import translatable as _

FOLDER = _("Write gs://bucket/folder.")
"""What to do about an address that has to be a folder."""


def storage_problem(field: str, uri: str, remedy: str) -> Iterator[Problem]:
    """Yield what is wrong with an address that has to be one in Cloud Storage; nothing of one that is left open."""
    if is_storage_uri(uri) or MARK.search(uri) or is_placeholder(bucket_of(uri) or uri):
        return
    if bucket := bucket_of(uri):
        message = _("%(bucket)s cannot be a bucket's name.", bucket=quoted(bucket))
        remedy = _("A bucket's name has 3 to 63 lowercase letters, digits, hyphens, underscores or dots.")
    else:
        message = _("%(uri)s is no Cloud Storage address.", uri=quoted(uri))
    yield Problem(field, message, remedy)
