"""Tests that the demo password is accepted only from this machine, without a proxy in between."""

import os
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard import rehearsal
from dashboard.management.demo import people
from tests.conftest import PASSWORD
from tests.pages.conftest import text_of
from tests.support import users
from tests.support.users import NOBODY, needs_root

pytestmark = pytest.mark.django_db

PROXIES = [
    {"X-Forwarded-For": "203.0.113.7"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-Host": "board.example.org"},
    {"Forwarded": "for=203.0.113.7"},
    {"Via": "1.1 proxy"},
    {"X-Real-IP": "203.0.113.7"},
    {"CF-Connecting-IP": "203.0.113.7"},
    {"Host": "board.example.org"},
    {"Host": "testserver"},
]
TYPED = "my-secret-typed-as-a-name"
HERE = {"HTTP_HOST": "127.0.0.1:8000"}


@pytest.fixture(autouse=True)
def _a_rehearsal(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
    settings.VERTEX_ENDPOINT = "http://127.0.0.1:8900"
    people.create("127.0.0.1")


@pytest.fixture
def browser() -> Client:
    """A browser on this machine without a session."""
    return Client(**HERE)


def sign_in(browser: Client, name: str = "engineer", password: str = rehearsal.PASSWORD, **extra: Any) -> Any:
    """Send the form."""
    return browser.post("/accounts/login/", {"username": name, "password": password}, **extra)


class TestOnThisMachine:
    @pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:8000"])
    @pytest.mark.parametrize("name", people.SIGN_INS)
    def test_it_opens(self, name: str, host: str) -> None:
        browser = Client(HTTP_HOST=host)

        assert sign_in(browser, name).status_code == 302
        assert browser.get("/history/").status_code == 200

    def test_the_page_offers_the_people_of_the_demo(self, browser: Client) -> None:
        page = browser.get("/accounts/login/").content.decode()

        assert re.findall(r'name="username" value="(\w+)"', page) == list(people.SIGN_INS)
        assert browser.post("/accounts/login/", {"username": "lead", "password": rehearsal.PASSWORD}).status_code == 302

    def test_the_page_offers_nobody_whose_password_is_another(self, browser: Client) -> None:
        people.close()

        assert "demo" not in text_of(browser.get("/accounts/login/"))

    @pytest.mark.parametrize("headers", PROXIES)
    def test_the_page_offers_nobody_to_others(self, browser: Client, headers: dict[str, str]) -> None:
        page = browser.get("/accounts/login/", headers=headers).content.decode()

        assert f'value="{rehearsal.PASSWORD}"' not in page
        assert 'name="username" value=' not in page


class TestThroughAProxy:
    @pytest.mark.parametrize("headers", PROXIES, ids=str)
    @pytest.mark.parametrize("path", ["/accounts/login/", "/admin/login/"])
    def test_nobody_signs_in_with_it(self, browser: Client, headers: dict[str, str], path: str) -> None:
        browser.post(path, {"username": "admin", "password": rehearsal.PASSWORD}, headers=headers)

        assert "_auth_user_id" not in browser.session
        assert browser.get("/history/").status_code == 302

    @pytest.mark.parametrize("headers", PROXIES[:-2], ids=str)
    def test_a_session_of_the_demo_is_nobodys(self, browser: Client, headers: dict[str, str]) -> None:
        sign_in(browser)

        answer = browser.get("/history/", headers=headers)

        assert answer.status_code == 302
        assert answer["Location"].startswith("/accounts/login/")
        assert browser.get("/admin/", headers=headers).status_code == 302
        assert browser.get("/history/").status_code == 200, "at home it goes on"

    def test_a_request_of_another_machine_is_refused(self, browser: Client) -> None:
        assert sign_in(browser, REMOTE_ADDR="192.168.1.9").status_code == 200
        sign_in(browser)
        for address in ("192.168.1.9", "2001:db8::1", ""):
            assert browser.get("/history/", REMOTE_ADDR=address).status_code == 302
        assert browser.get("/history/", REMOTE_ADDR="::ffff:127.0.0.1").status_code == 200

    def test_the_form_says_why_and_what_to_do(self, browser: Client) -> None:
        pages = [text_of(sign_in(browser, name, headers={"Via": "1.1 proxy"})) for name in ("engineer", "nobody")]

        assert "the request came through a proxy" in pages[0]
        assert "manage.py changepassword NAME" in pages[0]
        assert pages[0] == pages[1], "it does not tell which accounts there are"

    def test_the_log_names_people_of_the_demo_only(self, browser: Client, caplog: pytest.LogCaptureFixture) -> None:
        for name in ("engineer", TYPED, ""):
            sign_in(browser, name, headers={"Via": "1.1 proxy"})

        refused = [each.getMessage() for each in caplog.records if each.name == "dashboard.access.known_password"]
        assert len(refused) == 2, "an empty name reaches no backend"
        assert "for engineer: the request came through a proxy" in refused[0]
        assert "for somebody who is not of the demo: " in refused[1]
        assert TYPED not in caplog.text

    def test_a_password_of_ones_own_makes_a_usual_account(self, browser: Client) -> None:
        engineer = User.objects.get(username="engineer")
        engineer.set_password(PASSWORD)
        engineer.save()

        assert sign_in(browser, password=PASSWORD, headers={"Via": "1.1 proxy"}).status_code == 302
        assert browser.get("/history/", headers={"Via": "1.1 proxy"}).status_code == 200


SERVED = {
    "HTTPS": {"SECURE": True},
    "host names": {"ALLOWED_HOSTS": ["127.0.0.1", "board.example.org"]},
    "origins": {"CSRF_TRUSTED_ORIGINS": ["https://board.example.org"]},
    "real Vertex AI": {"VERTEX_ENDPOINT": ""},
    "a private endpoint": {"VERTEX_ENDPOINT": "https://vertex.example.org"},
}


@pytest.mark.parametrize("changes", SERVED.values(), ids=SERVED)
class TestWhereOthersAreServed:
    def test_nobody_signs_in_with_it(self, browser: Client, settings: Any, changes: dict[str, Any]) -> None:
        for name, value in changes.items():
            setattr(settings, name, value)

        assert sign_in(browser).status_code == 200
        assert "_auth_user_id" not in browser.session

    def test_not_even_somebody_else_who_chose_it(self, browser: Client, settings: Any, changes: dict[str, Any]) -> None:
        User.objects.create_user("renamed", password=rehearsal.PASSWORD)
        for name, value in changes.items():
            setattr(settings, name, value)

        assert sign_in(browser, "renamed").status_code == 200

    def test_a_session_of_the_demo_is_nobodys(self, browser: Client, settings: Any, changes: dict[str, Any]) -> None:
        sign_in(browser)
        for name, value in changes.items():
            setattr(settings, name, value)

        assert browser.get("/history/").status_code == 302

    def test_people_of_the_team_notice_nothing(
        self, settings: Any, changes: dict[str, Any], signed_in: Callable[[User], Client]
    ) -> None:
        own = signed_in(User.objects.create_user("approver of ours", password=PASSWORD))
        for name, value in changes.items():
            setattr(settings, name, value)

        assert own.get("/history/", HTTP_HOST="127.0.0.1").status_code == 200


class TestChoosingAPassword:
    def test_the_known_one_cannot_be_chosen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("getpass.getpass", lambda prompt: rehearsal.PASSWORD)

        with pytest.raises(CommandError, match="Aborting password change"):
            call_command("changepassword", "engineer")
        with pytest.raises(ValidationError, match="which everybody knows"):
            validate_password(rehearsal.PASSWORD)


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="the system does not tell")  # noqa: PTH110
class TestOtherUsersOfTheMachine:
    @pytest.fixture
    def port(self) -> Iterator[int]:
        """A port that stands for the site's."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield server.getsockname()[1]

    @needs_root
    def test_cannot_sign_in_with_it(self, browser: Client, port: int) -> None:
        with users.connected(user=NOBODY, port=port):
            answer = sign_in(browser, SERVER_PORT=str(port))

        assert "another user of this machine is connected" in answer.content.decode()
        assert sign_in(browser, SERVER_PORT=str(port)).status_code == 302, "when they are gone, we can"

    def test_are_not_we(self, browser: Client, port: int) -> None:
        with users.connected(user=os.geteuid(), port=port):
            assert sign_in(browser, SERVER_PORT=str(port)).status_code == 302
