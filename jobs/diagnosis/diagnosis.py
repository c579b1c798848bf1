"""The shape of a diagnosis, and the changes of a spec that one can suggest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Suggestion = Mapping[str, Any]
"""What a prefilled copy of the job could change: {"action": one of ACTIONS, ...details}."""

ACTIONS = frozenset(
    {
        "next_machine_size",  # "pools": ["workerpool0", ...] or absent for all
        "more_disk",
        "bigger_gpu",
        "other_accelerator",
        "other_machine",
        "other_region",  # "avoid": region or absent
        "flex_start",
        "spot",
        "standard",
        "own_machines",
        "longer_wait",
        "endless_wait",
        "longer_timeout",
        "request_quota",  # "metrics": [...]
        "resubmit",
        "edit_field",  # "fields": JSON paths of the REST body
    }
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One answer to "what happened and what now".

    `cause`: a stable code. `title`: a few words for lists. `retried`: what Vertex AI had already repeated by itself,
    "" = nothing. `suggestions`: best first, empty when no change of the spec would help. `replicas`: those that ended
    badly, as far as Vertex AI names them.
    """

    cause: str
    title: str
    explanation: str
    retried: str
    remedy: str
    source: str
    suggestions: tuple[Suggestion, ...] = ()
    replicas: tuple[str, ...] = ()
