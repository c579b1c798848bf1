"""The command lines of the site's processes, for `up` and for the commands `web`, `worker` and `beat`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError

CELERY = ("-m", "celery", "-A", "dashboard.celery", "--quiet", "--skip-checks")
AFTER_PAGES = ("nice", "-n", "10")
"""Prefix of a worker's command. On a busy processor, pages get nine times the share of workers."""


def python(*command: str) -> tuple[str, ...]:
    """Return the command for Python."""
    return (sys.executable, *command)


def web(host: str, port: int, *, workers: int) -> tuple[str, ...]:
    """Return Granian with `workers` processes and a few threads in each."""
    where = ["--host", host, "--port", str(port), "--workers", str(workers), "--blocking-threads", "4"]
    app = ["--interface", "wsgi", "--no-ws", "--log-level", "warning", "dashboard.wsgi:application"]
    return python("-m", "granian", *where, *app)


def worker(name: str, *, queues: Sequence[str], threads: int) -> tuple[str, ...]:
    """Return a Celery worker for some queues.

    It uses threads, because its tasks wait for the network and the database.
    """
    pool = ["--queues", ",".join(queues), "--pool", "threads", "--concurrency", str(threads)]
    pool += ["--without-mingle", "--without-gossip"]
    # Celery prints five lines of warning to root about pickled messages, which the settings do not accept.
    calm = ["-W", "ignore::UserWarning:celery.platforms"]
    command = python(*calm, *CELERY, "worker", *pool, "--hostname", f"{name}@%h", "--loglevel", "WARNING")
    return (*AFTER_PAGES, *command)


def beat() -> tuple[str, ...]:
    """Return Celery's beat, which requests a sweep every few seconds."""
    return python(*CELERY, "beat", "--pidfile=", "--loglevel", "WARNING")


def check_folder(folder: Path) -> None:
    """Raise CommandError if a file in the folder of the processes has the name of one of Trainboard's packages.

    Granian and Celery import from the folder that they run in first.
    """
    names = [name + end for name in ("dashboard", "emulator", "jobs") for end in (".py", "/__init__.py")]
    found = next((folder / name for name in names if (folder / name).exists()), None)
    if settings.IS_INSTALLED and found is not None:
        raise CommandError(f"{found} would be imported instead of Trainboard's own package. Choose another folder.")


def become(command: Sequence[str]) -> None:
    """Replace this process with another program, which keeps its id, environment and output."""
    check_folder(settings.WORK_DIR)
    os.chdir(settings.WORK_DIR)
    os.execvp(command[0], list(command))  # noqa: S606 - the command is one of the above
