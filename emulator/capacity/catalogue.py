"""Extend what the emulator knows by a catalogue: machine types, regions, fields and enum values newer than its own.

A catalogue is a JSON object; every part is optional:

    {"machines": {"n5-standard-8": {"vcpus": 8, "memoryGib": 32, "accelerators": {"NVIDIA_B300": [1, 2]}}},
     "regions": ["europe-west20"],
     "messages": {"CustomJobSpec": {"logFormat": "string"}},
     "enums": {"AcceleratorType": {"NVIDIA_B300": 90}, "Scheduling.Strategy": {"CALENDAR": 7}}}

Messages and enums are written as in data/messages.json. Numbers of accelerators may be an empty list: any number.
"""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.capacity.machines import MACHINES, REGIONS, Machine
from emulator.protocol import schema
from emulator.protocol.documents import READERS

PARTS = frozenset({"machines", "regions", "messages", "enums"})


def extend(catalogue: Any) -> Callable[[], None]:
    """Add a catalogue to what this process knows. Return a function that removes it again.

    Raise ValueError if it is not a catalogue; nothing is added then.
    """
    if not isinstance(catalogue, dict) or not catalogue.keys() <= PARTS:
        raise ValueError(f"a catalogue is an object with {', '.join(sorted(PARTS))}")
    machines = {name: _machine(name, each) for name, each in _object(catalogue, "machines").items()}
    regions = catalogue.get("regions", [])
    if not isinstance(regions, list) or not all(isinstance(each, str) for each in regions):
        raise ValueError("regions must be a list of names")
    before = dict(MACHINES), set(REGIONS), schema.copy_tables()
    try:
        schema.extend_tables(_object(catalogue, "messages"), _object(catalogue, "enums"))
        for message in _object(catalogue, "messages"):
            _check_types(message)
    except (ValueError, TypeError, AttributeError) as problem:
        schema.set_tables(*before[2])
        raise ValueError(f"messages and enums are written as in data/messages.json: {problem}") from None
    MACHINES.update(machines)
    REGIONS.update(regions)

    def undo() -> None:
        MACHINES.clear()
        MACHINES.update(before[0])
        REGIONS.clear()
        REGIONS.update(before[1])
        schema.set_tables(*before[2])

    return undo


def _check_types(message: str) -> None:
    for field in schema.fields(message).values():
        if field.kind == "scalar" and field.of not in READERS:
            raise ValueError(f"{message}.{field.name} has the unknown type {field.of}")


def _object(catalogue: Mapping[str, Any], part: str) -> dict[str, Any]:
    value = catalogue.get(part, {})
    if not isinstance(value, dict):
        raise ValueError(f"{part} must be an object")
    return value


def _machine(name: str, given: Any) -> Machine:
    try:
        counts = {kind: tuple(map(int, each)) for kind, each in given.get("accelerators", {}).items()}
        series = str(given.get("series", name.partition("-")[0]))
        return Machine(series, int(given.get("vcpus", 0)), float(given.get("memoryGib", 0)), counts)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"the machine {name} needs vcpus, memoryGib and accelerators") from None
