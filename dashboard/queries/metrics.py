"""Data read from a job's log and output folder: metrics, progress, checkpoints."""

from dataclasses import dataclass, field
from datetime import datetime

from jobs import timeline
from jobs.metrics import Record, Series, Totals
from jobs.models import Job, JobMetrics, ShownJob


@dataclass(frozen=True, slots=True)
class Measured:
    """Known data about a job's training. Empty if its log was not read or has no metrics."""

    record: Record = field(default_factory=Record)
    row: JobMetrics | None = None
    checkpoints: tuple[datetime, ...] = ()
    usage: Record = field(default_factory=Record)

    @property
    def series(self) -> list[Series]:
        """The metrics that have a value, in the order of their first appearance."""
        return [each for each in self.record.series if each.last is not None]


def get_measured(job: Job) -> Measured:
    """Return the known data about a job's training, with metric names as its viewer may see them.

    One query, none if the job was loaded with its metrics.
    """
    row: JobMetrics | None = getattr(job, "metrics", None)
    if row is None:
        return Measured()
    record = Record.load(row.record, Totals())
    if isinstance(job, ShownJob):
        for series in record.series:
            series.name = job.hide(series.name)
        row.checkpoints_error = job.hide(row.checkpoints_error)
    return Measured(record, row, tuple(timeline.moments_of(row.checkpoints)), Record.load(row.usage, Totals()))
