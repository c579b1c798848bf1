"""Tests of the rules page: every rule with its source, and changes by an admin."""

from django.contrib.auth.models import User
from django.test import Client

from jobs.models import RuleSetting
from jobs.strategies import RULES
from tests.pages.conftest import SignIn, fields_of, text_of
from tests.support.clock import Clock

CODE = "spot_saves_checkpoints"


class TestPage:
    def test_lists_every_rule_with_its_sentence_and_source(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/rules/").content.decode()

        assert all(f'id="{code}"' in page for code in RULES)
        assert RULES[CODE].source.title in page

    def test_somebody_without_a_team_may_read_them(self, stranger: User, signed_in: SignIn) -> None:
        assert signed_in(stranger).get("/rules/").status_code == 200

    def test_only_an_admin_is_offered_to_change_them(self, owner: User, admin: User, signed_in: SignIn) -> None:
        assert "Change its severity" not in signed_in(owner).get("/rules/").content.decode()
        assert "Change its severity" in signed_in(admin).get("/rules/").content.decode()

    def test_nobody_reads_them_without_signing_in(self, client: Client, db: None) -> None:
        assert client.get("/rules/").status_code == 302


class TestSet:
    def test_an_admin_s_change_is_shown_with_who_and_why(self, admin: User, signed_in: SignIn) -> None:
        browser = signed_in(admin)

        answer = browser.post(f"/rules/{CODE}/", {"severity": "error", "note": "<b>We lost a week</b>"})

        assert answer["Location"] == f"/rules/#{CODE}"
        page = browser.get("/rules/").content.decode()
        assert "Set to error by admin" in page
        assert "&lt;b&gt;We lost a week&lt;/b&gt;" in page

    def test_the_stranger_and_the_engineer_change_nothing(self, owner: User, stranger: User, signed_in: SignIn) -> None:
        for person in (owner, stranger):
            browser = signed_in(person)
            browser.post(f"/rules/{CODE}/", {"severity": "off"})
            assert "Only a site admin" in browser.get("/rules/").content.decode()

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


class TestSearch:
    def test_leaves_the_rules_with_every_word(self, engineer: Client) -> None:
        text = text_of(engineer.get("/rules/?q=placeholders+filled"))

        assert "placeholders_are_filled" in text
        assert "resource_is_running" not in text

    def test_that_finds_nothing_says_so(self, engineer: Client) -> None:
        assert "No rule matches “zebra <b>”" in text_of(engineer.get("/rules/?q=zebra+<b>"))

    def test_flags_what_was_read_long_ago(self, owner: User, signed_in: SignIn, clock: Clock) -> None:
        assert "long ago" not in text_of(signed_in(owner).get("/rules/"))
        clock.now = clock.now.replace(year=2028)
        assert "read 2026-08-22, long ago" in text_of(signed_in(owner).get("/rules/"))
