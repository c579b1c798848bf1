"""Tests of credentials: real tokens from a local endpoint, none over plain HTTP, and clear error messages."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import google.auth
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google.auth import jwt
from google.auth.credentials import AnonymousCredentials
from google.oauth2 import service_account

from jobs.vertex import AuthFailed, Timeout, VertexClient, auth, errors
from jobs.vertex.auth import SCOPE, Wallet, checked_endpoint, is_loopback
from tests.support.running_emulator import running

NAME = "projects/123/locations/us-central1/customJobs/456"
JOB = {"name": NAME, "state": "JOB_STATE_RUNNING"}


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def account(server: Any, key: rsa.RSAPrivateKey) -> dict[str, str]:
    """A service account whose tokens come from the local server."""
    return {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "throwaway",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "client_email": "trainboard@p.iam.gserviceaccount.com",
        "token_uri": server.url + "/token",
    }


@pytest.fixture
def with_account(server: Any, account: dict[str, str]) -> VertexClient:
    credentials = service_account.Credentials.from_service_account_info(account, scopes=[SCOPE])
    return VertexClient(endpoint=server.url, credentials=credentials, timeout=Timeout(5, 5, 20))


def token(server: Any, word: str) -> None:
    server.json({"access_token": word, "expires_in": 3600, "token_type": "Bearer"})


class TestServiceAccount:
    def test_signs_for_a_token_and_sends_it(
        self, server: Any, with_account: VertexClient, key: rsa.RSAPrivateKey
    ) -> None:
        token(server, "t1")
        server.json(JOB)
        server.json(JOB)

        with_account.get("custom_job", NAME)
        with_account.get("custom_job", NAME)

        for_token, *calls = server.asked
        claim = parse_qs(for_token.body)["assertion"][0]
        signed = jwt.decode(claim, certs=None, verify=False)
        assert for_token.path == "/token"
        assert (signed["iss"], signed["scope"]) == ("trainboard@p.iam.gserviceaccount.com", SCOPE)
        assert [call.headers["authorization"] for call in calls] == ["Bearer t1", "Bearer t1"]

    def test_expired_token_is_renewed_and_the_call_repeated(self, server: Any, with_account: VertexClient) -> None:
        token(server, "old")
        server.error(401, "Expired", "UNAUTHENTICATED")
        token(server, "new")
        server.json(JOB)

        job = with_account.create("custom_job", project="p", region="us-central1", body={"displayName": "x"})

        assert job.name == NAME
        assert server.asked[1].body == server.asked[3].body == {"displayName": "x"}
        assert server.asked[3].headers["authorization"] == "Bearer new"

    def test_account_that_is_never_accepted_is_auth_failed(self, server: Any, with_account: VertexClient) -> None:
        for word in ("a", "b", "c"):
            token(server, word)
            server.error(401, "No such account", "UNAUTHENTICATED")

        with pytest.raises(AuthFailed, match="Google did not accept our credentials: No such account"):
            with_account.get("custom_job", NAME)

    def test_refused_key_is_auth_failed(self, server: Any, with_account: VertexClient) -> None:
        server.json({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, 400)

        with pytest.raises(AuthFailed, match=r"Google issued no access token .*invalid_grant: Invalid JWT Signature\."):
            with_account.get("custom_job", NAME)

    @pytest.mark.parametrize(
        "answer", [b"<html>Sign in", b"[]", b"7", b"{}", b'"x"', b'{"access_token": 7}', b'{"access_token": null}']
    )
    def test_token_service_that_answers_nonsense_is_auth_failed(
        self, server: Any, with_account: VertexClient, answer: bytes
    ) -> None:
        server.body(answer)
        server.json(JOB)

        with pytest.raises(AuthFailed):
            with_account.get("custom_job", NAME)

    def test_token_service_that_is_gone_is_auth_failed(self, account: dict[str, str], server: Any, nobody: str) -> None:
        credentials = service_account.Credentials.from_service_account_info(
            account | {"token_uri": nobody + "/token"}, scopes=[SCOPE]
        )

        with pytest.raises(AuthFailed, match="token service could not be reached"):
            VertexClient(endpoint=server.url, credentials=credentials).get("custom_job", NAME)

        assert server.asked == []

    def test_token_service_that_drips_is_given_up(self, account: dict[str, str], server: Any) -> None:
        server.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
        credentials = service_account.Credentials.from_service_account_info(account, scopes=[SCOPE])
        client = VertexClient(endpoint=server.url, credentials=credentials, timeout=Timeout(5, 5, 0.3))

        with pytest.raises(AuthFailed, match="token service could not be reached"):
            client.get("custom_job", NAME)

    def test_key_file_is_found_through_the_environment(
        self, server: Any, account: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "key.json").write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))

        found = Wallet().for_url("https://us-central1-aiplatform.googleapis.com/v1/x")

        assert found.service_account_email == "trainboard@p.iam.gserviceaccount.com"
        assert found.scopes == [SCOPE]


TEAMS = "vision@p.iam.gserviceaccount.com"


class TestImpersonation:
    @pytest.fixture
    def client_as(self, server: Any, account: dict[str, str]) -> Callable[[str], VertexClient]:
        """`client_as(email)` makes its calls as that service account; the IAM Credentials API is the local server."""

        def make(email: str) -> VertexClient:
            own = service_account.Credentials.from_service_account_info(account, scopes=[SCOPE])
            return VertexClient(
                endpoint=server.url, credentials=own, acts_as=email, iam_endpoint=server.url, timeout=Timeout(5, 5, 20)
            )

        return make

    def give(self, server: Any, word: str, expires: str = "2099-01-01T00:00:00Z") -> None:
        server.json({"accessToken": word, "expireTime": expires})

    def test_calls_bear_a_token_of_the_account_which_is_kept(
        self, server: Any, client_as: Callable[[str], VertexClient]
    ) -> None:
        token(server, "own")
        self.give(server, "as-team")
        server.json(JOB)
        server.json(JOB)
        client = client_as(TEAMS)

        client.get("custom_job", NAME)
        client.get("custom_job", NAME)

        _, asked, *calls = server.asked
        assert asked.path == f"/v1/projects/-/serviceAccounts/{TEAMS}:generateAccessToken"
        assert (asked.headers["authorization"], asked.body["scope"]) == ("Bearer own", [SCOPE])
        assert [call.headers["authorization"] for call in calls] == ["Bearer as-team"] * 2

    def test_a_token_that_has_ended_is_renewed(self, server: Any, client_as: Callable[[str], VertexClient]) -> None:
        token(server, "own")
        for word, expires in (("old", "2020-01-01T00:00:00Z"), ("new", "2099-01-01T00:00:00Z")):
            self.give(server, word, expires)
            server.json(JOB)
        client = client_as(TEAMS)

        client.get("custom_job", NAME)
        client.get("custom_job", NAME)

        calls = [each.headers["authorization"] for each in server.asked if each.method == "GET"]
        assert calls == ["Bearer old", "Bearer new"]

    def test_two_accounts_share_no_token(self, server: Any, client_as: Callable[[str], VertexClient]) -> None:
        for word in ("a", "b"):
            token(server, "own")
            self.give(server, word)
            server.json(JOB)
            client_as(f"{word}{TEAMS}").get("custom_job", NAME)

        calls = [each.headers["authorization"] for each in server.asked if each.method == "GET"]
        assert calls == ["Bearer a", "Bearer b"]

    def test_a_missing_permission_says_who_knows_the_repair(
        self, server: Any, client_as: Callable[[str], VertexClient]
    ) -> None:
        token(server, "own")
        server.error(403, "Permission 'iam.serviceAccounts.getAccessToken' denied", "PERMISSION_DENIED")

        with pytest.raises(AuthFailed, match=r"the service account that Trainboard acts as.*manage\.py doctor"):
            client_as(TEAMS).get("custom_job", NAME)

        assert [each.path for each in server.asked if each.method == "GET"] == []

    def test_an_emulator_is_called_without(self, server: Any) -> None:
        server.json(JOB)

        VertexClient(endpoint=server.url, acts_as=TEAMS).get("custom_job", NAME)

        assert "authorization" not in server.asked[0].headers


class TestNoCredentials:
    def test_plain_endpoint_that_asks_for_them_is_auth_failed(self, server: Any, client: VertexClient) -> None:
        server.error(401, "Who are you?", "UNAUTHENTICATED")

        with pytest.raises(AuthFailed, match="sends none to a plain HTTP address"):
            client.get("custom_job", NAME)

    def test_machine_without_any_says_what_to_do(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NO_GCE_CHECK", "true")
        monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
        monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)

        with pytest.raises(AuthFailed, match="gcloud auth application-default login"):
            VertexClient().get("custom_job", NAME)

    @pytest.mark.parametrize("content", ["", "{}", "[]", '{"type": "service_account"}'])
    def test_broken_key_file_says_what_to_do(
        self, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "key.json").write_text(content)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))

        with pytest.raises(AuthFailed, match="GOOGLE_APPLICATION_CREDENTIALS"):
            VertexClient().get("custom_job", NAME)

    def test_are_looked_up_once_for_all_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looked: list[object] = []

        def default(**_: object) -> tuple[object, str]:
            looked.append(object())
            return looked[-1], "p"

        monkeypatch.setattr(google.auth, "default", default)
        wallet = Wallet()
        threads = [threading.Thread(target=wallet.for_url, args=["https://x"]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(looked) == 1


class TestInTheClear:
    @pytest.mark.parametrize("url", ["http://vertex.example", "HTTP://10.0.0.1:80"])
    def test_credentials_are_refused(self, url: str) -> None:
        with pytest.raises(ValueError, match="unencrypted"):
            VertexClient(endpoint=url, credentials=service_account.Credentials)
        with pytest.raises(ValueError, match="unencrypted"):
            VertexClient(logging_endpoint=url, credentials=service_account.Credentials)

    def test_nobody_is_allowed_anywhere(self) -> None:
        assert checked_endpoint("http://emulator:8900/", AnonymousCredentials()) == "http://emulator:8900"
        assert isinstance(Wallet().for_url("HTTP://emulator:8900"), AnonymousCredentials)

    def test_password_in_netrc_does_not_replace_the_token(
        self, server: Any, with_account: VertexClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "netrc").write_text("default login me password secret\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        token(server, "t1")
        server.json(JOB)
        session = with_account._session(server.url)
        session.trust_env = True  # as towards Google

        with_account.get("custom_job", NAME)

        assert server.asked[1].headers["authorization"] == "Bearer t1"

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("http://127.0.0.1:1", True),
            ("http://[::1]:1", True),
            ("http://localhost", True),
            ("http://a.localhost", True),
            ("http://127.0.0.1.example", False),
            ("http://localhost.example", False),
            ("http://10.0.0.1", False),
            ("http://", False),
        ],
    )
    def test_loopback_is_recognised(self, url: str, expected: bool) -> None:
        assert is_loopback(url) is expected


class TestTokenFile:
    """The credential of an emulator on systems that do not reveal the user of a connection."""

    def test_lets_our_client_in_also_after_a_new_start(self, tmp_path: Path) -> None:
        state = tmp_path / "state"
        for _ in range(2):
            with running(state, scripted=True, demands_credential=True) as emulator:
                plain = emulator.url.partition("/_access/")[0]
                client = VertexClient(endpoint=plain, token_file=str(state / "credential"))

                assert client.list("custom_job", project="demo", region="us-central1") == []
                with pytest.raises(errors.PermissionDenied, match="Send the content of the file credential"):
                    VertexClient(endpoint=plain).list("custom_job", project="demo", region="us-central1")

    def test_is_read_before_each_call_and_may_be_missing(self, tmp_path: Path) -> None:
        file, headers = tmp_path / "credential", dict[str, str]()
        credentials = auth.Wallet(token_file=str(file)).for_url("http://127.0.0.1:8900")

        credentials.before_request(None, "GET", "http://127.0.0.1:8900", headers)
        assert headers == {}
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            credentials.before_request(None, "GET", "http://127.0.0.1:8900", headers)
            assert headers == {"Authorization": f"Bearer {token}"}

    def test_goes_to_this_machine_only(self, tmp_path: Path) -> None:
        wallet = auth.Wallet(token_file=str(tmp_path / "credential"))

        assert isinstance(wallet.for_url("http://localhost:8900"), auth.FileToken)
        assert not isinstance(wallet.for_url("http://vertex.example.org"), auth.FileToken)
