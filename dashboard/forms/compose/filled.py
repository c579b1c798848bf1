"""A submission becomes fields again: the way back of `writing`, by the same table.

A value goes into its field only if the field, shown in a browser and posted back, writes the same value. Everything
else stays where it was and is carried along, so that nothing is lost whatever a spec holds.
"""

from collections.abc import Mapping
from copy import deepcopy
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from dashboard.forms.body import paths
from dashboard.forms.body.conditions import Row, grown, rows_of
from dashboard.forms.body.entries import Entry, Table
from dashboard.forms.body.layout import Parts, layout_of
from dashboard.forms.body.tables import PARAMETER, PIPELINE, POOL, RESOURCE, SPEC, TUNING
from dashboard.forms.body.writing import AFFINITY, RESERVATION_KEY, SPECIFIC
from dashboard.forms.compose.advanced_form import AdvancedForm
from dashboard.forms.compose.job_form import JobForm
from dashboard.forms.compose.pipeline_form import PipelineForm
from dashboard.forms.compose.pool_form import PoolForm
from dashboard.forms.compose.tuning_form import ParameterForm, TuningForm
from jobs.catalog import machine
from jobs.spec import Submission, WorkerPoolSpec, rest_body
from jobs.strategies import strategy_of

Fields = Mapping[str, forms.Field]
MOST_POOLS, MOST_PARAMETERS = 8, 40
"""Rows that the form shows; what a spec has beyond them is carried along."""


def filled(submission: Submission, *, expected: timedelta | None) -> dict[str, Any]:
    """Return {field: value} that fill the form with a submission, rows under `pool-0`, `parameter-0` and so on."""
    layout = layout_of(submission)
    parts = layout.parted(deepcopy(rest_body(submission.job)))
    if "strategy" in parts.spec.get("scheduling", {}):
        paths.take(parts.spec, "scheduling.strategy")
    initial: dict[str, Any] = {
        "kind": submission.kind,
        "region": submission.region,
        "strategy": strategy_of(submission).key,
        "task": "tuning" if layout.tunes else "custom",
        **({"run_time": expected} if expected is not None else {}),
        **_shared_reservation(parts.pools),
    }
    once: Fields = JobForm.base_fields | AdvancedForm.base_fields | TuningForm.base_fields | PipelineForm.base_fields
    for table, part in ((RESOURCE, parts.resource), (PIPELINE, parts.resource), (SPEC, parts.spec)):
        initial |= read(table, once, part)
    if layout.tunes:
        initial |= read(TUNING, once, parts.tuning)
    _keep_the_rest(parts)
    for index, pool in enumerate(parts.pools):
        initial[f"pool-{index}"] = _pool(submission.job_spec.worker_pool_specs[index], pool)
    for index, row in enumerate(flat(parts.parameters, most=MOST_PARAMETERS)):
        initial[f"parameter-{index}"] = _parameter(row)
    carried = {"resource": parts.resource, "spec": parts.spec, "tuning": parts.tuning}
    if any(carried.values()):
        initial["carried"] = {"kind": submission.kind, **carried}
    return initial


def read(table: Table, fields: Fields, body: dict[str, Any]) -> dict[str, Any]:
    """Return {field: value} of a part and remove from `body` what the fields hold; every other field is None."""
    initial = _read(table.entries, fields, body)
    for variant in table.variants:
        present = (choice for choice, branch in variant.branches.items() if _is_at(body, branch.marker))
        choice = next(present, None)
        for other in variant.branches.values():
            initial |= dict.fromkeys(other.entries)
        if choice is None:
            continue
        branch = variant.branches[choice]
        initial |= {variant.field: choice, **_read(branch.entries, fields, body)}
        if paths.get(body, branch.marker) == {}:
            paths.take(body, branch.marker)
    return initial


def _is_at(body: dict[str, Any], path: str) -> bool:
    return paths.get(body, path) is not paths.MISSING


