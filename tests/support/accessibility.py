"""Faults of a page in Chromium: violations found by axe, and content wider than the window.

A page is loaded once and checked at every width and in every colour scheme. A scheme changes only colours, which
`tests/unit/test_style_sheets.py` ensures, so in dark only axe's rule about colours runs again.
"""

from collections.abc import Iterable
from typing import Literal

from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.browser import Window

WIDTHS = (1280, 390)
"""Widths of a desktop and of a phone, in CSS pixels."""
OF_COLOURS = ("color-contrast",)
"""Rules of axe's category `cat.color` that run by default. Its others are experimental or stricter than level AA."""

END_TRANSITIONS = (
    "document.getAnimations().filter(each => each instanceof CSSTransition).forEach(each => each.finish())"
)


def violations(page: Page, rules: Iterable[str] = ()) -> list[str]:
    """Return the violations of `rules`, or of axe's default rules if empty, each with its elements."""
    options: dict[str, object] = {"resultTypes": ["violations"]}  # at most one element per passed rule
    if rules:
        options["runOnly"] = list(rules)
    return [
        f"{each['id']}: {node['html'][:160]} {[check['message'] for check in node['any'][:1]]}"
        for each in Axe().run(page, options=options)["violations"]
        for node in each["nodes"][:3]
    ]


def faults(view: Window, widths: Iterable[int] = WIDTHS) -> list[str]:
    """Return the faults of the loaded page, light and dark. Leave it dark at the last width."""
    found: list[str] = []
    for width in widths:
        view.page.set_viewport_size({"width": width, "height": 800})
        show_in(view.page, "light")
        found += [f"{width} px: {each}" for each in violations(view.page)]
        if view.overflow() > 0:
            found.append(f"{width} px: is {view.overflow()} pixels too wide")
        show_in(view.page, "dark")
        found += [f"{width} px, dark: {each}" for each in violations(view.page, OF_COLOURS)]
    return found


def show_in(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Show a page in a colour scheme, without the transition between colours."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate(END_TRANSITIONS)


def faulty(view: Window, addresses: Iterable[str], widths: Iterable[int] = WIDTHS) -> dict[str, list[str]]:
    """Load each address. Return the faults of those that have any."""
    wrong: dict[str, list[str]] = {}
    for address in addresses:
        view.page.goto(address)
        if found := faults(view, widths):
            wrong[address] = found
    return wrong
