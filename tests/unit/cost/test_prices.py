"""Tests of which of several published prices applies."""

from datetime import date
from decimal import Decimal
from itertools import permutations

import pytest

from jobs.catalog import PriceRow, fee_rows, price_rows
from jobs.cost import Shape
from jobs.cost.prices import PriceBook, hourly, line
from jobs.cost.rates import machine_rate

DAY, LATER = date(2026, 7, 30), date(2026, 9, 17)


def row(usd: str | None, as_of: date | None, *, note: str = "", **changes: str) -> PriceRow:
    """A price of one machine in one region."""
    known = {"region": "us-central1", "resource": "n1-standard-4", "strategy": "standard", "basis": "compute_engine"}
    price = None if usd is None else Decimal(usd)
    return PriceRow(**(known | changes), usd_per_hour=price, source="a price list", as_of=as_of, note=note)


def price(*rows: PriceRow, region: str = "us-central1") -> Decimal | None:
    """Return the price in a book of these rows, the same in every order of the rows."""
    found = set()
    for order in permutations(rows):
        best = PriceBook(order, ()).price("n1-standard-4", region=region, strategy="standard", basis="compute_engine")
        found.add(best.usd_per_hour if best else None)
    (answer,) = found
    return answer


class TestTheRowThatCounts:
    def test_is_the_newest(self) -> None:
        assert price(row("1", DAY), row("2", LATER)) == 2

    def test_is_a_dated_one_before_an_undated_one(self) -> None:
        assert price(row("1", DAY), row("2", None)) == 1

    def test_is_an_undated_one_before_an_inferred_one(self) -> None:
        assert price(row("1", None), row("2", None, note="INFERRED: from another column")) == 1

    def test_is_an_older_one_when_a_bill_contradicts_the_newer(self) -> None:
        assert price(row("1", DAY), row("2", LATER, note="CONTRADICTS what was billed")) == 1

    def test_is_a_doubtful_one_when_there_is_no_other(self) -> None:
        assert price(row("2", None, note="INFERRED: from another column")) == 2

    def test_is_never_a_blank_one(self) -> None:
        assert price(row("1", DAY), row(None, LATER)) == 1
        assert price(row(None, LATER)) is None

    def test_is_never_one_of_another_region(self) -> None:
        assert price(row("1", DAY), region="europe-west4") is None


class TestBook:
    def test_knows_what_a_price_list_leaves_blank(self) -> None:
        book = PriceBook([row(None, LATER), row("1", LATER, region="us-east4")], ())

        assert book.is_listed_without_price("n1-standard-4", region="us-central1", strategy="standard")
        assert not book.is_listed_without_price("n1-standard-4", region="us-east4", strategy="standard")
        assert not book.is_listed_without_price("n1-standard-4", region="us-west1", strategy="standard")

    def test_finds_the_fee_of_a_strategy_before_the_fee_of_all(self) -> None:
        fees = [
            row("1", LATER, strategy="*", basis="vertex_training"),
            row("2", DAY, strategy="spot", basis="vertex_training"),
        ]
        book = PriceBook((), fees)

        found = {
            strategy: book.fee("n1-standard-4", region="us-central1", strategy=strategy)
            for strategy in ("spot", "flex_start")
        }

        assert [fee and fee.usd_per_hour for fee in found.values()] == [2, 1]

    def test_counts_what_the_site_recorded_before_any_file(self) -> None:
        recorded = {("n1-standard-4", "us-central1", "standard", "compute_engine"): row("3", DAY)}
        book = PriceBook([row("1", LATER)], (), recorded)

        found = book.price("n1-standard-4", region="us-central1", strategy="standard", basis="compute_engine")
        assert found
        assert found.usd_per_hour == 3

    def test_takes_a_recorded_fee_of_all_strategies_before_a_file_s_fee_of_one(self) -> None:
        fees = [row("2", DAY, strategy="spot", basis="vertex_training")]
        recorded = {("n1-standard-4", "us-central1", "*", "management_fee"): row("3", DAY)}

        fee = PriceBook((), fees, recorded).fee("n1-standard-4", region="us-central1", strategy="spot")

        assert fee
        assert fee.usd_per_hour == 3

    def test_gives_no_price_where_the_site_recorded_that_it_is_no_longer_sold(self) -> None:
        key = ("a2-highgpu-1g", "us-central1", "spot", "compute_engine")
        recorded = {key: row(None, DAY, resource=key[0], strategy="spot")}
        book = PriceBook(price_rows(), fee_rows(), recorded)

        assert book.effective_row(key) is None
        rate = machine_rate(book, Shape("a2-highgpu-1g"), region="us-central1", price_key="spot")
        assert rate.usd_per_hour is None  # and not the sum of parts, which are priced there

    def test_is_read_once(self) -> None:
        assert PriceBook.load() is PriceBook.load()


class TestLine:
    def test_of_a_plain_row_assumes_nothing(self) -> None:
        found = line(row("1.5", DAY), quantity=Decimal(4), unit="machine")

        assert (found.usd_per_hour, found.source, found.as_of) == (6, "a price list", DAY)
        assert not found.assumed

    @pytest.mark.parametrize(
        ("note", "as_of", "says"),
        [
            ("", None, "no date"),
            ("INFERRED: from another column", None, "Inferred"),
            ("catalog price; APPROXIMATE: host priced as A3", DAY, "Approximate"),
            ("rounded to cents; DWS rate", DAY, "Rounded"),
        ],
    )
    def test_of_a_doubtful_row_says_why(self, note: str, as_of: date | None, says: str) -> None:
        assert says in line(row("1", as_of, note=note), quantity=Decimal(1), unit="machine").assumption

    def test_of_a_disk_is_exact_where_the_monthly_price_is_given(self) -> None:
        disk = row("0.000267808", DAY, resource="pd-ssd-gb-month", note="SKU A; 0.1955 USD per GiB-month /730")

        assert hourly(disk) == Decimal("0.1955") / 730

    def test_as_json_carries_amounts_as_text(self) -> None:
        body = line(row("0.10", DAY), quantity=Decimal(2), unit="machine").as_dict()

        assert (body["unit_usd"], body["usd_per_hour"], body["as_of"]) == ("0.1", "0.2", "2026-07-30")
