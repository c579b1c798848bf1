"""A Google Identity-Aware Proxy for tests: its own keys, signed tokens, and a server that publishes the keys."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tests.support.servers import in_thread

AUDIENCE = "/projects/123/global/backendServices/456"
ISSUER = "https://cloud.google.com/iap"


def b64(data: bytes) -> str:
    """Return base64url without padding (RFC 7515)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class SigningKey:
    """An ES256 key pair."""

    def __init__(self) -> None:
        self.private = ec.generate_private_key(ec.SECP256R1())

    @property
    def pem(self) -> str:
        """The public key in the form that the proxy publishes."""
        encoding, shape = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        return self.private.public_key().public_bytes(encoding, shape).decode()

    def sign(self, section: str) -> bytes:
        """Return the signature as in RFC 7518, 3.4: R and S, 32 bytes each."""
        parts = decode_dss_signature(self.private.sign(section.encode(), ec.ECDSA(hashes.SHA256())))
        return b"".join(part.to_bytes(32, "big") for part in parts)


def payload(**changes: Any) -> dict[str, Any]:
    """Return the claims that the proxy signs about a user now. A change to None removes a claim."""
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "accounts.google.com:1",
        "email": "ada@example.com",
        "hd": "example.com",
        "iat": now,
        "exp": now + 36_000,  # longer than the tests run, because tokens may be made at import
    }
    return {name: value for name, value in (claims | changes).items() if value is not None}


def token(key: SigningKey, claims: dict[str, Any], *, kid: str = "one", algorithm: str = "ES256") -> str:
    """Return a signed token."""
    section = ".".join(b64(json.dumps(part).encode()) for part in ({"alg": algorithm, "kid": kid}, claims))
    return f"{section}.{b64(key.sign(section))}"


def symmetric(secret: str, claims: dict[str, Any]) -> str:
    """Return a token signed with HS256 with the text of a public key as its secret."""
    section = ".".join(b64(json.dumps(part).encode()) for part in ({"alg": "HS256", "kid": "one"}, claims))
    return f"{section}.{b64(hmac.new(secret.encode(), section.encode(), hashlib.sha256).digest())}"


class KeyServer(ThreadingHTTPServer):
    """Publishes keys. `status` and `body` may be changed while it runs; `asked` counts requests."""

    daemon_threads = True
    status, body, asked = 200, b"{}", 0

    @property
    def url(self) -> str:
        """Address of the keys."""
        return f"http://127.0.0.1:{self.server_port}/keys"

    def publish(self, **keys: SigningKey) -> None:
        """Publish these keys under their names."""
        self.body = json.dumps({name: key.pem for name, key in keys.items()}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: KeyServer

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def key_server(**keys: SigningKey) -> Iterator[KeyServer]:
    """Serve keys on loopback while the block runs."""
    server = KeyServer(("127.0.0.1", 0), _Handler)
    server.publish(**keys)
    with in_thread(server):
        yield server
