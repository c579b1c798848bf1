"""Tests of `--project`: the job runs in that project, and a project that the team may not use is refused."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from jobs.models import AllowedResource, Job, Schedule, Team
from tests.cli.conftest import Terminal

pytestmark = pytest.mark.django_db(transaction=True)
SECOND = "vision-two"
JOB = ("job.yaml", "--expected", "3m")


@pytest.fixture(autouse=True)
def _second(team: Team) -> None:
    AllowedResource.objects.create(team=team, kind="project", name=SECOND)


def test_a_job_and_a_schedule_run_in_it(terminal: Terminal) -> None:
    ran = terminal.run("submit", *JOB, "--project", SECOND, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["job"]["project"] == Job.objects.get().project == SECOND
    assert json.loads(terminal.run("estimate", *JOB, "--project", SECOND, "--json").out)["project"] == SECOND

    times = ("--name", "nightly", "--cron", "0 6 * * *", "--project", SECOND)
    made = terminal.run("schedule", "create", *JOB, *times, "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["project"] == Schedule.objects.get().project == SECOND
    assert json.loads(terminal.run("list", "--project", SECOND, "--json").out)[0]["project"] == SECOND
    assert json.loads(terminal.run("list", "--project", "vision-research", "--json").out) == []


def test_a_project_of_others_is_refused(terminal: Terminal) -> None:
    for verb in (("submit",), ("estimate",), ("schedule", "create", "--name", "n", "--cron", "0 6 * * *")):
        ran = terminal.run(*verb, *JOB, "--project", "speech-research")

        assert ran.code == 1
        assert "project: vision may not use this project. Its jobs run in vision-research, vision-two." in ran.err
    assert not Job.objects.exists() | Schedule.objects.exists()


def test_a_stranger_requests_nothing_in_ours(new_terminal: Callable[..., Terminal], stranger: User) -> None:
    shell = new_terminal(stranger)
    shell.write("job.yaml", "workerPoolSpecs: []")

    ran = shell.run("submit", *JOB, "--project", SECOND)

    assert ran.code == 1
    assert not Job.objects.exists()
