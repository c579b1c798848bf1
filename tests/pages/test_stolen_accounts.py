"""Tests of what must end, and what must be asked again, when an account may be in the wrong hands."""

import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from jobs.errors import NotPermitted
from jobs.models import ApiToken, Deputy, Identity, Membership, Role, Team
from jobs.people import invitations
from jobs.people.accounts import change_account
from jobs.people.identities import Claims
from jobs.requests.api_tokens import authenticate_token, create_token, revoke_token_of_other
from tests.conftest import PASSWORD, person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.pages.test_providers import is_signed_in, server, sign_in
from tests.support.clock import Clock
from tests.support.openid import OpenIdServer

__all__ = ["server"]
pytestmark = pytest.mark.django_db
NEW = "quite another one 9"


@pytest.fixture(autouse=True)
def _axes_reads_the_tests_clock(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr("axes.handlers.proxy.now", lambda: clock.now)


def token_of(user: User, clock: Clock) -> str:
    made = create_token(user, name="ci", scopes=["read"], lifetime=timedelta(days=30), now=clock.now)
    return made[1]


def attempt(name: str, password: str = PASSWORD, *, address: str = "203.0.113.7") -> Client:
    client = Client(REMOTE_ADDR=address)
    client.post("/accounts/login/", {"username": name, "password": password})
    return client


class TestPreparedAccounts:
    """Somebody prepares an account for a person who will sign in at a provider later."""

    def test_a_chosen_name_is_no_address(self, team: Team, clock: Clock) -> None:
        lead = person("lead", team, Role.LEAD)
        _, secret = invitations.invite(team, "mallory@example.com", "engineer", by=lead, now=clock.now)

        answer = Client().post(
            f"/invitations/{secret}/", {"username": "ada@example.com", "password1": NEW, "password2": NEW}
        )

        assert answer.status_code == 422
        assert "contains no @" in text_of(answer)
        assert not User.objects.filter(username="ada@example.com").exists()

    def test_an_account_with_somebodys_address_as_name_stays_its_owners(
        self, server: OpenIdServer, settings: Any
    ) -> None:
        settings.SIGN_IN_PROVIDERS = (server.provider(trusted_domains=frozenset({"example.com"})),)
        mallory = User.objects.create_user("Ada@example.com", email="mallory@example.com", password=PASSWORD)

        assert sign_in(Client()).status_code == 302

        ada = Identity.objects.get().user
        assert ada != mallory
        assert (ada.username, ada.email) == ("ada@example.com-2", "ada@example.com")

    @pytest.mark.parametrize("email", ["ada@example.com", ""])
    def test_a_takeover_ends_what_was_prepared(
        self, server: OpenIdServer, settings: Any, clock: Clock, email: str
    ) -> None:
        settings.SIGN_IN_PROVIDERS = (server.provider(trusted_domains=frozenset({"example.com"})),)
        prepared = User.objects.create_user("ada@example.com", email=email, password=PASSWORD)
        old, token = attempt("ada@example.com"), token_of(prepared, clock)
        assert is_signed_in(old)

        assert sign_in(Client()).status_code == 302

        prepared.refresh_from_db()
        assert Identity.objects.get().user == prepared
        assert prepared.email == "ada@example.com"
        assert old.get("/").status_code == 302
        assert not is_signed_in(attempt("ada@example.com"))
        assert authenticate_token(token, now=clock.now) is None


class TestTokensAndSessionsEnd:
    def test_with_the_password(self, owner: User, signed_in: SignIn, clock: Clock) -> None:
        token = token_of(owner, clock)
        client = signed_in(owner)

        client.post("/account/password/", {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW})

        assert authenticate_token(token, now=clock.now) is None
        revoked = LogEntry.objects.filter(content_type__model="apitoken", action=LogEntry.Action.UPDATE).get()
        assert revoked.actor == owner

    def test_with_a_password_that_a_command_sets(self, owner: User, clock: Clock) -> None:
        token = token_of(owner, clock)

        owner.set_password(NEW)
        owner.save()

        assert authenticate_token(token, now=clock.now) is None

    def test_not_when_a_sign_in_renews_the_hash(self, owner: User, settings: Any, clock: Clock) -> None:
        token = token_of(owner, clock)
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]

        attempt("owner")

        assert User.objects.get(pk=owner.pk).password.startswith("pbkdf2_sha256$")
        assert authenticate_token(token, now=clock.now) is not None

    def test_with_the_account_and_do_not_come_back(self, owner: User, admin: User, clock: Clock) -> None:
        token, old = token_of(owner, clock), attempt("owner")
        assert is_signed_in(old)

        change_account(owner.pk, "deactivate", by=admin)
        change_account(owner.pk, "activate", by=admin)

        assert old.get("/").status_code == 302
        assert authenticate_token(token, now=clock.now) is None


