"""Tests of what `manage.py up` prints when the site responds, and before."""

import io
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dashboard.management.supervisor import welcome
from dashboard.management.supervisor.console import Console
from dashboard.management.supervisor.keeper import Keeper
from dashboard.management.supervisor.welcome import Welcome
from tests.support.servers import in_thread


class Site(HTTPServer):
    """A site that answers with the statuses in `answers`, the last one for ever."""

    answers: list[int]
    asked: list[tuple[str, str]]


class Handler(BaseHTTPRequestHandler):
    """Answers GET."""

    server: Site

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Host"]))
        status = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"migrations are missing")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site(("127.0.0.1", 0), Handler)
    site.answers, site.asked = [200], []
    with in_thread(site):
        yield site


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def keeper(screen: io.StringIO) -> Keeper:
    return Keeper(Console(["web"], screen))


def test_says_its_lines_once_when_the_site_is_ready(site: Site, keeper: Keeper, screen: io.StringIO) -> None:
    greet = Welcome("127.0.0.1", site.server_port, "board.example.org", ["it is there"])

    greet(keeper)
    greet(keeper)

    assert screen.getvalue() == "up  | it is there\n"
    assert site.asked == [("/readyz", "board.example.org")]


def test_asks_at_once_again_while_nobody_answers(keeper: Keeper, screen: io.StringIO, site: Site) -> None:
    greet = Welcome("0.0.0.0", 1, "localhost", ["it is there"])
    greet(keeper)
    greet.port = site.server_port

    greet(keeper)

    assert screen.getvalue() == "up  | it is there\n"


def test_asks_less_and_less_often_while_the_site_fails(site: Site, keeper: Keeper) -> None:
    site.answers = [503]
    greet = Welcome("127.0.0.1", site.server_port, "localhost", [])

    for _ in range(5):
        greet(keeper)

    assert len(site.asked) == 1


def test_says_why_it_takes_so_long(
    site: Site, keeper: Keeper, screen: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(welcome, "LONG_SECONDS", -1.0)
    site.answers = [503]

    Welcome("127.0.0.1", site.server_port, "localhost", [])(keeper)

    assert screen.getvalue() == "up  | the site is still not ready: 503 migrations are missing\n"
