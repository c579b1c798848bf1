"""What the page tells at its fields: where a finding stands now, and where one stood that is gone."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from dashboard.forms.found import FoundField, FoundForm

FINDS_ID = re.compile(r"id_[a-z0-9_-]{1,80}-finds")
MOST = 2_000
"""Far more than there are fields."""


class Told(NamedTuple):
    """The fields whose findings stand in the page; their places, which the browser sends back as `told`; and the places
    of those that it sent but that are told no more.
    """

    fields: list[FoundField]
    ids: str
    quiet_ids: list[str]


def told(forms: Iterable[FoundForm], had: str) -> Told:
    """Return what these forms tell; `had` is what the browser sent back."""
    fields = [field for form in forms for field in form.told]
    now = [field.finds_id for field in fields]
    quiet = [name for name in had.split()[:MOST] if name not in now and FINDS_ID.fullmatch(name)]
    return Told(fields, " ".join(now), quiet)
