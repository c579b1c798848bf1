"""Tests of the client against a real server on loopback that breaks off, is busy, or is not Trainboard."""

import argparse
import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from trainboard_cli import Client, NotReached, Refused, TrainboardError
from trainboard_cli.client import MAX_TRIES
from trainboard_cli.reading import seconds_of
from trainboard_cli.show import usd

from jobs.cost.money import format_usd
from tests.support.servers import in_thread

Answer = tuple[int, dict[str, str], bytes] | None
"""Status, headers and body; None breaks the connection off."""
FINE: Answer = (200, {"Content-Type": "application/json"}, json.dumps({"name": "me"}).encode())


class Site(ThreadingHTTPServer):
    """A server that returns its responses in order, repeats the last one, and stores the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[Answer] = []
        self.asked: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append({name.lower(): value for name, value in self.headers.items()})
        answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if answer is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, headers, body = answer
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    with in_thread(server):
        yield server


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(site: Site, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setenv("NO_PROXY", "*")
    made = Client(site.url, "tb_x", sleep=pauses.append)
    yield made
    made.session.close()


def busy(status: int, **headers: str) -> Answer:
    return status, {"Content-Type": "application/problem+json"} | headers, b'{"detail": "later"}'


def test_asks_again_after_what_passes_with_longer_pauses(client: Client, site: Site, pauses: list[float]) -> None:
    site.answers = [None, busy(503), None, FINE]

    assert client.me() == {"name": "me"}
    assert len(site.asked) == 4
    assert pauses == sorted(pauses)
    assert pauses[-1] > 2 * pauses[0]
    assert {asked["authorization"] for asked in site.asked} == {"Bearer tb_x"}


def test_waits_as_long_as_the_site_says(client: Client, site: Site, pauses: list[float]) -> None:
    site.answers = [busy(429, **{"Retry-After": "7"}), FINE]

    client.me()

    assert pauses == [7]


def test_gives_up_in_a_sentence(client: Client, site: Site) -> None:
    site.answers = [None]

    with pytest.raises(NotReached, match="did not respond"):
        client.me()
    assert len(site.asked) == MAX_TRIES


def test_a_request_is_repeated_with_its_key_only(client: Client, site: Site) -> None:
    site.answers = [None, FINE]
    assert client.submit({}, key="k") == {"name": "me"}
    assert [asked["idempotency-key"] for asked in site.asked] == ["k", "k"]

    site.answers, site.asked = [None, FINE], []
    with pytest.raises(NotReached):
        client.act("1", "cancel")
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, {"Content-Type": "application/problem+json"}, b'{"detail": "a fault"}'), "failed \\(500\\): a fault"),
        ((200, {"Content-Type": "text/html"}, b"<html>"), "not a Trainboard site"),
        ((302, {"Location": "https://elsewhere.example"}, b""), "redirects to https://elsewhere.example"),
        ((200, {"Content-Type": "application/json"}, b"[]"), "This version of trainboard does not understand"),
    ],
)
def test_an_answer_that_is_none_is_a_sentence(client: Client, site: Site, answer: Answer, words: str) -> None:
    site.answers = [answer]

    with pytest.raises(NotReached, match=words):
        client.me()


def test_a_refusal_has_its_findings(client: Client, site: Site) -> None:
    problem = {"detail": "no", "findings": [{"code": "x"}]}
    site.answers = [(422, {"Content-Type": "application/problem+json"}, json.dumps(problem).encode())]

    with pytest.raises(Refused) as refusal:
        client.submit({}, key="k")

    assert (refusal.value.findings, refusal.value.code, str(refusal.value)) == ([{"code": "x"}], 1, "no")


@pytest.mark.parametrize("url", ["", "trainboard", "ftp://x", "http://example.org", "http://localhost.example.org"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(TrainboardError):
        Client(url, "tb_x")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("2 h 10 min", 7800), ("45s", 45), ("0.5h", 1800)],
)
def test_a_length_of_time_is_read(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "2", "h", "-2h", "2h x", "0s", "400d", "1e9h"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        seconds_of(text)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "-"),
        ("0.00", "$0.00"),
        ("0.0020", "$0.0020"),
        ("0.00075", "$0.00075"),
        ("0.0123", "$0.01"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_amounts_are_shown_as_on_the_site(amount: str | None, shown: str) -> None:
    assert usd(amount) == shown
    assert amount is None or format_usd(amount) == shown