def _read(entries: Mapping[str, Entry], fields: Fields, body: dict[str, Any]) -> dict[str, Any]:
    initial: dict[str, Any] = dict.fromkeys(entries)
    for name, entry in entries.items():
        value = paths.get(body, entry.path)
        if value is paths.MISSING:
            continue
        shown = entry.read(value)
        if _comes_back(fields[name], entry, shown, value):
            initial[name] = shown
            paths.take(body, entry.path)
    return initial


def _comes_back(field: forms.Field, entry: Entry, shown: Any, value: Any) -> bool:
    """Show the value as a browser does, post it, and see whether the same JSON is written."""
    posted = field.prepare_value(shown)
    if isinstance(posted, str):
        if "\r" in posted or ("\n" in posted and not isinstance(field.widget, forms.Textarea)):
            return False
        posted = posted.replace("\n", "\r\n")
    try:
        said = field.clean(posted)
    except ValidationError:
        return False
    return said not in (None, "", [], {}) and bool(entry.write(said) == value)


def _pool(pool: WorkerPoolSpec, body: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of one pool; accelerators that its machine always has go without saying."""
    if pool.is_empty:
        return {"machine_type": None, "replicas": None, "skip": True, "carried": body}
    affinity = body.get("machineSpec", {}).get("reservationAffinity", {})
    if affinity.get("reservationAffinityType") == SPECIFIC and affinity.get("key") == RESERVATION_KEY:
        del affinity["key"]
    found = read(POOL, PoolForm.base_fields, body)
    known = machine(found["machine_type"] or "")
    own = known is not None and known.gpu_attach == "fixed" and known.gpu_type
    if known is not None and own and known.takes(found["accelerator_type"] or "", found["accelerator_count"] or 0):
        found |= {"accelerator_type": None, "accelerator_count": None}
    return found | {"carried": body}


def flat(parameters: list[dict[str, Any]], *, most: int) -> list[Row]:
    """Return the rows of a tree in its order; where rows could not say the same, or are too many, it stays a tree."""
    rows = [row for parameter in parameters for row in rows_of(parameter)]
    if len(rows) <= most and all(map(_is_shown, rows)) and grown(rows).parameters == parameters:
        return rows
    return [Row(parameter) for parameter in parameters]


def _is_shown(row: Row) -> bool:
    shown = {"parent": row.parent, "parent_values": list(row.values)}
    fields = ParameterForm.base_fields
    return all(_comes_back(fields[name], Entry(""), value, value) for name, value in shown.items() if value)


def _parameter(row: Row) -> dict[str, Any]:
    rest = dict(row.body)
    when = {"parent": row.parent or None, "parent_values": list(row.values) or None}
    return read(PARAMETER, ParameterForm.base_fields, rest) | when | {"carried": rest}


def _shared_reservation(pools: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the reservation that all pools name and take it out of them; any reservation at all needs no name."""
    asked = [paths.get(pool, AFFINITY) for pool in pools if pool]
    first = asked[0] if asked else paths.MISSING
    bare = any(list(pool) == ["machineSpec"] and list(pool["machineSpec"]) == ["reservationAffinity"] for pool in pools)
    if not isinstance(first, dict) or bare or any(each != first for each in asked):
        return {}
    names = first.get("values", [])
    named = first == {"reservationAffinityType": SPECIFIC, "key": RESERVATION_KEY, "values": names}
    if first != {"reservationAffinityType": "ANY_RESERVATION"} and not (named and len(names) == 1 and names[0]):
        return {}
    if named and not _comes_back(JobForm.base_fields["reservation"], Entry(""), names[0], names[0]):
        return {}
    for pool in pools:
        if pool:
            paths.take(pool, AFFINITY)
    return {"reservation": names[0]} if named else {}


def _keep_the_rest(parts: Parts) -> None:
    """Carry along the rows that the form does not show."""
    if more := parts.pools[MOST_POOLS:]:
        parts.spec["workerPoolSpecs"] = more
        del parts.pools[MOST_POOLS:]
    if more := parts.parameters[MOST_PARAMETERS:]:
        parts.tuning.setdefault("studySpec", {})["parameters"] = more
        del parts.parameters[MOST_PARAMETERS:]
