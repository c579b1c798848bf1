"""Tests of compare, templates, import and catalogue: nothing inline, and a light first load."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.models import Team
from jobs.requests import templates
from tests.pages.conftest import MakeJob, SignIn
from tests.pages.test_strictness import FIRST_LOAD_BYTES, first_load
from tests.support import samples
from tests.support.clock import Clock


@pytest.fixture
def pages(make_job: MakeJob, team: Team, owner: User, clock: Clock, signed_in: SignIn) -> dict[str, str]:
    """Every one of these pages as the owner gets it, by its address."""
    first, second = make_job("succeeded"), make_job("running", scheduling={"timeout": "60s"})
    kept = templates.save_template(
        team=team,
        name="kept",
        submission=samples.submission(),
        expected=timedelta(hours=1),
        by=owner,
        now=clock.now,
    )
    client = signed_in(owner)
    addresses = [
        f"/compare/?a={first.pk}&b={second.pk}", f"/compare/?a={first.pk}", "/compare/", "/templates/",
        f"/templates/{kept.pk}/", f"/templates/{kept.pk}/delete/", f"/jobs/{first.pk}/template/", "/jobs/import/",
        "/catalogue/", "/catalogue/?region=",
    ]  # fmt: skip
    found = {address: client.get(address).content.decode() for address in addresses}
    found["an import"] = client.post("/jobs/import/", {"text": "workerPoolSpecs:\n- {}\n"}).content.decode()
    return found


class TestEveryPage:
    def test_has_nothing_inline(self, pages: dict[str, str]) -> None:
        for address, page in pages.items():
            assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page), address
            assert not re.search(r"<script(?![^>]*\ssrc=)", page), address

    def test_has_one_heading_a_title_and_unique_ids(self, pages: dict[str, str]) -> None:
        for address, page in pages.items():
            ids = re.findall(r'\sid="([^"]+)"', page)

            assert page.count("<h1") == 1, address
            assert re.search(r"<title>[^<]+ · Trainboard</title>", page), address
            assert len(ids) == len(set(ids)), (address, [each for each in ids if ids.count(each) > 1])

    def test_loads_at_most_60_kb_at_first(self, pages: dict[str, str]) -> None:
        for address, page in pages.items():
            assert first_load(page) <= FIRST_LOAD_BYTES, (address, first_load(page))
