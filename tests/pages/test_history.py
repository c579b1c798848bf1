"""Tests of the history: filters in the address, pages, and who sees what."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.pages import history
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock
from tests.support.resources import seen

pytestmark = pytest.mark.both_databases
FAR_EAST = "before=2100-01-01T09:00:00%2B19:00~00000000-0000-4000-8000-000000000000"
"""PostgreSQL itself refuses such an offset."""


@pytest.fixture
def three(make_job: MakeJob, approver: User, clock: Clock) -> None:
    make_job("succeeded", name="alpha", strategy="SPOT")
    clock.now += timedelta(days=1)
    make_job("failed", name="bravo", strategy="STANDARD")
    clock.now += timedelta(days=1)
    make_job("JOB_STATE_HIBERNATING", name="charlie", by=approver)


@pytest.mark.usefixtures("three")
class TestFilters:
    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["charlie", "bravo", "alpha"]),
            ("q=BRA", ["bravo"]),
            ("state=succeeded", ["alpha"]),
            ("state=failed", ["bravo"]),
            ("state==failed", ["bravo"]),
            ("state=finished", ["bravo", "alpha"]),
            ("strategy=spot", ["charlie", "alpha"]),
            ("owner=Approver", ["charlie"]),
            ("since=2026-03-03", ["charlie", "bravo"]),
            ("until=2026-03-02", ["alpha"]),
            ("since=2026-03-03&until=2026-03-03", ["bravo"]),
            ("by=ended&since=2026-03-03", ["bravo"]),
            ("q=none", []),
        ],
    )
    def test_narrow_the_rows(self, owner: User, signed_in: SignIn, query: str, found: list[str]) -> None:
        text = text_of(signed_in(owner).get(f"/history/?{query}"))

        assert re.findall(r"\b(alpha|bravo|charlie)\b", text.partition("Filter")[2]) == found

    @pytest.mark.parametrize(
        "query", ["state=nonsense", "since=yesterday", "strategy=x", "before=nonsense", "by=x", FAR_EAST]
    )
    def test_that_cannot_be_read_narrow_nothing(self, owner: User, signed_in: SignIn, query: str) -> None:
        page = signed_in(owner).get(f"/history/?{query}")

        assert page.status_code == 200
        assert "alpha" in text_of(page)

    def test_say_what_could_not_be_read(self, owner: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(owner).get("/history/?since=2026-03-09&until=2026-03-01"))

        assert "This day is before the first one." in text

    def test_stay_in_the_form(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/history/?q=bra&state=failed&since=2026-03-03").content.decode()

        assert 'value="bra"' in page
        assert 'value="=failed" checked>' in page
        assert 'value="2026-03-03"' in page

    def test_that_find_nothing_offer_the_way_back(self, owner: User, signed_in: SignIn) -> None:
        assert "No job matches these filters" in text_of(signed_in(owner).get("/history/?q=none"))

    def test_htmx_gets_the_rows_alone(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/history/?q=bra", headers={"HX-Request": "true"}).content.decode()

        assert page.lstrip().startswith('<div id="history"')
        assert "bravo" in page
        assert "alpha" not in page


@pytest.mark.usefixtures("three")
class TestWho:
    def test_a_stranger_sees_nothing(self, stranger: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(stranger).get("/history/"))

        assert "No jobs yet" in text
        assert "alpha" not in text

    def test_a_teammate_and_an_admin_see_everything(self, teammate: User, admin: User, signed_in: SignIn) -> None:
        for person in (teammate, admin):
            assert "alpha" in text_of(signed_in(person).get("/history/"))


FAR_EAST = "before=2100-01-01T09:00:00%2B19:00~00000000-0000-4000-8000-000000000000"
"""PostgreSQL itself refuses such an offset."""


class TestPages:
    def test_lead_through_every_job_once(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "PAGE_SIZE", 3)
        names = {make_job("approved", name=f"many-{number}").display_name for number in range(8)}  # all at one moment
        client, address, seen = signed_in(owner), "/history/", []

        for _ in range(3):
            page = client.get(address).content.decode()
            seen += re.findall(r">(many-\d)<", page)
            older = re.search(r'href="(\?before=[^"]+)"', page)
            address = "/history/" + older[1].replace("&amp;", "&") if older else ""

        assert address == ""
        assert len(seen) == 8
        assert set(seen) == names

    def test_keep_the_filters(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "PAGE_SIZE", 1)
        for _ in range(2):
            make_job("approved", name="same")

        page = signed_in(owner).get("/history/?q=same").content.decode()

        assert re.search(r'href="\?q=same&amp;before=', page)


def test_says_why_a_job_waits_as_precisely_as_the_board(
    make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
) -> None:
    make_job("queued", resource="night-shift")
    seen(used=4, now=clock.now)

    assert "night-shift is full: 0 of 4 replicas free, it needs 1" in text_of(signed_in(owner).get("/history/"))
    assert "night-shift" not in text_of(signed_in(stranger).get("/history/"))


def test_says_once_how_long_a_job_ran(make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock) -> None:
    make_job("running", name="resnet")
    clock.forward(minutes=20)
    client = signed_in(owner)

    assert "RUNNING 20 min " in text_of(client.get("/"))
    assert "RUNNING Spot" in text_of(client.get("/history/"))
    assert re.search(r"40 s 20 min \$", text_of(client.get("/history/")))
