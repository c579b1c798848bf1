"""A program for tests: the site's worker with a task that never ends. `python -m tests.support.stuck [hang]`.

Without an argument it runs the worker; `hang` queues such a task.
"""

import sys
import threading

from dashboard.celery import app

BROKER_LIMITS = {"socket_timeout": 2, "health_check_interval": 5}
"""Seconds until a silent broker is noticed: a fifth of the site's 10 and of Celery's 25."""


@app.task(name="tests.hang", ignore_result=True)
def hang(*, what: str) -> None:
    """Wait without end, as for a peer that does not respond."""
    threading.Event().wait()


def main() -> None:
    """Run what the command line names."""
    if sys.argv[1:] == ["hang"]:
        hang.apply_async(kwargs={"what": "for godot"})
    else:
        app.conf.broker_transport_options |= BROKER_LIMITS
        app.worker_main(["worker", "--pool", "threads", "--concurrency", "4", "--without-mingle", "--without-gossip",
                         "--loglevel", "WARNING"])  # fmt: skip


if __name__ == "__main__":
    main()
