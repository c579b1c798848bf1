"""Tests of values that look like placeholders: form and import page refuse them until filled in or confirmed."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.models import Draft, Job, JobEvent, Team
from tests.pages.conftest import SignIn, fields_of, text_of
from tests.pages.test_import import YAML, send

pytestmark = pytest.mark.django_db
VALUE = "--data=DATASET_ID"


@pytest.fixture
def typed(owner: User, signed_in: SignIn) -> Callable[..., dict[str, str]]:
    """What the browser posts from the example with a value that looks like a placeholder among its arguments."""
    client = signed_in(owner)

    def post(**changes: Any) -> dict[str, str]:
        page = client.get("/jobs/new/?example=penguins").content.decode()
        return fields_of(page) | {"pool-0-args": VALUE, "do": "submit"} | changes

    return post


def ticks(page: Any) -> list[str]:
    return re.findall(r'name="(confirm-[0-9a-f]{16})"', page.content.decode())


class TestForm:
    def test_refuses_until_the_value_is_confirmed_and_records_it(
        self, team: Team, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        client, said = signed_in(owner), typed()

        page = client.post("/jobs/new/", said)
        (tick,) = ticks(page)

        assert page.status_code == 422
        assert "looks like a placeholder" in text_of(page)
        assert not Job.objects.exists()
        assert client.post("/jobs/new/", said | {tick: "on"}).status_code == 302
        findings = JobEvent.objects.get(kind="judged").detail["findings"]
        assert "confirmed_values_are_recorded" in {each["code"] for each in findings}

    def test_takes_it_once_it_is_filled_in(
        self, team: Team, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/", typed(**{"pool-0-args": "--data=17"}))

        assert page.status_code == 302

    def test_a_tick_counts_for_its_own_value_only(
        self, team: Team, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        client, said = signed_in(owner), typed()
        (tick,) = ticks(client.post("/jobs/new/", said))

        assert client.post("/jobs/new/", said | {tick: "on", "pool-0-args": "--data=MODEL_ID"}).status_code == 422

    def test_the_ticks_come_while_one_types(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/check/", typed(do="check"))

        assert len(ticks(page)) == 1

    def test_a_stranger_confirms_nothing_for_a_team_that_is_not_theirs(
        self, team: Team, owner: User, stranger: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        said = typed()
        (tick,) = ticks(signed_in(owner).post("/jobs/new/", said))

        signed_in(stranger).post("/jobs/new/", said | {tick: "on"})

        assert not Job.objects.filter(team=team).exists()


class TestImport:
    def test_a_placeholder_refuses_and_goes_on_to_the_form(self, team: Team, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        page = send(client, YAML.replace("penguins:latest", "penguins:latest\n      args: ['--data=DATASET_ID']"))

        assert "Cannot be submitted as it is" in text_of(page)
        form = client.get(f"/jobs/new/?draft={Draft.objects.get().pk}")
        assert len(ticks(form)) == 1

    @pytest.mark.parametrize(
        "change", [("replicaCount: 1", "replicaCount: $N"), ("strategy: SPOT", "strategy: ${STRATEGY}")]
    )
    def test_a_number_or_choice_is_filled_in_on_the_page_or_in_the_form(
        self, team: Team, owner: User, signed_in: SignIn, change: tuple[str, str]
    ) -> None:
        client = signed_in(owner)

        page = text_of(send(client, YAML.replace(*change)))

        assert "Fill in what is open" in page
        form = client.get(f"/jobs/new/?draft={Draft.objects.get().pk}")
        assert form.status_code == 200
        assert "penguins:latest" in form.content.decode()
