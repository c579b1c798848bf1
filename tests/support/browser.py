"""A real Chromium, driven by Playwright, and a page that records every error in it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Response, sync_playwright

from tests.support.waiting import until

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PASSWORD = "trainboard"
IS_QUIET = """!document.querySelector(".htmx-request") &&
  performance.now() - Math.max(...performance.getEntries().map((each) => each.responseEnd ?? 0)) > 300"""


@contextmanager
def running() -> Iterator[Browser]:
    """Run the installed Chromium. Raise if there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise FileNotFoundError("Chromium is not installed: run `make machine`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


EXPECTED_ON_CONSOLE = ("Failed to load resource", "htmx:afterRequest", "htmx:sendAbort")
"""Errors on the console that are expected.

Chromium reports every failed response, whatever status the test expects. htmx reports a request replaced by a newer one
of the same form. A request that fails for another reason has another event as well, such as htmx:sendError.
"""


class Window:
    """A page in its own context. `troubles` are console errors, uncaught exceptions, failed responses and requests."""

    def __init__(self, browser: Browser, address: str, *, password: str = PASSWORD, **options: Any) -> None:
        """Open an empty page. `options` are those of Playwright's `new_context`."""
        self.password = password
        self.context = browser.new_context(base_url=address, **options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.troubles: list[str] = []
        self.expected_statuses: set[int] = set()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.troubles.append(f"exception: {error}"))
        self.page.on("response", self._on_response)

    def sign_in(self, name: str) -> "Window":
        """Sign in as a demo user, or as a test user if `password` is theirs."""
        self.page.goto("/accounts/login/")
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(self.password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator(".menu.account").wait_for()
        self.page.wait_for_load_state()  # the scripts miss what is typed before they run
        return self

    def sign_out(self) -> None:
        """Sign out with the button in the page's frame."""
        self.page.get_by_role("button", name="Sign out").click()
        self.page.get_by_label("Password").wait_for()

    def overflow(self) -> int:
        """Return by how many CSS pixels the content is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def wait_until_quiet(self) -> None:
        """Wait until no request is under way, and none was just before.

        Playwright's "networkidle" returns at once where the page was idle before, and never on a page that asks again.
        """
        until(lambda: self.page.evaluate(IS_QUIET), seconds=30, what="the page asks for nothing")

    def close(self) -> None:
        """Close the page and its context."""
        self.context.close()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(EXPECTED_ON_CONSOLE):
            self.troubles.append(f"console: {message.text}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected_statuses:
            self.troubles.append(f"{response.status} {response.url}")
