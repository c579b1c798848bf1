"""Compute Engine's advice on capacity, from the capacity plan: capacity, capacityHistory and calendarMode.

Shapes: the discovery document of compute v1, revision 20261106. What the scores mean: "View the availability of Spot
VMs" (docs.cloud.google.com/compute/docs/instances/view-vm-availability, read 2026-11-28): at most five machine types,
no TPUs, an uptime of 3600 s or 600 s. Prices are invented: a price per vCPU.
"""

import hashlib
import math
import uuid
from collections.abc import Iterator
from typing import Any

from emulator.capacity import demand
from emulator.capacity.machines import MACHINES, REGIONS
from emulator.emulator import Emulator
from emulator.methods.compute_types import ROOT
from emulator.protocol import timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found

LIKELY, PARTIAL, UNLIKELY = 0.9, 0.5, 0.1
LONG, SHORT = "3600s", "600s"
MAX_MACHINES, MAX_SIZE = 5, 10_000
DAYS, DAY = 7, 86_400
USUAL_SHARE = 0.05
"""Preemption rate of a day where the plan has no reclaims."""
USD_PER_VCPU = 0.01
CALENDAR_SERIES = frozenset({"a3", "a4"})
MAX_DAYS_AHEAD, MAX_DAYS, MAX_VMS = 60, 90, 80
"""Limits of calendar mode for GPU VMs, of its overview and "Create a future reservation request in calendar mode"."""
CAPACITY = frozenset({"instanceProperties", "instanceFlexibilityPolicy", "distributionPolicy", "size"})
HISTORY = frozenset({"instanceProperties", "locationPolicy", "types"})


def capacity(emulator: Emulator, call: Call) -> Document:
    """Return how likely Spot VMs can be had now: by the machines that the plan leaves free in the region."""
    body, region = _body(call, CAPACITY), _region(call)
    _check_spot(body)
    size = body.get("size")
    if type(size) is not int or not 0 < size <= MAX_SIZE:
        raise invalid("Invalid value for field 'size': it must be at least 1.")
    if _object(body.get("distributionPolicy"), "distributionPolicy").get("targetShape") not in _SHAPES:
        raise invalid("Invalid value for field 'distributionPolicy.targetShape'.")
    policy = _object(body.get("instanceFlexibilityPolicy"), "instanceFlexibilityPolicy")
    selections = _object(policy.get("instanceSelections"), "instanceSelections").values()
    offered = [spec for each in selections for spec in _machines(_object(each, "instanceSelections"), call)]
    if not 0 < len(offered) <= MAX_MACHINES:
        raise invalid(f"Between 1 and {MAX_MACHINES} machine types are required.")
    free, spec = max(((_free(emulator, region, each, "spot"), each) for each in offered), key=lambda pair: pair[0])
    count = min(size, free)
    share = LIKELY if count == size else PARTIAL if count else UNLIKELY
    shard = {
        "instanceCount": int(max(count, 1)),
        "machineType": spec["machineType"],
        "provisioningModel": "SPOT",
        "zone": f"{ROOT}/projects/{call.params['project']}/zones/{region}-a",
    }
    scores = {"obtainability": share, "estimatedUptime": _uptime(emulator)}
    return {"recommendations": [{"scores": scores, "shards": [shard]}]}


def capacity_history(emulator: Emulator, call: Call) -> Document:
    """Return the preemption rates and Spot prices of the last days."""
    body, region = _body(call, HISTORY), _region(call)
    _check_spot(body)
    types = body.get("types")
    if not isinstance(types, list) or not types or not set(types) <= {"PREEMPTION", "PRICE"}:
        raise invalid("Invalid value for field 'types'.")
    properties = _object(body.get("instanceProperties"), "instanceProperties")
    name = str(properties.get("machineType", ""))
    _machine(name, call)
    place = _object(body.get("locationPolicy"), "locationPolicy").get("location") or f"regions/{region}"
    answer: Document = {"machineType": name, "location": f"{ROOT}/projects/{call.params['project']}/{place}"}
    days = list(_days(emulator))
    if "PREEMPTION" in types:
        share = _preempted_share(emulator)
        answer["preemptionHistory"] = [{"interval": each, "preemptionRate": share} for each in days]
    if "PRICE" in types:
        whole = MACHINES[name].vcpus * USD_PER_VCPU
        price = {"currencyCode": "USD", "units": str(int(whole)), "nanos": round(whole % 1 * 1e9)}
        interval = {"startTime": days[0]["startTime"], "endTime": days[-1]["endTime"]}
        answer["priceHistory"] = [{"interval": interval, "listPrice": price}]
    return answer


