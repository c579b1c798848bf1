"""Cloud Logging's entries:list over the log table.

Supported in a query: = != < <= > >= : =~ !~ over any field of an entry, bare words, AND OR NOT, parentheses. Text is
compared case-insensitively, severity by rank, timestamp as time, numbers as numbers.
"""

import re
from collections.abc import Callable
from typing import Any

from emulator.emulator import Emulator
from emulator.protocol import filters, paging, timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid
from emulator.protocol.filters import Both, Comparison, Either, Tree
from emulator.protocol.names import project_number
from emulator.state.logs import SEVERITIES, Entry

Test = Callable[[Entry], bool]
FIELDS = {
    "resource_names": "resourceNames",
    "project_ids": "projectIds",
    "order_by": "orderBy",
    "page_size": "pageSize",
    "page_token": "pageToken",
    "filter": "filter",
}
DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MAX_FILTER_CHARACTERS, MAX_NAMES = 50, 1_000, 20_000, 100
ORDERS = {"": False, "timestamp": False, "timestamp asc": False, "timestamp desc": True}
PATH_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)')


def list_(emulator: Emulator, call: Call) -> Document:
    """Return a page of entries, `{}` if none matches."""
    body = _body(call.json())
    names = body.get("resourceNames", []) + [f"projects/{one}" for one in body.get("projectIds", [])]
    text, order = body.get("filter", ""), body.get("orderBy", "")
    if order not in ORDERS:
        raise invalid(f"Invalid order_by: {order}")
    size = int(body.get("pageSize", 0))
    if size > MAX_PAGE_SIZE or size < 0:
        raise invalid(f"page_size must be between 0 and {MAX_PAGE_SIZE}.")
    bound = ("entries", ",".join(names), text, order)
    position = paging.read_token(body.get("pageToken", ""), *bound)
    tree = filters.parse(text)
    test: Test = filters.compile_tree(tree, _test) if tree is not None else lambda _: True
    rows = emulator.logs.read(
        projects=_projects(names),
        jobs=_jobs(tree) if tree is not None else None,
        since=_since(tree) if tree is not None else None,
        received_by=emulator.clock.now(),
        after=(int(str(position[0])), str(position[1])) if position else None,
        descending=ORDERS[order],
    )
    entries: list[Entry] = []
    last: list[object] = []
    for moment, insert_id, entry in rows:
        if not test(entry):
            continue
        if len(entries) == (size or DEFAULT_PAGE_SIZE):
            return {"entries": entries, "nextPageToken": paging.make_token(last, *bound)}
        entries.append(entry)
        last = [moment, insert_id]
    return {"entries": entries} if entries else {}


def _body(data: Any) -> Document:
    body: Document = {}
    for key, value in data.items() if isinstance(data, dict) else ():
        name = FIELDS.get(str(key), str(key))
        if name not in FIELDS.values():
            raise invalid(f'Invalid JSON payload received. Unknown name "{key}": Cannot find field.')
        body[name] = value
    if len(body.get("filter", "")) > MAX_FILTER_CHARACTERS:
        raise invalid(f"The filter is longer than {MAX_FILTER_CHARACTERS} characters.")
    return body


def _projects(names: list[str]) -> set[str]:
    if not names or len(names) > MAX_NAMES:
        raise invalid(f"Between 1 and {MAX_NAMES} resource_names are required.")
    projects = set()
    for name in names:
        kind, _, project = name.partition("/")
        if kind != "projects" or not project:
            raise invalid(f"Invalid resource name: {name}")
        projects.add(project_number(project.partition("/")[0]))
    return projects


def _jobs(tree: Tree) -> set[str] | None:
    """Return the job ids to which the filter is restricted, None for any."""
    match tree:
        case Comparison("resource.labels.job_id", "=", value):
            return {value}
        case Both(parts):
            known = [ids for ids in map(_jobs, parts) if ids is not None]
            return set.intersection(*known) if known else None
        case Either(parts):
            each = [_jobs(part) for part in parts]
            return set().union(*(one for one in each if one is not None)) if None not in each else None
    return None


def _since(tree: Tree) -> float | None:
    """Return the earliest time that the filter allows, None for any."""
    match tree:
        case Comparison("timestamp", ">=" | ">", value):
            return _moment(value)
        case Both(parts):
            return max((time for time in map(_since, parts) if time is not None), default=None)
    return None


def _moment(text: str) -> float:
    try:
        return timestamps.parse_time(text)
    except ValueError:
        raise invalid(f"Invalid filter: not a time: {text}") from None


def _test(one: Comparison) -> Test:
    if not one.field:
        wanted = one.value.lower()
        return lambda entry: _contains(entry, wanted)
    steps = [quoted or plain for quoted, plain in PATH_STEP.findall(one.field)]
    if one.operator == ":" and one.value == "*" and not one.is_quoted:
        return lambda entry: _value(entry, steps) is not None
    if steps in (["severity"], ["timestamp"], ["receiveTimestamp"]):
        return _ranked(one, steps[0])
    if one.operator in ("=~", "!~"):
        return _matching(one, steps)
    if one.operator == ":":
        return lambda entry: one.value.lower() in _shown(_value(entry, steps)).lower()
    return _compared(one, steps)


def _contains(thing: Any, wanted: str) -> bool:
    if isinstance(thing, dict):
        return any(_contains(value, wanted) for value in thing.values())
    return wanted in _shown(thing).lower()


def _value(entry: Any, steps: list[str]) -> Any:
    for position, step in enumerate(steps):
        if not isinstance(entry, dict):
            return None
        rest = ".".join(steps[position:])
        if rest in entry:
            return entry[rest]
        entry = entry.get(step)
    return entry


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _matching(one: Comparison, steps: list[str]) -> Test:
    try:
        pattern = re.compile(one.value)
    except re.error as problem:
        raise invalid(f"Invalid filter: {problem} in {one.value}") from None
    wants = one.operator == "=~"
    return lambda entry: bool(pattern.search(_shown(_value(entry, steps)))) == wants


def _ranked(one: Comparison, name: str) -> Test:
    """Return a test that compares severity by rank, or a time."""
    compare = filters.ORDER_TESTS.get(one.operator)
    if compare is None:
        raise invalid(f"Invalid filter: {name} does not support {one.operator}")
    if name != "severity":
        _moment(one.value)
        # With nine fractional digits, as in entries, times can be compared as text. A float would lose the last digits.
        fraction = re.search(r"\.(\d+)", one.value)
        digits = (fraction[1] if fraction else "").ljust(9, "0")[:9]
        moment = f"{timestamps.format_time(timestamps.parse_time(one.value))[:19]}.{digits}"
        return lambda entry: compare(entry[name][:-1], moment)
    if one.value.upper() not in SEVERITIES:
        raise invalid(f"Invalid filter: unknown severity {one.value}")
    rank = SEVERITIES[one.value.upper()]
    return lambda entry: compare(f"{SEVERITIES[entry.get('severity', 'DEFAULT')]:03d}", f"{rank:03d}")


def _compared(one: Comparison, steps: list[str]) -> Test:
    compare = filters.ORDER_TESTS[one.operator]
    wanted = one.value.lower()
    number = _number(one.value)

    def test(entry: Entry) -> bool:
        value = _value(entry, steps)
        if value is None:
            return False
        mine = _number(value)
        if mine is not None and number is not None and not isinstance(value, str):
            return compare(mine, number)  # type: ignore[arg-type]  # both are numbers
        return compare(_shown(value).lower(), wanted)

    return test


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