class TestSessionAge:
    def test_an_idle_session_ends(self, owner: User, clock: Clock, settings: Any) -> None:
        client = attempt("owner")
        clock.forward(hours=settings.SESSION_IDLE.total_seconds() / 3600 - 1)
        assert client.get("/").status_code == 200
        clock.forward(hours=2)
        assert client.get("/").status_code == 200, "it was used an hour before"

        clock.forward(seconds=settings.SESSION_IDLE.total_seconds() + 1)

        assert client.get("/").status_code == 302
        assert not is_signed_in(client)

    def test_an_idle_session_behind_the_proxy_is_not_signed_out(
        self, owner: User, clock: Clock, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.IAP_AUDIENCE = "/projects/1/apps/x"
        claims = Claims(provider="iap", subject="1", email="owner@example.com")
        Identity.objects.create(provider="iap", subject="1", user=owner, created_at=clock.now)
        monkeypatch.setattr("dashboard.access.iap.verify", lambda _token: claims)
        client = Client()
        assert client.get("/").status_code == 200
        clock.forward(seconds=settings.SESSION_IDLE.total_seconds() + 1)

        assert client.get("/").status_code == 200
        clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
        form = {"name": "ci", "scopes": ["read"], "days": "30"}
        assert "tb_" in client.post("/account/tokens/", form).content.decode(), "the proxy asks, Trainboard does not"


class TestConfirmation:
    @pytest.fixture
    def old_session(self, owner: User, clock: Clock, settings: Any) -> Client:
        client = attempt("owner")
        clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
        return client

    FORM = {"name": "ci “a” <b>", "scopes": ["read", "submit"], "days": "30"}

    def test_a_token_needs_the_password_again_and_nothing_typed_is_lost(self, old_session: Client) -> None:
        page = old_session.post("/account/tokens/", self.FORM)

        assert "Confirm that it is you" in text_of(page)
        assert not ApiToken.objects.exists()
        html = page.content.decode()
        assert html.count('name="scopes"') == 2
        assert 'value="ci “a” &lt;b&gt;"' in html

        wrong = old_session.post("/account/tokens/", self.FORM | {"confirm_password": "wrong"})
        assert wrong.status_code == 422
        assert "not the password of your account" in text_of(wrong)
        assert not ApiToken.objects.exists()

        assert old_session.post("/account/tokens/", self.FORM | {"confirm_password": PASSWORD}).status_code == 200
        assert ApiToken.objects.get().scopes == ["read", "submit"]
        assert old_session.post("/account/tokens/", self.FORM).status_code == 200
        assert ApiToken.objects.count() == 2, "confirmed for a while"

    def test_a_time_in_the_future_confirms_nothing(self, owner: User, clock: Clock) -> None:
        client = attempt("owner")
        clock.forward(minutes=-10)

        assert "Confirm that it is you" in text_of(client.post("/account/tokens/", self.FORM))

    def test_linking_a_provider(self, server: OpenIdServer, old_session: Client) -> None:
        assert sign_in(old_session)["Location"] == "/accounts/confirm/"

        assert "Confirm that it is you" in text_of(old_session.post("/accounts/confirm/"))
        assert not Identity.objects.exists()
        assert old_session.post("/accounts/confirm/", {"confirm_password": PASSWORD}).status_code == 302
        assert Identity.objects.exists()

    def test_guesses_are_limited_as_at_the_sign_in(self, old_session: Client) -> None:
        answers = [
            old_session.post("/account/tokens/", self.FORM | {"confirm_password": f"guess {n}"}).status_code
            for n in range(6)
        ]

        assert answers[-1] == 429
        assert old_session.post("/account/tokens/", self.FORM | {"confirm_password": PASSWORD}).status_code == 429
        assert not ApiToken.objects.exists()

    def test_the_password_of_another_account_confirms_nothing(self, old_session: Client, admin: User) -> None:
        admin.set_password(NEW)
        admin.save()

        answer = old_session.post("/account/tokens/", self.FORM | {"confirm_password": NEW, "username": "admin"})

        assert answer.status_code == 422
        assert not ApiToken.objects.exists()

    def test_a_deputy_and_an_invited_account(self, team: Team, clock: Clock, settings: Any) -> None:
        chief, friend = person("chief", team, Role.LEAD), person("friend", team, Role.APPROVER)
        member = Membership.objects.get(user=friend)
        day = clock.now.date().isoformat()
        named = {"deputy_name": "friend", "first_day": day, "last_day": day}
        client = attempt(chief.username)
        clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)

        asked = client.post(f"/teams/{team.pk}/members/", {"do": "confirm", "member": member.pk})
        assert "Confirm that it is you" in text_of(asked)
        assert "Confirm that it is you" in text_of(client.post("/deputies/", named))
        assert not Deputy.objects.exists()
        assert client.post("/deputies/", named | {"confirm_password": PASSWORD}).status_code == 302
        assert Deputy.objects.get().deputy == friend

    @pytest.mark.parametrize("do", ["make_admin", "password", "link", "activate"])
    def test_changes_of_accounts(self, admin: User, owner: User, clock: Clock, settings: Any, do: str) -> None:
        client = attempt("admin")
        clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)

        answer = client.post(reverse("person-change", args=[owner.pk]), {"do": do})

        assert "Confirm that it is you" in text_of(answer)
        assert not User.objects.get(pk=owner.pk).is_superuser
        locking = client.post(reverse("person-change", args=[owner.pk]), {"do": "deactivate"})
        assert locking.status_code == 302, "an alarm is not delayed"

    @pytest.mark.parametrize(("limit", "asks"), [(0, True), (10**9, False)])
    def test_an_approval_above_the_limit(
        self, make_job: MakeJob, approver: User, clock: Clock, settings: Any, limit: int, asks: bool
    ) -> None:
        settings.CONFIRM_ABOVE_USD = limit
        client = attempt("approver")
        clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
        job = make_job("awaiting_approval")
        form = {"decision": "approve", "digest": job.approval.digest, "comment": ""}

        answers = [
            client.post(f"/jobs/{job.pk}/decide/", form),
            client.post("/jobs/several/", {"action": "approve", "job": str(job.pk)}),
        ]

        job.refresh_from_db()
        assert [answer.status_code == 200 for answer in answers] == [asks, asks]
        assert (job.state == "awaiting_approval") is asks

    def test_a_stranger_learns_nothing_about_the_cost(
        self, make_job: MakeJob, stranger: User, clock: Clock, settings: Any
    ) -> None:
        settings.CONFIRM_ABOVE_USD = 0
        client = attempt("stranger")
        clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
        job = make_job("awaiting_approval")

        for decision in ("approve", "as:spot", "as:nonsense"):
            assert client.post(f"/jobs/{job.pk}/decide/", {"decision": decision}).status_code == 404

    def test_a_person_of_a_provider_signs_in_there_again(
        self, server: OpenIdServer, clock: Clock, settings: Any
    ) -> None:
        client = Client()
        sign_in(client)
        clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
        page = text_of(client.post("/account/tokens/", self.FORM))
        assert "Sign in with Corp" in page
        assert "Password" not in page

        again = sign_in(client, "/accounts/providers/corp/?next=/account/tokens/")

        assert again["Location"] == "/account/tokens/"
        assert client.post("/account/tokens/", self.FORM).status_code == 200
        assert ApiToken.objects.count() == 1


