"""Tests of signing in and out, and of browsers without a session."""

from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import PASSWORD
from tests.pages.conftest import SignIn
from tests.support.clock import Clock

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
        answer = client.post("/accounts/login/", {"username": "owner", "password": PASSWORD})

        assert answer.status_code == 302
        assert answer["Location"] == "/"

    def test_leads_back_to_the_page_that_was_asked_for(self, client: Client, owner: User) -> None:
        answer = client.post(
            "/accounts/login/", {"username": "owner", "password": PASSWORD, "next": "/history/?state=failed"}
        )

        assert answer["Location"] == "/history/?state=failed"

    def test_never_leads_to_another_site(self, client: Client, owner: User) -> None:
        answer = client.post(
            "/accounts/login/", {"username": "owner", "password": PASSWORD, "next": "https://elsewhere.example/"}
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


class TestSession:
    def test_ends_when_its_time_is_over(self, signed_in: SignIn, owner: User, clock: Clock, settings: Any) -> None:
        settings.SESSION_IDLE = timedelta(days=14)
        browser = signed_in(owner)
        clock.forward(days=13)
        assert browser.get("/history/").status_code == 200

        clock.forward(days=2)

        assert browser.get("/history/").status_code == 302

    def test_ends_when_the_account_is_closed(self, signed_in: SignIn, owner: User) -> None:
        browser = signed_in(owner)
        User.objects.filter(pk=owner.pk).update(is_active=False)

        assert browser.get("/history/").status_code == 302

    def test_ends_when_the_password_is_changed(self, signed_in: SignIn, owner: User) -> None:
        browser = signed_in(owner)
        owner.set_password("another")
        owner.save()

        assert browser.get("/history/").status_code == 302

    def test_ends_when_the_account_is_gone(self, signed_in: SignIn, stranger: User) -> None:
        browser = signed_in(stranger)
        stranger.delete()

        assert browser.get("/history/").status_code == 302

    def test_that_was_signed_out_elsewhere_is_dead_though_its_cookie_lives(
        self, signed_in: SignIn, owner: User
    ) -> None:
        browser, copied = signed_in(owner), Client()
        copied.cookies = SimpleCookie(browser.cookies.output(header="", sep=";"))
        assert copied.get("/history/").status_code == 200

        browser.post("/accounts/logout/")

        assert copied.get("/history/").status_code == 302

    @pytest.mark.parametrize("key", ["x" * 32, "' OR 1=1 --", "ß" * 40])
    def test_of_an_unknown_key_is_nobodys(self, client: Client, key: str) -> None:
        client.cookies["sessionid"] = key

        assert client.get("/history/").status_code == 302


class TestSignOut:
    def test_ends_the_session(self, client: Client, owner: User) -> None:
        client.force_login(owner)

        answer = client.post("/accounts/logout/")

        assert answer["Location"] == "/accounts/login/"
        assert client.get("/").status_code == 302

    def test_is_no_link_that_a_page_could_follow(self, client: Client, owner: User) -> None:
        client.force_login(owner)

        assert client.get("/accounts/logout/").status_code == 405
