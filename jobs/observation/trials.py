"""The trials of a tuning job as Vertex AI returns them: one row each, written only if something changed.

Only an answer about a single job contains `trials[]`; lists leave it out (vertex-facts 2.1). So an answer without it
shows nothing about trials, and no row is ever removed. An entry that cannot be read or stored is set aside and does not
affect the others. A trial that has ended is only changed by an answer that also shows it as ended.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from jobs import storable
from jobs.bounds import past_moment
from jobs.models import Job, Trial
from jobs.observation.set_aside import SetAside
from jobs.spec.fields import parse_duration
from jobs.timeline.trial_time import ENDED
from jobs.vertex import RemoteJob, wire

UNSPECIFIED = "STATE_UNSPECIFIED"
"""The default state, which proto3 JSON leaves out."""
COLUMNS = (
    "state", "parameters", "metrics", "step_count", "measurements", "started_at", "ended_at", "infeasible_reason",
    "custom_job",
)  # fmt: skip
MAX_ID_LENGTH = MAX_STATE_LENGTH = 32
MAX_NAME_LENGTH = 255
MAX_MEASUREMENTS = 100
"""Measurements kept of one trial. If there are more, the last one and every second of the others are kept."""
MAX_INTEGER = 2**63 - 1
"""The largest integer that the columns can hold. Vertex AI documents no limits."""


def record_trials(job: Job, remote: RemoteJob, *, now: datetime) -> bool:
    """Save what an answer contains about each trial. Return whether that is news; the trials then have to be counted.

    The caller holds the claim and has dropped stale answers. Makes one SELECT, and one INSERT and one UPDATE if there
    is news.
    """
    aside = SetAside(f"trials of job {job.pk}", now=now)
    reported = {trial.trial_id: trial for trial in read_trials(remote.raw.get("trials"), now, on_odd=aside.put)}
    for trial in reported.values():
        storable.fit(trial)  # before it is compared with the saved row
    if not reported:
        return False
    known = {trial.trial_id: trial for trial in Trial.objects.filter(job=job, trial_id__in=list(reported))}
    new, changed = [], []
    for trial_id, trial in reported.items():
        row = known.get(trial_id)
        if row is None:
            trial.job = job
            new.append(trial)
        elif _take_over(row, trial):
            changed.append(row)
    aside.store(new, _insert, name=_name)
    aside.store(changed, _update, name=_name)
    return bool(new or changed)


def _insert(rows: Sequence[Trial]) -> None:
    Trial.objects.bulk_create(rows, ignore_conflicts=True)


def _update(rows: Sequence[Trial]) -> None:
    Trial.objects.bulk_update(rows, COLUMNS, batch_size=100)


def _name(row: Trial) -> str:
    return f"trial {row.trial_id}"


def read_trials(
    entries: object, now: datetime, *, on_odd: Callable[[str, str], object] = lambda *_: None
) -> Iterator[Trial]:
    """Yield rows of `trials[]` that belong to no job yet. Entries without an id or a state are passed to `on_odd`.

    A time further in the future than clocks differ is left out, as in jobs.
    """
    for index, trial in enumerate(map(wire.mapping, _entries(entries))):
        # The number of a trial is also the end of its name.
        number = trial.get("id") or _text(trial.get("name")).rpartition("/")[2]
        found = str(number) if isinstance(number, str | int) else ""
        trial_id = found if len(found) <= MAX_ID_LENGTH else ""
        state = _text(trial.get("state", UNSPECIFIED))
        if not trial_id or not 0 < len(state) <= MAX_STATE_LENGTH:
            on_odd(f"entry {index}", "The entry is not a trial: its number or state is missing or not valid.")
            continue
        final = wire.mapping(trial.get("finalMeasurement"))
        yield Trial(
            trial_id=trial_id,
            state=state,
            parameters=_parameters(trial.get("parameters")),
            metrics=_metrics(final.get("metrics")),
            step_count=_whole(final.get("stepCount")),
            measurements=_measurements(trial.get("measurements")),
            started_at=past_moment(wire.moment(trial.get("startTime")), now),
            ended_at=past_moment(wire.moment(trial.get("endTime")), now),
            infeasible_reason=_text(trial.get("infeasibleReason")),
            custom_job=_text(trial.get("customJob"))[:MAX_NAME_LENGTH],
        )


def _take_over(row: Trial, reported: Trial) -> bool:
    """Update a row to what was reported. Return False if nothing is new or the answer would undo an end."""
    if row.state in ENDED and reported.state not in ENDED:
        return False
    news = {name: getattr(reported, name) for name in COLUMNS if getattr(reported, name) != getattr(row, name)}
    for name, value in news.items():
        setattr(row, name, value)
    return bool(news)


def _parameters(entries: object) -> dict[str, float | str]:
    """Return the value of each parameter: a number, or the text of a categorical one."""
    pairs = _pairs(entries, "parameterId", None)
    return {name: value for name, value in pairs if _is_number(value) or isinstance(value, str)}


def _metrics(entries: object) -> dict[str, float]:
    """Return the value of each metric. proto3 JSON leaves out a zero. Values such as "NaN" are dropped."""
    return {name: float(value) for name, value in _pairs(entries, "metricId", 0.0) if _is_number(value)}


def _measurements(entries: object) -> list[list[Any]] | None:
    """Return the measurements in order as the column stores them, every second one if there are many. None if empty.

    Vertex AI orders them by step and time (Trial.measurements, trial.proto, read 2026-11-22).
    """
    found: list[list[Any]] = [
        [_whole(entry.get("stepCount")), _seconds(entry.get("elapsedDuration")), metrics]
        for entry in map(wire.mapping, _entries(entries))
        if (metrics := _metrics(entry.get("metrics")))
    ]
    while len(found) > MAX_MEASUREMENTS:
        found = [*found[:-1:2], found[-1]]
    return found or None


def _seconds(value: object) -> float | None:
    try:
        return parse_duration(value).total_seconds()
    except (ValueError, OverflowError):
        return None


def _pairs(entries: object, key: str, missing: object) -> Iterator[tuple[str, Any]]:
    for pair in map(wire.mapping, _entries(entries)):
        if name := _text(pair.get(key)):
            yield name, pair.get("value", missing)


def _entries(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    """Return whether the value is a number that fits a double."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= sys.float_info.max


def _whole(value: object) -> int | None:
    """Return an int64, which JSON carries as text, or None."""
    number = wire.whole(value)
    return number if number is not None and abs(number) <= MAX_INTEGER else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
