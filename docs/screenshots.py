"""Make the pictures of the README: run the site in an empty folder, do real work, photograph it. `make screenshots`.

`make screenshots ALL=FOLDER` photographs every page into that folder instead.
"""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Page

from dashboard.management.supervisor import ports
from docs.every_page import photograph_all
from tests.support import browser, waiting
from tests.support.browser import Window
from tests.support.person import Person
from tests.support.stack import Stack

FOLDER = Path(__file__).parent
WINDOW = {"width": 1440, "height": 900}
LONG = "--epochs 400 --seconds-per-epoch 1"
SMALL = {"pool-0-machine_type": "n1-standard-8", "run_time": "30 min", "timeout": "2 h", "strategy": "standard"}
JOBS = (
    {"name": "penguins-baseline", **SMALL, "pool-0-args": "--epochs 30 --seconds-per-epoch 0.1"},
    {"name": "penguins-wide", **SMALL, "pool-0-args": "--epochs 40 --seconds-per-epoch 0.2"},
    {"name": "penguins-typo", **SMALL, "pool-0-args": "--epoch-count 40"},
    {"name": "penguins-long-run", "pool-0-args": LONG},
    {"name": "penguins-distilled", "pool-0-args": LONG, "run_time": "6 h", "timeout": "8 h"},
    {"name": "penguins-patient", "strategy": "flex_start", "pool-0-args": LONG},
    {
        "name": "penguins-eight-gpus",
        "pool-0-machine_type": "a2-highgpu-8g",
        "run_time": "12 h",
        "timeout": "1 d",
        "pool-0-args": LONG,
    },
)
ASKED = {"penguins-long-run", "penguins-distilled", "penguins-patient"}
"""Expensive ones that the approver says yes to; the one with eight GPUs still waits for an answer."""


def work(engineer: Person, approver: Person) -> dict[str, str]:
    """Submit everything, approve most; return the page of each job by its name, once there is something to see."""
    jobs = {}
    for job in JOBS:
        jobs[job["name"]] = engineer.request_example(**job)
        if job["name"] in ASKED:
            approver.decide(jobs[job["name"]], comment="fits the budget")

    def has_restarted() -> bool:
        engineer.open(jobs["penguins-long-run"])  # whoever looks has the log read
        events = engineer.timeline(jobs["penguins-long-run"])["events"]
        back = [event["to_state"] for event in events if event["kind"] == "state"]
        return back.count("running") >= 2 and any(event["kind"] == "restarted" for event in events)

    waiting.until(has_restarted, seconds=180, every=1, what="a Spot job has lost its machine and runs again")
    ended = [jobs[name] for name in ("penguins-baseline", "penguins-wide", "penguins-typo")]
    done = ("succeeded", "failed")
    waiting.until(lambda: all(engineer.timeline(job)["state"] in done for job in ended), seconds=180, every=1)
    return jobs


def photograph(page: Page, path: str, name: str) -> None:
    """Write docs/NAME.png: what a window of 1440 by 900 shows of a page."""
    page.goto(path)
    page.mouse.move(0, 0)
    page.screenshot(path=FOLDER / f"{name}.png", animations="disabled", caret="hide")


def main() -> None:
    """Run the site, work, photograph, leave nothing behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="photograph every page into this folder instead")
    folder = parser.parse_args().all
    with tempfile.TemporaryDirectory() as state:
        stack = Stack(Path(state), ports.choose("127.0.0.1"))
        try:
            stack.start()
            engineer, approver = (Person(stack.address).sign_in(name) for name in ("engineer", "approver"))
            jobs = work(engineer, approver)
            with browser.running() as chromium:
                if folder is not None:
                    print("\n".join(photograph_all(chromium, stack.address, folder)) or "No page is too wide.")
                    return
                window = Window(chromium, stack.address, viewport=WINDOW, color_scheme="light").sign_in("engineer")
                photograph(window.page, "/?hours=0.25", "board")
                photograph(window.page, jobs["penguins-long-run"], "job")
                photograph(window.page, "/jobs/new/?example=1", "compose")
                window.close()
            stack.stop()
        finally:
            stack.close()


if __name__ == "__main__":
    main()
