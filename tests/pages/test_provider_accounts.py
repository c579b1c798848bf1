"""Tests of sign-in at a provider: accounts, take-overs, teams from groups, and links."""

from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from dashboard.access.openid_claims import read_claims
from dashboard.sign_in_providers import read_providers
from jobs.models import Identity, Membership, Profile, Role, SignInRule, Team
from tests.conftest import PASSWORD, person
from tests.pages.conftest import SignIn, text_of
from tests.pages.test_providers import is_signed_in, server, sign_in
from tests.support.clock import Clock
from tests.support.openid import OpenIdServer, openid_server

__all__ = ["server"]
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
CONFIRM = "/accounts/confirm/"


@pytest.fixture
def ada() -> User:
    """An account with a password and the address that the provider returns."""
    return User.objects.create_user("ada", email="Ada@Example.com", password=PASSWORD)


class TestWhoIsAdmitted:
    def test_the_subject_counts_and_not_the_address(self, server: OpenIdServer) -> None:
        sign_in(Client())
        server.person["email"] = "ada@elsewhere.example"

        assert sign_in(Client()).status_code == 302
        assert User.objects.count() == 1
        server.person = {"sub": "eve", "email": "ada@example.com", "email_verified": True}
        answer = sign_in(Client())
        assert answer.status_code == 403
        assert "another way to sign in" in text_of(answer)

    @pytest.mark.parametrize("verified", [False, None, "yes", 1, "false"])
    def test_an_address_that_is_not_verified_is_none(self, server: OpenIdServer, ada: User, verified: Any) -> None:
        server.claims["email_verified"] = verified
        client = Client()

        answer = sign_in(client)

        assert answer.status_code == 403
        assert "no e-mail address that it has verified" in text_of(answer)
        assert not is_signed_in(client)
        assert not Identity.objects.exists()

    @pytest.mark.parametrize(
        ("claims", "domains", "counts"),
        [
            ({}, "", False),
            ({"xms_edov": True}, "", True),
            ({"xms_edov": "1"}, "", True),
            ({"xms_edov": 1}, "", True),
            ({"xms_edov": False}, "example.com", False),
            ({"xms_edov": ["true"]}, "*", False),
            ({"email_verified": False, "xms_edov": True}, "*", False),
            ({}, "example.com", True),
            ({}, "elsewhere.example", False),
            ({}, "*", True),
        ],
    )
    def test_an_address_of_entra_counts_where_its_domain_is_verified(
        self, claims: dict[str, Any], domains: str, counts: bool
    ) -> None:
        signed = {"sub": "1", "email": "ada@Example.com", "preferred_username": "ada@example.com"} | claims

        for issuer in ("https://login.microsoftonline.com/8eaef023/v2.0", "https://id.example.com"):
            values = {"ISSUER": issuer, "CLIENT_ID": "a", "CLIENT_SECRET": "b", "VERIFIED_DOMAINS": domains}
            (corp,) = read_providers(
                ["corp"], lambda name, default, v=values: v.get(name.rpartition("CORP_")[2], default)
            )
            is_entra = "microsoft" in issuer
            expected = counts if is_entra or "xms_edov" not in claims or "email_verified" in claims else bool(domains)
            assert bool(read_claims(corp, signed).email) == expected, issuer

    def test_a_known_person_needs_no_address(self, server: OpenIdServer) -> None:
        sign_in(Client())
        server.person = {"sub": "ada-1"}

        assert sign_in(Client()).status_code == 302

    def test_the_user_info_endpoint_completes_the_token(self, server: OpenIdServer, team: Team) -> None:
        SignInRule.objects.create(source="group", value="ml", team=team, role="engineer")
        server.person = {"sub": "ada-1"}
        server.told = {"email": "ada@example.com", "email_verified": True, "groups": ["ml"]}

        assert sign_in(Client()).status_code == 302
        assert Membership.objects.get().role == "engineer"

    def test_only_named_people_get_an_account(self, server: OpenIdServer, settings: Any, team: Team) -> None:
        settings.SIGN_IN_PROVIDERS = (server.provider(domains=frozenset({"other.example"})),)

        answer = sign_in(Client())

        assert answer.status_code == 403
        assert "There is no account for ada@example.com" in text_of(answer)
        assert not User.objects.exists()
        SignInRule.objects.create(source="domain", value="example.com", team=team, role="viewer")
        assert sign_in(Client()).status_code == 302

    def test_an_invited_person_gets_one_and_joins(
        self, server: OpenIdServer, settings: Any, team: Team, clock: Clock
    ) -> None:
        from jobs.people import invitations

        settings.SIGN_IN_PROVIDERS = (server.provider(domains=frozenset()),)
        settings.PASSWORD_SIGN_IN = False
        _, secret = invitations.invite(
            team, "Ada@example.com", "engineer", by=person("lead", team, Role.LEAD), now=clock.now
        )
        client, link = Client(), f"/invitations/{secret}/"
        page = client.get(link).content.decode()

        assert "Sign in with Corp" in page
        assert 'name="password1"' not in page
        client.post(link, {"username": "x", "password1": "a long one 7", "password2": "a long one 7"})
        assert not User.objects.filter(username="x").exists()
        assert sign_in(client, f"/accounts/providers/corp/?next={link}")["Location"] == link
        assert client.post(link).status_code == 302
        assert Membership.objects.get(user__username="ada@example.com").role == "engineer"

    def test_a_closed_account_is_refused(self, ada: User) -> None:
        User.objects.update(is_active=False)
        answer = sign_in(Client())

        assert answer.status_code == 403
        assert "deactivated" in text_of(answer)
        assert not Identity.objects.exists()

    def test_a_closed_account_that_was_linked_is_refused(self) -> None:
        client = Client()
        sign_in(client)
        User.objects.update(is_active=False)

        assert client.get("/").status_code == 302
        assert sign_in(Client()).status_code == 403

    def test_google_answers_only_for_its_own_addresses(self, settings: Any) -> None:
        (google,) = read_providers(["google"], lambda name, default: default or "x")
        settings.SIGN_IN_PROVIDERS = (google,)
        known = {"sub": "1", "email_verified": True}

        assert read_claims(google, known | {"email": "ada@example.com"}).email == ""
        assert read_claims(google, known | {"email": "ada@gmail.com"}).email == "ada@gmail.com"
        of_workspace = read_claims(google, known | {"email": "ada@example.com", "hd": "example.org"})
        assert (of_workspace.email, of_workspace.domain) == ("ada@example.com", "example.org")


