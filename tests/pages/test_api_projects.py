"""Tests of several projects per team in the API: selected by request or text, returned, refused at the field."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.models import AllowedResource, Job, Schedule, Team
from tests.support import samples
from tests.support.api import Caller, caller

pytestmark = pytest.mark.django_db
SECOND = "vision-two"
THEIRS = "speech-research"
TIMES = {"schedule": "nightly", "cron": "0 6 * * 1-5"}


@pytest.fixture
def api(owner: User, team: Team) -> Caller:
    """The owner's program; the team may use another project beside its default one."""
    AllowedResource.objects.create(team=team, kind="project", name=SECOND)
    return caller(owner)


def asked(**changes: Any) -> dict[str, Any]:
    return {"spec": samples.body(**samples.limited(0.05, {})), "expected_seconds": 180} | changes


def command(named: str, **changes: Any) -> dict[str, Any]:
    text = (
        f"gcloud ai custom-jobs create --project={named} --region=us-central1 --display-name=x "
        "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/a/b"
    )
    return {"text": text, "expected_seconds": 60} | changes


def test_a_team_has_its_projects(api: Caller) -> None:
    (found,) = api.get("/teams").json()

    assert (found["project"], found["projects"]) == ("vision-research", ["vision-research", SECOND])


@pytest.mark.parametrize(
    ("body", "project"),
    [
        (asked(), "vision-research"),
        (asked(project=SECOND), SECOND),
        (asked(project="vision-research"), "vision-research"),
        (command(SECOND), SECOND),
        (command(SECOND, project=SECOND), SECOND),
        (command("PROJECT_ID", project=SECOND), SECOND),
        (command("$PROJECT", project=SECOND), SECOND),
    ],
)
def test_a_job_runs_in_the_project_that_is_named(api: Caller, body: dict[str, Any], project: str) -> None:
    assessed = api.post("/assessments", body)
    answer = api.post("/jobs", body, key="once")

    assert assessed.json()["project"] == project
    assert answer.status_code == 201, answer.json()
    assert answer.json()["job"]["project"] == Job.objects.get().project == project
    assert api.post("/jobs", body, key="once").json()["is_repeated"]


def test_another_project_is_another_request(api: Caller) -> None:
    api.post("/jobs", asked(), key="once")

    assert api.post("/jobs", asked(project=SECOND), key="once").status_code == 422
    assert Job.objects.count() == 1


@pytest.mark.parametrize("address", ["/jobs", "/assessments", "/schedules"])
@pytest.mark.parametrize("project", [THEIRS, "x" * 64, "\x00", "vision-two "])
def test_a_project_of_others_is_refused_at_the_field(api: Caller, address: str, project: str) -> None:
    body = asked(project=project) | (TIMES if address == "/schedules" else {})
    answer = api.post(address, body)

    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["place"], error["field"]) == ("body", "project")
    if len(project) < 64:
        assert error["message"] == "vision may not use this project. Its jobs run in vision-research, vision-two."
    assert not Job.objects.exists() | Schedule.objects.exists()


def test_a_text_may_not_name_another_one(api: Caller) -> None:
    for body, words in (
        (command(THEIRS), "Jobs of vision run in vision-research, vision-two."),
        (command(SECOND, project="vision-research"), "another project than the request (vision-research)."),
    ):
        answer = api.post("/jobs", body)
        (found,) = [each for each in answer.json()["findings"] if each["code"] == "other_project"]
        assert answer.status_code == 422
        assert words in found["message"]
        assert api.post("/assessments", body).json()["project"] == "vision-research"


def test_a_schedule_keeps_it(api: Caller) -> None:
    first = api.post("/schedules", asked(project=SECOND) | TIMES, key="once")
    assert first.status_code == 201, first.json()
    again = api.post("/schedules", asked(project=SECOND) | TIMES, key="once")
    other = api.post("/schedules", asked() | TIMES, key="once")

    assert (first.json()["project"], Schedule.objects.get().project) == (SECOND, SECOND)
    assert (again.status_code, other.status_code) == (200, 422)
    ran = api.post(f"/schedules/{first.json()['id']}/run", {}, key="run")
    assert ran.json()["job"]["project"] == SECOND


def test_jobs_are_listed_by_project(api: Caller) -> None:
    for project in ("vision-research", SECOND):
        api.post("/jobs", asked(project=project), key=project)

    def listed(query: str) -> list[str]:
        return [each["project"] for each in api.get(f"/jobs?{query}").json()["items"]]

    assert listed(f"project={SECOND}") == [SECOND]
    assert len(listed("")) == len(listed(f"project={SECOND}&project=vision-research")) == 2
    assert [api.get(f"/jobs?project={each}").status_code for each in (THEIRS, "%00")] == [422, 422]


def test_a_stranger_reaches_no_project_of_ours(api: Caller, stranger: User) -> None:
    theirs = caller(stranger)

    assert SECOND not in theirs.get("/teams").content.decode()
    for project in (SECOND, "vision-research"):
        answer = theirs.post("/jobs", asked(project=project))
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["message"] == f"speech may not use this project. Its jobs run in {THEIRS}."
    assert not Job.objects.exists()
