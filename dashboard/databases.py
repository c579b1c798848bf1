"""How the site talks to its database: every wait has an end.

Options that stand in the address win over the ones here, so DATABASE_URL can change any of them:
`postgres://...?connect_timeout=3&options=-c%20statement_timeout%3D5min`.
"""

from pathlib import Path
from typing import Any

import dj_database_url

CONNECT_SECONDS = 5
SILENT_SECONDS = 25
"""After so long without a sign of life from the other end the system gives a connection up."""
STATEMENT_SECONDS = 30
"""Of one statement. Migrations and prune have no such limit (`jobs.database`)."""
LOCK_SECONDS = 20
"""To wait for another transaction: shorter than a claim, so that a worker that waited for too long begins anew."""
IDLE_SECONDS = 60
"""A transaction in which nothing happens for so long has lost its process; it holds locks that others wait for."""

LIMITS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": (SILENT_SECONDS - 10) // 5,
    "tcp_user_timeout": SILENT_SECONDS * 1000,
}
"""Of libpq; see the PostgreSQL manual, "Parameter Key Words". The ones about TCP do nothing on a Unix socket."""
SESSION = {
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    "jit": "off",  # compiling a statement with many sums takes ten times as long as running it
}
"""Kept by the server for each session."""


def database(url: str) -> dict[str, Any]:
    """Return Django's settings for the database at `url`."""
    found: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=300, conn_health_checks=True))
    given = found.get("OPTIONS") or {}
    if found["ENGINE"] == "django.db.backends.postgresql":
        # Of two options with one name the server takes the later, so what the address gives wins over SESSION.
        session = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
        found["OPTIONS"] = LIMITS | given | {"options": f"{session} {given.get('options', '')}".strip()}
    elif found["ENGINE"] == "django.db.backends.sqlite3":
        found["OPTIONS"] = SQLITE | given
    return found


def sqlite_url(state: Path) -> str:
    """Return the address of the database that a site without DATABASE_URL has."""
    return f"sqlite:///{state / 'trainboard.sqlite3'}"


def sqlite_file(database: dict[str, Any]) -> Path | None:
    """Return the file of an SQLite database; None for one in memory, and for any other database."""
    is_file = database["ENGINE"] == "django.db.backends.sqlite3" and not str(database["NAME"]).startswith(
        (":", "file:")
    )
    return Path(database["NAME"]) if is_file else None


SQLITE = {
    # IMMEDIATE takes the write lock at BEGIN, so that two workers wait for each other instead of failing half-way with
    # "database is locked".
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    # FULL: that a create is about to be sent must outlive a power cut, or the job could be sent twice.
    # 8000 pages (32 MiB on the disk, none of it in memory): what many jobs that change together write is carried over
    # into the file once, not several times on the way.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=8000;",
}