class TestTakeOver:
    def test_the_account_asks_for_its_password_once(self, ada: User) -> None:
        client = Client()

        answer = sign_in(client, "/accounts/providers/corp/?next=/history/")

        assert answer["Location"] == CONFIRM
        assert not is_signed_in(client)
        assert client.get("/").status_code == 302
        page = text_of(client.get(CONFIRM))
        assert "ada@example.com" in page
        wrong = client.post(CONFIRM, {"password": "wrong"})
        assert wrong.status_code == 422
        assert "not the password of the account" in text_of(wrong)
        assert not Identity.objects.exists()
        before = client.session.session_key
        assert client.post(CONFIRM, {"password": PASSWORD})["Location"] == "/history/"
        assert client.session.session_key != before
        assert client.session["_auth_user_id"] == str(ada.pk)
        assert Identity.objects.get().user == ada
        again = Client()
        assert sign_in(again).status_code == 302
        assert is_signed_in(again)

    def test_guessing_the_password_is_limited(self, ada: User, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
        monkeypatch.setattr("axes.handlers.proxy.now", lambda: clock.now)
        client = Client()
        sign_in(client)

        answers = [client.post(CONFIRM, {"password": f"guess {number}"}).status_code for number in range(6)]

        assert answers == [422, 422, 422, 422, 429, 429]
        assert client.post(CONFIRM, {"password": PASSWORD}).status_code == 429

    def test_it_waits_for_ten_minutes_and_in_one_browser(self, ada: User, clock: Clock) -> None:
        client = Client()
        sign_in(client)

        assert Client().post(CONFIRM, {"password": PASSWORD}).status_code == 410
        clock.forward(minutes=11)
        assert client.post(CONFIRM, {"password": PASSWORD}).status_code == 410
        assert not Identity.objects.exists()

    def test_the_password_of_somebody_else_links_nothing(self, ada: User, owner: User) -> None:
        client = Client()
        sign_in(client)
        client.force_login(owner)

        assert client.post(CONFIRM, {"password": PASSWORD}).status_code == 410
        assert not Identity.objects.exists()

    @pytest.mark.parametrize("change", [{"is_superuser": True}, {"is_staff": True}])
    def test_an_admin_without_a_password_is_not_taken_over(
        self, server: OpenIdServer, settings: Any, change: dict[str, Any]
    ) -> None:
        settings.SIGN_IN_PROVIDERS = (server.provider(trusted_domains=frozenset({"example.com"})),)
        user = User.objects.create_user("ada", email="ada@example.com", **change)

        assert sign_in(Client()).status_code == 403
        Profile.objects.create(user=user, links_next_sign_in=True)
        assert sign_in(Client()).status_code == 302

    def test_a_trusted_domain_asks_for_no_password(self, server: OpenIdServer, settings: Any, ada: User) -> None:
        settings.SIGN_IN_PROVIDERS = (server.provider(trusted_domains=frozenset({"example.com"})),)

        assert sign_in(Client()).status_code == 302
        assert Identity.objects.get().user == ada

    def test_a_trusted_domain_is_that_of_the_address(self, server: OpenIdServer, settings: Any, ada: User) -> None:
        settings.SIGN_IN_PROVIDERS = (server.provider(trusted_domains=frozenset({"ample.com", "com"})),)

        assert sign_in(Client())["Location"] == CONFIRM


class TestTeams:
    @pytest.fixture(autouse=True)
    def _rules(self, team: Team, other_team: Team, server: OpenIdServer) -> None:
        SignInRule.objects.create(source="domain", value="example.com", team=team, role="viewer")
        SignInRule.objects.create(source="group", value="ml", team=team, role="approver")
        SignInRule.objects.create(source="group", value="speech", team=other_team, role="engineer")
        server.person["groups"] = ["ml", "speech", 7]

    def roles(self) -> dict[str, str]:
        return dict(Membership.objects.values_list("team__name", "role"))

    def test_rules_count_at_the_first_sign_in(self, server: OpenIdServer) -> None:
        sign_in(Client())

        assert self.roles() == {"vision": "approver", "speech": "engineer"}
        Membership.objects.filter(team__name="speech").delete()
        sign_in(Client())
        assert self.roles() == {"vision": "approver"}

    def test_a_role_goes_with_its_group(self, server: OpenIdServer) -> None:
        client = Client()
        sign_in(client)
        server.person["groups"] = []

        sign_in(Client())

        assert self.roles() == {"vision": "viewer"}
        entry = LogEntry.objects.filter(content_type__model="membership", action=2).get()
        assert (entry.actor.username, entry.remote_addr) == ("ada@example.com", "127.0.0.1")

    def test_no_group_at_all_counts_as_none(self, server: OpenIdServer) -> None:
        sign_in(Client())
        del server.person["groups"]

        sign_in(Client())

        assert self.roles() == {"vision": "viewer"}

    def test_groups_that_do_not_fit_into_the_token_are_not_gone(self, server: OpenIdServer) -> None:
        sign_in(Client())
        del server.person["groups"]
        server.person["_claim_names"] = {"groups": "src1"}

        sign_in(Client())

        assert self.roles() == {"vision": "approver", "speech": "engineer"}

    def test_a_role_that_a_lead_has_set_stays(self, server: OpenIdServer, other_team: Team) -> None:
        from jobs.people.members import set_role

        sign_in(Client())
        member = Membership.objects.get(team=other_team)
        set_role(other_team, member.pk, "viewer", by=person("lead", other_team, Role.LEAD))
        server.person["groups"] = ["ml"]

        sign_in(Client())

        assert Membership.objects.get(pk=member.pk).role == "viewer"

    def test_a_group_of_another_provider_takes_nothing_away(self, server: OpenIdServer, settings: Any) -> None:
        sign_in(Client())
        with openid_server() as other:
            settings.SIGN_IN_PROVIDERS = (server.provider(), other.provider(key="other", name="Other"))
            other.person = {"sub": "77"}
            client = Client()
            sign_in(client)
            sign_in(client, "/accounts/providers/other/")
            client.post(CONFIRM)
            assert sign_in(Client(), "/accounts/providers/other/").status_code == 302

        assert self.roles() == {"vision": "approver", "speech": "engineer"}


class TestLinks:
    def test_whoever_is_signed_in_links_after_a_question(
        self, server: OpenIdServer, owner: User, signed_in: SignIn
    ) -> None:
        server.person["email_verified"] = False
        client = signed_in(owner)

        assert sign_in(client)["Location"] == CONFIRM
        assert "signs you in as owner" in text_of(client.get(CONFIRM))
        assert not Identity.objects.exists()
        assert client.post(CONFIRM)["Location"] == "/account/"
        assert "Corp" in text_of(client.get("/account/"))
        assert Identity.objects.get().user == owner
        other = Client()
        sign_in(other)
        assert other.session["_auth_user_id"] == str(owner.pk)

    def test_a_person_of_the_provider_has_one_account(self, owner: User, approver: User, signed_in: SignIn) -> None:
        for user, status in ((owner, 302), (approver, 409)):
            client = signed_in(user)
            sign_in(client)
            assert client.post(CONFIRM).status_code == status
        assert sign_in(signed_in(owner))["Location"] == "/", "signs in again, and links nothing"
        assert Identity.objects.get().user == owner

    def test_it_is_removed_while_another_way_remains(
        self, server: OpenIdServer, settings: Any, owner: User, stranger: User, signed_in: SignIn, other_team: Team
    ) -> None:
        SignInRule.objects.create(source="group", value="speech", team=other_team, role="lead")
        server.person["groups"] = ["speech"]
        client = signed_in(owner)
        sign_in(client)
        client.post(CONFIRM)
        key = {"link": Identity.objects.get().pk}
        assert Membership.objects.filter(team=other_team, user=owner).exists()

        signed_in(stranger).post("/account/providers/remove/", key)
        assert Identity.objects.exists()
        settings.PASSWORD_SIGN_IN = False
        assert "only way to sign in" in text_of(client.post("/account/providers/remove/", key, follow=True))
        assert Identity.objects.exists()
        settings.PASSWORD_SIGN_IN = True
        client.post("/account/providers/remove/", key)
        assert not Identity.objects.exists()
        assert not Membership.objects.filter(team=other_team, user=owner).exists()

    def test_links_and_sign_ins_are_in_the_audit_log(self, admin: User, signed_in: SignIn, clock: Clock) -> None:
        sign_in(Client())
        clock.forward(minutes=1)
        sign_in(Client(), "/accounts/providers/corp/")

        page = text_of(signed_in(admin).get("/audit/?kind=identity"))

        assert "signed in at" in page
        entries = LogEntry.objects.filter(content_type__model="identity")
        assert [entry.action for entry in entries.order_by("pk")] == [0, 1, 1]
        assert {entry.remote_addr for entry in entries} == {"127.0.0.1"}
        assert {entry.actor.username for entry in entries if entry.action == 1} == {"ada@example.com"}
