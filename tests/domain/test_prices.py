"""Tests of recorded prices, by a person and by an import: the price book, the command and the daily task."""

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from google.auth.exceptions import DefaultCredentialsError

from jobs import prices, requests, tasks
from jobs.cost.prices import Key
from jobs.errors import NotPermitted
from jobs.models import Price, Team, Upkeep
from jobs.queue import claims
from jobs.upkeep.price_import import REASON, import_when_due
from tests.support import samples
from tests.support.clock import Clock
from tests.support.skus import COMPUTE, VERTEX, BillingServer, catalog, serving, sku

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
N1: Key = ("n1-standard-4", "us-central1", "standard", "vertex_training")
H100: Key = ("NVIDIA_H100_80GB", "us-central1", "standard", "vertex_training")
L4: Key = ("NVIDIA_L4", "us-central1", "spot", "compute_engine")


@pytest.fixture
def billing(settings: Any) -> Iterator[BillingServer]:
    with serving() as server:
        settings.BILLING_ENDPOINT = server.url
        yield server


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    """The Catalog as a file with two pages."""
    file = tmp_path / "answer.json"
    file.write_text(json.dumps([{"skus": skus, "nextPageToken": ""} for skus in catalog().values()]))
    return file


def record(key: Key, usd: str | None, *, by: User, clock: Clock, **changes: Any) -> None:
    given = {"source": "Our bill", "source_url": "", "as_of": clock.now.date(), "is_official": False, "reason": "Bill"}
    amount = None if usd is None else Decimal(usd)
    prices.record_price(key, amount, **(given | changes), by=by, now=clock.now)


def usd_of(key: Key) -> Decimal | None:
    row = prices.current_book().effective_row(key)
    return row and row.usd_per_hour


def run(*arguments: object) -> str:
    out = io.StringIO()
    call_command("import_prices", *map(str, arguments), stdout=out)
    return out.getvalue()


class TestRecord:
    def test_the_newest_row_counts_at_once_and_earlier_ones_stay(self, admin: User, clock: Clock) -> None:
        record(N1, "0.3", by=admin, clock=clock)
        record(N1, "0.25", by=admin, clock=clock, as_of=clock.now.date() - timedelta(days=400))

        assert usd_of(N1) == Decimal("0.25")
        assert [row.usd_per_hour for row in Price.objects.order_by("id")] == [Decimal("0.3"), Decimal("0.25")]

    def test_a_job_is_estimated_with_it(self, admin: User, owner: User, team: Team, clock: Clock) -> None:
        record(N1, "0.3", by=admin, clock=clock)

        job = requests.request_job(
            submission=samples.submission(strategy="STANDARD", machine={"machineType": "n1-standard-4"}),
            team=team,
            by=owner,
            expected=timedelta(hours=1),
            request_key="priced",
            now=clock.now,
        )

        (line,) = (line for line in job.estimate["lines"] if line["resource"] == "n1-standard-4")
        assert (line["unit_usd"], line["source"], line["is_official"]) == ("0.3", "Our bill", False)

    def test_a_price_that_is_no_longer_sold_is_missing(self, admin: User, clock: Clock) -> None:
        record(N1, None, by=admin, clock=clock)

        assert usd_of(N1) is None

    def test_another_machine_s_price_stays(self, admin: User, clock: Clock) -> None:
        before = usd_of(H100)
        record(N1, "9", by=admin, clock=clock)

        assert usd_of(H100) == before == Decimal("11.2660332")

    def test_only_an_admin_may(self, owner: User, stranger: User, clock: Clock) -> None:
        for person in (owner, stranger):
            with pytest.raises(NotPermitted):
                record(N1, "9", by=person, clock=clock)
        assert not Price.objects.exists()

    @pytest.mark.parametrize(
        ("key", "usd", "changes"),
        [
            (N1, "0", {}),
            (N1, "-1", {}),
            (N1, "1000000", {}),
            (N1, "1", {"reason": "  "}),
            (N1, "1", {"source": ""}),
            (N1, "1", {"source": "a\x00b"}),
            (("n9-huge", "us-central1", "standard", "compute_engine"), "1", {}),
            (("n1-standard-4", "mars-north1", "standard", "compute_engine"), "1", {}),
            (("n1-standard-4", "us-central1", "spot", "vertex_training"), "1", {}),
        ],
    )
    def test_refuses_what_makes_no_sense(
        self, admin: User, clock: Clock, key: Key, usd: str, changes: dict[str, Any]
    ) -> None:
        with pytest.raises(ValueError, match=r"\."):
            record(key, usd, by=admin, clock=clock, **changes)
        with pytest.raises(ValueError, match="future"):
            record(N1, "1", by=admin, clock=clock, as_of=clock.now.date() + timedelta(days=1))