class TestOffice:
    """Many people behind one address."""

    def test_stays_usable_while_somebody_tries_names(self, owner: User, teammate: User) -> None:
        assert is_signed_in(attempt("owner"))
        for number in range(60):
            attempt(f"guess-{number}", "wrong")

        assert is_signed_in(attempt("owner"))
        assert not is_signed_in(attempt("teammate")), "nobody knows whether this person works here"
        assert is_signed_in(attempt("teammate", address="198.51.100.4"))

    def test_failures_at_a_provider_and_with_passwords_are_counted_apart(
        self, server: OpenIdServer, teammate: User
    ) -> None:
        for number in range(60):
            client = Client(REMOTE_ADDR="203.0.113.7")
            client.get("/accounts/providers/corp/")
            client.get(f"/accounts/providers/corp/callback/?code={number}&state=guessed")

        assert is_signed_in(attempt("teammate"))
        assert Client(REMOTE_ADDR="203.0.113.7").get("/accounts/providers/corp/callback/?code=1").status_code == 429

    def test_guessed_names_lock_nobody_out_of_a_provider(self, server: OpenIdServer) -> None:
        for number in range(60):
            attempt(f"guess-{number}", "wrong", address="127.0.0.1")

        assert sign_in(Client()).status_code == 302

    def test_a_sign_in_elsewhere_does_not_count(self, owner: User) -> None:
        assert is_signed_in(attempt("owner", address="198.51.100.4"))
        for number in range(60):
            attempt(f"guess-{number}", "wrong")

        assert not is_signed_in(attempt("owner"))

    def test_a_person_who_works_there_is_guessed_no_more_often_than_others(self, owner: User) -> None:
        assert is_signed_in(attempt("owner"))
        for number in range(5):
            attempt("owner", f"wrong {number}")

        assert not is_signed_in(attempt("owner"))


