"""From a path in the REST body to the field of the form that writes it, for every kind of job."""

import re
from collections.abc import Mapping

from dashboard.forms.body import tables
from dashboard.forms.body.layout import Layout

RESOURCE, PIPELINE, SPEC, TUNING, POOL, PARAMETER = (
    table.places()
    for table in (tables.RESOURCE, tables.PIPELINE, tables.SPEC, tables.TUNING, tables.POOL, tables.PARAMETER)
)

CODES: dict[str, str] = {
    "region_is_given": "region",
    "region_trains": "region",
    "region_not_allowed": "region",
}
"""Findings about what is not in the body, because it is in the address that the body is sent to."""
ROW = re.compile(r"^(?P<at>.*)(?P<list>workerPoolSpecs|studySpec\.parameters)\[(?P<index>\d+)\]\.?(?P<rest>.*)$", re.S)
PREFIXES = {"workerPoolSpecs": "pool", "studySpec.parameters": "parameter"}
LONGEST_PATH = 1000


def place_of(code: str, path: str, layout: Layout) -> tuple[str, str]:
    """Return (prefix of the row or "", field) for a finding's code and path; ("", "") where no field writes it."""
    if code in CODES:
        return "", CODES[code]
    path = path[:LONGEST_PATH]
    found = ROW.match(path)
    if found and found["at"] in (f"{layout.spec_path}.", layout.tuning_path):
        places = POOL if found["list"] == "workerPoolSpecs" else PARAMETER
        return f"{PREFIXES[found['list']]}-{int(found['index'])}", _longest(found["rest"], places)
    if path == f"{layout.spec_path}.workerPoolSpecs":
        return "pool-0", "machine_type"
    if path.startswith(f"{layout.spec_path}.") and (name := _longest(path[len(layout.spec_path) + 1 :], SPEC)):
        return "", name
    if layout.tunes and (name := _longest(path.removeprefix(layout.tuning_path), TUNING)):
        return "", name
    known = RESOURCE | PIPELINE if layout.kind == "training_pipeline" else RESOURCE
    return "", _longest(path, known)


def _longest(path: str, places: Mapping[str, str]) -> str:
    """Return the field of the longest of `places` that `path` begins with."""
    parts = path.replace("[", ".").replace("]", "").split(".")
    for length in range(len(parts), 0, -1):
        if name := places.get(".".join(parts[:length])):
            return name
    return places.get("", "")
