"""Tests of the prices page: each price, its history, and what only an admin may do."""

import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from google.auth.exceptions import DefaultCredentialsError

from jobs import prices
from jobs.cost.prices import age_words, is_stale
from jobs.models import Job, Price, Upkeep
from jobs.upkeep.price_import import import_when_due
from tests.pages.conftest import MakeJob, SignIn, text_in, text_of
from tests.support.clock import Clock
from tests.support.skus import COMPUTE, VERTEX, serving, sku

H100 = "NVIDIA_H100_80GB/standard/vertex_training"
GIVEN = {
    "region": "us-central1",
    "price": H100,
    "usd_per_hour": "12.5",
    "source": "Price list",
    "source_url": "https://cloud.google.com/vertex-ai/pricing",
    "is_official": "on",
    "reason": "<b>New list</b>",
}


class TestPage:
    def test_shows_each_price_with_source_day_and_age(self, owner: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(owner).get("/prices/?region=us-central1&q=H100_80GB"))

        assert "NVIDIA_H100_80GB, Standard Vertex AI's price with its fee inside $11.27 16 Aug 2025" in text
        assert "days old" in text
        assert "Prices not marked “official” come from published copies" in text

    def test_names_a_resource_once_above_its_prices(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/prices/?region=us-central1&q=a2-highgpu-1g").content.decode()

        assert page.count("<tr>") > 3
        assert page.count('scope="rowgroup"') == 1
        assert 'colspan="4">a2-highgpu-1g<' in page

    def test_shows_what_is_missing_as_missing(self, owner: User, signed_in: SignIn) -> None:
        browser = signed_in(owner)

        assert "missing" not in text_in(browser.get("/prices/?q=NVIDIA_L4").content.decode(), "prices")
        text = text_in(browser.get("/prices/?q=NVIDIA_L4&show=missing").content.decode(), "prices")
        assert "Spot" in text
        assert "missing" in text
        assert "$" not in text

    def test_narrows_to_old_prices(self, owner: User, signed_in: SignIn, clock: Clock) -> None:
        text = text_in(signed_in(owner).get("/prices/?show=old&q=a3-highgpu-8g").content.decode(), "prices")

        assert "16 Aug 2025" in text
        assert text.count("days old") + text.count("without a date") == text.count("$")

    def test_somebody_without_a_team_may_read_it_and_is_offered_nothing(
        self, stranger: User, signed_in: SignIn
    ) -> None:
        page = signed_in(stranger).get(f"/prices/?price={H100}").content.decode()

        assert "History of NVIDIA_H100_80GB" in page
        assert "Record a price" not in page
        assert Client().get("/prices/").status_code == 302

    @pytest.mark.parametrize("query", ["region=nowhere", "price=a/b", "price=%00", "show=odd", "q=%F0%9F%92%A9"])
    def test_answers_any_address(self, owner: User, signed_in: SignIn, query: str) -> None:
        assert signed_in(owner).get(f"/prices/?{query}").status_code == 200


class TestRecord:
    def test_an_admin_s_price_counts_and_the_history_says_who_and_why(
        self, admin: User, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        answer = signed_in(admin).post("/prices/record/", GIVEN | {"as_of": str(clock.now.date())}, follow=True)

        history = text_in(answer.content.decode(), "history")
        assert "admin <b>New list</b> $12.5" in history
        assert "$11.2660332" in history
        assert "<b>New list" not in answer.content.decode()
        page = signed_in(owner).get("/prices/?q=NVIDIA_H100_80GB").content.decode()
        assert "$12.5" in page
        assert "official" in page
        assert "$96.34" not in page

    def test_the_history_names_a_source_once_above_its_prices(
        self, admin: User, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        browser = signed_in(admin)
        for source, usd in (
            ("Price list", "12.5"),
            ("Our bill", "12.6"),
            ("Price list", "12.7"),
            ("Price list", "12.8"),
        ):
            given = GIVEN | {"as_of": str(clock.now.date()), "source": source, "usd_per_hour": usd}
            browser.post("/prices/record/", given)

        history = text_in(signed_in(owner).get(f"/prices/?price={H100}").content.decode(), "history")

        shown = re.findall(r"Price list|Our bill|\$12\.\d", history)
        assert shown == ["Price list", "$12.8", "$12.7", "Our bill", "$12.6", "Price list", "$12.5"]

    def test_the_catalogue_uses_it(self, admin: User, owner: User, signed_in: SignIn, clock: Clock) -> None:
        body = GIVEN | {"as_of": str(clock.now.date()), "price": "n1-standard-4/standard/vertex_training"}
        signed_in(admin).post("/prices/record/", body)

        row = signed_in(owner).get("/catalogue/").content.decode().partition("<td><b>n1-standard-4</b>")[2]
        assert "$12.50" in row.partition("</tr>")[0]

    def test_what_is_wrong_is_said_and_what_was_typed_stays(self, admin: User, signed_in: SignIn, clock: Clock) -> None:
        late = str(clock.now.date() + timedelta(days=2))
        browser = signed_in(admin)

        answer = browser.post("/prices/record/", GIVEN | {"as_of": late})
        assert answer.status_code == 422
        assert "is in the future" in answer.content.decode()
        assert 'value="12.5"' in answer.content.decode()
        answer = browser.post("/prices/record/", GIVEN | {"as_of": "soon", "source_url": "javascript:alert(1)"})
        assert "Enter a valid date" in answer.content.decode()
        assert "Enter a valid URL" in answer.content.decode()
        assert not Price.objects.exists()

    def test_nobody_else_records_or_accepts(self, owner: User, stranger: User, signed_in: SignIn, clock: Clock) -> None:
        for person in (owner, stranger):
            browser = signed_in(person)
            answer = browser.post("/prices/record/", GIVEN | {"as_of": str(clock.now.date())})
            assert answer.status_code == 422
            assert "Only an admin" in answer.content.decode()
            browser.post("/prices/accept/", {"proposal": "x", "reason": "x"})
        assert not Price.objects.exists()

    def test_a_price_of_nothing_is_not_found(self, admin: User, signed_in: SignIn) -> None:
        browser = signed_in(admin)

        assert browser.post("/prices/record/", GIVEN | {"price": "x/spot/compute_engine"}).status_code == 404
        assert browser.post("/prices/record/", GIVEN | {"region": "x"}).status_code == 404


class TestImportNow:
    def test_makes_the_daily_import_due_for_an_admin_alone(
        self, admin: User, owner: User, signed_in: SignIn, clock: Clock, settings: Any
    ) -> None:
        with serving() as server:
            settings.BILLING_ENDPOINT = server.url
            server.skus = {COMPUTE: [sku("x", "1"), sku("y", "1")], VERTEX: [sku("x", "1"), sku("y", "1")]}
            import_when_due(clock.now)
            answered = Upkeep.objects.get(name=prices.UPKEEP).answered_at
            clock.forward(minutes=5)

            assert "Only an admin" in text_of(signed_in(owner).post("/prices/import/", follow=True))
            import_when_due(clock.now)
            assert Upkeep.objects.get(name=prices.UPKEEP).answered_at == answered
            page = text_of(signed_in(admin).post("/prices/import/", follow=True))
            assert "A worker was asked to import" in page
            assert "waiting for a worker" in page
            import_when_due(clock.now)
            assert Upkeep.objects.get(name=prices.UPKEEP).answered_at == clock.now

    def test_is_not_offered_where_nothing_is_imported(self, admin: User, signed_in: SignIn, settings: Any) -> None:
        settings.VERTEX_ENDPOINT = "http://127.0.0.1:8900"
        assert "Import Google's prices now" not in text_of(signed_in(admin).get("/prices/"))


class TestProposals:
    def test_an_admin_accepts_what_the_import_left(
        self, admin: User, owner: User, signed_in: SignIn, clock: Clock, settings: Any
    ) -> None:
        with serving() as server:
            settings.BILLING_ENDPOINT = server.url
            a100 = sku("Nvidia Tesla A100 GPU running in Americas", "4")
            server.skus = {COMPUTE: [a100, sku("x", "1")], VERTEX: [sku("x", "1"), sku("y", "1")]}
            import_when_due(clock.now)

        name = "us-central1/NVIDIA_TESLA_A100/standard/compute_engine"
        assert name not in signed_in(owner).get("/prices/").content.decode()
        page = signed_in(admin).get("/prices/").content.decode()
        assert "1 price to check" in page
        assert "0 prices recorded" in page
        assert f'value="{name}"' in page
        answer = signed_in(admin).post("/prices/accept/", {"proposal": name, "reason": "Looked it up"}, follow=True)
        assert "Prices recorded: 1." in text_of(answer)
        assert "to check" not in text_of(answer)
        key = ("NVIDIA_TESLA_A100", "us-central1", "standard", "compute_engine")
        row = prices.current_book().effective_row(key)
        assert row
        assert (row.usd_per_hour, row.is_official) == (4, True)

    def test_an_admin_is_told_that_the_list_could_not_be_read(
        self, admin: User, owner: User, signed_in: SignIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nobody(**_: Any) -> None:
            raise DefaultCredentialsError

        monkeypatch.setattr("google.auth.default", nobody)
        import_when_due(clock.now)

        assert "could not be read: This machine has no usable" in text_of(signed_in(admin).get("/prices/"))
        assert "could not be read" not in text_of(signed_in(owner).get("/prices/"))


class TestAge:
    def test_is_said_from_the_91st_day_on(self) -> None:
        today = date(2026, 11, 22)

        assert not is_stale(today - timedelta(days=90), today)
        assert is_stale(today - timedelta(days=91), today)
        assert age_words(today - timedelta(days=90), today) == ""
        assert age_words(date(2025, 8, 16), today) == "463 days old"

    def test_is_said_at_a_job_an_approval_and_in_the_catalogue(
        self, owner: User, make_job: MakeJob, signed_in: SignIn
    ) -> None:
        job = make_job("awaiting_approval")
        Job.objects.filter(pk=job.pk).update(estimate=job.estimate | {"prices_as_of": "2025-08-16"})

        for address in (f"/jobs/{job.pk}/", "/approvals/", "/catalogue/?region=us-central1"):
            assert "days old" in text_of(signed_in(owner).get(address)), address

    def test_of_a_small_part_is_named_once_beside_a_recent_main_price(
        self, owner: User, make_job: MakeJob, signed_in: SignIn, clock: Clock
    ) -> None:
        recent, old = str(clock.now.date() - timedelta(days=3)), str(clock.now.date() - timedelta(days=400))
        lines = [{"resource": "a3", "as_of": recent}, {"resource": "fee on a3", "as_of": old}]
        for job in (make_job("awaiting_approval"), make_job("awaiting_approval")):
            estimate = job.estimate | {"prices_as_of": recent, "lines": lines}
            Job.objects.filter(pk=job.pk).update(estimate=estimate)

        for address in (f"/jobs/{job.pk}/", "/approvals/"):
            page = text_of(signed_in(owner).get(address))
            assert page.count("Older prices: fee on a3") == 1, address
            assert "days old" not in page, address

    def test_is_not_said_of_a_recent_price(
        self, owner: User, make_job: MakeJob, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("awaiting_approval")
        recent = str(clock.now.date() - timedelta(days=3))
        Job.objects.filter(pk=job.pk).update(estimate=job.estimate | {"prices_as_of": recent})

        for address in (f"/jobs/{job.pk}/", "/approvals/"):
            assert "days old" not in text_of(signed_in(owner).get(address)), address
