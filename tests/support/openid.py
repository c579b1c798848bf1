"""An OpenID Connect provider for tests: a real server on loopback with discovery, authorization, tokens and keys.

It signs in everybody as `person` and requires PKCE (RFC 7636). Its attributes set its faults, and `tokens_of` replaces
the function that makes the ID token.
"""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwk, jwt

from dashboard.sign_in_providers import Provider
from tests.support import iap
from tests.support.iap import b64
from tests.support.servers import in_thread

CLIENT, SECRET = "trainboard", "the client's secret"


def make_key(name: str = "one") -> jwk.RSAKey:
    """Return a new key pair with `name` as its `kid`."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return jwk.RSAKey.import_key(private, {"kid": name, "use": "sig", "alg": "RS256"})


def signed(claims: dict[str, Any], key: jwk.RSAKey) -> str:
    """Return an ID token."""
    return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


def unsigned(claims: dict[str, Any], _key: jwk.RSAKey) -> str:
    """Return a token with the algorithm "none"."""
    return ".".join(b64(json.dumps(part).encode()) for part in ({"alg": "none", "kid": "one"}, claims)) + "."


def symmetric(claims: dict[str, Any], key: jwk.RSAKey) -> str:
    """Return a token signed with HS256 and the text of the public key as its secret."""
    return iap.symmetric(key.as_pem(private=False).decode(), claims)


class OpenIdServer(ThreadingHTTPServer):
    """The provider.

    `person` is the user who signs in, `claims` change the ID token, and `replies` replace whole responses by path.
    """

    daemon_threads = True
    KEY = make_key()

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.person: dict[str, Any] = {
            "sub": "ada-1",
            "email": "ada@example.com",
            "email_verified": True,
            "name": "Ada",
        }
        self.claims: dict[str, Any] = {}
        self.told: dict[str, Any] = {}
        """Claims that only the UserInfo endpoint returns."""
        self.key, self.published = self.KEY, self.KEY
        self.tokens_of: Callable[[dict[str, Any], jwk.RSAKey], str] = signed
        self.replies: dict[str, tuple[int, bytes]] = {}
        self.is_cancelling = False
        self.stalled: set[str] = set()
        self.goes_on = Event()
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []

    @property
    def issuer(self) -> str:
        """Address of the provider."""
        return f"http://127.0.0.1:{self.server_port}"

    def provider(self, **changes: Any) -> Provider:
        """Return the provider as in the site's setting."""
        known = {"key": "corp", "name": "Corp", "issuer": self.issuer, "client_id": CLIENT, "client_secret": SECRET}
        return Provider(**known | {"domains": frozenset({"*"})} | changes)

    def document(self) -> dict[str, Any]:
        """Return the discovery document."""
        paths = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        algorithms = ["RS256", "HS256", "none"]
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": algorithms,
            **{f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in paths.items()},
        }

    def authorize(self, wanted: dict[str, str]) -> str:
        """Return the address to redirect the browser to, with a code or an error."""
        answer = {"state": wanted["state"]}
        if self.is_cancelling:
            answer["error"] = "access_denied"
        else:
            answer["code"] = f"code-{len(self.codes)}"
            self.codes[answer["code"]] = wanted
        return f"{wanted['redirect_uri']}?{urlencode(answer)}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any]:
        """Return the response of the token endpoint.

        A code is valid once, with the client's secret and its verifier.
        """
        wanted = self.codes.pop(form.get("code", ""), None)
        expected = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if wanted is None or authorization != expected or form.get("redirect_uri") != wanted["redirect_uri"]:
            return {"error": "invalid_grant"}
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if wanted.get("code_challenge_method") != "S256" or wanted.get("code_challenge") != challenge:
            return {"error": "invalid_grant", "error_description": "PKCE"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": wanted["nonce"]}
        told = {name: value for name, value in (claims | self.person | self.claims).items() if value is not None}
        return {"access_token": "of-ada", "token_type": "Bearer", "id_token": self.tokens_of(told, self.key)}


class _Handler(BaseHTTPRequestHandler):
    server: OpenIdServer

    def do_GET(self) -> None:
        """Answer requests for discovery, keys, authorization and UserInfo."""
        path, query = urlsplit(self.path).path, dict(parse_qsl(urlsplit(self.path).query))
        if path == "/authorize":
            self.server.asked.append(path)
            self.send_response(302)
            self.send_header("Location", self.server.authorize(query))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answers: dict[str, Callable[[], Any]] = {
            "/.well-known/openid-configuration": self.server.document,
            "/keys": lambda: {"keys": [self.server.published.as_dict(private=False)]},
            "/userinfo": lambda: {"sub": self.server.person["sub"], **self.server.told},
        }
        self._answer(path, answers.get(path, dict))

    def do_POST(self) -> None:
        """Answer requests to the token endpoint."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._answer(self.path, lambda: self.server.token(form, self.headers.get("Authorization", "")))

    def _answer(self, path: str, make: Callable[[], Any]) -> None:
        self.server.asked.append(path)
        if path in self.server.stalled:
            self.server.goes_on.wait(20)
            return
        status, body = self.server.replies.get(path) or (200, json.dumps(make()).encode())
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def openid_server() -> Iterator[OpenIdServer]:
    """Serve on loopback while the block runs."""
    server = OpenIdServer()
    with in_thread(server):
        try:
            yield server
        finally:
            server.goes_on.set()
