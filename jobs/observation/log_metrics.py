"""Read metrics and progress from the saved log lines that a job's programs wrote.

The ids of the lines show which of them are already counted, so a worker that is killed in between loses and repeats
none. Secrets are hidden before a line is read.
"""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs import bounds
from jobs.metrics import Reading, Record, importance, progress, read_line, totals_of
from jobs.metrics.record import Place
from jobs.models import Job, JobMetrics, LogLine, RunSummary
from jobs.spec.secret_names import is_secret_name
from jobs.spec.secrets import Masker
from jobs.timeline.results import results_of
from jobs.vertex.logs import SERVICE

MAX_LINES = 5_000
"""Lines that one call reads. More than are kept of a job."""
MAX_LINES_OF_MESSAGE = 200
"""Lines read of an entry that contains several, such as a table logged at once."""


def fold_new_lines(job: Job) -> None:
    """Add the job's new log lines to its metrics. The row is written only if there are new lines.

    Makes four queries, or five for the first lines of a job.
    """
    kept = JobMetrics.objects.filter(job=job).first() or JobMetrics(job=job)
    lines = LogLine.objects.filter(job=job, pk__gt=kept.last_line).order_by("timestamp", "pk")
    rows = list(lines.values_list("pk", "timestamp", "replica", "message")[:MAX_LINES])
    if not rows:
        return
    record, masker = Record.load(kept.record, totals_of(job.spec)), Masker(job.spec)
    for _, at, replica, message in rows:
        if replica.rpartition(" ")[2] != SERVICE:
            for line in message.split("\n", MAX_LINES_OF_MESSAGE)[:MAX_LINES_OF_MESSAGE]:
                reading = _read_hidden(line, masker, record.columns_of(replica))
                record.take(reading, at.timestamp(), replica, owner=replica.rpartition(" ")[0])
    kept.last_line = max(pk for pk, *_ in rows)
    kept.record, kept.newest = record.as_json(), newest_in(record)
    _note_progress(kept, record)
    kept.save()
    RunSummary.objects.filter(job=job).update(results=results_of(record))


def newest_in(record: Record) -> dict[str, Any]:
    """Return what a list shows of a record: the last step or epoch, and the most important metric with its value."""
    place = next(iter(record.places.values()), Place())
    metric = min((each for each in record.series if each.last), key=lambda each: importance(each.name), default=None)
    found: dict[str, Any] = {
        "epoch": place.epoch,
        "epochs": place.epochs,
        "step": place.overall,
        "steps": place.overall_of,
    }
    if metric is not None and metric.last is not None:
        found |= {"metric": metric.name, "value": metric.last[2]}
    return found


def _read_hidden(line: str, masker: Masker, columns: list[str]) -> Reading:
    """Read a line without its secrets. A number behind a secret's name is not used as a metric either."""
    reading = read_line(line, columns)
    if reading.is_empty and not (reading.within or reading.maybe):
        return reading
    if (hidden := masker.hide(line)) != line:
        reading = read_line(hidden, columns)
    cell = None if reading.cell is not None and is_secret_name(reading.cell[0]) else reading.cell
    values, within, maybe = (
        {name: each for name, each in found.items() if not is_secret_name(name)}
        for found in (reading.values, reading.within, reading.maybe)
    )
    return replace(reading, values=values, within=within, maybe=maybe, cell=cell)


def _note_progress(kept: JobMetrics, record: Record) -> None:
    found = progress(record.runs)
    if found is None:
        return
    kept.fraction, kept.fraction_at = found.fraction, datetime.fromtimestamp(found.at, UTC)
    kept.ends_at = None
    if found.seconds_left is not None and math.isfinite(found.seconds_left) and found.seconds_left < 10**9:
        ends_at = kept.fraction_at + timedelta(seconds=found.seconds_left)
        kept.ends_at = ends_at if bounds.is_moment(ends_at) else None