class TestTokensOfEverybody:
    def test_an_admin_lists_and_revokes_them(
        self, admin: User, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        token = token_of(owner, clock)
        client = signed_in(admin)

        page = text_of(client.get("/people/tokens/"))
        assert "owner" in page
        assert "ci" in page
        assert "Nobody has a valid token" in text_of(client.get("/people/tokens/?q=stra"))
        assert client.post("/people/tokens/", {"revoke": str(ApiToken.objects.get().pk)}).status_code == 302

        assert authenticate_token(token, now=clock.now) is None
        assert "Nobody has a valid token" in text_of(client.get("/people/tokens/"))

    def test_nobody_else_does(self, owner: User, team: Team, stranger: User, signed_in: SignIn, clock: Clock) -> None:
        token = token_of(owner, clock)
        for user in (person("lead", team, Role.LEAD), stranger):
            client = signed_in(user)
            assert client.get("/people/tokens/").status_code == 403
            assert client.post("/people/tokens/", {"revoke": str(ApiToken.objects.get().pk)}).status_code == 403

        with pytest.raises(NotPermitted):
            revoke_token_of_other(stranger, ApiToken.objects.get().pk, now=clock.now)
        assert authenticate_token(token, now=clock.now) is not None

    def test_they_are_paged(self, admin: User, owner: User, signed_in: SignIn, clock: Clock, monkeypatch: Any) -> None:
        monkeypatch.setattr("dashboard.queries.api_tokens.PAGE", 2)
        for _ in range(5):
            token_of(owner, clock)
        client, address, seen = signed_in(admin), "/people/tokens/", []
        for _ in range(3):
            answer = client.get(address)
            seen += [token.pk for token in answer.context["tokens"]]
            address = f"/people/tokens/?before={answer.context['next']}"

        assert seen == sorted(ApiToken.objects.values_list("pk", flat=True), reverse=True)
        assert answer.context["next"] is None


@pytest.mark.parametrize(("https", "prefix"), [("1", "__Host-"), ("0", "")])
def test_no_subdomain_can_set_its_cookies(https: str, prefix: str) -> None:
    code = "from dashboard import settings; print(settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME)"
    env = os.environ | {"TRAINBOARD_HTTPS": https}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)

    assert found.stdout.split() == [f"{prefix}sessionid", f"{prefix}csrftoken"]
