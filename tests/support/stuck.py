"""A program for tests: the site's worker with a task that never ends. `python -m tests.support.stuck [hang]`.

Without an argument it is the worker; `hang` asks for such a task.
"""

import sys
import threading

from dashboard.celery import app


@app.task(name="tests.hang", ignore_result=True)
def hang(*, what: str) -> None:
    """Wait for ever, as for a peer that went silent."""
    threading.Event().wait()


def main() -> None:
    """Be what the command line names."""
    if sys.argv[1:] == ["hang"]:
        hang.apply_async(kwargs={"what": "for godot"})
    else:
        app.worker_main(["worker", "--pool", "threads", "--concurrency", "4", "--without-mingle", "--without-gossip",
                         "--loglevel", "WARNING"])  # fmt: skip


if __name__ == "__main__":
    main()
