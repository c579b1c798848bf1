"""Tests of sign-in at OpenID Connect providers: valid and invalid responses, and what users see."""

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.contrib.auth.models import User
from django.test import Client

from dashboard.access import openid
from jobs.models import Identity
from jobs.people import openid as documents
from tests.conftest import PASSWORD
from tests.pages.conftest import text_of
from tests.support.clock import Clock
from tests.support.openid import OpenIdServer, make_key, openid_server, symmetric, unsigned

pytestmark = pytest.mark.django_db
BEGIN, BACK = "/accounts/providers/corp/", "/accounts/providers/corp/callback/"


@pytest.fixture(autouse=True)
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenIdServer]:
    """A sign-in provider, and a site that is configured for it."""
    monkeypatch.setattr(openid, "apps", openid.Apps())
    with openid_server() as running:
        settings.SIGN_IN_PROVIDERS = (running.provider(),)
        yield running


def way_back(client: Client, begin: str = BEGIN) -> str:
    """Go to the provider; return the address with which it sends the browser back."""
    there = client.get(begin)
    assert there.status_code == 302, text_of(there)
    answer = requests.get(there["Location"], allow_redirects=False, timeout=10)
    return answer.headers["Location"].removeprefix("http://testserver")


def sign_in(client: Client, begin: str = BEGIN) -> Any:
    """Sign in through the provider; return the site's answer."""
    return client.get(way_back(client, begin))


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_the_sign_in_page_leads_to_the_provider_and_back_to_the_wanted_page(server: OpenIdServer) -> None:
    client = Client()
    page = client.get("/accounts/login/?next=/history/%3Fstate%3Dfailed").content.decode()

    assert "Sign in with Corp" in page
    assert page.index("Sign in with Corp") < page.index('name="username"')
    answer = sign_in(client, f"{BEGIN}?next=/history/%3Fstate%3Dfailed")

    assert (answer.status_code, answer["Location"]) == (302, "/history/?state=failed")
    assert client.get("/").status_code == 200
    user = User.objects.get()
    assert (user.username, user.email, user.first_name) == ("ada@example.com", "ada@example.com", "Ada")
    assert not user.has_usable_password()
    assert Identity.objects.values_list("provider", "subject").get() == (server.issuer, "ada-1")


def test_the_request_has_state_nonce_and_a_challenge() -> None:
    there = Client().get(BEGIN)["Location"]

    sent = {name: values[0] for name, values in parse_qs(urlsplit(there).query).items()}
    assert sent["response_type"] == "code"
    assert sent["scope"] == "openid email profile"
    assert sent["code_challenge_method"] == "S256"
    assert sent["redirect_uri"] == f"http://testserver{BACK}"
    assert min(len(sent[name]) for name in ("state", "nonce")) >= 20
    assert len(sent["code_challenge"]) == 43


def test_the_session_gets_a_new_key() -> None:
    client = Client()
    back = way_back(client)
    before = client.session.session_key
    assert client.cookies["sessionid"]["samesite"] == "Lax"  # with "Strict" it would not come back from the provider

    client.get(back)

    assert is_signed_in(client)
    assert client.session.session_key != before
    assert not [name for name in client.session.keys() if name.startswith(("_state", "provider"))]  # noqa: SIM118
    assert client.session.get_expiry_age() > openid.OPEN_SECONDS


def test_a_sign_in_by_password_after_a_cancelled_one_lasts_as_long_as_any(owner: User) -> None:
    client = Client()
    client.get(BEGIN)
    assert client.session.get_expiry_age() <= openid.OPEN_SECONDS

    client.post("/accounts/login/", {"username": "owner", "password": PASSWORD})

    assert client.session.get_expiry_age() > openid.OPEN_SECONDS
    assert not [name for name in client.session.keys() if name.startswith(("_state", "provider_s"))]  # noqa: SIM118


