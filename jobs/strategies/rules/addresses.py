"""Check Cloud Storage addresses and full resource names, for the rules."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobs.spec import bucket_of, is_storage_uri, quoted
from jobs.strategies.base import Problem
from jobs.strategies.rules.placeholders import MARK, is_placeholder
from jobs.texts import translatable as _

FOLDER = _("Write gs://bucket/folder.")
"""Remedy for an address that has to be a folder."""


def storage_problem(field: str, uri: str, remedy: str) -> Iterator[Problem]:
    """Yield what is wrong with a Cloud Storage address; nothing if it contains a placeholder."""
    if is_storage_uri(uri) or MARK.search(uri) or is_placeholder(bucket_of(uri) or uri):
        return
    if bucket := bucket_of(uri):
        message = _("%(bucket)s cannot be a bucket's name.", bucket=quoted(bucket))
        remedy = _("A bucket's name has 3 to 63 lowercase letters, digits, hyphens, underscores or dots.")
    else:
        message = _("%(uri)s is not a Cloud Storage address.", uri=quoted(uri))
    yield Problem(field, message, remedy)


class Name(NamedTuple):
    """The pattern of a name, an example, and what it is called in "... is no ..."."""

    pattern: re.Pattern[str]
    example: str
    what: str


def name_problem(field: str, text: str, name: Name) -> Iterator[Problem]:
    """Yield what is wrong with a name of a given form; nothing if it is empty or contains a placeholder."""
    if text and not name.pattern.fullmatch(text[:2000]) and not is_placeholder(text):
        message = _("%(text)s is no %(what)s.", text=quoted(text), what=name.what)
        yield Problem(field, message, _("Write %(example)s.", example=name.example))
