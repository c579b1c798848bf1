"""Tests of the page of API tokens: create, show once, revoke; nobody sees another user's tokens."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.clock import database_now
from jobs.errors import NotPermitted
from jobs.models import ApiToken
from jobs.requests.api_tokens import MAX_ENDED, MAX_TOKENS, create_token
from tests.domain.test_concurrency import together
from tests.pages.conftest import SignIn, text_of
from tests.support.api import Caller, token_of
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases

PAGE = "/account/tokens/"
FORM = {"name": "CI", "scopes": ["read", "submit"], "days": "30"}


def test_a_token_is_shown_once_and_kept_as_a_digest(owner: User, signed_in: SignIn, clock: Clock) -> None:
    browser = signed_in(owner)

    page = browser.post(PAGE, FORM)

    text = re.search(r'id="token">(tb_[\w-]+)<', page.content.decode())
    assert text is not None
    assert text[1] not in browser.get(PAGE).content.decode()
    (token,) = ApiToken.objects.all()
    assert text[1] not in str(ApiToken.objects.values())
    assert (token.scopes, token.expires_at) == (["read", "submit"], clock.now + timedelta(days=30))
    assert Caller(text[1]).get("/me").json()["token"] == "CI"
    assert "just now" in text_of(browser.get(PAGE)) or "ago" in text_of(browser.get(PAGE))


def test_the_address_beside_a_token_is_one_that_paths_can_be_added_to(owner: User, signed_in: SignIn) -> None:
    page = signed_in(owner).post(PAGE, FORM).content.decode()

    address = re.search(r"export TRAINBOARD_URL=(\S+)", page)
    assert address is not None
    assert address[1] == "http://testserver"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "x" * 81}, "at most 80"),
        ({"scopes": []}, "This field is required"),
        ({"scopes": ["everything"]}, "not one of the available choices"),
        ({"days": "9999"}, "not one of the available choices"),
    ],
)
def test_bad_input_is_named_and_nothing_typed_is_lost(
    owner: User, signed_in: SignIn, changes: dict[str, Any], words: str
) -> None:
    page = signed_in(owner).post(PAGE, FORM | changes)

    assert page.status_code == 422
    assert words in text_of(page)
    assert (changes.get("name", "CI") or "30 days") in page.content.decode()
    assert not ApiToken.objects.exists()


def test_a_revoked_token_opens_nothing(owner: User, signed_in: SignIn) -> None:
    api = Caller(token_of(owner))
    browser = signed_in(owner)

    answer = browser.post(f"{PAGE}{ApiToken.objects.get().pk}/revoke/", follow=True)

    assert "Revoked the token test" in text_of(answer)
    assert "revoked" in text_of(answer)
    assert api.get("/me").status_code == 401


def test_nobody_sees_or_revokes_anothers(owner: User, teammate: User, admin: User, signed_in: SignIn) -> None:
    token_of(owner)
    token = ApiToken.objects.get()

    for other in (teammate, admin):
        assert token.hint not in signed_in(other).get(PAGE).content.decode()
        assert signed_in(other).post(f"{PAGE}{token.pk}/revoke/").status_code == 404
    assert signed_in(owner).post(f"{PAGE}x/revoke/").status_code == 404
    assert ApiToken.objects.get().revoked_at is None


def test_a_person_has_a_bounded_number(owner: User, signed_in: SignIn, clock: Clock) -> None:
    for _ in range(MAX_TOKENS):
        token_of(owner)

    assert f"You have {MAX_TOKENS} valid tokens" in text_of(signed_in(owner).post(PAGE, FORM))
    with pytest.raises(NotPermitted):
        token_of(owner)
    clock.forward(days=8)
    for _ in range(MAX_TOKENS):
        token_of(owner)
    clock.forward(days=8)
    token_of(owner)

    assert ApiToken.objects.count() == MAX_ENDED + 1


@pytest.mark.django_db(transaction=True)
def test_the_number_holds_also_for_tokens_that_are_made_at_once(owner: User) -> None:
    for _ in range(MAX_TOKENS - 1):
        token_of(owner)

    def make(_: int) -> bool:
        try:
            create_token(owner, name="x", scopes=["read"], lifetime=timedelta(days=1), now=database_now())
        except NotPermitted:
            return False
        return True

    assert together(make).count(True) == 1


def test_the_page_about_the_api_names_every_operation_and_loads_nothing_from_elsewhere(
    owner: User, signed_in: SignIn
) -> None:
    page = signed_in(owner).get("/api/").content.decode()

    for words in ("/api/v1/jobs/{job_id}/events", "Idempotency-Key", "expected_seconds", "problem-key-reused"):
        assert words in page
    assert re.findall(r'(?:src|href)="(?!/|#)', page) == []
    assert signed_in(owner).get("/api/v1/openapi.json").json()["openapi"].startswith("3.")
