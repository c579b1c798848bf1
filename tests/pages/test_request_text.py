"""Tests of the request text beside the form: each updates the other, and nothing typed is lost."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard.forms.compose.text import fill_from_text, is_edited, text_digest
from jobs.models import Job
from jobs.requests.placing import Placed
from tests.pages.conftest import SignIn, fields_of, text_in

pytestmark = pytest.mark.django_db


def edited(form: dict[str, str], old: str, new: str) -> dict[str, str]:
    """Return what is posted when somebody has replaced `old` by `new` in the text."""
    assert old in form["request_text"]
    return form | {"request_text": form["request_text"].replace(old, new).replace("\n", "\r\n")}


def read(client: Client, form: dict[str, str], **changes: Any) -> dict[str, str]:
    """Post a form to have its text read; return the fields of the answer."""
    return fields_of(client.post("/jobs/new/", form | {"do": "read"} | changes).content.decode())


class TestText:
    def test_fills_the_form(self, engineer: Client, example: dict[str, str]) -> None:
        fields = read(engineer, edited(edited(example, '"SPOT"', '"FLEX_START"'), '"40"', '"41"'))

        assert fields["strategy"] == "flex_start"
        assert fields["pool-0-args"] == "--epochs 41 --seconds-per-epoch 1"
        assert fields["request_key"] == example["request_key"]
        assert (fields["run_time"], fields["name"]) == (example["run_time"], example["name"])

    def test_stays_as_it_was_typed(self, engineer: Client, example: dict[str, str]) -> None:
        typed = {"request_text": json.dumps(json.loads(example["request_text"]))}

        fields = read(engineer, example | typed)

        assert fields["request_text"].strip() == typed["request_text"]
        assert fields["text_digest"] == text_digest(typed["request_text"])

    def test_as_gcloud_yaml_keeps_name_labels_and_region(self, engineer: Client, example: dict[str, str]) -> None:
        changed = example | {"written": "gcloud-yaml", "labels": "phase=two", "region": "europe-west4", "do": "check"}
        form = fields_of(engineer.post("/jobs/new/", changed).content.decode())

        fields = read(engineer, edited(form, "a2-highgpu-1g", "a2-highgpu-2g"))

        assert fields["pool-0-machine_type"] == "a2-highgpu-2g"
        assert (fields["labels"], fields["name"]) == ("phase=two", example["name"])
        assert fields["region"] == "europe-west4"

    @pytest.mark.parametrize(
        "text", ["{", "]", "jobSpec: [1", "hello", '{"jobSpec": {"enableWebAccess": "red"}}', "\x00"]
    )
    def test_that_cannot_be_read_changes_nothing(self, engineer: Client, example: dict[str, str], text: str) -> None:
        page = engineer.post("/jobs/new/", example | {"request_text": text, "do": "read"}).content.decode()

        fields = fields_of(page)
        assert fields["pool-0-args"] == example["pool-0-args"]
        assert fields["text_digest"] == example["text_digest"]
        assert "error:" in text_in(page, "request-finds")

    def test_is_not_overwritten_before_it_is_read(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/check/", edited(example, '"40"', '"41')).content.decode()

        assert 'id="request"' not in page

    def test_follows_the_form(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/check/", example | {"pool-0-args": "--epochs 7"}).content.decode()

        assert '"7"' in text_in(page, "request")
        assert f'value="{example["text_digest"]}"' not in page

    def test_that_was_edited_is_read_before_it_is_submitted(self, engineer: Client, example: dict[str, str]) -> None:
        answer = engineer.post("/jobs/new/", edited(example, '"40"', '"41"') | {"do": "submit"})
        page = answer.content.decode()

        assert answer.status_code == 422
        assert "The text of the request was edited; the form follows it now." in text_in(page, "errors")
        assert not Job.objects.exists()
        engineer.post("/jobs/new/", fields_of(page) | {"do": "submit"})
        assert "41" in json.dumps(Job.objects.get().spec)

    def test_that_says_the_same_as_the_form_is_submitted_at_once(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        same = {"request_text": json.dumps(json.loads(example["request_text"]))}

        assert engineer.post("/jobs/new/", example | same).status_code == 302

    @pytest.mark.parametrize("text", ['{"jobSpec": [oops{}', "hello"])
    def test_that_cannot_be_read_keeps_the_job_from_being_submitted(
        self, engineer: Client, example: dict[str, str], text: str
    ) -> None:
        answer = engineer.post("/jobs/new/", example | {"request_text": text, "do": "submit"})

        assert answer.status_code == 422
        assert '<a href="#request">' in answer.content.decode().replace("\n      href", " href")
        assert not Job.objects.exists()

    def test_that_cannot_be_read_says_in_which_line_and_keeps_saying_it(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        wrong = edited(example, '"displayName"', '"labels"') | {"run_time": "3 h"}
        for do, address in (("read", "/jobs/new/"), ("check", "/jobs/new/check/")):
            words = text_in(engineer.post(address, wrong | {"do": do}).content.decode(), "request-finds")

            assert "error: Line 2:" in words
            assert "The form keeps its values" in words

    def test_that_was_edited_is_discarded(self, engineer: Client, example: dict[str, str]) -> None:
        fields = fields_of(
            engineer.post("/jobs/new/", example | {"request_text": "{", "do": "rewrite"}).content.decode()
        )

        assert fields["request_text"].strip() == example["request_text"].strip()
        assert engineer.post("/jobs/new/", fields | {"do": "submit"}).status_code == 302

    def test_of_a_command_is_not_edited(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/check/", example | {"written": "curl"}).content.decode()

        assert "readonly" in page

    def test_of_a_stranger_fills_no_form_of_the_team(
        self, stranger: User, signed_in: SignIn, example: dict[str, str]
    ) -> None:
        client = signed_in(stranger)

        answer = client.post("/jobs/new/", read(client, edited(example, '"40"', '"41"')) | {"do": "submit"})

        assert answer.status_code == 422
        assert not Job.objects.exists()


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    filled = fill_from_text(
        {"request_text": text, "written": "rest"},
        None,
        place=lambda submission: Placed(submission, ()),
        project="p",
        expected=None,
    )

    assert filled.data is not None or filled.findings


@given(st.text())
def test_line_ends_are_no_edit(text: str) -> None:
    posted = "\r\n".join(text.split("\n"))

    assert not is_edited({"request_text": posted, "text_digest": text_digest(text)})
