"""Tests of the pages that change persistent resources: consequences, costs and permissions."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import ResourceChange, Team
from tests.conftest import person
from tests.pages.conftest import SignIn, text_of
from tests.support.clock import Clock
from tests.support.resources import seen

NEW = {
    "project": "vision-research",
    "region": "us-central1",
    "resource_id": "night-shift",
    "machine_type": "a2-highgpu-1g",
    "replicas": "2",
    "disk_gb": "100",
    "lifetime_days": "7",
}


@pytest.fixture
def lead(approver: User, signed_in: SignIn) -> Client:
    return signed_in(approver)


class TestCreate:
    def test_shows_the_cost_before_it_creates(self, lead: Client, team: Team) -> None:
        text = text_of(lead.post("/persistent-resources/new/", NEW | {"price": ""}))

        assert "an hour" in text
        assert "a month, whether jobs use it or not" in text
        assert not ResourceChange.objects.exists()

    def test_asks_for_what_the_form_says(self, lead: Client, team: Team) -> None:
        page = lead.post("/persistent-resources/new/", NEW | {"create": ""}, follow=True)

        change = ResourceChange.objects.get()
        assert (change.action, change.resource_id, change.team) == ("create", "night-shift", team)
        (pool,) = change.body["resourcePools"]
        assert pool["machineSpec"] == {
            "machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1,
        }  # fmt: skip
        assert pool["replicaCount"] == "2"
        assert "Your request about night-shift waits for an approval." in text_of(page)
        assert "waits for an approval of up to $" in text_of(page)
        assert change.due_at is None
        assert "create night-shift us-central1 · approver" in text_of(page)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"resource_id": "Night Shift"}, "Begin with a letter"),
            ({"replicas": "0"}, "greater than or equal to 1"),
            ({"machine_type": "no-such"}, "Select a valid choice"),
            ({"project": "speech-research"}, "Select a valid choice"),
            ({"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_TESLA_T4"}, "Give both"),
            (
                {"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_H100_80GB", "accelerator_count": "1"},
                "does not take",
            ),
            ({"accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": "8"}, "has 1."),
        ],
    )
    def test_says_what_is_wrong(self, lead: Client, changes: dict[str, str], words: str) -> None:
        answer = lead.post("/persistent-resources/new/", NEW | changes | {"create": ""})

        assert answer.status_code == 422
        assert words in text_of(answer)
        assert not ResourceChange.objects.exists()

    def test_is_not_for_engineers(self, engineer: Client) -> None:
        assert engineer.get("/persistent-resources/new/").status_code == 403
        assert engineer.post("/persistent-resources/new/", NEW | {"create": ""}).status_code == 403


class TestChange:
    @pytest.mark.parametrize(
        ("action", "words"),
        [
            ("resize", "the number of machines that run and are billed"),
            ("reboot", "running jobs may be interrupted, so wait until none is running"),
            ("delete", "Vertex AI cancels them, also those of other teams"),
        ],
    )
    def test_says_what_it_means(self, lead: Client, team: Team, clock: Clock, action: str, words: str) -> None:
        row = seen(now=clock.now)

        assert words in text_of(lead.get(f"/persistent-resources/{row.pk}/{action}/"))
        assert not ResourceChange.objects.exists()

    def test_asks_for_another_size(self, lead: Client, team: Team, clock: Clock) -> None:
        row = seen(replicas=4, used=1, now=clock.now)

        lead.post(f"/persistent-resources/{row.pk}/resize/", {"pool-0": "2"})

        change = ResourceChange.objects.get()
        (pool,) = change.body["resourcePools"]
        assert pool["replicaCount"] == "2"
        assert "usedReplicaCount" not in pool

    def test_refuses_fewer_than_are_in_use(self, lead: Client, team: Team, clock: Clock) -> None:
        row = seen(replicas=4, used=3, now=clock.now)

        answer = lead.post(f"/persistent-resources/{row.pk}/resize/", {"pool-0": "2"})

        assert answer.status_code == 422
        assert "greater than or equal to 3" in text_of(answer)

    def test_is_asked_for_once(self, lead: Client, team: Team, clock: Clock) -> None:
        row = seen(now=clock.now)
        lead.post(f"/persistent-resources/{row.pk}/delete/")

        page = lead.post(f"/persistent-resources/{row.pk}/delete/", follow=True)

        assert "Another change of night-shift is open" in text_of(page)
        assert ResourceChange.objects.count() == 1

    def test_an_unknown_one_is_not_found(self, lead: Client, team: Team, clock: Clock) -> None:
        assert lead.post(f"/persistent-resources/{seen(now=clock.now).pk}/explode/").status_code == 404

    def test_is_not_for_engineers_and_not_there_for_strangers(
        self, engineer: Client, stranger: User, signed_in: SignIn, team: Team, clock: Clock
    ) -> None:
        row = seen(now=clock.now)
        outside = signed_in(stranger)

        assert engineer.post(f"/persistent-resources/{row.pk}/delete/").status_code == 403
        for action in ("resize", "reboot", "delete"):
            assert outside.get(f"/persistent-resources/{row.pk}/{action}/").status_code == 404
            assert outside.post(f"/persistent-resources/{row.pk}/{action}/").status_code == 404
        assert not ResourceChange.objects.exists()

    @pytest.mark.parametrize("action", ["resize", "extend", "reboot", "delete"])
    def test_is_not_for_another_team_of_the_project(
        self, approver: User, signed_in: SignIn, team: Team, clock: Clock, action: str
    ) -> None:
        row = seen(now=clock.now)
        others = Team.objects.create(name="others", project=team.project)
        ResourceChange.objects.create(
            team=team, project=row.project, region=row.region, resource_id=row.resource_id, action="create",
            asked_by=approver, asked_at=clock.now, ended_at=clock.now, outcome="accepted",
        )  # fmt: skip
        outside, address = signed_in(person("one", others, "lead")), f"/persistent-resources/{row.pk}/{action}/"

        for answer in (outside.get(address), outside.post(address, {"pool-0": "2", "lifetime_days": "3"})):
            assert answer.status_code == 403
            assert "belongs to another team of the project" in text_of(answer)
        assert ResourceChange.objects.count() == 1
        assert signed_in(approver).get(address).status_code == 200

    def test_is_listed_for_the_team_alone(
        self, lead: Client, stranger: User, signed_in: SignIn, team: Team, clock: Clock
    ) -> None:
        lead.post(f"/persistent-resources/{seen(now=clock.now).pk}/reboot/")

        assert "reboot night-shift" in text_of(lead.get("/persistent-resources/"))
        assert "night-shift" not in text_of(signed_in(stranger).get("/persistent-resources/"))
