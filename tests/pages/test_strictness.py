"""Tests of every page: no inline code, a strict policy, a small first load, no content for strangers."""

import gzip
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from jobs.models import Job
from tests.pages.conftest import MakeJob, SignIn, text_of

FIRST_LOAD_BYTES = 60_000
"""Of a page with its styles and scripts, compressed as they are sent."""
TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))


@pytest.fixture
def addresses(make_job: MakeJob) -> list[str]:
    running, asked, _ = make_job("running"), make_job("awaiting_approval"), make_job("failed")
    study = make_job("running", kind="hyperparameter_tuning_job", hours=0.01)
    return [
        "/", "/?q=nothing-like-this", "/history/", "/approvals/", "/jobs/new/", "/jobs/new/?example=penguins",
        at(running), at(running) + "?as=table", at(asked), at(running) + "cancel/", at(study), f"/studies/{study.pk}/",
        "/no-such-page/",
    ]  # fmt: skip


def at(job: Job) -> str:
    return f"/jobs/{job.pk}/"


def first_load(page: str) -> int:
    """Return how many bytes a page and the files that it links to have, compressed."""
    linked = re.findall(r'(?:href|src)="/static/([^"]+)"', page)
    texts = [page.encode(), *(Path(str(finders.find(name))).read_bytes() for name in linked)]
    return sum(len(gzip.compress(text, 6)) for text in texts)


class TestEveryPage:
    def test_has_nothing_inline(self, addresses: list[str], approver: User, signed_in: SignIn) -> None:
        client = signed_in(approver)

        for address in addresses:
            page = client.get(address).content.decode()

            assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page), address
            assert not re.search(r"<script(?![^>]*\ssrc=)", page), address

    def test_has_a_strict_policy(self, addresses: list[str], approver: User, signed_in: SignIn) -> None:
        client = signed_in(approver)

        for address in addresses:
            policy = client.get(address)["Content-Security-Policy"]

            assert "default-src 'none'" in policy
            assert "unsafe" not in policy

    def test_has_one_heading_a_title_and_a_landmark(
        self, addresses: list[str], approver: User, signed_in: SignIn
    ) -> None:
        client = signed_in(approver)

        for address in addresses:
            page = client.get(address).content.decode()

            assert page.count("<h1") == 1, address
            assert '<main id="content">' in page, address
            assert re.search(r"<title>[^<]+ · Trainboard</title>", page), address

    def test_ids_are_unique(self, addresses: list[str], approver: User, signed_in: SignIn) -> None:
        client = signed_in(approver)

        for address in addresses:
            ids = re.findall(r'\sid="([^"]+)"', client.get(address).content.decode())

            assert len(ids) == len(set(ids)), (address, [each for each in ids if ids.count(each) > 1])

    def test_loads_at_most_60_kb_at_first(self, addresses: list[str], approver: User, signed_in: SignIn) -> None:
        client = signed_in(approver)

        for address in addresses:
            size = first_load(client.get(address).content.decode())

            assert size <= FIRST_LOAD_BYTES, (address, size)

    def test_stays_closed_to_writing_without_a_token(self, make_job: MakeJob, owner: User) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(owner)

        assert client.post(at(make_job("running")) + "cancel/").status_code == 403


@pytest.mark.parametrize("address", ["/", "/history/", "/approvals/", "/approvals/ part"])
def test_lists_take_as_many_queries_for_two_jobs_as_for_twelve(
    make_job: MakeJob, approver: User, signed_in: SignIn, address: str
) -> None:
    client = signed_in(approver)
    address, _, is_part = address.partition(" ")
    headers = {"HX-Request": "true"} if is_part else {}

    counts = []
    for more in (2, 10):
        for _ in range(more):
            make_job("awaiting_approval")
            make_job("failed", error={"code": 8, "message": "Replicas low on memory: workerpool0."})
        with CaptureQueriesContext(connection) as queries:
            client.get(address, headers=headers)
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 19


class TestFrame:
    def test_says_that_jobs_run_on_this_machine_in_a_rehearsal_only(
        self, owner: User, signed_in: SignIn, settings: Settings
    ) -> None:
        client = signed_in(owner)
        words = "Rehearsal: jobs run as processes on this machine"

        settings.REHEARSAL = True
        assert words in text_of(client.get("/"))
        settings.REHEARSAL = False
        assert words not in text_of(client.get("/"))

    def test_leads_to_the_admin_only_who_may_use_it(self, owner: User, admin: User, signed_in: SignIn) -> None:
        assert "/admin/" not in signed_in(owner).get("/").content.decode()
        assert "/admin/" in signed_in(admin).get("/").content.decode()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(settings.BASE_DIR)))
def test_no_template_marks_text_as_safe(template: Path) -> None:
    assert not re.search(r"\|\s*safe\b|autoescape\s+off|\|\s*safeseq", template.read_text())


def test_a_form_from_before_the_last_sign_in_says_what_to_do(owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)

    answer = client.post("/jobs/new/", {"csrfmiddlewaretoken": "a" * 64})

    assert answer.status_code == 403
    assert "This page was opened before you signed in again" in answer.content.decode()
    assert 'href="/jobs/new/">Open the form again' in answer.content.decode()
