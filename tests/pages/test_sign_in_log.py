"""Tests of sign-ins in the audit log: user, address and method; never an unknown name or a password."""

from collections.abc import Iterator
from typing import Any

import pytest
from auditlog.models import LogEntry
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.access.one_time_links import make_secret
from dashboard.queries.audit_log import changes_of
from jobs.models import Membership, Role, Team
from tests.conftest import PASSWORD, person
from tests.pages.conftest import SignIn, text_of
from tests.pages.test_providers import is_signed_in, server, sign_in
from tests.pages.test_sign_in_limits import _axes_reads_the_tests_clock
from tests.support.openid import OpenIdServer

pytestmark = pytest.mark.django_db
__all__ = ["_axes_reads_the_tests_clock", "server"]
TYPED = "my-secret-typed-as-a-name"


def attempt(name: str, password: str = "wrong", path: str = "/accounts/login/") -> Any:
    return Client().post(path, {"username": name, "password": password}, REMOTE_ADDR="203.0.113.7")


def entries() -> list[tuple[str, str, str, str]]:
    """Return (account, what happened, who, from where) of each entry about sign-ins, the oldest first."""
    return [
        (entry.object_repr, changes_of(entry)[0][2], entry.actor.username if entry.actor else "", entry.remote_addr)
        for entry in LogEntry.objects.filter(action=LogEntry.Action.ACCESS).order_by("pk")
    ]


class TestPasswords:
    @pytest.mark.parametrize("path", ["/accounts/login/", "/admin/login/"])
    def test_success_and_sign_out_name_the_person(self, admin: User, path: str) -> None:
        client = Client()
        client.post(path, {"username": "admin", "password": PASSWORD})
        client.post("/accounts/logout/")

        assert entries() == [
            ("admin", "with a password", "admin", "127.0.0.1"),
            ("admin", "signed out", "admin", "127.0.0.1"),
        ]

    def test_a_failure_names_the_account_and_nobody_who_did_it(self, owner: User) -> None:
        attempt("owner")

        assert entries() == [("owner", "failed", "", "203.0.113.7")]

    def test_what_was_typed_as_a_name_is_kept_nowhere(self, owner: User, caplog: pytest.LogCaptureFixture) -> None:
        attempt(TYPED)

        assert entries() == [("(no account)", "failed", "", "203.0.113.7")]
        kept = f"{list(LogEntry.objects.values())} {list(AccessAttempt.objects.values())} {caplog.text}"
        assert TYPED not in kept
        assert "wrong" not in kept

    def test_the_lock_is_told_once_and_a_flood_writes_nothing(self, owner: User) -> None:
        for _ in range(12):
            attempt("owner")

        found = [(account, words) for account, words, *_ in entries()]
        assert found == [("owner", "failed")] * 5 + [
            ("owner", "too many failures: refused for a while from this address")
        ]

    def test_a_lock_of_an_unknown_name_holds(self, owner: User) -> None:
        assert [attempt(TYPED).status_code for _ in range(6)] == [200] * 4 + [429] * 2
        assert attempt("owner", PASSWORD).status_code == 302

    def test_a_link_from_the_server_is_named(self, admin: User) -> None:
        Client().post(f"/accounts/once/{make_secret(admin)}/")

        assert entries() == [("admin", "by a link from manage.py", "admin", "127.0.0.1")]


def test_a_failure_at_a_provider_names_it(server: OpenIdServer) -> None:
    server.person["email_verified"] = False

    assert sign_in(Client()).status_code == 403
    assert entries() == [("(no account)", "failed at corp", "", "127.0.0.1")]


class TestTheLogsPage:
    def test_admins_see_them_and_may_filter(self, owner: User, admin: User, signed_in: SignIn) -> None:
        attempt("owner")
        browser = signed_in(admin)

        for address in ("/audit/?kind=sign-in", "/audit/", "/audit/?q=owner"):
            assert "failed" in text_of(browser.get(address))
        assert b"failed" in b"".join(browser.get("/audit/log.csv?kind=sign-in").streaming_content)

    def test_leads_and_strangers_do_not(self, owner: User, stranger: User, team: Team, signed_in: SignIn) -> None:
        attempt("owner")
        lead = signed_in(person("lead", team, Role.LEAD))
        Membership.objects.filter(user=stranger).update(role=Role.LEAD)

        for browser in (lead, signed_in(stranger)):
            assert "failed" not in text_of(browser.get("/audit/?kind=sign-in"))


class TestDjangosAdmin:
    def test_leads_to_the_page_that_was_wanted(self, admin: User) -> None:
        client = Client()
        there = client.get("/admin/jobs/job/")["Location"]

        answer = client.post(there, {"username": "admin", "password": PASSWORD, "next": "/admin/jobs/job/"})

        assert answer["Location"] == "/admin/jobs/job/"
        assert Client().post("/admin/login/", {"username": "admin", "password": PASSWORD})["Location"] == "/admin/"

    def test_tells_who_is_no_admin(self, owner: User, signed_in: SignIn) -> None:
        browser = signed_in(owner)

        assert "for admins of the site" in text_of(browser.get("/admin/", follow=True))
        answer = browser.post("/admin/login/", {"username": "owner", "password": PASSWORD})
        assert answer["Location"] == "/"


def addresses(patterns: Any = None, before: str = "/") -> Iterator[str]:
    """Yield every address of the site, with something in place of what it names."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        path = before + "".join(part if "<" not in part else "x" for part in split(str(each.pattern)))
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns, path)
        elif isinstance(each, URLPattern):
            yield path


def split(route: str) -> list[str]:
    """Return the parts of a route, those that name something in brackets."""
    return route.replace("<", "\n<").replace(">", ">\n").split("\n")


def test_no_address_takes_a_password_where_passwords_are_off(admin: User, settings: Any) -> None:
    settings.PASSWORD_SIGN_IN = False
    client = Client(raise_request_exception=False)
    sent = {"username": "admin", "password": PASSWORD, "new_password1": "l0ng-and-new", "new_password2": "l0ng-and-new"}
    found = sorted(set(addresses()))
    assert {"/admin/login/", "/accounts/login/", "/accounts/password/xx/"} & set(found)

    for path in found:
        client.post(path, sent)
        assert not is_signed_in(client), path

    assert 'name="password"' not in client.get("/admin/login/").content.decode()
    assert entries() == [], "no password was looked at"


def test_a_link_to_choose_a_password_is_refused_where_they_are_off(
    admin: User, owner: User, signed_in: SignIn, settings: Any
) -> None:
    made = text_of(signed_in(admin).post(f"/people/{owner.pk}/", {"do": "password"}))
    link = made[made.index("http://testserver/accounts/password/") :].split()[0]
    settings.PASSWORD_SIGN_IN = False

    assert "Passwords are not used on this site" in text_of(Client().get(link, follow=True))
    refused = signed_in(admin).post(f"/people/{owner.pk}/", {"do": "password"}, follow=True)
    assert "http://testserver/accounts/password/" not in text_of(refused)
