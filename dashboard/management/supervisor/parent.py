"""Stops the site when the process that started it ends, if that process requested it."""

import os
import signal

from dashboard.management.supervisor.child import ask_for_signal
from dashboard.management.supervisor.keeper import Keeper


class Parent:
    """A watcher of the keeper that stops it when `pid` is no longer our parent.

    A make that is killed with -9 does not end its children, so `make up` passes its own pid with `--follow`.
    """

    def __init__(self, pid: int) -> None:
        """Ask the kernel for SIGTERM when our parent ends.

        On other systems only the check in every turn detects this.
        """
        self.pid = pid
        ask_for_signal(signal.SIGTERM)

    def __call__(self, keeper: Keeper) -> None:
        """Check the parent once."""
        if os.getppid() != self.pid:
            keeper.stop("the process that started us is gone")
