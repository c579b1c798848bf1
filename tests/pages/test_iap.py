"""Tests of sign-in behind Google Identity-Aware Proxy: only its signed header counts; effects of a first sign-in."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.access import iap
from jobs.models import Identity, Membership, Profile, SignInRule, Team
from tests.conftest import PASSWORD
from tests.pages.conftest import SignIn, text_of
from tests.support.iap import AUDIENCE, KeyServer, SigningKey, b64, key_server, payload, symmetric, token

pytestmark = pytest.mark.django_db
KEY, OTHER = SigningKey(), SigningKey()


@pytest.fixture(autouse=True)
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyServer]:
    """The proxy's keys, and a site that believes them."""
    monkeypatch.setattr(iap, "_keys", iap.Keys())
    with key_server(one=KEY) as running:
        settings.IAP_AUDIENCE, settings.IAP_KEYS_URL = AUDIENCE, running.url
        yield running


def ask(signed: str, client: Client | None = None, path: str = "/") -> Any:
    """Request a page through the proxy."""
    return (client or Client()).get(path, headers={"x-goog-iap-jwt-assertion": signed} if signed else {})


def replaced(signed: str, **changes: Any) -> str:
    """Return a token whose payload was replaced under its old signature."""
    head, _, signature = signed.split(".")
    return f"{head}.{b64(json.dumps(payload(**changes)).encode())}.{signature}"


def ago(seconds: int, **changes: Any) -> dict[str, Any]:
    """Return the claims of a token that was valid for ten minutes from then."""
    then = int(time.time()) - seconds
    return payload(iat=then, exp=then + 600, **changes)


GOOD = token(KEY, payload())
BAD = {
    "none at all": "",
    "expired": token(KEY, ago(700)),
    "not yet valid": token(KEY, ago(-36_000)),
    "without expiry": token(KEY, payload(exp=None)),
    "another audience": token(KEY, payload(aud="/projects/123/global/backendServices/457")),
    "no audience": token(KEY, payload(aud=None)),
    "another issuer": token(KEY, payload(iss="https://accounts.google.com")),
    "no issuer": token(KEY, payload(iss=None)),
    "unsigned": ".".join([b64(b'{"alg": "none", "kid": "one"}'), GOOD.split(".")[1], ""]),
    "unsigned but ES256": ".".join([*GOOD.split(".")[:2], ""]),
    "HS256 with the public key": symmetric(KEY.pem, payload()),
    "RS256 in the header": token(KEY, payload(), algorithm="RS256"),
    "a key of somebody else": token(OTHER, payload()),
    "an unknown key": token(OTHER, payload(), kid="two"),
    "a replaced payload": replaced(GOOD, email="boss@example.com"),
    "no e-mail": token(KEY, payload(email=None)),
    "no subject": token(KEY, payload(sub=None)),
    "a number as e-mail": token(KEY, payload(email=7)),
    "a text as time": token(KEY, payload(iat="now")),
    "two parts": GOOD.rpartition(".")[0],
    "noise": "é€.\x7f.{}",
    "deep": b64(b"[" * 9_000) + ".e30.AA",
    "long": "a" * 20_000,
}


@pytest.mark.parametrize("signed", BAD.values(), ids=BAD)
def test_a_bad_header_signs_nobody_in(signed: str) -> None:
    client = Client()
    answer = ask(signed.encode("latin-1", "replace").decode("latin-1"), client)

    assert answer.status_code == 401
    assert "not signed by it" in text_of(answer)
    assert "_auth_user_id" not in client.session
    assert not User.objects.exists()


def test_a_good_header_signs_in_and_the_next_request_finds_the_same_person() -> None:
    client = Client()

    assert ask(GOOD, client).status_code == 200
    assert ask(token(KEY, payload(email="new-name@example.com")), client).status_code == 200
    user = User.objects.get()
    assert (user.username, user.email) == ("ada@example.com", "ada@example.com")
    assert not user.has_usable_password()
    assert Identity.objects.get().user == user


def test_the_plain_header_is_never_believed(owner: User) -> None:
    plain = {"x-goog-authenticated-user-email": "accounts.google.com:owner", "x-goog-authenticated-user-id": "1"}

    assert Client().get("/", headers=plain).status_code == 401


def test_a_small_skew_of_clocks_is_forgiven() -> None:
    assert ask(token(KEY, ago(615))).status_code == 200
    assert ask(token(KEY, ago(-15))).status_code == 200


def test_a_session_without_the_header_is_refused(owner: User, signed_in: SignIn) -> None:
    assert ask("", signed_in(owner)).status_code == 401


def test_the_header_wins_over_the_session_of_somebody_else(owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)

    assert ask(GOOD, client).status_code == 200
    assert client.session["_auth_user_id"] == str(User.objects.get(username="ada@example.com").pk)


