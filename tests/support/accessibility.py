"""What is wrong with a page in Chromium: what axe finds, and parts that are wider than the window.

A page is loaded once and looked at in every width and colour scheme. A scheme changes colours only, which
`tests/unit/test_style_sheets.py` holds: in dark, only axe's rule about colours is asked again.
"""

from collections.abc import Iterable
from typing import Literal

from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.browser import Window

WIDTHS = (1280, 390)
"""CSS pixels of a desk and of a phone."""
OF_COLOURS = ("color-contrast",)
"""Of axe's category `cat.color`, what it asks by default; the others are experimental or stricter than level AA."""

END_TRANSITIONS = (
    "document.getAnimations().filter(each => each instanceof CSSTransition).forEach(each => each.finish())"
)


def violations(page: Page, rules: Iterable[str] = ()) -> list[str]:
    """Return what axe finds wrong by `rules`, all of its usual ones if there are none, each with the elements."""
    options: dict[str, object] = {"resultTypes": ["violations"]}  # of what is right, one element a rule
    if rules:
        options["runOnly"] = list(rules)
    return [
        f"{each['id']}: {node['html'][:160]} {[check['message'] for check in node['any'][:1]]}"
        for each in Axe().run(page, options=options)["violations"]
        for node in each["nodes"][:3]
    ]


def faults(view: Window, widths: Iterable[int] = WIDTHS) -> list[str]:
    """Return what is wrong with the loaded page, light and dark; leave it dark in the last of the widths."""
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
    """Show a page in a colour scheme, without the moment in which colours pass from one to the other."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate(END_TRANSITIONS)


def faulty(view: Window, addresses: Iterable[str], widths: Iterable[int] = WIDTHS) -> dict[str, list[str]]:
    """Load each address; return those that have faults, with these."""
    wrong: dict[str, list[str]] = {}
    for address in addresses:
        view.page.goto(address)
        if found := faults(view, widths):
            wrong[address] = found
    return wrong
