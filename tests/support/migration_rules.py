"""What a migration may do while workers of the previous version still run and people use the site."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState

from jobs.database import AddIndexConcurrently, RemoveIndexConcurrently

Field = Any
"""A model field. Django's class accepts type arguments only in its stubs."""


def _large_models() -> set[str]:
    """Return the models whose tables grow with the jobs: Job, and whatever refers to one, however far away."""
    models_of_jobs = list(apps.get_app_config("jobs").get_models(include_auto_created=True))
    found = {"job"}
    while (
        new := {
            model._meta.model_name
            for model in models_of_jobs
            for field in model._meta.get_fields()
            if isinstance(field, models.ForeignKey) and field.remote_field.model._meta.model_name in found
        }
        - found
    ):
        found |= new
    return found


LARGE = _large_models()
"""Models with growing tables. Creating an index on one of them must not block writes."""
DERIVED_AFTER, LARGE_BEFORE = "0064", {"job", "jobevent", "logline"}
"""The last migration from before LARGE was derived from the models, and the tables that were named until then."""
TAKES_AWAY = (
    migrations.RemoveField, migrations.RenameField, migrations.DeleteModel, migrations.RenameModel,
    migrations.AlterModelTable,
)  # fmt: skip
UNREADABLE = (migrations.RunSQL, migrations.RunPython)


def faults(migration: migrations.Migration, state: ProjectState) -> Iterator[str]:
    """Yield descriptions of the forbidden changes in a migration.

    `state` is the one before the migration, and is updated.
    """
    for operation in migration.operations:
        for each in _parts(operation):
            yield from _faults(migration, each, state)
        operation.state_forwards(migration.app_label, state)


def _parts(operation: Any) -> list[Any]:
    is_split = isinstance(operation, migrations.SeparateDatabaseAndState)
    return list(operation.database_operations) if is_split else [operation]


def _faults(migration: migrations.Migration, operation: Any, state: ProjectState) -> Iterator[str]:
    what = operation.describe()
    large = LARGE if migration.name[:4] > DERIVED_AFTER else LARGE_BEFORE
    is_large = str(getattr(operation, "model_name", "")).lower() in large
    if isinstance(operation, TAKES_AWAY):
        yield f"{what}: workers of the version before still use it"
    elif isinstance(operation, UNREADABLE):
        yield f"{what}: nobody can tell what it does; let a person look, and name it in REVIEWED"
    elif isinstance(operation, migrations.AddField):
        yield from _added(operation.field, what, is_large=is_large)
    elif isinstance(operation, migrations.AlterField):
        model = state.models[migration.app_label, operation.model_name_lower]
        yield from _altered(model.fields[operation.name], operation.field, what, is_large=is_large)
    elif isinstance(operation, AddIndexConcurrently | RemoveIndexConcurrently):
        if migration.atomic:
            yield f"{what}: needs atomic = False"
    elif isinstance(operation, migrations.AddIndex | migrations.AddConstraint) and is_large:
        yield f"{what}: blocks those who write; use jobs.database.AddIndexConcurrently"
    elif isinstance(operation, migrations.RemoveIndex) and is_large:
        yield f"{what}: blocks those who write; use jobs.database.RemoveIndexConcurrently"


def _added(field: Field, what: str, *, is_large: bool) -> Iterator[str]:
    if not field.null and not field.has_db_default() and not field.many_to_many:
        yield f"{what}: workers of the version before write rows without it; give it null or db_default"
    if is_large and _has_index(field):
        yield f"{what}: its index blocks those who write; add it with jobs.database.AddIndexConcurrently"


def _altered(before: Field, after: Field, what: str, *, is_large: bool) -> Iterator[str]:
    if before.null and not after.null:
        yield f"{what}: workers of the version before may leave it empty"
    if not _holds(before, after):
        yield f"{what}: its column changes its type or becomes narrower"
    if is_large and _has_index(after) and not _has_index(before):
        yield f"{what}: its index blocks those who write; add it with jobs.database.AddIndexConcurrently"


def _has_index(field: Field) -> bool:
    return bool(field.db_index or field.unique)


def _holds(before: Field, after: Field) -> bool:
    """Return whether the new column can hold all values of the old one without a rewrite of the table."""
    if isinstance(before, models.CharField) and isinstance(after, models.CharField):
        return after.max_length is None or (before.max_length or 0) <= after.max_length
    if type(before) is models.PositiveIntegerField and type(after) is models.IntegerField:
        return True  # the same column without its CHECK; SQLite's has another name
    if isinstance(before, models.ForeignKey) or isinstance(after, models.ForeignKey):
        return type(before) is type(after)
    return before.db_type(connection) == after.db_type(connection)