def test_a_database_that_was_restored_is_read_anew(admin: User, clock: Clock) -> None:
    record(N1, "0.3", by=admin, clock=clock)
    assert usd_of(N1) == Decimal("0.3")
    row = Price.objects.get()
    Price.objects.all().delete()

    assert usd_of(N1) == Decimal("0.21849885")
    row.usd_per_hour = Decimal("0.4")
    row.save(force_insert=True)
    assert usd_of(N1) == Decimal("0.4")


class TestCommand:
    def test_shows_what_changes_and_writes_nothing(self, answer: Path) -> None:
        out = run("--file", answer)

        assert "us-central1/n1-standard-4/standard/compute_engine  0.189999 -> 0.189999" not in out
        assert "us-central1/NVIDIA_H200_141GB/flex_start/compute_engine  none -> 5  new" in out
        assert "SKUs disagree, not imported: us-central1/NVIDIA_TESLA_V100/standard/compute_engine" in out
        assert "SKUs skipped, “Reserved”: 1" in out
        assert "Add --apply" in out
        assert not Price.objects.exists()

    def test_records_them_once(self, answer: Path) -> None:
        assert "recorded" in run("--file", answer, "--apply")
        count = Price.objects.count()

        assert "0 recorded" in run("--file", answer, "--apply")
        assert Price.objects.count() == count > 50
        assert usd_of(("NVIDIA_H200_141GB", "us-central1", "flex_start", "compute_engine")) == 5

    def test_a_silly_price_needs_its_own_confirmation(self, tmp_path: Path) -> None:
        file, name = tmp_path / "odd.json", "us-central1/NVIDIA_H100_80GB/standard/vertex_training"
        odd = sku("Vertex AI: Training/Pipelines on NVIDIA H100 80GB in Iowa", "1126.60332")
        file.write_text(json.dumps({"skus": [odd]}))

        assert f"{name}  11.2660332 -> 1126.60332  +9900.0 %  (more than 10 times" in run("--file", file, "--apply")
        assert usd_of(H100) == Decimal("11.2660332")
        run("--file", file, "--apply", "--confirm", name)
        assert usd_of(H100) == Decimal("1126.60332")
        with pytest.raises(CommandError, match="No price to confirm"):
            run("--file", file, "--apply", "--confirm", "us-east1/x/spot/compute_engine")

    def test_a_correction_holds_until_google_changes_its_price(self, admin: User, clock: Clock, tmp_path: Path) -> None:
        file = tmp_path / "l4.json"

        def imported(usd: str) -> Decimal | None:
            spot = sku("Nvidia L4 GPU attached to Spot Preemptible VMs running in Americas", usd)
            file.write_text(json.dumps({"skus": [spot]}))
            run("--file", file, "--apply")
            return usd_of(L4)

        assert imported("0.2") == Decimal("0.2")
        record(L4, "0.3", by=admin, clock=clock)
        assert imported("0.2") == Decimal("0.3")
        assert imported("0.21") == Decimal("0.21")

    def test_reads_every_page_of_both_services(self, billing: BillingServer) -> None:
        run("--apply")

        assert {path for path, _ in billing.asked} == {f"/v1/services/{name}/skus" for name in (COMPUTE, VERTEX)}
        assert len(billing.asked) >= 4
        assert all(query["currencyCode"] == ["USD"] and query["pageSize"] == ["5000"] for _, query in billing.asked)
        assert usd_of(L4) == Decimal("0.2")

    def test_says_what_cannot_be_read(self, tmp_path: Path, settings: Any) -> None:
        (tmp_path / "no.json").write_text("[1]")
        settings.VERTEX_ENDPOINT = "http://127.0.0.1:8900"

        with pytest.raises(CommandError, match="not a response of"):
            run("--file", tmp_path / "no.json")
        with pytest.raises(CommandError, match="Cannot read"):
            run("--file", tmp_path / "missing.json")
        with pytest.raises(CommandError, match="emulator"):
            run()


