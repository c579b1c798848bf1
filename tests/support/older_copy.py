"""A copy of the rows of all tables of `jobs`, which a test puts back later, as a restored backup does."""

from typing import Any

from django.apps import apps
from django.db import connection, transaction


class OlderCopy:
    """The rows as they are when the copy is made."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[list[str], list[Any]]] = {}
        with connection.cursor() as cursor:
            for table in _tables():
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
                self._rows[table] = [column[0] for column in cursor.description], cursor.fetchall()

    def put_back(self) -> None:
        """Replace all rows by those of the copy. References are checked at the end of the transaction."""
        with transaction.atomic(), connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            for table in self._rows:
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
            for table, (columns, rows) in self._rows.items():
                names = ", ".join(map(connection.ops.quote_name, columns))
                marks = ", ".join(["%s"] * len(columns))
                for row in rows:
                    values = [connection.ops.adapt_json_value(value, None) if isinstance(value, dict | list) else value
                              for value in row]  # fmt: skip
                    cursor.execute(f"INSERT INTO {connection.ops.quote_name(table)} ({names}) VALUES ({marks})", values)


def _tables() -> list[str]:
    return [model._meta.db_table for model in apps.get_app_config("jobs").get_models(include_auto_created=True)]
