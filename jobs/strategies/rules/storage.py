"""How the rules judge an address in Cloud Storage, wherever a job has one."""

from collections.abc import Iterator

from jobs.spec import bucket_of, is_storage_uri, quoted
from jobs.strategies.base import Problem
from jobs.strategies.rules.placeholders import MARK, is_placeholder


def storage_problem(field: str, uri: str, remedy: str) -> Iterator[Problem]:
    """Yield what is wrong with an address that has to be one in Cloud Storage; nothing of one that is left open."""
    if is_storage_uri(uri) or MARK.search(uri) or is_placeholder(bucket_of(uri) or uri):
        return
    if bucket := bucket_of(uri):
        what = f"{quoted(bucket)} cannot be a bucket's name"
        remedy = "A bucket's name has 3 to 63 lowercase letters, digits, hyphens, underscores or dots."
    else:
        what = f"{quoted(uri)} is no Cloud Storage address"
    yield Problem(field, f"{what}.", remedy)