def calendar_mode(emulator: Emulator, call: Call) -> Document:
    """Return when and where machines could be reserved: as soon as asked for, if the plan has that many at all."""
    body, region = _body(call, frozenset({"futureResourcesSpecs"})), _region(call)
    specs = _object(body.get("futureResourcesSpecs"), "futureResourcesSpecs")
    if len(specs) != 1:
        raise invalid("Exactly one entry of 'futureResourcesSpecs' is required.")
    ((key, spec),) = specs.items()
    wanted = _object(_object(spec, key).get("targetResources"), "targetResources").get("specificSkuResources")
    wanted = _object(wanted, "specificSkuResources")
    name = str(wanted.get("machineType", ""))
    _machine(name, call)
    count = _whole(wanted.get("instanceCount"))
    if count > MAX_VMS:
        raise invalid(f"Invalid value for field 'instanceCount': it must be at most {MAX_VMS}.")
    start, seconds = _window(emulator, _object(spec.get("timeRangeSpec"), "timeRangeSpec"))
    zone = f"zones/{region}-a"
    digest = hashlib.sha256(f"{call.params['project']}/{region}/{name}/{count}/{start}".encode()).digest()
    found: Document = {"recommendationId": str(uuid.UUID(bytes=digest[:16], version=4))}
    status = ""
    if MACHINES[name].series not in CALENDAR_SERIES:
        status = "NOT_SUPPORTED"
    elif _limit(emulator, region, {"machineType": name}, "machines") < count:
        status = "NO_CAPACITY"
    if status:
        found["otherLocations"] = {zone: {"status": status, "details": f"{name} in {zone}: {status.lower()}"}}
    else:
        found["recommendationType"] = "FUTURE_RESERVATION"
        found |= {"location": zone, "startTime": timestamps.format_second(start)}
        found["endTime"] = timestamps.format_second(start + seconds)
    return {"recommendations": [{"recommendationsPerSpec": {key: found}}]}


_SHAPES = ("ANY", "ANY_SINGLE_ZONE", "BALANCED")