class TestDailyImport:
    def test_records_small_changes_and_proposes_large_ones(
        self, billing: BillingServer, admin: User, clock: Clock
    ) -> None:
        import_when_due(clock.now)
        billing.skus = {
            COMPUTE: [
                sku("Nvidia L4 GPU attached to Spot Preemptible VMs running in Americas", "0.22"),
                sku("Nvidia Tesla A100 GPU running in Americas", "4"),
            ],
            VERTEX: [sku("x", "1"), sku("y", "1")],
        }
        import_when_due(clock.forward(hours=1))
        assert usd_of(L4) == Decimal("0.2")

        import_when_due(clock.forward(hours=24))

        assert usd_of(L4) == Decimal("0.22")
        assert Price.objects.filter(origin="import").latest("id").reason == REASON
        (proposal,) = prices.proposals(claims.last_run(prices.UPKEEP))
        assert proposal.name == "us-central1/NVIDIA_TESLA_A100/standard/compute_engine"
        assert proposal.percent is not None
        assert 36 < proposal.percent < 37
        assert prices.accept([proposal.name], reason="Seen on Google's page", by=admin, now=clock.now) == 1
        assert usd_of(("NVIDIA_TESLA_A100", "us-central1", "standard", "compute_engine")) == 4
        assert prices.proposals(claims.last_run(prices.UPKEEP)) == []
        assert prices.accept([proposal.name], reason="Again", by=admin, now=clock.now) == 0

    def test_only_an_admin_accepts_and_only_with_a_reason(self, admin: User, owner: User, clock: Clock) -> None:
        with pytest.raises(NotPermitted):
            prices.accept(["x"], reason="x", by=owner, now=clock.now)
        with pytest.raises(ValueError, match="reason"):
            prices.accept(["x"], reason=" ", by=admin, now=clock.now)

    def test_calls_nobody_in_a_rehearsal(self, settings: Any, clock: Clock) -> None:
        settings.VERTEX_ENDPOINT = "http://127.0.0.1:8900"

        import_when_due(clock.now)

        assert not Upkeep.objects.exists()

    def test_says_that_there_are_no_credentials_and_tries_again_the_next_day(
        self, monkeypatch: pytest.MonkeyPatch, clock: Clock
    ) -> None:
        def nobody(**_: Any) -> None:
            raise DefaultCredentialsError

        monkeypatch.setattr("google.auth.default", nobody)

        import_when_due(clock.now)

        row = Upkeep.objects.get()
        assert "no usable Google credentials" in row.last_error
        assert row.due_at == clock.now + timedelta(days=1)

    def test_leaves_a_trace_when_the_answer_makes_no_sense(self, billing: BillingServer, clock: Clock) -> None:
        billing.answer = lambda _: {"skus": "none"}  # type: ignore[assignment, method-assign, return-value]

        import_when_due(clock.now)

        row = Upkeep.objects.get()
        assert row.last_error
        assert row.failures == 1
        assert not Price.objects.exists()

    def test_is_a_task(self, billing: BillingServer, clock: Clock) -> None:
        tasks.import_prices()

        assert Price.objects.exists()


def test_the_book_is_kept_while_nothing_is_recorded(team: Team, django_assert_num_queries: Any) -> None:
    book = requests.load_context(team).book

    with django_assert_num_queries(1):
        assert prices.current_book() is book


def test_a_preview_asks_for_new_prices_every_ten_seconds(
    admin: User, clock: Clock, django_assert_num_queries: Any
) -> None:
    oldest = prices.recent_book(clock.now)
    record(N1, "0.2", by=admin, clock=clock)
    before = prices.recent_book(clock.now)
    assert before is not oldest, "what this process records counts at once"
    newer = Price.objects.get()
    newer.pk, newer.usd_per_hour = None, Decimal("0.3")
    Price.objects.bulk_create([newer])  # as another process does it

    with django_assert_num_queries(0):
        assert prices.recent_book(clock.forward(seconds=10)) is before
    row = prices.recent_book(clock.forward(seconds=1)).effective_row(N1)
    assert row
    assert row.usd_per_hour == Decimal("0.3")
