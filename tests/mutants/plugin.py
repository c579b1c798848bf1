"""A pytest plugin for a switched copy: each test runs again without each guard that it reaches.

The folder `TRAINBOARD_TEST_GUARDS` holds the file `asked` with the numbers of the guards. The plugin writes a file
there for each guard that a test noticed: its name is the number, its text is the test. Processes may share the folder.
"""

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants import switches

FOLDER = Path(os.environ["TRAINBOARD_TEST_GUARDS"])
ASKED = {int(line) for line in (FOLDER / "asked").read_text().split()}
MAX_TRIES = int(os.environ["TRAINBOARD_TEST_GUARDS_TRIES"])
"""Tests in which a guard is off without being noticed, after which no other is tried."""
MAX_VALUES = int(os.environ["TRAINBOARD_TEST_GUARDS_VALUES"])
"""Values of its parameters with which a test function runs without the same guard."""
tries: Counter[int] = Counter()
tried: Counter[tuple[int, str]] = Counter()
"""How often a guard was off in a test function."""


class NeverEndsError(Exception):
    """Raised in a test that takes far longer than with all guards."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order tests so that each module has its turn, and the first values of parameters come first."""
    of_function, of_module = Counter[str](), Counter[tuple[int, Path]]()

    def turn(item: pytest.Item) -> tuple[int, int]:
        function = item.nodeid.partition("[")[0]
        of_function[function] += 1
        of_module[of_function[function], item.path] += 1
        return of_function[function], of_module[of_function[function], item.path]

    turns = {item: turn(item) for item in items}
    items.sort(key=turns.__getitem__)


def pytest_runtest_protocol(item: pytest.Item) -> bool:
    """Run a test as it is, then without each guard in turn. If some were noticed, it has to pass again as it is."""
    switches.reached.clear()
    began = time.monotonic()
    reports = _run(item)
    seconds = time.monotonic() - began
    function, noticed = item.nodeid.partition("[")[0], list[int]()
    if not any(report.failed or report.skipped for report in reports):
        for number in sorted(switches.reached & ASKED):
            before = tried[number, function]
            is_wanted = 0 < before < MAX_VALUES or (before == 0 and tries[number] < MAX_TRIES)
            if is_wanted and not (FOLDER / str(number)).exists():
                tries[number] += before == 0
                tried[number, function] += 1
                noticed += [number] if _fails_without(number, item, seconds) else []
    if noticed:
        reports = _run(item)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    for number in () if any(report.failed for report in reports) else noticed:
        (FOLDER / str(number)).write_text(item.nodeid)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run(item: pytest.Item) -> list[pytest.TestReport]:
    """Run a test and tear down all but what the session shares. What was cached may be of a guard that was off."""
    for module in [each for each in list(sys.modules.values()) if "_switches" in vars(each)]:
        for each in vars(module).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()
    return runtestprotocol(item, log=False, nextitem=item.session)  # type: ignore[arg-type]


def _fails_without(number: int, item: pytest.Item, seconds: float) -> bool:
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, 60 + 10 * seconds, 5)
    switches.active = number
    try:
        return any(report.failed for report in _run(item))
    except NeverEndsError:
        return True
    finally:
        switches.active = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _give_up(_signal: int, _frame: FrameType | None) -> None:
    raise NeverEndsError
