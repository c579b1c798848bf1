"""Signing in and out, and what a browser without a session gets."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db

NOBODY = "00000000-0000-0000-0000-000000000000"
PROTECTED = [
    "/",
    "/history/",
    "/approvals/",
    "/jobs/new/",
    f"/jobs/{NOBODY}/",
    f"/jobs/{NOBODY}/live/",
    f"/jobs/{NOBODY}/log/",
    f"/jobs/{NOBODY}/cancel/",
    f"/jobs/{NOBODY}/events.json",
    f"/jobs/{NOBODY}/spec.json",
]


class TestSignIn:
    def test_shows_a_form_without_a_session(self, client: Client) -> None:
        page = client.get("/accounts/login/")

        assert page.status_code == 200
        assert b'name="username"' in page.content

    def test_leads_to_the_board(self, client: Client, owner: User) -> None:
        answer = client.post("/accounts/login/", {"username": "owner", "password": "trainboard"})

        assert answer.status_code == 302
        assert answer["Location"] == "/"

    def test_leads_back_to_the_page_that_was_asked_for(self, client: Client, owner: User) -> None:
        answer = client.post(
            "/accounts/login/", {"username": "owner", "password": "trainboard", "next": "/history/?state=failed"}
        )

        assert answer["Location"] == "/history/?state=failed"

    def test_never_leads_to_another_site(self, client: Client, owner: User) -> None:
        answer = client.post(
            "/accounts/login/", {"username": "owner", "password": "trainboard", "next": "https://elsewhere.example/"}
        )

        assert answer["Location"] == "/"

    def test_says_what_is_wrong_and_keeps_the_name(self, client: Client, owner: User) -> None:
        page = client.post("/accounts/login/", {"username": "owner", "password": "wrong"})

        assert page.status_code == 200
        assert b'value="owner"' in page.content
        assert b"correct username and password" in page.content

    @pytest.mark.parametrize("address", PROTECTED)
    def test_is_asked_for_before_any_page(self, client: Client, address: str) -> None:
        answer = client.get(address)

        assert answer.status_code == 302
        assert answer["Location"].startswith("/accounts/login/?next=")

    def test_reloads_the_page_when_a_live_part_finds_no_session(self, client: Client) -> None:
        answer = client.get("/accounts/login/", headers={"HX-Request": "true"})

        assert answer["HX-Refresh"] == "true"


class TestSignOut:
    def test_ends_the_session(self, client: Client, owner: User) -> None:
        client.force_login(owner)

        answer = client.post("/accounts/logout/")

        assert answer["Location"] == "/accounts/login/"
        assert client.get("/").status_code == 302

    def test_is_no_link_that_a_page_could_follow(self, client: Client, owner: User) -> None:
        client.force_login(owner)

        assert client.get("/accounts/logout/").status_code == 405
