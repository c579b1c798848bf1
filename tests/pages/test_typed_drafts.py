"""Drafts of the compose form: saved by themselves, opened again as they were typed, gone with the submission."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

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
