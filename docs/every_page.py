"""Photograph every page in its main states: `make screenshots ALL=FOLDER`, or against a site that runs already.

A wide window light and dark, and a phone; whole pages. What is found in a site differs, so that jobs of each state are
looked up in the history. The pictures are looked at, not committed.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.support import browser
from tests.support.browser import Window
from tests.support.person import Person

LOOKS = {
    "wide-light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "wide-dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
PAGES = {
    "board": "/",
    "board-by-owner": "/?group=owner&hours=48",
    "board-nothing-found": "/?q=no-such-job",
    "approvals": "/approvals/",
    "compose-empty": "/jobs/new/",
    "compose-example": "/jobs/new/?example=1",
    "import": "/jobs/import/",
    "adopt": "/jobs/adopt/",
    "history": "/history/",
    "history-nothing-found": "/history/?q=no-such-job",
    "persistent-resources": "/persistent-resources/",
    "compare-empty": "/compare/",
    "templates": "/templates/",
    "catalogue": "/catalogue/",
    "prices": "/prices/",
    "rules": "/rules/",
    "schedules": "/schedules/",
    "spend": "/spend/",
    "budgets": "/budgets/",
    "ceilings": "/ceilings/",
    "proposals": "/proposals/",
    "policy": "/policy/",
    "deputies": "/deputies/",
    "messages": "/messages/",
    "message-settings": "/messages/settings/",
    "teams": "/teams/",
    "account": "/account/",
    "api-tokens": "/account/tokens/",
    "api": "/api/",
    "not-found": "/jobs/00000000-0000-4000-8000-000000000000/",
}
PAGES_OF_ADMINS = {
    "persistent-resource-new": "/persistent-resources/new/",
    "policy-edit": "/policy/",
    "team": "/teams/1/",
    "team-invitations": "/teams/1/invitations/",
    "people": "/people/",
    "channels": "/messages/channels/",
    "undelivered": "/messages/undelivered/",
    "audit": "/audit/",
    "components": "/components/",
    "doctor": "/doctor/",
    "budget-new": "/budgets/new/1/",
    "billing": "/spend/billing/1/",
}
MAX_JOBS = 500
MAX_HEIGHT = 6_000
"""Pixels of one picture; a page that is longer is too long to look at."""


def addresses(person: Person) -> Iterator[tuple[str, str]]:
    """Yield (name, address) of every page and of one job of each state and kind, with what lies below it."""
    yield from PAGES.items()
    jobs = person.open("/history/jobs.json").json()[:MAX_JOBS]
    seen: dict[str, str] = {}
    for job in jobs:
        seen.setdefault(f"job-{job['state']}", job["id"])
        if job["kind"] == "hyperparameter_tuning_job":
            seen.setdefault("job-tuning", job["id"])
    for name, job in seen.items():
        yield name, f"/jobs/{job}/"
    if "job-running" in seen:
        yield "job-as-table", f"/jobs/{seen['job-running']}/?as=table"
        yield "job-cancel", f"/jobs/{seen['job-running']}/cancel/"
    if "job-tuning" in seen:
        yield "study", f"/studies/{seen['job-tuning']}/"
    if len(jobs) > 1:
        yield "compare", f"/compare/?a={jobs[0]['id']}&b={jobs[1]['id']}"
        yield "compare-several", "/compare/?" + "&".join(f"job={job['id']}" for job in jobs[:6])
        yield "schedule-new", f"/schedules/new/?job={jobs[0]['id']}"
        yield "template-save", f"/jobs/{jobs[0]['id']}/template/"
        yield "several", f"/jobs/several/?job={jobs[0]['id']}&job={jobs[1]['id']}&action=cancel"


def photograph_all(chromium: Browser, address: str, folder: Path) -> list[str]:
    """Write FOLDER/NAME-LOOK.png of each page; return what was wrong: wider than its window, or an error."""
    folder.mkdir(parents=True, exist_ok=True)
    person = Person(address)
    person.sign_in("engineer")
    pages = {"engineer": list(addresses(person)), "admin": list(PAGES_OF_ADMINS.items())}
    return [
        words
        for look, options in LOOKS.items()
        for username, shown in pages.items()
        for words in _photograph(Window(chromium, address, **options).sign_in(username), look, shown, folder)
    ]


def _photograph(window: Window, look: str, pages: list[tuple[str, str]], folder: Path) -> list[str]:
    window.expected_statuses.add(404)
    wrong = []
    for name, path in pages:
        window.page.goto(path)
        _take(window.page, folder / f"{name}-{look}.png")
        if (over := window.overflow()) > 0:
            wrong.append(f"{name}, {look}: {over} pixels wider than the window")
    wrong += [f"{look}: {trouble}" for trouble in window.troubles]
    window.close()
    return wrong


def _take(page: Page, path: Path) -> None:
    page.mouse.move(0, 0)
    width = page.viewport_size["width"] if page.viewport_size else 1280
    height = min(int(page.evaluate("document.documentElement.scrollHeight")), MAX_HEIGHT)
    clip = {"x": 0, "y": 0, "width": width, "height": height}
    page.screenshot(path=path, animations="disabled", caret="hide", full_page=True, clip=clip)


def main() -> None:
    """Photograph the site at an address, print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--address", required=True, help="of a site with the demo's people")
    given = parser.parse_args()
    with browser.running() as chromium:
        for words in photograph_all(chromium, given.address, given.folder):
            print(words)


if __name__ == "__main__":
    main()
