"""Tests of drafts of the compose form: saved automatically, reopened as typed, deleted with the submission."""

from datetime import timedelta
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.access import form_owner
from dashboard.access.form_owner import owner_of_form, sign_form
from jobs.models import Draft, Job
from jobs.requests import form_drafts, imported_drafts
from tests.pages.conftest import SignIn, fields_of, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db


def address(form: dict[str, str]) -> str:
    """Return where the draft of a form is opened."""
    return f"/jobs/new/?form={form['request_key']}"


class TestSaving:
    def test_keeps_what_was_typed_also_what_cannot_be_read(self, engineer: Client, example: dict[str, str]) -> None:
        answer = engineer.post("/jobs/new/draft/", example | {"run_time": "soon", "pool-0-args": "--name 'open"})

        assert answer["HX-Replace-Url"] == address(example)
        assert "Draft saved 09:00" in text_of(answer)
        again = fields_of(engineer.get(address(example)).content.decode())
        assert (again["run_time"], again["pool-0-args"]) == ("soon", "--name 'open")
        assert again["draft_version"] == "1"
        assert {**again, "draft_version": "", "shown": ""}.keys() >= example.keys()

    def test_keeps_one_draft_of_a_form(self, engineer: Client, example: dict[str, str]) -> None:
        engineer.post("/jobs/new/draft/", example)
        engineer.post("/jobs/new/draft/", example | {"name": "second", "draft_version": "1"})

        draft = Draft.objects.get()
        assert (draft.fields["name"], draft.version) == ("second", 2)
        assert "csrfmiddlewaretoken" not in draft.fields

    @pytest.mark.parametrize("version", ["0", "1", "x", "9" * 40])
    def test_of_a_second_window_overwrites_nothing(
        self, engineer: Client, example: dict[str, str], version: str
    ) -> None:
        engineer.post("/jobs/new/draft/", example)
        engineer.post("/jobs/new/draft/", example | {"draft_version": "1", "name": "newer"})

        answer = engineer.post("/jobs/new/draft/", example | {"draft_version": version, "name": "older"})

        assert "in another window" in text_of(answer)
        assert Draft.objects.get().fields["name"] == "newer"

    def test_of_a_second_window_is_saved_as_another(self, engineer: Client, example: dict[str, str]) -> None:
        engineer.post("/jobs/new/draft/", example | {"name": "newer"})
        assert "Save as another draft" in text_of(engineer.post("/jobs/new/draft/", example))

        answer = engineer.post("/jobs/new/", example | {"name": "mine", "do": "copy"})

        assert answer.status_code == 302
        assert fields_of(engineer.get(answer["Location"]).content.decode())["name"] == "mine"
        assert sorted(draft.fields["name"] for draft in Draft.objects.all()) == ["mine", "newer"]

    def test_is_bounded(
        self, engineer: Client, example: dict[str, str], clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(form_drafts, "MAX_FORMS", 2)
        for number in range(4):
            clock.forward(minutes=1)
            engineer.post("/jobs/new/draft/", example | {"request_key": f"key-{number}"})
        refused = engineer.post("/jobs/new/draft/", example | {"pool-0-env": "A=" + "x" * form_drafts.MAX_LENGTH})

        assert "too long" in text_of(refused)
        assert set(Draft.objects.values_list("form_key", flat=True)) == {"key-2", "key-3"}

    def test_expires_as_those_of_imports_do(self, engineer: Client, example: dict[str, str], clock: Clock) -> None:
        engineer.post("/jobs/new/draft/", example)

        assert imported_drafts.expire(clock.now + imported_drafts.KEPT_FOR + timedelta(seconds=1)) == 1

    def test_works_without_javascript(self, engineer: Client, example: dict[str, str]) -> None:
        answer = engineer.post("/jobs/new/", example | {"do": "save", "name": "kept"})

        assert answer["Location"] == address(example)
        assert fields_of(engineer.get(address(example)).content.decode())["name"] == "kept"

    def test_cleans_what_no_database_keeps(self, engineer: Client, example: dict[str, str]) -> None:
        engineer.post("/jobs/new/draft/", example | {"name": "a\x00b"})

        assert Draft.objects.get().fields["name"] == "a\ufffdb"


class TestAfterwards:
    def test_a_submission_deletes_it_and_its_address_leads_to_the_job(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        engineer.post("/jobs/new/draft/", example)
        engineer.post("/jobs/new/", example)

        assert not Draft.objects.exists()
        assert engineer.get(address(example))["Location"] == f"/jobs/{Job.objects.get().pk}/"
        assert "in another window" in text_of(engineer.post("/jobs/new/draft/", example))

    def test_a_new_form_offers_it_and_it_can_be_discarded(self, engineer: Client, example: dict[str, str]) -> None:
        engineer.post("/jobs/new/draft/", example | {"name": "<b>half</b>"})
        page = engineer.get("/jobs/new/")
        assert "1 draft not submitted yet <b>half</b> 0 s ago" in text_of(page)
        assert address(example) in page.content.decode()

        engineer.post("/jobs/new/draft/", {"discard": example["request_key"]})

        assert not Draft.objects.exists()


class TestStranger:
    def test_sees_changes_and_discards_nothing(
        self, engineer: Client, example: dict[str, str], stranger: User, teammate: User, signed_in: SignIn
    ) -> None:
        engineer.post("/jobs/new/draft/", example)

        for person in (stranger, teammate):
            client = signed_in(person)
            client.post("/jobs/new/draft/", {"discard": example["request_key"]})
            assert client.get(address(example)).status_code == 404
            assert "not submitted yet" not in text_of(client.get("/jobs/new/"))
        assert Draft.objects.filter(owner__username="owner").count() == 1

    def test_of_the_form_is_no_draft_of_an_import(self, engineer: Client, example: dict[str, str]) -> None:
        engineer.post("/jobs/new/draft/", example)

        assert engineer.get(f"/jobs/new/?draft={Draft.objects.get().pk}").status_code == 404


class TestWithoutSession:
    """Submit after the session has ended, in a browser without JavaScript."""

    def test_keeps_what_was_typed_for_whom_the_form_was_made(
        self, example: dict[str, str], owner: User, approver: User, stranger: User, signed_in: SignIn
    ) -> None:
        mine = fields_of(signed_in(owner).get("/jobs/new/?example=1").content.decode())

        answer = Client().post("/jobs/new/", mine | {"name": "typed-late", "do": "submit"})

        assert unquote(answer["Location"]) == f"/accounts/login/?next={address(mine)}"
        assert Draft.objects.get().owner == owner
        assert Job.objects.count() == 0
        again = fields_of(signed_in(owner).get(address(mine)).content.decode())
        assert again["name"] == "typed-late"
        for other in (approver, stranger):
            assert signed_in(other).get(address(mine)).status_code == 404
        signed_in(owner).post("/jobs/new/", again)
        assert (Job.objects.get().display_name, Draft.objects.count()) == ("typed-late", 0)

    @pytest.mark.parametrize("change", [{"form_owner": ""}, {"form_owner": "x:y:z"}, {"request_key": "another"}])
    def test_keeps_nothing_without_the_signature_of_the_form(
        self, owner: User, signed_in: SignIn, change: dict[str, str]
    ) -> None:
        mine = fields_of(signed_in(owner).get("/jobs/new/?example=1").content.decode())

        answer = Client().post("/jobs/new/", mine | change)

        assert answer["Location"] == "/accounts/login/?next=/jobs/new/"
        assert not Draft.objects.exists()

    def test_keeps_nothing_for_who_may_request_no_more(self, owner: User, stranger: User, signed_in: SignIn) -> None:
        mine = fields_of(signed_in(owner).get("/jobs/new/?example=1").content.decode())
        theirs = fields_of(signed_in(stranger).get("/jobs/new/?example=1").content.decode())
        User.objects.filter(pk=owner.pk).update(is_active=False)
        stranger.memberships.all().delete()

        for form in (mine, theirs):
            assert Client().post("/jobs/new/", form)["Location"] == "/accounts/login/?next=/jobs/new/"
        assert not Draft.objects.exists()

    def test_overwrites_no_newer_draft(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        mine = fields_of(client.get("/jobs/new/?example=1").content.decode())
        client.post("/jobs/new/draft/", mine | {"name": "newer"})

        Client().post("/jobs/new/", mine | {"name": "older"})

        assert Draft.objects.get().fields["name"] == "newer"

    def test_a_signature_expires(self, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
        signature = sign_form(owner, "k")
        assert owner_of_form({"form_owner": signature, "request_key": "k"}) == owner

        monkeypatch.setattr(form_owner, "MAX_AGE", timedelta(seconds=-1))

        assert owner_of_form({"form_owner": signature, "request_key": "k"}) is None
