"""PostgreSQL helpers: lift timeouts for long work, and build indexes without blocking."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections, migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState

DEFAULT = "default"
LOCK_PATIENCE = "500ms"
"""How long a stage of the sweep waits for a row that another transaction has locked; it finds the row again later."""


def lift_limits(*, using: str = DEFAULT, locks: bool = False) -> None:
    """Disable the statement timeout of this connection, and with `locks` the lock timeout too.

    PostgreSQL only; SQLite has no such timeouts.
    """
    _run(using, "SET statement_timeout = 0", *(["SET lock_timeout = 0"] if locks else []))


def restore_limits(*, using: str = DEFAULT) -> None:
    """Restore the timeouts that the connection began with."""
    _run(using, "RESET statement_timeout", "RESET lock_timeout")


@contextmanager
def unlimited() -> Iterator[None]:
    """Run a block without a statement timeout, for example a deletion in a large table."""
    lift_limits()
    try:
        yield
    finally:
        restore_limits()


def accepts_writes() -> bool:
    """Return whether the database server accepts writes; a standby does not."""
    connection = connections[DEFAULT]
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('transaction_read_only')")
        return bool(cursor.fetchone()[0] == "off")


@contextmanager
def short_lock_waits() -> Iterator[None]:
    """Run a block in which no statement waits longer than LOCK_PATIENCE for a lock. PostgreSQL only.

    SQLite has no locks of rows, and holds its one lock only for a short transaction.
    """
    connection = connections[DEFAULT]
    if connection.vendor != "postgresql":
        yield
        return
    _run(DEFAULT, f"SET lock_timeout = '{LOCK_PATIENCE}'")
    try:
        yield
    finally:
        if connection.connection is not None and not connection.connection.closed and not connection.needs_rollback:
            _run(DEFAULT, "RESET lock_timeout")


def _run(using: str, *statements: str) -> None:
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


class AddIndexConcurrently(migrations.AddIndex):
    """Add an index to a table in use: concurrently on PostgreSQL, as usual elsewhere.

    An interrupted build leaves an invalid index, so an index of the same name is removed first. The migration needs
    `atomic = False`, because PostgreSQL builds no index concurrently inside a transaction.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Build the index."""
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            editor = _outside_a_transaction(schema_editor)
            editor.remove_index(model, self.index, concurrently=True)
            editor.add_index(model, self.index, concurrently=True)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Remove the index."""
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        model = from_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _outside_a_transaction(schema_editor).remove_index(model, self.index, concurrently=True)


class RemoveIndexConcurrently(migrations.RemoveIndex):
    """Remove an index of a table in use: concurrently on PostgreSQL, so that no query waits; as usual elsewhere.

    The migration needs `atomic = False`.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Remove the index."""
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = from_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            index = from_state.models[app_label, self.model_name_lower].get_index_by_name(str(self.name))
            _outside_a_transaction(schema_editor).remove_index(model, index, concurrently=True)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Build the index again."""
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            index = to_state.models[app_label, self.model_name_lower].get_index_by_name(str(self.name))
            _outside_a_transaction(schema_editor).add_index(model, index, concurrently=True)


def _outside_a_transaction(schema_editor: BaseDatabaseSchemaEditor) -> Any:
    if schema_editor.connection.in_atomic_block:
        raise ValueError("An index is built concurrently outside of a transaction only: set atomic = False.")
    return schema_editor
