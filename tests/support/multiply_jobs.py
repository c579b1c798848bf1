"""Copies of ended jobs made inside the database, with which `many_jobs` grows to a million jobs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection, models

from jobs.database import unlimited
from jobs.models import Approval, CostEntry, Job, JobEvent, JobFigures, LastSeen, LogLine, MonthFigures, Trial
from jobs.models.figures import GROUPED, IN_COLUMNS, SUMMED, WAITS
from tests.support.many_jobs import REGIONS

COPIED: tuple[type[models.Model], ...] = (Job, JobEvent, Approval, LastSeen, Trial, LogLine, JobFigures, CostEntry)
FAST = {
    "postgresql": (
        "ALTER SYSTEM SET max_wal_size = '16GB'",
        "SELECT pg_reload_conf()",
        "SET session_replication_role = replica",  # the references of the copies are valid
        "SET maintenance_work_mem = '1GB'",
    ),
    "sqlite": ("PRAGMA synchronous = OFF", "PRAGMA cache_size = -1000000", "PRAGMA foreign_keys = OFF"),
}
USUAL = {
    "postgresql": ("SET session_replication_role = DEFAULT",),
    "sqlite": ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"),
}
STEP_SECONDS = 420
"""How much older each copy is than the previous one."""


def multiply(times: int) -> None:
    """Copy each ended job with all related rows, so that there are `times` of it."""
    with unlimited(), connection.cursor() as cursor, _without_indexes():
        for model in COPIED:
            table, key = model._meta.db_table, "id" if model is Job else "job_id"
            ended = "SELECT id FROM jobs_job WHERE ended_at IS NOT NULL"
            cursor.execute(f"CREATE TEMPORARY TABLE base_{table} AS SELECT * FROM {table} WHERE {key} IN ({ended})")
        cursor.execute(
            "UPDATE base_jobs_job SET cloned_from_id = NULL WHERE cloned_from_id NOT IN (SELECT id FROM base_jobs_job)"
        )
        for number in range(1, times):
            for model in COPIED:
                cursor.execute(_copy(model, number))
        for model in COPIED:
            cursor.execute(f"DROP TABLE base_{model._meta.db_table}")
        _sum_months()
    with unlimited(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("CLUSTER jobs_job USING job_list")  # stores rows by time, as if written in order
            cursor.execute("CREATE INDEX by_end ON jobs_jobfigures (ended_on)")
            cursor.execute("CLUSTER jobs_jobfigures USING by_end")
            cursor.execute("DROP INDEX by_end")
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _sum_months() -> None:
    """Recompute the figures per month from those per job."""
    MonthFigures.objects.all().delete()
    is_postgres, columns = connection.vendor == "postgresql", ", ".join(_columns(GROUPED))
    month = "date_trunc('month', ended_on)::date" if is_postgres else "date(ended_on, 'start of month')"
    sums = {name: f"SUM({name})" for name in SUMMED}
    sums |= {name: f"SUM(CASE WHEN wait_bucket = {bucket} THEN jobs ELSE 0 END)" for bucket, name in enumerate(WAITS)}
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO jobs_monthfigures (month, {columns}, wait_bucket, {', '.join(sums)})"
            f" SELECT {month}, {columns}, {IN_COLUMNS}, {', '.join(sums.values())} FROM jobs_jobfigures"
            f" GROUP BY {month}, {columns}"
        )


def _columns(fields: Sequence[str]) -> list[str]:
    return [str(MonthFigures._meta.get_field(name).column) for name in fields]


def _copy(model: type[models.Model], number: int) -> str:
    """Return the statement that inserts copy `number` of a table's rows."""
    columns = {
        str(each.column): _value(each, number)
        for each in model._meta.local_concrete_fields
        if not isinstance(each, models.AutoField)
    }
    table = model._meta.db_table
    names = ", ".join(f'"{name}"' for name in columns)
    return f'INSERT INTO "{table}" ({names}) SELECT {", ".join(columns.values())} FROM "base_{table}"'


def _value(column: models.Field, number: int) -> str:  # type: ignore[type-arg]
    """Return the value of a column in copy `number`, as an SQL expression over the copied row."""
    name, is_postgres = f'"{column.column}"', connection.vendor == "postgresql"
    if column.name == "wait_bucket":  # otherwise all copies of a job would have the same wait
        return f"CASE WHEN {name} >= 0 THEN ({name} + {number}) % 12 ELSE {name} END"
    if column.name in {"region", "remote_name"} and column.model in (Job, JobFigures):
        name = _moved(name, number)
    if isinstance(column, models.DateTimeField):
        age = number * STEP_SECONDS
        if is_postgres:
            return f"{name} - interval '{age} seconds'"
        return f"strftime('%Y-%m-%d %H:%M:%f', {name}, '-{age} seconds')"
    if column.related_model is Job or (column.model is Job and (column.primary_key or column.name == "family")):
        return f"md5({name}::text || '-{number}')::uuid" if is_postgres else f"md5({name} || '-{number}')"
    if column.model is Job and column.name == "request_key":
        return f"{name} || '-{number}'"
    if column.model is Job and column.name in {"display_name", "remote_name"}:
        is_own = "LIKE 'train-%'" if column.name == "display_name" else "<> ''"
        return f"CASE WHEN {name} {is_own} THEN {name} || '{'-' if 'display' in name else '0'}{number}' ELSE {name} END"
    return name


def _moved(text: str, number: int) -> str:
    """Return a text in SQL with its region replaced by another one, so that the copies of a job are in all regions."""
    moved = zip(REGIONS, REGIONS[number % len(REGIONS) :] + REGIONS[: number % len(REGIONS)], strict=True)
    cases = " ".join(f"WHEN {text} LIKE '%{old}%' THEN REPLACE({text}, '{old}', '{new}')" for old, new in moved)
    return f"CASE {cases} ELSE {text} END"


@contextmanager
def _without_indexes() -> Iterator[None]:
    """Drop the indexes of the copied tables in the block and rebuild them afterwards, not row by row."""
    tables = [model._meta.db_table for model in COPIED]
    is_postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        for setting in FAST[connection.vendor]:
            cursor.execute(setting)
        if is_postgres:
            cursor.execute(
                "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE contype = 'u' AND conrelid::regclass::text = ANY(%s)",
                [tables],
            )
            unique = cursor.fetchall()
            for table, name, _ in unique:
                cursor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"')
            cursor.execute(
                "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s) AND NOT EXISTS"
                " (SELECT 1 FROM pg_constraint WHERE conname = indexname)",
                [tables],
            )
        else:  # the constraints of its tables cannot be dropped
            unique = []
            marks = ", ".join(["%s"] * len(tables))
            statement = (
                f"SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql <> '' AND tbl_name IN ({marks})"
            )
            cursor.execute(statement, tables)
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f'DROP INDEX "{name}"')
        yield
        for _, definition in indexes:
            cursor.execute(definition)
        for table, name, definition in unique:
            cursor.execute(f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" {definition}')
        for setting in USUAL[connection.vendor]:
            cursor.execute(setting)
