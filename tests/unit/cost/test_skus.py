"""Tests of parsing the Cloud Billing Catalog: which SKU is the price of which part, and which are ignored."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.catalog import PriceRow, fee_rows, price_rows
from jobs.cost import PriceBook, Shape
from jobs.cost.machine_sums import rows_of
from jobs.cost.price_changes import Comparison, compare
from jobs.cost.rates import machine_rate
from jobs.cost.skus import Reading, Unreadable, price_of
from tests.support.skus import COMPUTE, VERTEX, catalog, sku
from tests.unit.vertex.test_shapes import document, faults

DAY = date(2026, 11, 22)
IOWA = "us-central1"
NAMES = st.sampled_from(["description", "skuId", "serviceRegions", "pricingInfo", "pricingExpression", "tieredRates"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.just("A3 Instance Core running in Americas")
ODD = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner))


def read(*skus: Any) -> Reading:
    reading = Reading()
    reading.add(skus)
    return reading


@pytest.fixture(scope="module")
def whole() -> Reading:
    return read(*catalog()[COMPUTE], *catalog()[VERTEX])


def usd(reading: Reading, resource: str, strategy: str, basis: str = "compute_engine", region: str = IOWA) -> Any:
    found = reading.prices().get((resource, region, strategy, basis))
    return found and found.usd


def test_the_sample_has_the_shape_that_google_describes() -> None:
    schemas = document("cloudbilling.v1")["schemas"]

    for skus in catalog().values():
        page = {"skus": skus, "nextPageToken": ""}
        assert list(faults(page, {"$ref": "ListSkusResponse"}, schemas)) == []


class TestReading:
    @pytest.mark.parametrize(
        ("resource", "strategy", "basis", "price"),
        [
            ("n1-vcpu-hour", "standard", "compute_engine", "0.031611"),
            ("n1-vcpu-hour", "spot", "compute_engine", "0.0067"),
            ("n1-ram-gb-hour", "standard", "compute_engine", "0.004237"),
            ("e2-vcpu-hour", "standard", "compute_engine", "0.02181159"),
            ("NVIDIA_TESLA_A100", "standard", "compute_engine", "2.933908"),
            ("NVIDIA_A100_80GB", "standard", "compute_engine", "3.92808"),
            ("NVIDIA_H100_80GB", "standard", "compute_engine", "9.796550569"),
            ("NVIDIA_H100_80GB", "flex_start", "compute_engine", "4.20076"),
            ("NVIDIA_H100_MEGA_80GB", "standard", "compute_engine", "10.344275712"),
            ("NVIDIA_H100_MEGA_80GB", "spot", "compute_engine", "3.1"),
            ("NVIDIA_H100_MEGA_80GB", "flex_start", "compute_engine", "4.5"),
            ("NVIDIA_H200_141GB", "standard", "compute_engine", "9.0"),
            ("NVIDIA_H200_141GB", "flex_start", "compute_engine", "5.0"),
            ("NVIDIA_RTX_PRO_6000", "standard", "compute_engine", "2.0"),
            ("NVIDIA_B200", "standard", "compute_engine", "16.11"),
            ("NVIDIA_B200", "spot", "compute_engine", "7.5"),
            ("NVIDIA_H100_80GB", "standard", "vertex_training", "11.2660332"),
            ("a3-ram-gb-hour", "*", "management_fee", "0.0003331"),
        ],
    )
    def test_takes_the_whole_phrase(self, whole: Reading, resource: str, strategy: str, basis: str, price: str) -> None:
        assert usd(whole, resource, strategy, basis) == Decimal(price)

    def test_divides_a_month_by_730_hours_exactly(self, whole: Reading) -> None:
        assert usd(whole, "pd-ssd-gb-month", "standard") == Decimal("0.17") / 730
        assert usd(whole, "pd-standard-gb-month", "standard") == Decimal("0.04") / 730
        assert usd(whole, "pd-ssd-gb-month", "standard", "vertex_training") == Decimal("0.1955") / 730

    def test_takes_the_region_from_its_field_and_not_from_the_text(self, whole: Reading) -> None:
        assert usd(whole, "n1-vcpu-hour", "standard", region="us-east1") == Decimal("0.031611")
        assert usd(whole, "tpu-v6e-chip", "flex_start", region="us-east5") == Decimal("1.35")
        assert usd(whole, "tpu-v6e-chip", "standard") is None

    def test_takes_nothing_where_skus_disagree(self, whole: Reading) -> None:
        assert usd(whole, "NVIDIA_TESLA_V100", "standard") is None
        assert whole.conflicts() == [("NVIDIA_TESLA_V100", IOWA, "standard", "compute_engine")]

    def test_leaves_alone_what_is_something_else_and_counts_it(self, whole: Reading) -> None:
        assert [usd(whole, name, "standard") for name in ("NVIDIA_L4", "n2-vcpu-hour", "g2-ram-gb-hour")] == [None] * 3
        assert usd(whole, "NVIDIA_TESLA_T4", "standard") is None
        assert dict(whole.skipped) == {
            "“Reserved”": 1,
            "“Commitment”": 1,
            "“DWS Calendar Mode”": 1,
            "“Capacity Optimized”": 1,
            "“Sole Tenancy”": 2,
            "“Custom”": 2,
            "“suspended”": 1,
            "“vGPU”": 1,
            "a price of zero": 1,
            "several tiers": 1,
            "another unit": 1,
            "no region that has training": 1,
            "no price": 1,
            "not a part of a training machine": 3,
        }

    @given(ODD)
    def test_never_fails_on_what_is_no_sku(self, odd: Any) -> None:
        reading = read(odd, sku("N1 Predefined Instance Core running in Americas", "1"))

        assert len(reading.prices()) == 1

    @given(st.decimals("0.000000001", "99999", places=9))
    def test_keeps_every_digit_of_a_price(self, amount: Decimal) -> None:
        assert price_of(sku("x", str(amount)), "h") == amount

    @pytest.mark.parametrize("money", [{"currencyCode": "EUR", "units": "1"}, {"units": "x"}, {"units": "-1"}, None])
    def test_refuses_a_price_that_is_none(self, money: Any) -> None:
        odd = sku("x", "1")
        odd["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"] = money

        with pytest.raises(Unreadable):
            price_of(odd, "h")


class TestMachines:
    def test_are_the_sum_of_their_parts(self, whole: Reading) -> None:
        rows = {(row.resource, row.region, row.strategy, row.basis): row for row in rows_of(whole.prices(), as_of=DAY)}

        h100 = rows["a3-highgpu-8g", IOWA, "standard", "compute_engine"].usd_per_hour
        assert h100 == 8 * Decimal("9.796550569") + 208 * Decimal("0.025498") + 1872 * Decimal("0.0022203") + 6000 * (
            Decimal("0.08") / 730
        )
        billed = rows["a3-highgpu-8g", IOWA, "standard", "vertex_training"].usd_per_hour
        assert billed == Decimal("101.007352")  # pricing-notes P8 without its disk
        assert rows["a3-highgpu-8g", IOWA, "*", "management_fee"].usd_per_hour == Decimal("13.1749616")
        assert rows["a4-highgpu-8g", IOWA, "spot", "compute_engine"].usd_per_hour == 60
        assert ("a3-megagpu-8g", IOWA, "standard", "compute_engine") not in rows  # its cores have no SKU here

    def test_give_the_hour_that_was_billed(self, whole: Reading) -> None:
        recorded = {
            (row.resource, row.region, row.strategy, row.basis): row for row in rows_of(whole.prices(), as_of=DAY)
        }
        book = PriceBook(price_rows(), fee_rows(), recorded)

        rate = machine_rate(book, Shape("a3-highgpu-8g", "NVIDIA_H100_80GB", 8), region=IOWA, price_key="standard")

        assert rate.usd_per_hour == Decimal("101.007352")
        assert rate.prices_as_of == DAY
        assert all(line.is_official for line in rate.lines)


class TestComparison:
    def row(self, usd: str, *, as_of: date = DAY, origin: str = "import", official: bool = True) -> PriceRow:
        return PriceRow(IOWA, "NVIDIA_L4", "spot", Decimal(usd), "compute_engine", "s", as_of, "", official, origin)

    def compare(self, old: PriceRow | None, new: PriceRow, last: str | None = None, *confirmed: str) -> Comparison:
        key = (new.resource, new.region, new.strategy, new.basis)
        book = PriceBook((), (), {key: old} if old else {})
        imported = {key: Decimal(last)} if last else {}
        return compare(book, [new], imported=imported, confirmed=confirmed)

    def test_a_price_that_was_missing_is_new(self) -> None:
        (change,) = self.compare(None, self.row("0.2")).changes

        assert (change.old, change.percent) == (None, None)

    def test_a_change_says_by_how_much(self) -> None:
        (change,) = self.compare(self.row("0.2"), self.row("0.25")).changes

        assert change.percent == 25

    @pytest.mark.parametrize(("usd", "is_doubtful"), [("2", False), ("2.01", True), ("0.02", False), ("0.019", True)])
    def test_more_than_ten_times_must_be_confirmed(self, usd: str, is_doubtful: bool) -> None:
        found = self.compare(self.row("0.2"), self.row(usd))

        assert (len(found.doubtful), len(found.changes)) == ((1, 0) if is_doubtful else (0, 1))

    def test_a_confirmed_change_counts(self) -> None:
        found = self.compare(self.row("0.2"), self.row("9"), None, f"{IOWA}/NVIDIA_L4/spot/compute_engine")

        assert (len(found.doubtful), len(found.changes)) == (0, 1)

    def test_a_correction_holds_until_google_s_price_changes(self) -> None:
        person = self.row("0.3", origin="person")

        assert self.compare(person, self.row("0.2"), "0.2").doubtful
        assert self.compare(person, self.row("0.2")).doubtful
        assert self.compare(person, self.row("0.21"), "0.2").changes

    def test_the_same_price_is_recorded_again_after_a_month_or_from_a_better_source(self) -> None:
        new = self.row("0.2")

        assert self.compare(self.row("0.2", as_of=date(2026, 11, 1)), new).unchanged == 1
        assert self.compare(self.row("0.2", as_of=date(2026, 10, 1)), new).changes
        assert self.compare(self.row("0.2", official=False), new).changes