def test_health_needs_no_header_and_static_signing_in_does() -> None:
    assert ask("", path="/healthz").status_code == 200
    assert ask("", path="/readyz").status_code in (200, 503)
    for path in ("/healthz/../", "/accounts/login/", "/metrics", "/admin/", "/nothing"):
        assert ask("", path=path).status_code == 401


def test_it_is_off_without_an_audience(settings: Any) -> None:
    settings.IAP_AUDIENCE = ""

    answer = ask(GOOD)

    assert answer.status_code == 302
    assert not User.objects.exists()


class TestKeys:
    def test_they_are_read_once(self, server: KeyServer) -> None:
        for _ in range(3):
            ask(GOOD)

        assert server.asked == 1

    def test_a_new_key_is_found_and_unknown_ones_ask_seldom(
        self, server: KeyServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [1000.0]
        monkeypatch.setattr(iap.time, "monotonic", lambda: now[0])
        ask(GOOD)
        server.publish(one=KEY, two=OTHER)
        fresh = token(OTHER, payload(), kid="two")

        assert [ask(fresh).status_code for _ in range(3)] == [401] * 3
        assert server.asked == 1
        now[0] += iap.RETRY_SECONDS + 1
        assert ask(fresh).status_code == 200
        assert server.asked == 2

    @pytest.mark.parametrize(("status", "body"), [(500, b"{}"), (200, b"[]"), (200, b"no json"), (302, b"{}")])
    def test_old_keys_serve_while_new_ones_cannot_be_had(
        self, server: KeyServer, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes
    ) -> None:
        now = [1000.0]
        monkeypatch.setattr(iap.time, "monotonic", lambda: now[0])
        ask(GOOD)
        server.status, server.body = status, body
        now[0] += iap.KEYS_SECONDS + 1

        assert ask(GOOD).status_code == 200
        assert server.asked == 2

    def test_without_any_key_nobody_is_let_in(self, server: KeyServer) -> None:
        server.status = 500

        answer = ask(GOOD)

        assert answer.status_code == 503
        assert not User.objects.exists()


class TestFirstSignIn:
    def test_rules_name_teams_and_roles(self, team: Team, other_team: Team, settings: Any) -> None:
        SignInRule.objects.create(source="domain", value="example.com", team=team, role="viewer")
        SignInRule.objects.create(source="group", value="ml@example.com", team=team, role="engineer")
        SignInRule.objects.create(source="group", value="speech@example.com", team=other_team, role="lead")

        ask(token(KEY, payload(groups=["ml@example.com", 7, "gone@example.com"])))

        assert list(Membership.objects.values_list("team__name", "role")) == [("vision", "engineer")]

    def test_a_person_who_was_removed_does_not_come_back(self, team: Team) -> None:
        SignInRule.objects.create(source="domain", value="example.com", team=team, role="viewer")
        ask(GOOD)
        Membership.objects.all().delete()

        ask(GOOD)

        assert not Membership.objects.exists()

    def test_a_role_goes_with_its_group_when_a_browser_signs_in_anew(self, team: Team) -> None:
        SignInRule.objects.create(source="group", value="ml", team=team, role="lead")
        client = Client()
        ask(token(KEY, payload(groups=["ml"])), client)

        ask(GOOD, client)  # the same session goes on
        assert Membership.objects.get().role == "lead"
        ask(GOOD)
        assert not Membership.objects.exists()

    @pytest.mark.parametrize("change", [{"password": PASSWORD}, {"is_superuser": True}, {"is_staff": True}])
    def test_an_account_that_is_opened_otherwise_is_not_taken_over(self, change: dict[str, Any]) -> None:
        user = User.objects.create_user("ada", email="Ada@Example.com", **change)

        answer = ask(GOOD)

        assert answer.status_code == 403
        assert "another way to sign in" in text_of(answer)
        assert not Identity.objects.exists()
        Profile.objects.create(user=user, links_next_sign_in=True)
        assert ask(GOOD).status_code == 200
        assert Identity.objects.get().user == user
        assert ask(token(KEY, payload(sub="accounts.google.com:2"))).status_code == 403

    def test_an_account_that_nobody_opens_is_taken(self) -> None:
        user = User.objects.create_user("ada", email="ada@example.com")

        assert ask(GOOD).status_code == 200
        assert Identity.objects.get().user == user

    def test_an_address_of_two_accounts_is_nobodys(self) -> None:
        User.objects.create_user("ada", email="ada@example.com")
        User.objects.create_user("ada2", email="ada@example.com")

        assert ask(GOOD).status_code == 403

    def test_a_deactivated_person_is_refused(self) -> None:
        client = Client()
        ask(GOOD, client)
        User.objects.update(is_active=False)

        assert ask(GOOD, client).status_code == 403
        assert ask(GOOD).status_code == 403

    def test_an_address_that_is_none_is_refused(self) -> None:
        assert ask(token(KEY, payload(email="not an address"))).status_code == 403
        assert not User.objects.exists()
