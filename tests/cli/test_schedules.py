"""Tests of `trainboard schedule` against a live server: every subcommand, output as JSON, and exit codes."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, Schedule
from tests.cli.conftest import Terminal

pytestmark = pytest.mark.django_db(transaction=True)
CREATE = ("schedule", "create", "job.yaml", "--expected", "3m", "--name", "nightly", "--cron", "0 6 * * 1-5")


@pytest.fixture
def kept(terminal: Terminal) -> str:
    """The id of a schedule that the command line made."""
    ran = terminal.run(*CREATE, "--time-zone", "Europe/Berlin", "--json")
    assert ran.code == 0, ran.err
    return str(json.loads(ran.out)["id"])


def test_makes_lists_and_shows_one(terminal: Terminal, kept: str) -> None:
    row = Schedule.objects.get()
    assert (str(row.pk), row.name, row.cron, row.time_zone, row.expected_seconds) == (
        kept, "nightly", "0 6 * * 1-5", "Europe/Berlin", 180,
    )  # fmt: skip

    assert kept in terminal.run("schedule", "list").out
    assert kept in terminal.run("schedule", "list", "--team", "vision").out
    refused = terminal.run("schedule", "list", "--team", "visions", "--json")
    assert (refused.code, json.loads(refused.out)["problem"]["status"]) == (1, 422)
    assert "'vision'" in refused.err
    assert "nightly: 0 6 * * 1-5 in Europe/Berlin" in terminal.run("schedule", "show", kept).out


def test_runs_one_now(terminal: Terminal, kept: str) -> None:
    ran = terminal.run("schedule", "run", kept, "--key", "once", "--json")
    again = terminal.run("schedule", "run", kept, "--key", "once", "--json")

    assert json.loads(ran.out)["job"]["id"] == json.loads(again.out)["job"]["id"] == str(Job.objects.get().pk)
    assert "requested" in terminal.run("schedule", "show", kept).out
    busy = terminal.run("schedule", "run", kept)
    assert (busy.code, "has not ended" in busy.err) == (1, True)


def test_pauses_resumes_and_deletes_one(terminal: Terminal, kept: str) -> None:
    assert "paused. owner paused it." in terminal.run("schedule", "pause", kept).out
    assert json.loads(terminal.run("schedule", "resume", kept, "--json").out)["is_enabled"]

    assert json.loads(terminal.run("schedule", "delete", kept, "--json").out) == {"deleted": kept}
    assert terminal.run("schedule", "delete", kept).code == 7
    assert not Schedule.objects.exists()


def test_changes_one(terminal: Terminal, kept: str) -> None:
    named = ("--cron", "30 7 * * *", "--name", "daily", "--last-day", "2099-12-31", "--overlap")
    assert "daily: 30 7 * * * in Europe/Berlin" in terminal.run("schedule", "change", kept, *named).out
    row = Schedule.objects.get()
    assert (row.name, str(row.last_day), row.allows_overlap) == ("daily", "2099-12-31", True)

    found = json.loads(terminal.run("schedule", "change", kept, "--no-last-day", "--no-overlap", "--json").out)
    assert (found["last_day"], found["allows_overlap"], found["cron"]) == (None, False, "30 7 * * *")
    often = terminal.run("schedule", "change", kept, "--cron", "* * * * *")
    assert (often.code, "every five minutes" in often.err) == (1, True)
    nothing = terminal.run("schedule", "change", kept)
    assert (nothing.code, "Nothing to change" in nothing.err) == (2, True)
    assert Schedule.objects.get().cron == "30 7 * * *"


def test_says_what_is_wrong(terminal: Terminal) -> None:
    often = terminal.run(*CREATE[:-1], "* * * * *")
    bad = terminal.run("schedule", "create", "bad.yaml", *CREATE[3:])
    typed = terminal.run("schedule", "pause", "nightly")

    assert (often.code, "every five minutes" in often.err) == (1, True)
    assert (bad.code, typed.code) == (0, 2), "rules judge a run when it is due, as on the page"
    assert "not a schedule id" in typed.err


def test_a_stranger_reaches_none(new_terminal: Callable[..., Terminal], kept: str, stranger: User) -> None:
    other = new_terminal(stranger)

    assert json.loads(other.run("schedule", "list", "--json").out) == []
    for verb in ("show", "run", "pause", "resume", "delete"):
        assert other.run("schedule", verb, kept).code == 7
    assert other.run("schedule", "change", kept, "--cron", "0 7 * * *").code == 7
    assert Schedule.objects.get().is_enabled
