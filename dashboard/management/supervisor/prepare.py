"""Preparation before the site starts: migrate the database and collect static files in one folder.

Both are checked on every start and done only after a change, so that a warm start takes milliseconds.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

STAMP = ".collected"


def database(log: Callable[[str], None]) -> None:
    """Apply missing migrations. Raise `django.db.OperationalError` if no database answers."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        log(f"preparing the database: {len(missing)} migrations")
        call_command("migrate", interactive=False, verbosity=0)


def static_files(log: Callable[[str], None]) -> None:
    """Collect the static files again if one of them, or their storage, has changed."""
    root = Path(settings.STATIC_ROOT)
    stamp, wanted = root / STAMP, fingerprint()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    log("collecting static files")
    root.mkdir(parents=True, exist_ok=True)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(wanted)


def fingerprint() -> str:
    """Return a hash of path, size and modification time of every static file, and of the storage's name."""
    digest = hashlib.sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