# ---------------------------------------------------------------- requests
def _body(call: Call, known: frozenset[str]) -> Document:
    call.check_arguments()
    body = _object(call.json(), "body")
    for name in body.keys() - known:
        raise invalid(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    return body


def _region(call: Call) -> str:
    region = call.params["region"]
    if region not in REGIONS:
        raise not_found(f"The resource 'projects/{call.params['project']}/regions/{region}' was not found")
    return region


def _object(value: Any, name: str) -> Document:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(f"Invalid value for field '{name}': it must be an object.")
    return value


def _whole(value: Any) -> int:
    """Return an int64, which REST writes as text. Raise ApiError 400 if it is not above 0."""
    if not str(value).isdecimal() or not 0 < int(value) <= MAX_SIZE:
        raise invalid(f"Invalid value for a number of instances: {value!r}.")
    return int(value)


def _check_spot(body: Document) -> None:
    scheduling = _object(_object(body.get("instanceProperties"), "instanceProperties").get("scheduling"), "scheduling")
    if scheduling.get("provisioningModel") != "SPOT":
        raise invalid("Invalid value for field 'instanceProperties.scheduling.provisioningModel': it must be SPOT.")


def _machine(name: str, call: Call) -> None:
    if name not in MACHINES or not MACHINES[name].vcpus:
        raise not_found(f"The resource 'projects/{call.params['project']}/machineTypes/{name}' was not found")
    if name.startswith(("ct", "tpu", "cloud-tpu")):
        raise invalid(f"The availability of TPUs cannot be viewed: {name}.")


def _machines(selection: Document, call: Call) -> Iterator[Document]:
    """Yield the machines of a selection as machine specs of Vertex AI."""
    attached = selection.get("guestAccelerators") or [{}]
    for name in selection.get("machineTypes") or []:
        _machine(name, call)
        spec: Document = {"machineType": name}
        kind = str(attached[0].get("acceleratorType", "")).rpartition("/")[2]
        if kind:
            spec |= {"acceleratorType": kind.upper().replace("-", "_")}
            spec["acceleratorCount"] = int(attached[0].get("acceleratorCount", 1))
        yield spec


def _window(emulator: Emulator, given: Document) -> tuple[float, float]:
    """Return the earliest start of a reservation, and its seconds. Raise ApiError 400 for times outside the bounds."""
    now = emulator.clock.now()
    try:
        earliest = timestamps.parse_time(given["startTimeNotEarlierThan"])
        latest = timestamps.parse_time(given["startTimeNotLaterThan"])
        seconds = timestamps.parse_duration(given["maxDuration"])
        least = timestamps.parse_duration(given.get("minDuration") or given["maxDuration"])
    except (KeyError, ValueError, TypeError, AttributeError):
        raise invalid("Invalid value for field 'timeRangeSpec'.") from None
    start = max(earliest, now + DAY)
    if start > latest or latest > now + (MAX_DAYS_AHEAD + 1) * DAY:
        raise invalid(f"The start must be between 1 and {MAX_DAYS_AHEAD} days from now.")
    if not DAY <= least <= seconds <= MAX_DAYS * DAY:
        raise invalid(f"The duration must be between 1 and {MAX_DAYS} days.")
    return start, seconds


# ---------------------------------------------------------------- the plan
def _limit(emulator: Emulator, region: str, spec: Document, source: str) -> float:
    """Return how many such machines a region has; infinite if the plan does not limit them."""
    limits = emulator.capacity_plans.show()["plan"].get(source, {}).get(region, {})
    return min((limits.get(unit, math.inf) // each for unit, each in _units(spec)), default=math.inf)


def _free(emulator: Emulator, region: str, spec: Document, source: str) -> float:
    """Return how many such machines are free."""
    shown = emulator.capacity_plans.show()
    limits = shown["plan"].get(source, {}).get(region, {})
    used = shown["used"].get(region, {}).get(source, {})
    free = ((max(limits.get(unit, math.inf) - used.get(unit, 0), 0), each) for unit, each in _units(spec))
    return min((left // each for left, each in free), default=math.inf)


def _units(spec: Document) -> list[tuple[str, int]]:
    """Return the units of one machine. Compute Engine's machines with GPUs of their own do not name them."""
    counts = MACHINES[spec["machineType"]].accelerator_counts
    if "acceleratorType" not in spec and len(counts) == 1 and all(len(each) == 1 for each in counts.values()):
        ((kind, (count,)),) = counts.items()
        spec = spec | {"acceleratorType": kind, "acceleratorCount": count}
    return list(demand.units_of(spec, 1).items())


def _mean_seconds(emulator: Emulator) -> float:
    return float(emulator.capacity_plans.show()["plan"].get("reclaim", {}).get("mean_seconds") or math.inf)


def _uptime(emulator: Emulator) -> str:
    """Return 3600 s if most Spot jobs run an hour by the plan, else 600 s."""
    return LONG if _mean_seconds(emulator) * math.log(2) >= float(LONG[:-1]) else SHORT


def _preempted_share(emulator: Emulator) -> float:
    """Return the share of Spot VMs that the plan reclaims within a day."""
    mean = _mean_seconds(emulator)
    return USUAL_SHARE if math.isinf(mean) else round(-math.expm1(-DAY / mean), 4)


def _days(emulator: Emulator) -> Iterator[dict[str, str]]:
    """Yield the last whole days in UTC, oldest first."""
    today = emulator.clock.now() // DAY * DAY
    for back in range(DAYS, 0, -1):
        start = today - back * DAY
        yield {"startTime": timestamps.format_second(start), "endTime": timestamps.format_second(start + DAY)}
