"""Tests of several projects per team on the pages of persistent resources and external jobs."""

import pytest
from django.contrib.auth.models import User

from jobs import observation
from jobs.models import AllowedResource, Discovery, Job, ResourceChange, Team
from tests.pages.conftest import SignIn, fields_of, text_of
from tests.pages.test_resource_changes import NEW
from tests.support import samples
from tests.support.clock import Clock
from tests.support.resources import seen

SECOND = "vision-two"


@pytest.fixture(autouse=True)
def _second(team: Team) -> None:
    AllowedResource.objects.create(team=team, kind="project", name=SECOND)


class TestResources:
    def test_a_job_is_composed_on_one_of_the_second_project(self, owner: User, signed_in: SignIn, clock: Clock) -> None:
        row, browser = seen(project=SECOND, now=clock.now), signed_in(owner)

        assert f"?resource={row.pk}" in browser.get("/persistent-resources/").content.decode()
        page = browser.get(f"/jobs/new/?resource={row.pk}").content.decode()

        assert fields_of(page)["project"] == SECOND
        assert "not known in" not in page

    def test_one_is_made_and_changed_there(self, approver: User, signed_in: SignIn, clock: Clock) -> None:
        row, browser = seen(project=SECOND, now=clock.now), signed_in(approver)

        browser.post("/persistent-resources/new/", NEW | {"project": SECOND, "create": ""})  # its name is taken
        browser.post("/persistent-resources/new/", NEW | {"project": SECOND, "resource_id": "day-shift", "create": ""})
        browser.post(f"/persistent-resources/{row.pk}/reboot/")

        changes = ResourceChange.objects.order_by("pk")
        assert [(each.action, each.project) for each in changes] == [("create", SECOND), ("reboot", SECOND)]
        assert "Another change of night-shift is open" in text_of(
            browser.post(f"/persistent-resources/{row.pk}/reboot/", follow=True)
        )

    def test_a_guest_sees_one_of_another_team_and_does_not_change_it(
        self, approver: User, other_team: Team, signed_in: SignIn, clock: Clock
    ) -> None:
        Team.objects.filter(pk=other_team.pk).update(project=SECOND)
        row, browser = seen(project=SECOND, now=clock.now), signed_in(approver)
        browser.raise_request_exception = False

        page = browser.get("/persistent-resources/").content.decode()
        assert f"?resource={row.pk}" in page
        assert f"/persistent-resources/{row.pk}/" not in page
        assert browser.post(f"/persistent-resources/{row.pk}/delete/").status_code == 403
        answer = browser.post("/persistent-resources/new/", NEW | {"project": SECOND, "create": ""})
        assert answer.status_code == 422
        assert not ResourceChange.objects.exists()

    def test_a_stranger_finds_none(self, stranger: User, signed_in: SignIn, clock: Clock) -> None:
        row, browser = seen(project=SECOND, now=clock.now), signed_in(stranger)

        assert SECOND not in browser.get("/persistent-resources/").content.decode()
        for address in (f"/jobs/new/?resource={row.pk}", f"/persistent-resources/{row.pk}/delete/"):
            assert browser.get(address).status_code == 404


def test_jobs_of_the_second_project_are_adopted(
    team: Team, owner: User, stranger: User, signed_in: SignIn, clock: Clock
) -> None:
    place = {"project": SECOND, "region": "us-central1"}
    discovery = observation.request_discovery(**place, by=owner, now=clock.now)
    Discovery.objects.update(due_at=None, answered_at=clock.now)
    remote_name = "projects/2/locations/us-central1/customJobs/1"
    body = samples.body(name="theirs") | {
        "name": remote_name, "state": "JOB_STATE_RUNNING", "createTime": clock.now.isoformat(),
        "startTime": clock.now.isoformat(), "updateTime": clock.now.isoformat(),
    }  # fmt: skip
    external = discovery.found.create(
        kind="custom_job", remote_name=remote_name, display_name="theirs", state="JOB_STATE_RUNNING", body=body,
        created_at=clock.now,
    )  # fmt: skip
    address, chosen = (
        f"/jobs/adopt/?project={SECOND}&region=us-central1",
        {"job": external.pk, "team": team.pk, **place},
    )

    assert "theirs" not in signed_in(stranger).get(address).content.decode()
    assert signed_in(stranger).post("/jobs/adopt/take/", chosen).status_code == 404
    browser = signed_in(owner)
    assert "theirs" in browser.get(address).content.decode()
    browser.post("/jobs/adopt/take/", chosen)

    assert (Job.objects.get().project, Job.objects.get().team) == (SECOND, team)
