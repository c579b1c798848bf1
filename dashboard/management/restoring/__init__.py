"""Restore a backup into a new database beside the present one, and switch to it: `manage.py restore`."""

from datetime import UTC, datetime

Migrations = set[tuple[str, str]]
"""(app, name) of migrations."""


class RestoreError(Exception):
    """The backup cannot be restored, or the databases cannot be switched. The present database is unchanged."""


def stamp() -> str:
    """Return the present time in UTC for the name of a database."""
    return f"{datetime.now(UTC):%Y%m%d_%H%M%S}"
