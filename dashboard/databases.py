"""Database settings. Every wait has a time limit.

Options in the URL take precedence over the ones here, so DATABASE_URL can change any of them:
`postgres://...?connect_timeout=3&options=-c%20statement_timeout%3D5min`.
"""

from pathlib import Path
from typing import Any

import dj_database_url

CONNECT_SECONDS = 5
SILENT_SECONDS = 25
"""Time without an answer from the other end after which the system closes a connection."""
STATEMENT_SECONDS = 30
"""Maximum duration of one statement. Migrations and prune have no such limit (`jobs.database`)."""
LOCK_SECONDS = 20
"""Maximum wait for a lock. It is shorter than a claim, so that a worker that waited too long starts again."""
IDLE_SECONDS = 60
"""Maximum idle time in a transaction. A longer one has lost its process, and holds locks that others wait for."""

LIMITS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": (SILENT_SECONDS - 10) // 5,
    "tcp_user_timeout": SILENT_SECONDS * 1000,
}
"""Connection options of libpq; see the PostgreSQL manual, "Parameter Key Words". The TCP options have no effect on a
Unix socket."""
SESSION = {
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    "jit": "off",  # compiling a statement with many sums takes ten times as long as running it
    "work_mem": "16MB",  # with the default of 4 MB, sums of 40,000 jobs by group are sorted on disk
}
"""Settings of the server for each session."""


def database(url: str) -> dict[str, Any]:
    """Return Django's settings for the database at `url`."""
    found: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=300, conn_health_checks=True))
    given = found.get("OPTIONS") or {}
    if found["ENGINE"] == "django.db.backends.postgresql":
        # The server uses the later of two options with one name, so options of the URL take precedence over SESSION.
        session = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
        found["OPTIONS"] = LIMITS | given | {"options": f"{session} {given.get('options', '')}".strip()}
    elif found["ENGINE"] == "django.db.backends.sqlite3":
        found["OPTIONS"] = SQLITE | given
    return found


def sqlite_url(state: Path) -> str:
    """Return the URL of the database of a site without DATABASE_URL."""
    return f"sqlite:///{state / 'trainboard.sqlite3'}"


def sqlite_file(database: dict[str, Any]) -> Path | None:
    """Return the file of an SQLite database. None for one in memory and for other databases."""
    is_file = database["ENGINE"] == "django.db.backends.sqlite3" and not str(database["NAME"]).startswith(
        (":", "file:")
    )
    return Path(database["NAME"]) if is_file else None


SQLITE = {
    # IMMEDIATE takes the write lock at BEGIN, so that two workers wait for each other instead of failing with "database
    # is locked".
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    # FULL: the record that a create is about to be sent must survive a power cut, or the job could be sent twice. 8000
    # pages (32 MiB on disk, none in memory): changes of many jobs at once are checkpointed once, not several times.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=8000;",
}
