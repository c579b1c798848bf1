"""The runs of a schedule, with what its jobs cost."""

from jobs.models import Schedule, ScheduleRun

MAX_RUNS = 100


def list_runs(row: Schedule) -> list[ScheduleRun]:
    """Return the newest runs with their jobs; one query."""
    runs = row.runs.select_related("job").defer("job__spec", "job__estimate", "job__error")
    return list(runs.order_by("-moment")[:MAX_RUNS])
