"""Compute Engine's advice on Spot capacity, its history, and dates of reservations: requests and answers. Pure.

Sources: the discovery document of compute v1, revision 20261106 (advice.capacity, capacityHistory, calendarMode), and
"View the availability of Spot VMs" (docs.cloud.google.com/compute/docs/instances/view-vm-availability), both read
2026-11-28. The answers are about VMs of Compute Engine. That they hold for training is not documented.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from jobs.cost.advice import Method, Vms
from jobs.vertex import wire

SPEC = "machines"
"""The key of the one selection or spec of a request; any text is allowed."""
MAX_RECORDS = 400
"""Records of a history that are read; Google documents no limit."""
MAX_ZONES = 20
_DURATION = re.compile(r"([0-9]{1,9})(?:\.[0-9]{1,9})?s")
DAY_SECONDS = 86_400


def path(project: str, region: str, method: Method) -> str:
    """Return the path of a method."""
    return f"/compute/v1/projects/{quote(project, safe='')}/regions/{quote(region, safe='')}/advice/{method}"


def body(method: Method, vms: Vms, *, now: datetime) -> dict[str, Any]:
    """Return the body of a request. `now` is only for the dates of a reservation."""
    spot = {"scheduling": {"provisioningModel": "SPOT"}}
    if method is Method.HISTORY:
        properties = {"machineType": vms.machine_type, **spot, **_accelerators(vms)}
        return {"instanceProperties": properties, "types": ["PREEMPTION"]}
    if method is Method.CALENDAR:
        return {"futureResourcesSpecs": {SPEC: _future(vms, now)}}
    selection = {"machineTypes": [vms.machine_type], **_accelerators(vms)}
    return {
        "instanceProperties": spot,
        "instanceFlexibilityPolicy": {"instanceSelections": {SPEC: selection}},
        "distributionPolicy": {"targetShape": "ANY_SINGLE_ZONE"},  # the replicas of a job are near each other
        "size": vms.size,
    }


def read(method: Method, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an answer, as stored. Raise ValueError if it has none, or an impossible one."""
    return _READERS[method](answer)


MAX_AHEAD = timedelta(days=60)
"""How far ahead dates of GPU VMs can be viewed ("About future reservation requests in calendar mode",
cloud.google.com/compute/docs/instances/future-reservations-calendar-mode-overview, read 2026-11-28)."""


def _future(vms: Vms, now: datetime) -> dict[str, Any]:
    seconds = f"{vms.days * DAY_SECONDS}s"
    return {
        "targetResources": {"specificSkuResources": {"machineType": vms.machine_type, "instanceCount": str(vms.size)}},
        "timeRangeSpec": {
            "startTimeNotEarlierThan": wire.timestamp(now + timedelta(days=1)),
            "startTimeNotLaterThan": wire.timestamp(now + MAX_AHEAD),
            "minDuration": seconds,
            "maxDuration": seconds,
        },
    }


def _accelerators(vms: Vms) -> dict[str, Any]:
    if not vms.accelerator:
        return {}
    name = vms.accelerator.lower().replace("_", "-")
    return {"guestAccelerators": [{"acceleratorType": name, "acceleratorCount": vms.accelerator_count}]}


# ---------------------------------------------------------------- answers
def _capacity(answer: Mapping[str, Any]) -> dict[str, Any]:
    first = wire.mapping(_first(answer, "recommendations"))
    scores = wire.mapping(first.get("scores"))
    share = _share(scores.get("obtainability"))
    if share is None:
        raise ValueError("it has no obtainability from 0 to 1")
    shards = [wire.mapping(each) for each in _listed(first, "shards")[:MAX_ZONES]]
    zones = dict.fromkeys(_last(each.get("zone")) for each in shards)
    return {
        "obtainability": share,
        "uptime_seconds": _seconds(scores.get("estimatedUptime")),
        "zones": [zone for zone in zones if zone],
    }


def _history(answer: Mapping[str, Any]) -> dict[str, Any]:
    rates = {}
    for record in map(wire.mapping, _listed(answer, "preemptionHistory")[:MAX_RECORDS]):
        rate = _share(record.get("preemptionRate", 0.0))  # proto3 JSON leaves 0 out
        began = wire.moment(wire.mapping(record.get("interval")).get("startTime"))
        if rate is None:
            raise ValueError("a preemption rate is not from 0 to 1")
        if began is not None:
            rates[began.date().isoformat()] = rate
    if not rates:
        raise ValueError("it has no preemption rate")
    return {"rates": sorted(rates.items())}


def _calendar(answer: Mapping[str, Any]) -> dict[str, Any]:
    offers, others = list[list[str]](), dict[str, str]()
    for recommendation in map(wire.mapping, _listed(answer, "recommendations")[:MAX_ZONES]):
        for found in map(wire.mapping, wire.mapping(recommendation.get("recommendationsPerSpec")).values()):
            start, end = wire.moment(found.get("startTime")), wire.moment(found.get("endTime"))
            zone = _last(found.get("location"))
            if zone and start is not None and end is not None and start < end:
                offers.append([zone, start.isoformat(), end.isoformat()])
            for place, other in list(wire.mapping(found.get("otherLocations")).items())[:MAX_ZONES]:
                others[_last(place)] = wire.text(wire.mapping(other).get("status"))[:40]
    if not offers and not others:
        raise ValueError("it names no zone")
    return {"offers": offers, "others": sorted(others.items())}


_READERS = {Method.CAPACITY: _capacity, Method.HISTORY: _history, Method.CALENDAR: _calendar}


def _first(answer: Mapping[str, Any], name: str) -> Any:
    listed = _listed(answer, name)
    if not listed:
        raise ValueError("it recommends nothing")
    return listed[0]


def _listed(answer: Mapping[str, Any], name: str) -> list[Any]:
    listed = answer.get(name)
    return listed if isinstance(listed, list) else []


def _share(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None  # a NaN is not


def _seconds(value: object) -> int | None:
    """Return the seconds of a duration such as "3600s", or None if it is absent or makes no sense."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) if found else None


def _last(value: object) -> str:
    """Return the last part of a URL such as zones/us-central1-a, "" if it is not one."""
    return value.rpartition("/")[2][:63] if isinstance(value, str) else ""
