"""What must be true before the site starts: tables as the code expects them, static files in one folder.

Both are looked at on every start and done only when something changed, so that a warm start costs milliseconds.
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
    """Apply the migrations that are missing; raise `django.db.OperationalError` when no database answers."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        log(f"preparing the database: {len(missing)} migrations")
        call_command("migrate", interactive=False, verbosity=0)


def static_files(log: Callable[[str], None]) -> None:
    """Collect the static files again when one of them, or what they are stored with, changed."""
    root = Path(settings.STATIC_ROOT)
    stamp, wanted = root / STAMP, fingerprint()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    log("collecting static files")
    root.mkdir(parents=True, exist_ok=True)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(wanted)


def fingerprint() -> str:
    """Return a hash over path, size and modification time of every static file, and over the storage's name."""
    digest = hashlib.sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
