"""Tests of failed sign-ins: how many are checked, by address, their cost, and the page shown at the limit."""

import threading
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth import hashers
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from dashboard.access import sign_in
from dashboard.access.addresses import client_address
from tests.conftest import PASSWORD
from tests.pages.conftest import SignIn, text_of
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

SITE, ADMIN = "/accounts/login/", "/admin/login/"
LIMIT, ADDRESS_LIMIT = 5, 50
COOL_OFF_SECONDS = 900


def attempt(name: str, password: str = "wrong", *, at: str = SITE, address: str = "203.0.113.7", **headers: str) -> Any:
    return Client().post(at, {"username": name, "password": password}, REMOTE_ADDR=address, **headers)


def lock(name: str, *, at: str = SITE, address: str = "203.0.113.7") -> Any:
    for _ in range(LIMIT - 1):
        assert attempt(name, at=at, address=address).status_code == 200
    return attempt(name, at=at, address=address)


@pytest.fixture(autouse=True)
def _axes_reads_the_tests_clock(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr("axes.handlers.proxy.now", lambda: clock.now)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were hashed."""
    seen: list[str] = []
    hasher = hashers.MD5PasswordHasher

    def encode(self: Any, password: str, salt: str) -> str:
        seen.append(password)
        return original(self, password, salt)

    original = hasher.encode
    monkeypatch.setattr(hasher, "encode", encode)
    return seen


@pytest.mark.parametrize("at", [SITE, ADMIN])
class TestAccountAtAnAddress:
    def test_is_refused_after_five_failures(self, owner: User, admin: User, at: str) -> None:
        answer = lock("admin", at=at)

        assert answer.status_code == 429
        assert "Too many failed sign-ins" in text_of(answer)
        assert 0 < int(answer["Retry-After"]) <= COOL_OFF_SECONDS

    def test_is_refused_with_the_right_password_too(self, admin: User, at: str) -> None:
        lock("admin", at=at)

        assert attempt("admin", PASSWORD, at=at).status_code == 429

    def test_costs_no_hash_while_it_is_refused(self, admin: User, hashed: list[str], at: str) -> None:
        lock("admin", at=at)
        assert len(hashed) >= LIMIT
        hashed.clear()

        for _ in range(20):
            assert attempt("admin", PASSWORD, at=at).status_code == 429

        assert hashed == []

    def test_is_let_in_again_when_the_page_said_so(self, admin: User, clock: Clock, at: str) -> None:
        lock("admin", at=at)
        for _ in range(3):  # trying on does not put the end off
            clock.forward(minutes=4)
            assert attempt("admin", at=at).status_code == 429
        clock.forward(minutes=3, seconds=1)

        assert attempt("admin", PASSWORD, at=at).status_code == 302


class TestWhoIsNotRefused:
    def test_the_same_person_at_another_address(self, owner: User) -> None:
        lock("owner")

        assert attempt("owner", PASSWORD, address="198.51.100.4").status_code == 302

    def test_another_person_at_the_same_address(self, owner: User, teammate: User) -> None:
        lock("owner")

        assert attempt("teammate", PASSWORD).status_code == 302

    def test_a_person_who_is_signed_in(self, owner: User, signed_in: SignIn) -> None:
        browser = signed_in(owner)
        lock("owner", address="127.0.0.1")

        assert browser.get("/").status_code == 200

    def test_who_mistypes_less_often_than_the_limit_each_time(self, owner: User) -> None:
        for _ in range(3):
            for _ in range(LIMIT - 1):
                attempt("owner")
            assert attempt("owner", PASSWORD).status_code == 302


class TestAddress:
    def test_is_refused_for_every_account_after_fifty_failures(self, owner: User, hashed: list[str]) -> None:
        for number in range(ADDRESS_LIMIT):
            attempt(f"guess-{number}")
        hashed.clear()

        assert attempt("owner", PASSWORD).status_code == 429
        assert hashed == []
        assert attempt("owner", PASSWORD, address="198.51.100.4").status_code == 302

    def test_gets_no_new_tries_by_an_own_sign_in(self, owner: User, teammate: User) -> None:
        for _ in range(LIMIT - 1):
            attempt("owner")
        assert attempt("teammate", PASSWORD).status_code == 302

        assert attempt("owner").status_code == 429

    def test_counts_whatever_the_browser_calls_itself(self, owner: User) -> None:
        for number in range(LIMIT):
            answer = attempt("owner", HTTP_USER_AGENT=f"browser {number}")

        assert answer.status_code == 429

    def test_is_not_what_the_client_claims(self, owner: User) -> None:
        for number in range(LIMIT):
            answer = attempt("owner", HTTP_X_FORWARDED_FOR=f"198.51.100.{number}")

        assert answer.status_code == 429

    def test_is_what_the_proxy_of_https_wrote_last(self, owner: User, settings: Any) -> None:
        settings.SECURE = True
        for number in range(LIMIT):
            answer = attempt("owner", HTTP_X_FORWARDED_FOR=f"198.51.100.{number}, 192.0.2.9")
        assert answer.status_code == 429

        assert attempt("owner", PASSWORD, HTTP_X_FORWARDED_FOR="192.0.2.9, 192.0.2.10").status_code == 302

    @pytest.mark.parametrize(
        ("direct", "forwarded", "found"),
        [
            ("203.0.113.7", "192.0.2.9:4711", "192.0.2.9"),
            ("203.0.113.7", "[2001:db8:1:2:3::4]:99", "2001:db8:1:2::"),
            ("203.0.113.7", "2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
            ("203.0.113.7", "::ffff:192.0.2.9", "192.0.2.9"),
            ("203.0.113.7", "unknown", "203.0.113.7"),
            ("203.0.113.7", "", "203.0.113.7"),
            ("::1", "", "::1"),
            ("fe80::1%eth0", "", "fe80::"),
            ("", "'; DROP TABLE", None),
        ],
    )
    def test_is_read_in_every_way_of_writing(self, settings: Any, direct: str, forwarded: str, found: str) -> None:
        settings.SECURE = True
        request = RequestFactory().get("/", REMOTE_ADDR=direct, HTTP_X_FORWARDED_FOR=forwarded)

        assert client_address(request) == found


class TestFlood:
    @pytest.mark.parametrize("others", [{"203.0.113.7"}, {"192.0.2.1", "192.0.2.2"}], ids=["same place", "elsewhere"])
    def test_leaves_threads_to_the_pages(self, owner: User, monkeypatch: pytest.MonkeyPatch, others: set[str]) -> None:
        """While others are checked, a sign-in is answered at once, and not counted."""
        monkeypatch.setattr(sign_in, "_checked", others)
        answer = attempt("owner", PASSWORD)
        assert (answer.status_code, answer["Retry-After"]) == (429, "2")
        assert "Too many sign-ins at once" in text_of(answer)
        assert not AccessAttempt.objects.exists()

        others.pop()
        assert attempt("owner", PASSWORD).status_code == 302

    def test_leaves_room_to_people_elsewhere(self, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sign_in, "_checked", {"192.0.2.1"})

        assert attempt("owner", PASSWORD).status_code == 302

    def test_checks_one_password_at_a_time(self, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
        busy: list[int] = []
        both = threading.Barrier(2, timeout=5)

        def slow(*_: Any, **__: Any) -> None:
            busy.append(1)
            assert len(busy) == 1
            threading.Event().wait(0.05)
            busy.pop()

        monkeypatch.setattr(sign_in.ModelBackend, "authenticate", slow)
        threads = [
            threading.Thread(target=lambda at=at: (both.wait(), sign_in.SignInBackend().authenticate(at, "owner", "x")))
            for at in (RequestFactory().get("/", REMOTE_ADDR=f"192.0.2.{number}") for number in range(2))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert busy == []

    def test_writes_nothing_while_it_is_refused(self, owner: User) -> None:
        lock("owner")
        rows = list(AccessAttempt.objects.values())

        for _ in range(10):
            attempt("owner")

        assert list(AccessAttempt.objects.values()) == rows

    def test_keeps_no_password_and_no_old_row(
        self, owner: User, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        attempt("owner", "a-mistyped-secret")
        assert "mistyped" not in f"{list(AccessAttempt.objects.values())} {caplog.text}"
        clock.forward(minutes=15, seconds=1)

        attempt("owner", PASSWORD)

        assert not AccessAttempt.objects.exists()
