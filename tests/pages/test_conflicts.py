"""Tests of a text that asks for two strategies at once: the form selects neither."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Draft, Job
from tests.pages.conftest import SignIn, text_of
from tests.support import samples
from tests.support.person import compose_form

ANY = {"reservationAffinity": {"reservationAffinityType": "ANY_RESERVATION"}}
BOTH: dict[str, tuple[dict[str, Any], str]] = {
    "resource": (samples.body(resource="night-shift"), "are there already; SPOT does not apply"),
    "reservation": (samples.body(machine=samples.A100 | ANY), "Spot machines do not come from a reservation"),
    "wait": (
        samples.body(strategy="STANDARD", scheduling={"maxWaitDuration": "3600s"}),
        "maxWaitDuration is accepted with FLEX_START only",
    ),
}
BOTH["resource"][0]["jobSpec"]["scheduling"]["strategy"] = "SPOT"


def opened(client: Client, body: dict[str, Any]) -> str:
    """Import a body and return the page of the form that opens it."""
    client.post("/jobs/import/", {"text": json.dumps(body), "run_time": "2 h"})
    return client.get(f"/jobs/new/?draft={Draft.objects.get().pk}").content.decode()


@pytest.mark.parametrize("what", BOTH)
def test_the_form_says_what_excludes_what_and_chooses_nothing(what: str, owner: User, signed_in: SignIn) -> None:
    body, words = BOTH[what]
    client = signed_in(owner)

    page = opened(client, body)

    assert words in page
    form = compose_form(page).values
    assert "strategy" not in form
    answer = client.post("/jobs/new/", form | {"do": "submit"})
    assert answer.status_code == 422
    assert not Job.objects.exists()


@pytest.mark.parametrize(("strategy", "resource"), [("spot", ""), ("persistent", "night-shift")])
def test_what_was_chosen_is_what_is_asked_for(strategy: str, resource: str, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)
    form = compose_form(opened(client, BOTH["resource"][0])).values

    answer = client.post("/jobs/new/", form | {"strategy": strategy, "do": "submit"})

    assert answer.status_code == 302, text_of(answer)
    spec = Job.objects.get().spec["jobSpec"]
    assert spec.get("persistentResourceId", "") == resource
    assert spec["scheduling"].get("strategy") == ("SPOT" if strategy == "spot" else None)


def test_a_plain_copy_keeps_its_strategy(owner: User, signed_in: SignIn) -> None:
    assert compose_form(opened(signed_in(owner), samples.body())).values["strategy"] == "spot"


def test_a_stranger_sees_nothing_of_it(owner: User, stranger: User, signed_in: SignIn) -> None:
    opened(signed_in(owner), BOTH["resource"][0])

    assert signed_in(stranger).get(f"/jobs/new/?draft={Draft.objects.get().pk}").status_code == 404
