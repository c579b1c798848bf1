"""Metrics that training programs write into their logs: parsed from lines, stored thinned, with the training progress.

Pure: a text becomes a `Reading`, readings become a `Record` that is stored as JSON, and a record gives progress.
"""

from jobs.metrics.lines import Reading, read_line
from jobs.metrics.names import importance
from jobs.metrics.progress import Run, progress
from jobs.metrics.record import MAX_POINTS, Record, Series
from jobs.metrics.totals import Totals, totals_of

__all__ = [
    "MAX_POINTS",
    "Reading",
    "Record",
    "Run",
    "Series",
    "Totals",
    "importance",
    "progress",
    "read_line",
    "totals_of",
]