@pytest.mark.parametrize("wanted", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", ""])
def test_it_never_leads_to_another_site(wanted: str) -> None:
    client = Client()
    back = way_back(client, f"{BEGIN}?next={wanted}")

    assert client.get(back)["Location"] == "/"


NOW = int(time.time())
OTHER = make_key()
BAD: dict[str, dict[str, Any]] = {
    "expired": {"claims": {"iat": NOW - 700, "exp": NOW - 100}},
    "not yet valid": {"claims": {"nbf": NOW + 36_000}},
    "issued later": {"claims": {"iat": NOW + 36_000, "exp": NOW + 37_000}},
    "without expiry": {"claims": {"exp": None}},
    "another audience": {"claims": {"aud": "somebody-else"}},
    "another audience for us": {"claims": {"aud": "somebody-else", "azp": "trainboard"}},
    "for another party": {"claims": {"aud": ["trainboard", "somebody-else"], "azp": "somebody-else"}},
    "no audience": {"claims": {"aud": None}},
    "another issuer": {"claims": {"iss": "https://accounts.google.com"}},
    "no issuer": {"claims": {"iss": None}},
    "another nonce": {"claims": {"nonce": "of another sign-in"}},
    "no nonce": {"claims": {"nonce": None}},
    "no subject": {"claims": {"sub": None}},
    "a number as subject": {"claims": {"sub": 7}},
    "unstorable subject": {"claims": {"sub": "a\0b"}},
    "unsigned": {"tokens_of": unsigned},
    "HS256 with the public key": {"tokens_of": symmetric},
    "a swapped key": {"key": OTHER},
    "no ID token": {"replies": {"/token": (200, b'{"access_token": "x", "token_type": "Bearer"}')}},
    "noise as ID token": {"tokens_of": lambda *_: "noise"},
    "the UserInfo of somebody else": {"claims": {"email": None}, "told": {"sub": "eve", "email": "ada@example.com"}},
}


@pytest.mark.parametrize("fault", BAD.values(), ids=BAD)
def test_a_bad_token_signs_nobody_in(server: OpenIdServer, fault: dict[str, Any]) -> None:
    for name, value in fault.items():
        setattr(server, name, value)
    client = Client()

    answer = sign_in(client)

    assert answer.status_code == 400
    assert "its signature is not valid" in text_of(answer)
    assert not is_signed_in(client)
    assert not User.objects.exists()


class TestState:
    def test_one_that_nobody_began_counts_for_nothing(self, server: OpenIdServer) -> None:
        back = way_back(Client())

        assert Client().get(back).status_code == 400
        assert Client().get(BACK).status_code == 400
        assert "/token" not in server.asked

    def test_it_counts_once(self) -> None:
        client = Client()
        back = way_back(client)
        assert client.get(back).status_code == 302
        client.logout()

        assert client.get(back).status_code == 400
        assert not is_signed_in(client)

    def test_it_counts_once_in_the_same_session(self, server: OpenIdServer) -> None:
        client = Client()
        back = way_back(client)
        server.replies["/token"] = (400, b'{"error": "invalid_grant"}')
        client.get(back)
        server.replies.clear()

        assert client.get(back).status_code == 400

    def test_it_counts_at_its_own_provider_only(self, server: OpenIdServer, settings: Any) -> None:
        with openid_server() as other:
            settings.SIGN_IN_PROVIDERS = (server.provider(), other.provider(key="other"))
            client = Client()
            back = way_back(client).replace("/corp/", "/other/")

            assert client.get(back).status_code == 400
            assert other.asked == []

    def test_a_browser_keeps_few_of_them(self) -> None:
        client = Client()
        oldest = way_back(client)
        for _ in range(openid.MAX_OPEN):
            client.get(BEGIN)

        assert len([name for name in client.session.keys() if name.startswith("_state")]) == openid.MAX_OPEN  # noqa: SIM118
        assert client.get(oldest).status_code == 400


def test_a_code_without_its_verifier_is_worth_nothing(server: OpenIdServer) -> None:
    """The provider of these tests demands PKCE, as `token` of tests/support/openid.py does."""
    client = Client()
    way_back(client)
    (code,) = server.codes
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": f"http://testserver{BACK}"}

    answer = requests.post(f"{server.issuer}/token", form, auth=("trainboard", "the client's secret"), timeout=10)

    assert answer.json()["error_description"] == "PKCE"


def test_a_provider_whose_keys_were_replaced_is_believed(server: OpenIdServer) -> None:
    assert sign_in(Client()).status_code == 302
    server.key = server.published = make_key("two")

    assert sign_in(Client()).status_code == 302


def test_a_person_who_cancels_is_told_so(server: OpenIdServer) -> None:
    server.is_cancelling = True
    client = Client()

    answer = sign_in(client)

    assert answer.status_code == 200
    assert "You were not signed in" in text_of(answer)
    assert "Back to sign-in" in text_of(answer)


class TestProviderInTrouble:
    @pytest.mark.parametrize(
        "reply",
        [(500, b""), (404, b"{}"), (200, b"no json"), (200, b"[]"), (200, b"[" * 9_000), (200, b"{}"), (302, b"{}")],
    )
    def test_a_bad_document_says_so_and_the_password_still_works(
        self, server: OpenIdServer, owner: User, reply: tuple[int, bytes]
    ) -> None:
        server.replies["/.well-known/openid-configuration"] = reply
        client = Client()

        answer = client.get(BEGIN)

        assert answer.status_code == 503
        assert "Corp is not responding correctly" in text_of(answer)
        assert client.post("/accounts/login/", {"username": "owner", "password": PASSWORD}).status_code == 302

    def test_it_is_asked_again_only_after_a_while(self, server: OpenIdServer, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [1000.0]
        monkeypatch.setattr(openid.time, "monotonic", lambda: now[0])
        server.replies["/.well-known/openid-configuration"] = (500, b"")
        for _ in range(3):
            assert Client().get(BEGIN).status_code == 503
        assert len(server.asked) == 1
        server.replies.clear()
        now[0] += openid.RETRY_SECONDS + 1

        assert Client().get(BEGIN).status_code == 302

    def test_an_old_document_serves_while_a_new_one_cannot_be_had(
        self, server: OpenIdServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [1000.0]
        monkeypatch.setattr(openid.time, "monotonic", lambda: now[0])
        assert sign_in(Client()).status_code == 302
        server.replies["/.well-known/openid-configuration"] = (500, b"")
        now[0] += openid.METADATA_SECONDS + 1

        assert sign_in(Client()).status_code == 302

    def test_one_that_is_down_says_so(self, server: OpenIdServer, settings: Any) -> None:
        settings.SIGN_IN_PROVIDERS = (server.provider(issuer="http://127.0.0.1:1"),)

        assert Client().get(BEGIN).status_code == 503

    @pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys"])
    def test_a_slow_one_says_so_in_time(self, server: OpenIdServer, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
        for module in (openid, documents):
            monkeypatch.setattr(module, "MAX_SECONDS", 0.4)
        server.stalled.add(path)
        client, began = Client(), time.monotonic()

        answer = client.get(BEGIN) if path.startswith("/.well") else sign_in(client)

        assert answer.status_code == 503
        assert time.monotonic() - began < 5

    @pytest.mark.parametrize(
        ("path", "reply"),
        [
            ("/token", (500, b"")),
            ("/token", (200, b"no json")),
            ("/token", (200, b"[1]")),
            ("/keys", (404, b"")),
            ("/keys", (200, b"{}")),
            ("/keys", (200, b'{"keys": 7}')),
        ],
    )
    def test_nonsense_after_the_sign_in_says_so(
        self, server: OpenIdServer, path: str, reply: tuple[int, bytes]
    ) -> None:
        server.replies[path] = reply
        client = Client()

        assert sign_in(client).status_code == 503
        assert not is_signed_in(client)

    @pytest.mark.parametrize(
        "change",
        [
            {"issuer": "https://elsewhere.example"},
            {"token_endpoint": "http://elsewhere.example/token"},
            {"authorization_endpoint": "javascript:alert(1)"},
            {"jwks_uri": "file:///etc/passwd"},
            {"jwks_uri": None},
        ],
    )
    def test_a_document_that_leads_elsewhere_is_refused(self, server: OpenIdServer, change: dict[str, Any]) -> None:
        document = json.dumps(server.document() | change).encode()
        server.replies["/.well-known/openid-configuration"] = (200, document)

        assert Client().get(BEGIN).status_code == 503


class TestLimits:
    @pytest.fixture(autouse=True)
    def _axes_reads_the_tests_clock(self, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
        monkeypatch.setattr("axes.handlers.proxy.now", lambda: clock.now)

    def test_a_browser_that_fails_too_often_is_refused_and_others_are_not(self, server: OpenIdServer) -> None:
        client = Client()
        server.key = OTHER
        answers = [sign_in(client).status_code for _ in range(6)]
        asked = server.asked.count("/token")

        assert answers == [400, 400, 400, 400, 429, 429]
        assert asked == 5
        server.key = server.KEY
        assert sign_in(client).status_code == 429
        assert sign_in(Client()).status_code == 302

    def test_fifty_failures_lock_the_address(self) -> None:
        answers = []
        for _ in range(52):
            client = Client()
            client.get(BEGIN)
            answers.append(client.get(f"{BACK}?code=x&state=y").status_code)

        assert answers == [400] * 49 + [429] * 3

    def test_no_more_than_two_ask_a_provider_at_once(
        self, server: OpenIdServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(openid, "WAIT_SECONDS", 0.05)
        client = Client()
        back = way_back(client)
        for _ in range(openid.MAX_AT_ONCE):
            openid._calls.acquire()
        try:
            answer = client.get(back)
        finally:
            openid._calls.release(openid.MAX_AT_ONCE)

        assert (answer.status_code, answer["Retry-After"]) == (429, "2")
        assert client.get(back).status_code == 302


def test_an_unknown_provider_is_not_found() -> None:
    assert Client().get("/accounts/providers/nobody/").status_code == 404
    assert Client().get("/accounts/providers/nobody/callback/").status_code == 404
