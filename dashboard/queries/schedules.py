"""The runs of a schedule, with the costs of their jobs."""

from jobs.models import Schedule, ScheduleRun

MAX_RUNS = 100


def list_runs(row: Schedule) -> list[ScheduleRun]:
    """Return the latest runs with their jobs. One query."""
    runs = row.runs.select_related("job").defer("job__spec", "job__estimate", "job__error")
    return list(runs.order_by("-moment")[:MAX_RUNS])
