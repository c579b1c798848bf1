"""The type of a diagnosis, and the changes of a spec that it can suggest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Suggestion = Mapping[str, Any]
"""A change for a prefilled copy of the job: {"action": one of ACTIONS, ...details}."""

ACTIONS = frozenset(
    "next_machine_size more_disk bigger_gpu other_accelerator other_machine other_region flex_start spot standard"
    " own_machines longer_wait endless_wait longer_timeout request_quota resubmit gcs_path edit_field".split()
)
"""`next_machine_size` has "pools": ["workerpool0", ...], or none for all; `other_region` may have "avoid": a region;
`request_quota` has "metrics": [...], and `edit_field` "fields": JSON paths of the REST body."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of diagnosing a failure: what happened, and what to do.

    `cause` is a stable code, and `title` a few words for lists. `retried` is what Vertex AI had retried already, ""
    means nothing. `suggestions` has the best first, and is empty if no change of the spec would help. `replicas` are
    those that failed, as far as Vertex AI names them.
    """

    cause: str
    title: str
    explanation: str
    remedy: str
    source: str
    suggestions: tuple[Suggestion, ...] = ()
    retried: str = ""
    replicas: tuple[str, ...] = ()
