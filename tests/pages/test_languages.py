"""Pages in the language of whoever reads them."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.pages.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def choose(client: Client, language: str) -> int:
    form = {"first_name": "", "last_name": "", "time_zone": "", "language": language}
    return client.post("/account/", form).status_code


def language_of(client: Client, **headers: str) -> str | None:
    answer = client.get("/account/", headers=headers)
    assert f'<html lang="{answer["Content-Language"]}"' in answer.content.decode()
    return answer["Content-Language"]


class TestWhichLanguage:
    def test_is_what_the_browser_asks_for(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert language_of(client) == "en"
        assert language_of(client, **{"accept-language": "pt-BR,pt;q=0.9,en;q=0.8"}) == "pt"
        assert language_of(client, **{"accept-language": "de,fr;q=0.9"}) == "en"

    def test_is_what_the_person_has_chosen_in_every_browser(
        self, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        assert choose(signed_in(owner), "es") == 302

        assert language_of(signed_in(owner), **{"accept-language": "pt"}) == "es"
        assert language_of(signed_in(teammate)) == "en"

    def test_unknown_ones_are_refused(self, owner: User, signed_in: SignIn) -> None:
        assert choose(signed_in(owner), "tlh") == 422

    def test_of_a_page_before_sign_in(self, client: Client) -> None:
        assert client.get("/accounts/login/", headers={"accept-language": "id"})["Content-Language"] == "id"
