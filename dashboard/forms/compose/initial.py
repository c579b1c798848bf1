"""Turn a submission into the initial values of the form. Parts without a field are carried, so nothing is lost."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

from dashboard.forms.compose import paths
from dashboard.forms.compose.advanced_form import AdvancedForm
from dashboard.forms.compose.body import load_fields
from dashboard.forms.compose.conditions import Row, rows_of, tree_of
from dashboard.forms.compose.job_form import MIN_RUN_TIME, JobForm
from dashboard.forms.compose.layout import JOB_SPEC, PARAMETERS, WORKER_POOLS, layout_of
from dashboard.forms.compose.pipeline_form import PipelineForm
from dashboard.forms.compose.rows import MAX_PARAMETERS, MAX_WORKER_POOLS
from dashboard.forms.compose.tuning_form import ParameterForm, TuningForm, load_parameter
from dashboard.forms.compose.worker_pool_form import AFFINITY, RESERVATION_KEY, SPECIFIC, load_worker_pool
from jobs.spec import Submission, rest_body
from jobs.strategies import strategy_of
from jobs.strategies.base import SCHEDULING_NAMES


def initial_values(submission: Submission, *, expected: timedelta | None) -> dict[str, Any]:
    """Return {field: value} that fill the form with a submission. `pools` and `parameters` are lists of such dicts."""
    layout = layout_of(submission)
    body = layout.from_rest(deepcopy(rest_body(submission.job)))
    if paths.get(body, f"{JOB_SPEC}.scheduling.strategy") in SCHEDULING_NAMES:  # the form has a field for these
        paths.take(body, f"{JOB_SPEC}.scheduling.strategy")
    pools, parameters = _take_list(body, WORKER_POOLS), _take_list(body, PARAMETERS)
    initial: dict[str, Any] = {
        "kind": submission.kind,
        "region": submission.region,
        "strategy": strategy_of(submission).key,
        "task": "tuning" if layout.tunes else "custom",
        **({"run_time": max(expected, MIN_RUN_TIME)} if expected is not None else {}),
        **_take_shared_reservation(pools),
    }
    for form in (JobForm, AdvancedForm, PipelineForm, *((TuningForm,) if layout.tunes else ())):
        initial |= load_fields(form, body)
    rows = parameter_rows(parameters)
    if more := pools[MAX_WORKER_POOLS:]:
        paths.put(body, WORKER_POOLS, more)
    if more := [dict(row.body) for row in rows[MAX_PARAMETERS:]]:
        paths.put(body, PARAMETERS, more)
    specs = submission.job_spec.worker_pool_specs
    initial["pools"] = [
        load_worker_pool(pool, is_empty=each.is_empty)
        for pool, each in zip(pools[:MAX_WORKER_POOLS], specs, strict=False)
    ]
    initial["parameters"] = [load_parameter(row) for row in rows[:MAX_PARAMETERS]]
    return initial | ({"carried": body} if body else {})


def _take_list(body: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """Remove a list of objects from `body` and return it, [] if there is none."""
    value = paths.get(body, path)
    if not isinstance(value, list):
        return []
    paths.take(body, path)
    return value


def parameter_rows(parameters: list[dict[str, Any]], *, most: int = MAX_PARAMETERS) -> list[Row]:
    """Return the rows of a tree in its order. If rows cannot express it, or are too many, it stays a tree."""
    rows = [row for parameter in parameters for row in rows_of(parameter)]
    if len(rows) <= most and all(map(_has_fields, rows)) and tree_of(rows).parameters == parameters:
        return rows
    return [Row(parameter) for parameter in parameters]


def _has_fields(row: Row) -> bool:
    """Return whether the fields can show the condition of a row."""
    fields, values = ParameterForm.base_fields, {"parent": row.parent, "parent_values": list(row.values)}
    return all(fields[name].load(value) is not None for name, value in values.items() if value)  # type: ignore[attr-defined]


def _take_shared_reservation(pools: list[dict[str, Any]]) -> dict[str, Any]:
    """Remove the reservation that all pools name from them, and return it. ANY_RESERVATION needs no name."""
    affinities = [paths.get(pool, AFFINITY) for pool in pools if pool]
    first = affinities[0] if affinities else paths.MISSING
    bare = any(list(pool) == ["machineSpec"] and list(pool["machineSpec"]) == ["reservationAffinity"] for pool in pools)
    if not isinstance(first, dict) or bare or any(each != first for each in affinities):
        return {}
    names = first.get("values", [])
    is_named = first == {"reservationAffinityType": SPECIFIC, "key": RESERVATION_KEY, "values": names}
    if first != {"reservationAffinityType": "ANY_RESERVATION"} and not (is_named and len(names) == 1 and names[0]):
        return {}
    if is_named and JobForm.base_fields["reservation"].load(names[0]) is None:  # type: ignore[attr-defined]
        return {}
    for pool in pools:
        if pool:
            paths.take(pool, AFFINITY)
    return {"reservation": names[0]} if is_named else {}
