"""The trials of a tuning job as Vertex AI tells them: one row each, written only where something changed.

Only an answer about one job holds `trials[]`; lists leave it out (vertex-facts 2.1), so an answer without it says
nothing about trials and no row is ever removed. An entry that cannot be read or stored is set aside and takes no other
with it. A trial that has ended is only changed by an answer that also says that it has ended.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from jobs.lifecycle import storable
from jobs.lifecycle.aside import Aside
from jobs.models import Job, Trial
from jobs.vertex import RemoteJob, wire

ENDED = frozenset({"SUCCEEDED", "INFEASIBLE"})
"""Trial.State has no failed one: a trial that fails is INFEASIBLE (vertex-facts 2.4)."""
UNSPECIFIED = "STATE_UNSPECIFIED"
"""proto3 JSON leaves the default out."""
COLUMNS = (
    "state", "parameters", "metrics", "step_count", "started_at", "ended_at", "infeasible_reason", "custom_job",
)  # fmt: skip
LONGEST_ID = LONGEST_STATE = 32
LONGEST_NAME = 255
LARGEST = 2**63 - 1
"""What the columns hold; Vertex AI documents no limits."""


def record_trials(job: Job, remote: RemoteJob, *, now: datetime) -> None:
    """Keep what an answer says of each trial; the caller holds the claim and has dropped answers that are stale.

    Costs one SELECT, and one INSERT and one UPDATE where there is news.
    """
    aside = Aside(f"trials of job {job.pk}", now=now)
    told = {trial.trial_id: trial for trial in read_trials(remote.raw.get("trials"), on_odd=aside.put)}
    for trial in told.values():
        storable.fit(trial)  # before it is compared with what was kept
    if not told:
        return
    known = {trial.trial_id: trial for trial in Trial.objects.filter(job=job, trial_id__in=list(told))}
    new, changed = [], []
    for trial_id, trial in told.items():
        row = known.get(trial_id)
        if row is None:
            trial.job = job
            new.append(trial)
        elif _take_over(row, trial):
            changed.append(row)
    aside.store(new, _insert, name=_name)
    aside.store(changed, _update, name=_name)


def _insert(rows: Sequence[Trial]) -> None:
    Trial.objects.bulk_create(rows, ignore_conflicts=True)


def _update(rows: Sequence[Trial]) -> None:
    Trial.objects.bulk_update(rows, COLUMNS, batch_size=100)


def _name(row: Trial) -> str:
    return f"trial {row.trial_id}"


def read_trials(entries: object, *, on_odd: Callable[[str, str], object] = lambda *_: None) -> Iterator[Trial]:
    """Read `trials[]` into rows that belong to no job yet; one without an id or a state is given to `on_odd`."""
    for index, trial in enumerate(map(wire.mapping, _entries(entries))):
        trial_id = _trial_id(trial)
        state = _text(trial.get("state", UNSPECIFIED))
        if not trial_id or not 0 < len(state) <= LONGEST_STATE:
            on_odd(f"entry {index}", "It is no trial: it has no number, or no state, that can be kept.")
            continue
        final = wire.mapping(trial.get("finalMeasurement"))
        yield Trial(
            trial_id=trial_id,
            state=state,
            parameters=_parameters(trial.get("parameters")),
            metrics=_metrics(final.get("metrics")),
            step_count=_whole(final.get("stepCount")),
            started_at=wire.moment(trial.get("startTime")),
            ended_at=wire.moment(trial.get("endTime")),
            infeasible_reason=_text(trial.get("infeasibleReason")),
            custom_job=_text(trial.get("customJob"))[:LONGEST_NAME],
        )


def _take_over(row: Trial, told: Trial) -> bool:
    """Bring a row up to what was told; False when that is nothing new, or takes back an end."""
    if row.state in ENDED and told.state not in ENDED:
        return False
    news = {name: getattr(told, name) for name in COLUMNS if getattr(told, name) != getattr(row, name)}
    for name, value in news.items():
        setattr(row, name, value)
    return bool(news)


def _trial_id(trial: Mapping[str, Any]) -> str:
    """The number of a trial, from 1; it also ends the trial's name."""
    number = trial.get("id") or _text(trial.get("name")).rpartition("/")[2]
    found = str(number) if isinstance(number, str | int) else ""
    return found if len(found) <= LONGEST_ID else ""


def _parameters(entries: object) -> dict[str, float | str]:
    """The value of each parameter: a number, or a word of a categorical one."""
    pairs = _pairs(entries, "parameterId", None)
    return {name: value for name, value in pairs if _is_number(value) or isinstance(value, str)}


def _metrics(entries: object) -> dict[str, float]:
    """The value of each metric. proto3 JSON leaves out a zero; a value such as "NaN" cannot be compared and is none."""
    return {name: float(value) for name, value in _pairs(entries, "metricId", 0.0) if _is_number(value)}


def _pairs(entries: object, key: str, missing: object) -> Iterator[tuple[str, Any]]:
    for pair in map(wire.mapping, _entries(entries)):
        if name := _text(pair.get(key)):
            yield name, pair.get("value", missing)


def _entries(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    """Whether it is a number that a double holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= sys.float_info.max


def _whole(value: object) -> int | None:
    """An int64, which JSON carries as text."""
    number = wire.whole(value)
    return number if number is not None and abs(number) <= LARGEST else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
