"""Tests of invitations, forgotten passwords, the user's account and browsers, and the site's accounts."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from jobs.models import Invitation, Membership, Profile, Role, SignedInBrowser, SignInRule, Team
from jobs.people import browsers, invitations
from tests.conftest import PASSWORD, person
from tests.pages.conftest import SignIn, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases

NEW = {"username": "ada", "password1": "a long secret of ada", "password2": "a long secret of ada"}


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, Role.LEAD)


@pytest.fixture
def browser(lead: User, signed_in: SignIn) -> Client:
    return signed_in(lead)


def link_in(answer: Any, begins: str) -> str:
    """Return the path of a link that a page shows."""
    found = re.search(rf"http://testserver({begins}[^\s<]+)", answer.content.decode())
    assert found, text_of(answer)
    return found[1]


def invite(browser: Client, team: Team, **changes: str) -> Any:
    return browser.post(f"/teams/{team.pk}/invitations/", {"email": "ada@example.com", "role": "engineer"} | changes)


class TestInvitations:
    def test_a_new_person_joins_once(self, browser: Client, team: Team) -> None:
        link, guest = link_in(invite(browser, team), "/invitations/"), Client()

        assert "Join vision" in text_of(guest.get(link))
        assert guest.post(link, NEW).status_code == 302
        member = Membership.objects.get(user__username="ada")
        assert (member.team, member.role, member.user.email) == (team, "engineer", "ada@example.com")
        assert guest.get("/").status_code == 200
        assert Client().get(link).status_code == 410
        assert Client().post(link, NEW | {"username": "eve"}).status_code == 410
        assert not User.objects.filter(username="eve").exists()

    def test_the_link_is_kept_nowhere_and_shown_once(self, browser: Client, team: Team) -> None:
        secret = link_in(invite(browser, team), "/invitations/").split("/")[2]

        assert secret not in str(Invitation.objects.values())
        for path in (f"/teams/{team.pk}/invitations/", "/audit/"):
            assert secret not in browser.get(path).content.decode()
            assert Invitation.objects.get().digest not in browser.get(path).content.decode()

    def test_somebody_with_an_account_joins_with_it(
        self, browser: Client, team: Team, stranger: User, signed_in: SignIn
    ) -> None:
        link = link_in(invite(browser, team), "/invitations/")

        assert signed_in(stranger).post(link).status_code == 302
        assert Membership.objects.get(team=team, user=stranger).role == "engineer"

    def test_a_member_keeps_the_role(self, browser: Client, team: Team, approver: User, signed_in: SignIn) -> None:
        link = link_in(invite(browser, team, role="viewer"), "/invitations/")

        signed_in(approver).post(link)

        assert Membership.objects.get(team=team, user=approver).role == "approver"

    def test_it_expires(self, browser: Client, team: Team, clock: Clock) -> None:
        link = link_in(invite(browser, team), "/invitations/")
        clock.now += invitations.LIFETIME + timedelta(seconds=1)

        assert Client().get(link).status_code == 410
        assert Client().post(link, NEW).status_code == 410

    def test_it_can_be_withdrawn(self, browser: Client, team: Team) -> None:
        link = link_in(invite(browser, team), "/invitations/")
        browser.post(f"/teams/{team.pk}/invitations/", {"withdraw": Invitation.objects.get().pk})

        assert Client().get(link).status_code == 410

    @pytest.mark.parametrize("change", ["left", "demoted", "deactivated"])
    def test_a_lead_who_is_none_any_more_takes_it_along(
        self, browser: Client, team: Team, lead: User, change: str
    ) -> None:
        link = link_in(invite(browser, team), "/invitations/")
        own = Membership.objects.filter(user=lead)
        if change == "left":
            own.delete()
        elif change == "demoted":
            own.update(role="engineer")
        else:
            User.objects.filter(pk=lead.pk).update(is_active=False)

        assert Client().post(link, NEW).status_code == 410
        assert not User.objects.filter(username="ada").exists()

    @pytest.mark.parametrize(
        "change", [{"password2": "other"}, {"username": "lead"}, {"password1": "x", "password2": "x"}, {"username": ""}]
    )
    def test_a_bad_form_says_why_and_the_link_still_works(
        self, browser: Client, team: Team, change: dict[str, str]
    ) -> None:
        link = link_in(invite(browser, team), "/invitations/")

        answer = Client().post(link, NEW | change)

        assert answer.status_code == 422
        assert "find error" in answer.content.decode()
        assert Client().post(link, NEW).status_code == 302

    @pytest.mark.parametrize("changes", [{"email": "none"}, {"role": "king"}, {"email": "a@b.de\nBcc: c@d.de"}])
    def test_what_is_no_address_or_role_is_refused(self, browser: Client, team: Team, changes: dict[str, str]) -> None:
        assert invite(browser, team, **changes).status_code == 422
        assert not Invitation.objects.exists()

    def test_it_is_sent_where_the_site_sends_e_mail(self, browser: Client, team: Team, settings: Any) -> None:
        settings.SENDS_EMAIL, settings.SITE_URL = True, "https://board.example.org"

        answer = invite(browser, team)

        (message,) = mail.outbox
        assert message.to == ["ada@example.com"]
        assert "https://board.example.org/invitations/" in message.body
        assert "sent by e-mail" in text_of(answer)

    def test_strangers_and_engineers_invite_nobody(
        self, team: Team, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        assert invite(signed_in(owner), team).status_code == 403
        assert invite(signed_in(stranger), team).status_code == 404
        assert not Invitation.objects.exists()

    @pytest.mark.parametrize("secret", ["x", "é" * 300, "%00"])
    def test_a_guessed_link_is_none(self, db: None, secret: str) -> None:
        assert Client().get(f"/invitations/{secret}/").status_code == 410


class TestForgottenPassword:
    def test_without_e_mail_the_page_says_who_helps(self, db: None) -> None:
        assert "sends no e-mail" in text_of(Client().get("/accounts/password/"))

    def test_the_answer_tells_no_accounts_apart(self, owner: User, settings: Any) -> None:
        settings.SENDS_EMAIL = True
        User.objects.filter(pk=owner.pk).update(email="owner@example.com")

        answers = [Client().post("/accounts/password/", {"email": name}) for name in ("owner@example.com", "no@x.de")]

        assert [answer.headers["Location"] for answer in answers] == ["/accounts/password/sent/"] * 2
        assert [message.to for message in mail.outbox] == [["owner@example.com"]]

    def test_the_link_of_an_admin_lets_one_choose_a_password_once(
        self, admin: User, owner: User, signed_in: SignIn
    ) -> None:
        link = link_in(signed_in(admin).post(f"/people/{owner.pk}/", {"do": "password"}), "/accounts/password/")
        guest, form = Client(), {"new_password1": "a brand new secret", "new_password2": "a brand new secret"}
        page = guest.get(link, follow=True)

        assert guest.post(page.redirect_chain[-1][0], form).status_code == 302
        owner.refresh_from_db()
        assert owner.check_password("a brand new secret")
        assert "does not work" in text_of(Client().get(link, follow=True))


class TestAccount:
    def test_a_person_changes_the_own_name_and_nothing_else(self, owner: User, signed_in: SignIn) -> None:
        form = {"first_name": "Ada", "email": "boss@example.com", "is_superuser": "1", "username": "root"}

        assert signed_in(owner).post("/account/", form).status_code == 302
        owner.refresh_from_db()
        assert (owner.first_name, owner.email, owner.is_superuser, owner.username) == ("Ada", "", False, "owner")

    def test_a_new_password_signs_every_other_browser_out(self, owner: User, signed_in: SignIn) -> None:
        here, there = signed_in(owner), signed_in(owner)
        form = {"old_password": PASSWORD, "new_password1": "a brand new secret", "new_password2": "a brand new secret"}

        assert here.post("/account/password/", form | {"old_password": "wrong"}).status_code == 422
        assert here.post("/account/password/", form).status_code == 302
        assert here.get("/account/").status_code == 200
        assert there.get("/account/").status_code == 302
        assert SignedInBrowser.objects.get().session_key == here.session.session_key

    def test_browsers_are_listed_and_signed_out(self, owner: User, stranger: User, signed_in: SignIn) -> None:
        here, there, other = signed_in(owner), signed_in(owner), signed_in(stranger)
        row = SignedInBrowser.objects.get(session_key=there.session.session_key)
        theirs = SignedInBrowser.objects.get(user=stranger)

        assert "this browser" in text_of(here.get("/account/"))
        here.post("/account/browsers/", {"browser": theirs.pk})
        assert other.get("/account/").status_code == 200
        here.post("/account/browsers/", {"browser": row.pk})
        assert there.get("/account/").status_code == 302
        assert here.get("/account/").status_code == 200

    def test_everywhere_else_leaves_this_one(self, owner: User, signed_in: SignIn) -> None:
        clients = [signed_in(owner) for _ in range(3)]

        clients[0].post("/account/browsers/")

        assert [client.get("/account/").status_code for client in clients] == [200, 302, 302]

    def test_the_oldest_goes_when_there_are_too_many(
        self, owner: User, signed_in: SignIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(browsers, "MAX_BROWSERS", 2)
        clients = []
        for _ in range(3):
            clients.append(signed_in(owner))
            clock.now += timedelta(minutes=1)

        assert [client.get("/account/").status_code for client in clients] == [302, 200, 200]

    def test_it_is_seen_again_after_a_while(self, owner: User, client: Client, clock: Clock) -> None:
        client.post(
            "/accounts/login/", {"username": "owner", "password": PASSWORD}, headers={"user-agent": "Firefox/1"}
        )
        row = SignedInBrowser.objects.get()
        clock.now += timedelta(minutes=11)
        client.get("/account/")

        assert (row.browser, row.address) == ("Firefox/1", "127.0.0.1")
        row.refresh_from_db()
        assert row.seen_at == clock.now


class TestPeople:
    def test_only_admins_see_and_change_them(self, lead: User, owner: User, signed_in: SignIn) -> None:
        for client in (signed_in(lead), signed_in(owner)):
            assert client.get("/people/").status_code == 403
            assert client.post(f"/people/{owner.pk}/", {"do": "make_admin"}).status_code == 403
            assert client.post(f"/people/{owner.pk}/", {"do": "password"}).status_code == 403
            assert client.post("/people/rules/", {}).status_code == 403
        owner.refresh_from_db()
        assert not owner.is_superuser

    def test_an_account_is_closed_and_opened(self, admin: User, owner: User, signed_in: SignIn) -> None:
        theirs, client = signed_in(owner), signed_in(admin)

        client.post(f"/people/{owner.pk}/", {"do": "deactivate"})
        assert theirs.get("/").status_code == 302
        client.post(f"/people/{owner.pk}/", {"do": "activate"})
        client.post(f"/people/{owner.pk}/", {"do": "link"})
        assert Profile.objects.get(user=owner).links_next_sign_in
        assert theirs.get("/").status_code == 302, "a session from before does not come back"
        assert signed_in(owner).get("/").status_code == 200

    @pytest.mark.parametrize("do", ["deactivate", "remove_admin", "nonsense"])
    def test_an_admin_does_not_close_the_own_account(self, admin: User, signed_in: SignIn, do: str) -> None:
        signed_in(admin).post(f"/people/{admin.pk}/", {"do": do})

        admin.refresh_from_db()
        assert admin.is_active
        assert admin.is_superuser

    def test_rules_are_added_once_and_removed(self, admin: User, team: Team, signed_in: SignIn) -> None:
        client = signed_in(admin)
        form = {"source": "domain", "value": "Example.com", "team": str(team.pk), "role": "viewer"}

        assert client.post("/people/rules/", form).status_code == 302
        assert "already" in text_of(client.post("/people/rules/", form))
        rule = SignInRule.objects.get()
        assert rule.value == "example.com"
        client.post("/people/rules/", {"remove": rule.pk})
        assert not SignInRule.objects.exists()
