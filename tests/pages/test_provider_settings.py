"""Tests of a site without passwords, and of the settings of providers."""

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.sign_in_providers import check_ways, read_providers
from tests.conftest import PASSWORD
from tests.pages.conftest import text_of
from tests.pages.test_provider_accounts import CONFIRM, ada
from tests.pages.test_providers import is_signed_in, server, sign_in

__all__ = ["ada", "server"]
pytestmark = pytest.mark.django_db


class TestWithoutPasswords:
    @pytest.fixture(autouse=True)
    def _no_passwords(self, settings: Any) -> None:
        settings.PASSWORD_SIGN_IN = False

    def test_passwords_sign_nobody_in(self, owner: User, admin: User) -> None:
        page = Client().get("/accounts/login/").content.decode()

        assert "Sign in with Corp" in page
        assert 'name="password"' not in page
        for path, name in (("/accounts/login/", "owner"), ("/admin/login/", "admin")):
            client = Client()
            client.post(path, {"username": name, "password": PASSWORD})
            assert not is_signed_in(client)
        assert "Passwords are not used on this site" in text_of(Client().get("/accounts/password/"))

    def test_a_password_still_proves_whose_an_account_is(self, ada: User) -> None:
        client = Client()
        sign_in(client)

        assert client.post(CONFIRM, {"password": PASSWORD}).status_code == 302
        assert is_signed_in(client)

    def test_a_command_lets_an_admin_in_once(self, admin: User) -> None:
        out = StringIO()
        call_command("sign_in_link", "admin", stdout=out, stderr=StringIO())
        link = out.getvalue().strip()
        client = Client()

        assert "Sign in as admin" in text_of(client.get(link))
        assert not is_signed_in(client)
        assert client.post(link).status_code == 302
        assert client.session["_auth_user_id"] == str(admin.pk)
        assert Client().post(link).status_code == 410
        assert Client().get("/accounts/once/x:y:z/").status_code == 410

    def test_the_command_names_nobody_who_is_not_there(self) -> None:
        with pytest.raises(CommandError, match="no active account"):
            call_command("sign_in_link", "nobody")


class TestSettings:
    def read(self, *keys: str, **values: str) -> Any:
        return read_providers(keys, lambda name, default: values.get(name.removeprefix("TRAINBOARD_OIDC_"), default))

    def test_google_needs_an_id_and_a_secret_alone(self) -> None:
        (google,) = self.read("google", GOOGLE_CLIENT_ID="a", GOOGLE_CLIENT_SECRET="hidden")

        assert (google.name, google.issuer, google.scopes) == (
            "Google",
            "https://accounts.google.com",
            "openid email profile",
        )
        assert "hidden" not in repr(google)

    def test_several_have_their_own(self) -> None:
        corp, sso = self.read(
            "corp", "sso-2",
            CORP_ISSUER="https://id.example.com/realms/x/.well-known/openid-configuration", CORP_NAME="Example",
            CORP_CLIENT_ID="a", CORP_CLIENT_SECRET="b", CORP_SCOPES="email,groups", CORP_GROUPS_CLAIM="roles",
            CORP_DOMAINS="Example.com, example.org", CORP_TRUSTED_DOMAINS="example.com",
            SSO_2_ISSUER="https://sso.example.com/", SSO_2_CLIENT_ID="c", SSO_2_CLIENT_SECRET="d",
        )  # fmt: skip

        assert (corp.issuer, corp.scopes, corp.groups_claim) == (
            "https://id.example.com/realms/x", "openid email groups", "roles"
        )  # fmt: skip
        assert (corp.domains, corp.trusted_domains) == ({"example.com", "example.org"}, {"example.com"})
        assert (sso.name, sso.issuer, sso.domains) == ("Sso 2", "https://sso.example.com", frozenset())

    @pytest.mark.parametrize(
        ("keys", "change", "words"),
        [
            (["corp"], {"CORP_ISSUER": "http://id.example.com"}, "https"),
            (["corp"], {"CORP_ISSUER": ""}, "https"),
            (["corp"], {"CORP_CLIENT_SECRET": ""}, "CLIENT_SECRET"),
            (["Corp"], {}, "key"),
            (["corp", "corp"], {}, "same key"),
        ],
    )
    def test_a_bad_one_stops_the_start(self, keys: list[str], change: dict[str, str], words: str) -> None:
        good = {"CORP_ISSUER": "https://id.example.com", "CORP_CLIENT_ID": "a", "CORP_CLIENT_SECRET": "b"}

        with pytest.raises(ImproperlyConfigured, match=words):
            self.read(*keys, **good | change)

    def test_somebody_has_to_be_able_to_sign_in(self) -> None:
        with pytest.raises(ImproperlyConfigured, match="PASSWORD_SIGN_IN"):
            check_ways((), has_passwords=False, has_proxy=False)
        with pytest.raises(ImproperlyConfigured, match="IAP"):
            check_ways(
                self.read("google", GOOGLE_CLIENT_ID="a", GOOGLE_CLIENT_SECRET="b"), has_passwords=True, has_proxy=True
            )
