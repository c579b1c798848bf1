"""Ends with the process that started us, where that process asks for it."""

import os
import signal

from dashboard.management.supervisor.child import ask_for_signal
from dashboard.management.supervisor.keeper import Keeper


class Parent:
    """A watcher of the keeper: stops it when `pid` is no longer our parent.

    make dies of kill -9 without ending what it runs, so `make up` names itself with `--follow`.
    """

    def __init__(self, pid: int) -> None:
        """Ask the kernel for SIGTERM when our parent ends; where it cannot, looking every turn must do."""
        self.pid = pid
        ask_for_signal(signal.SIGTERM)

    def __call__(self, keeper: Keeper) -> None:
        """Look once."""
        if os.getppid() != self.pid:
            keeper.stop("the process that started us is gone")
