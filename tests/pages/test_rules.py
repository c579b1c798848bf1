"""The rules page: every rule with its source, and an admin's changes."""

from django.contrib.auth.models import User
from django.test import Client

from jobs.models import RuleSetting
from jobs.strategies import RULES
from tests.pages.conftest import SignIn, fields_of

CODE = "spot_saves_checkpoints"


class TestPage:
    def test_lists_every_rule_with_its_sentence_and_source(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/rules/").content.decode()

        assert all(f'id="{code}"' in page for code in RULES)
        assert RULES[CODE].source.title in page

    def test_somebody_without_a_team_may_read_them(self, stranger: User, signed_in: SignIn) -> None:
        assert signed_in(stranger).get("/rules/").status_code == 200

    def test_only_an_admin_is_offered_to_change_them(self, owner: User, admin: User, signed_in: SignIn) -> None:
        assert "Change its weight" not in signed_in(owner).get("/rules/").content.decode()
        assert "Change its weight" in signed_in(admin).get("/rules/").content.decode()

    def test_nobody_reads_them_without_signing_in(self, client: Client, db: None) -> None:
        assert client.get("/rules/").status_code == 302


class TestSet:
    def test_an_admin_s_change_is_shown_with_who_and_why(self, admin: User, signed_in: SignIn) -> None:
        browser = signed_in(admin)

        answer = browser.post(f"/rules/{CODE}/", {"severity": "refuse", "note": "<b>We lost a week</b>"})

        assert answer["Location"] == f"/rules/#{CODE}"
        page = browser.get("/rules/").content.decode()
        assert "Set to refuse by admin" in page
        assert "&lt;b&gt;We lost a week&lt;/b&gt;" in page

    def test_the_stranger_and_the_engineer_change_nothing(self, owner: User, stranger: User, signed_in: SignIn) -> None:
        for person in (owner, stranger):
            browser = signed_in(person)
            browser.post(f"/rules/{CODE}/", {"severity": "off"})
            assert "Only an admin" in browser.get("/rules/").content.decode()

        assert not RuleSetting.objects.exists()

    def test_an_unknown_rule_is_not_found_and_an_unknown_weight_is_explained(
        self, admin: User, signed_in: SignIn
    ) -> None:
        browser = signed_in(admin)

        assert browser.post("/rules/no_such_rule/", {"severity": "off"}).status_code == 404
        browser.post(f"/rules/{CODE}/", {"severity": "shout"})
        assert "can be set to" in browser.get("/rules/").content.decode()

    def test_the_compose_page_weighs_rules_as_the_site_does(self, owner: User, admin: User, signed_in: SignIn) -> None:
        example = fields_of(signed_in(owner).get("/jobs/new/?example=1").content.decode()) | {"timeout": "5 h"}
        page = signed_in(owner).post("/jobs/new/check/", example).content.decode()
        assert "long_runs_save_checkpoints" in RULES
        assert "Save a checkpoint at least every 4 hours" in page

        signed_in(admin).post("/rules/long_runs_save_checkpoints/", {"severity": "off"})

        page = signed_in(owner).post("/jobs/new/check/", example).content.decode()
        assert "Save a checkpoint at least every 4 hours" not in page
