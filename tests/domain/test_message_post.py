"""Tests of requests to misbehaving receivers, on real sockets."""

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pytest_django import Settings

from jobs.messages.post import SendFailed, post
from tests.support import receivers
from tests.support.receivers import Receiver


@pytest.fixture
def hook(settings: Settings) -> Iterator[Receiver]:
    settings.MESSAGES_ALLOW_LOOPBACK = True
    with receivers.receiver() as found:
        yield found


def failure_of(hook: Receiver, *, seconds: float = 5) -> SendFailed:
    with pytest.raises(SendFailed) as failure:
        post(hook.url, b"{}", {}, seconds=seconds)
    assert "internal words" not in str(failure.value)
    return failure.value


def test_a_body_arrives_with_its_headers(hook: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    post(hook.url, b'{"a": 1}', {"webhook-id": "msg_1"})

    (found,) = hook.received
    assert (found.path, found.body) == ("/hook/T0KEN", b'{"a": 1}')
    assert found.headers["webhook-id"] == "msg_1"
    assert found.headers["host"] == f"127.0.0.1:{hook.port}"
    assert found.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(hook: Receiver, status: int) -> None:
    hook.behaviour, hook.headers = status, {"Location": f"http://127.0.0.1:{hook.port}/other"}

    failure = failure_of(hook)

    assert f"redirect (status {status})" in str(failure)
    assert [found.path for found in hook.received] == ["/hook/T0KEN"]


@pytest.mark.parametrize(
    ("status", "is_down"),
    [(400, False), (403, False), (404, False), (410, False), (429, True), (500, True), (503, True)],
)
def test_a_refusal_is_told_by_its_status_alone(hook: Receiver, status: int, *, is_down: bool) -> None:
    hook.behaviour = status

    failure = failure_of(hook)

    assert str(failure) == f"The server answered with status {status}."
    assert failure.is_down is is_down


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("0", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None)]
)
def test_a_pause_that_is_asked_for_is_read(hook: Receiver, text: str, seconds: int | None) -> None:
    hook.behaviour, hook.headers = 429, {"Retry-After": text}

    asked = failure_of(hook).retry_after

    assert asked == (None if seconds is None else dt.timedelta(seconds=seconds))


@pytest.mark.parametrize("behaviour", ["silent", "drip"])
def test_a_slow_receiver_holds_nobody(hook: Receiver, behaviour: str) -> None:
    hook.behaviour = behaviour
    begun = time.monotonic()

    failure = failure_of(hook, seconds=0.5)

    assert time.monotonic() - begun < 3
    assert failure.is_down


def test_a_dropped_connection_is_told(hook: Receiver) -> None:
    hook.behaviour = "drop"

    assert "ended the connection" in str(failure_of(hook))


def test_of_a_gigabyte_nothing_is_read(hook: Receiver) -> None:
    hook.behaviour = "gigabyte"
    begun = time.monotonic()

    post(hook.url, b"{}", {})

    assert time.monotonic() - begun < 3
    assert hook.bytes_sent < 2**26, "what sockets buffer, and no more"


def test_a_port_on_which_nobody_listens_is_told(hook: Receiver) -> None:
    with pytest.raises(SendFailed, match="could not be reached") as failure:
        post("http://127.0.0.1:9/", b"{}", {})

    assert failure.value.is_down


def test_loopback_is_refused_where_the_site_does_not_allow_it(hook: Receiver, settings: Settings) -> None:
    settings.MESSAGES_ALLOW_LOOPBACK = False

    for url in (hook.url, hook.url.replace("http:", "https:"), f"https://localhost:{hook.port}/"):
        with pytest.raises(SendFailed, match=r"https://|internal address"):
            post(url, b"{}", {})
    assert hook.received == []


# ---------------------------------------------------------------- TLS
def certificate(folder: Path, name: str) -> tuple[str, str]:
    """Write a self-signed certificate for a name and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - dt.timedelta(days=1))
    builder = builder.not_valid_after(now + dt.timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    made = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    files[1].write_bytes(private)
    return str(files[0]), str(files[1])


class Names:
    """A name server whose answer changes after the first question, as DNS rebinding does."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), 0

    def __call__(self, _name: str, _port: int) -> list[str]:
        self.asked += 1
        return [self.answers.pop(0)]


def test_the_connection_goes_to_the_checked_address_and_tls_verifies_the_name(
    tmp_path: Path, settings: Settings
) -> None:
    settings.MESSAGES_ALLOW_LOOPBACK = True
    files = certificate(tmp_path, "hooks.example.org")
    with receivers.receiver(certificate=files) as hook:
        names = Names("127.0.0.1", "10.0.0.1")

        post(f"https://hooks.example.org:{hook.port}/x", b"{}", {}, resolve=names, verify=files[0])

        assert names.asked == 1, "the name is looked up once: there is no second answer to believe"
        assert hook.received[0].headers["host"] == f"hooks.example.org:{hook.port}"


@pytest.mark.parametrize("name", ["other.example.org", "127.0.0.1"])
def test_a_certificate_for_another_name_is_refused(tmp_path: Path, settings: Settings, name: str) -> None:
    settings.MESSAGES_ALLOW_LOOPBACK = True
    files = certificate(tmp_path, "hooks.example.org")
    with receivers.receiver(certificate=files) as hook:
        with pytest.raises(SendFailed, match="certificate"):
            post(f"https://{name}:{hook.port}/x", b"{}", {}, resolve=Names("127.0.0.1"), verify=files[0])

        assert hook.received == []


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, settings: Settings) -> None:
    settings.MESSAGES_ALLOW_LOOPBACK = True
    with receivers.receiver(certificate=certificate(tmp_path, "hooks.example.org")) as hook:
        with pytest.raises(SendFailed, match="certificate"):
            post(f"https://hooks.example.org:{hook.port}/x", b"{}", {}, resolve=Names("127.0.0.1"))

        assert hook.received == []
