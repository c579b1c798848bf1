"""The running site for journeys, one per module, and its log when a test fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.management.supervisor import ports
from tests.support.stack import Stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The site, started as people start it without make, with an emulator in a hurry."""
    state: Path = tmp_path_factory.mktemp("state")
    stack = Stack(state, ports.choose("127.0.0.1"), TRAINBOARD_EMULATOR_SPEED="300")
    try:
        yield stack.start()
    finally:
        stack.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show what the parts said when a journey fails."""
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        report.sections.append(("the site's log", "\n".join(stack.log[-200:])))
    return report
