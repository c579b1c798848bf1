"""Tests that browsers and proxies may not cache responses to signed-in users, but may cache static files."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.pages.conftest import MakeJob, SignIn

PAGES = [
    "/",
    "/history/",
    "/approvals/",
    "/persistent-resources/",
    "/catalogue/",
    "/compare/",
    "/templates/",
    "/rules/",
    "/doctor/",
    "/jobs/new/",
    "/jobs/new/?example=1",
    "/jobs/import/",
    "/jobs/adopt/",
    "/jobs/{job}/",
    "/jobs/{job}/live/",
    "/jobs/{job}/log/",
    "/jobs/{job}/log/new/",
    "/jobs/{job}/log.txt",
    "/jobs/{job}/events.json",
    "/jobs/{job}/spec.json",
    "/jobs/{job}/cancel/",
    "/studies/{job}/trials.csv",
    "/admin/",
    "/admin/jobs/job/",
    "/admin/jobs/job/{job}/change/",
    "/admin/jsi18n/",
    "/nothing-here/",
]


@pytest.mark.parametrize("htmx", [{}, {"HX-Request": "true"}], ids=["page", "fragment"])
@pytest.mark.parametrize("address", PAGES)
def test_keeps_no_answer(
    make_job: MakeJob, admin: User, stranger: User, signed_in: SignIn, address: str, htmx: dict[str, str]
) -> None:
    address = address.format(job=make_job("running").pk)

    for browser in (signed_in(admin), signed_in(stranger), Client()):
        assert browser.get(address, headers=htmx)["Cache-Control"] == "private, no-store", address


def test_lets_static_files_be_kept(settings: Any, db: None) -> None:
    (settings.STATIC_ROOT / "kept.css").write_text("p {}")

    answer = Client().get("/static/kept.css")
    answer.close()

    assert answer.status_code == 200
    assert "no-store" not in answer.get("Cache-Control", "")
