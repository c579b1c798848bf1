"""Tests of the limits on the imports and assessments of one person, on pages and by the API."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from dashboard.access import bounded_work as bounded
from dashboard.access.bounded_work import ASSESSMENTS, IMPORTS, TooMuchWork, bounded_work
from jobs.queue import rate_limit
from tests.support.api import caller

IMPORT = "/jobs/import/"
TEXT = "displayName: bert"


@pytest.fixture(autouse=True)
def alone(settings: Settings) -> Iterator[None]:
    """Without Redis, a process counts by itself and allows a fifth of the rate."""
    settings.REDIS_URL = "redis://127.0.0.1:1"
    rate_limit.forget()
    yield
    rate_limit.forget()


def test_imports_of_a_person_are_limited(settings: Settings, client: Client, owner: User, stranger: User) -> None:
    settings.IMPORTS_PER_MINUTE = 10  # 2 in a process without Redis
    client.force_login(owner)
    other = Client()
    other.force_login(stranger)

    answers = [client.post(IMPORT, {"text": TEXT}) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "The limit is 10 texts a minute" in answers[2].content.decode()
    assert int(answers[2]["Retry-After"]) > 0
    assert other.post(IMPORT, {"text": TEXT}).status_code == 200


def test_the_api_counts_with_the_pages(settings: Settings, client: Client, owner: User) -> None:
    settings.IMPORTS_PER_MINUTE = 10
    client.force_login(owner)
    for _ in range(2):
        client.post(IMPORT, {"text": TEXT})

    answer = caller(owner).post("/assessments", {"text": TEXT})

    assert (answer.status_code, answer.json()["type"]) == (429, "/api/#problem-too-many-requests")
    assert int(answer["Retry-After"]) > 0


def test_assessments_of_a_form_are_limited(settings: Settings, client: Client, owner: User) -> None:
    settings.ASSESSMENTS_PER_MINUTE = 5
    client.force_login(owner)

    answers = [client.post("/jobs/new/check/", {"name": "x"}, headers={"HX-Request": "true"}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].content.decode().startswith("The limit is 5 texts a minute")


def test_a_person_has_one_import_at_once_and_leaves_room(
    owner: User, stranger: User, admin_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "WAIT_SECONDS", 0)
    with bounded_work(IMPORTS, owner):
        with pytest.raises(TooMuchWork, match="try again"), bounded_work(IMPORTS, owner):
            pass
        with (
            bounded_work(ASSESSMENTS, owner),
            bounded_work(IMPORTS, stranger),
            pytest.raises(TooMuchWork, match="try again"),
            bounded_work(IMPORTS, admin_user),
        ):
            pass

    with bounded_work(IMPORTS, owner):
        pass


def test_work_that_fails_frees_its_place(owner: User) -> None:
    with pytest.raises(ZeroDivisionError), bounded_work(IMPORTS, owner):
        raise ZeroDivisionError

    with bounded_work(IMPORTS, owner):
        pass
