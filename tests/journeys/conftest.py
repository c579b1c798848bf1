"""Fixtures for journeys: one running site per module, and its log if a test fails."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from dashboard.management.supervisor import ports
from tests.support import browser
from tests.support.browser import Window
from tests.support.person import Person
from tests.support.stack import Stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The site as `manage.py up` runs it; its emulator hurries, but not so much that a restart goes unseen."""
    state: Path = tmp_path_factory.mktemp("state")
    stack = Stack(state, ports.choose("127.0.0.1"), TRAINBOARD_EMULATOR_SPEED="60")
    try:
        yield stack.start()
    finally:
        stack.close()


@pytest.fixture
def person(stack: Stack) -> Iterator[Callable[[str], Person]]:
    """`person("engineer")` is signed in."""
    people: list[Person] = []

    def sign_in(name: str) -> Person:
        people.append(Person(stack.address).sign_in(name))
        return people[-1]

    yield sign_in
    for each in people:
        each.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module: Playwright runs only once in a process, and modules of pages have their own."""
    with browser.running() as chromium:
        yield chromium


@pytest.fixture
def window(chromium: Browser, stack: Stack) -> Iterator[Callable[..., Window]]:
    """`window(java_script_enabled=False, ...)` opens a page at the site; at the end nothing may have gone wrong."""
    windows: list[Window] = []

    def open_window(**options: Any) -> Window:
        windows.append(Window(chromium, stack.address, **options))
        return windows[-1]

    yield open_window
    troubles = [trouble for each in windows for trouble in each.troubles]
    for each in windows:
        each.close()
    assert troubles == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show the output of the parts when a journey fails."""
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        report.sections.append(("the site's log", "\n".join(stack.log[-200:])))
    return report
