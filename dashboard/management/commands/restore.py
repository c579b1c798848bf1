"""`manage.py restore FILE`: restore a backup into a new database, look it over, and only then switch to it."""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from dashboard import env
from dashboard.management.restoring import Migrations, RestoreError
from dashboard.management.restoring.postgresql import PostgresRestore
from dashboard.management.restoring.sqlite import SqliteRestore

FIRST_MIGRATION = ("jobs", "0001_initial")


class Command(BaseCommand):
    """Leaves the present database as it is until the new one is complete, also if it is interrupted."""

    help = (
        "Restore a backup into a new database: a dump of pg_dump (custom or plain format), or a copy of an SQLite"
        " database. The new database is migrated and marked as restored. Unsent requests and active jobs are looked up"
        " at Vertex AI. Then the new database takes the place of the present one, which is kept under another name."
        " Stop all processes of the site first."
    )
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path, help="the backup")
        parser.add_argument("--take-over", action="store_true", help="restore a backup of another instance")
        parser.add_argument(
            "--without-answers", action="store_true", help="switch although Vertex AI did not answer every look-up"
        )

    def handle(self, *_: Any, file: Path, **options: Any) -> None:
        """Restore the backup and switch."""
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        connections.close_all()
        restore = _restore()
        is_complete = False
        try:
            restore.check(file)
            try:
                self._print(f"Restoring {file} into {restore.new} ...")
                url = restore.load(file)
                _check_version(restore.migrations())
                self._manage(url, "migrate", "--noinput", "--verbosity", "0")
                flags = [f"--{name}".replace("_", "-") for name in ("take_over", "without_answers") if options[name]]
                self._manage(url, "restored", "--look-up", *flags)
                is_complete = True
            finally:
                if not is_complete:
                    restore.discard()
            for line in restore.switch():
                self._print(line)
        except RestoreError as error:
            raise CommandError(f"{error}\nThe present database is unchanged.") from None

    def _print(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _manage(self, url: str, *command: str) -> None:
        """Run a command of manage.py with another database. Its process has no connection to the present one."""
        variables = env.inherited(DATABASE_URL=url, PYTHONPATH=str(settings.BASE_DIR))
        done = subprocess.run([sys.executable, "-m", "dashboard", *command], env=variables, check=False)
        if done.returncode != 0:
            raise RestoreError(f"`manage.py {command[0]}` failed for the new database; see above.")


def _restore() -> PostgresRestore | SqliteRestore:
    if settings.SQLITE_FILE is not None:
        return SqliteRestore(settings.SQLITE_FILE)
    return PostgresRestore(env.text("DATABASE_URL"))


def _check_version(applied: Migrations) -> None:
    """Raise RestoreError if the backup is not one of Trainboard, or has migrations that this version does not know."""
    if FIRST_MIGRATION not in applied:
        raise RestoreError("The backup is not one of Trainboard.")
    loader = MigrationLoader(None)
    newer = sorted(each for each in applied - set(loader.disk_migrations) if each[0] in loader.migrated_apps)
    if newer:
        names = ", ".join(".".join(each) for each in newer)
        raise RestoreError(f"The backup was made by a newer version, which has the migrations {names}. Install it.")
