"""Tests of the hourly price of a machine: worked examples, rules of each strategy, every machine in every region."""

from datetime import date
from decimal import Decimal
from itertools import product

import pytest

from jobs.catalog import MACHINES, REGIONS
from jobs.cost.lines import Line, Rate, Shape
from jobs.cost.prices import PriceBook
from jobs.cost.rates import hourly, machine_rate
from tests.unit.cost.builders import BOOK, JULY

STRATEGIES = ["standard", "spot", "flex_start", "reservation", "persistent"]
N1 = Shape("n1-standard-4")
H100 = Shape("a3-highgpu-8g", disk_gib=2000)
N1_T4 = Shape("n1-standard-8", "NVIDIA_TESLA_T4", 1)


def rounded(usd: Decimal | None, places: int = 9) -> str:
    """The amount with that many decimals, as the worked examples print it."""
    assert usd is not None
    return f"{usd:.{places}f}"


def rate(shape: Shape, price_key: str, region: str = "us-central1", book: PriceBook = BOOK) -> Rate:
    """The hourly rate with the boot disk."""
    return hourly(book, shape, region=region, price_key=price_key)


def only(lines: tuple[Line, ...], resource: str) -> Line:
    """The one line about a resource."""
    (found,) = [line for line in lines if line.resource == resource]
    return found


class TestWorkedExamples:
    @pytest.mark.parametrize(
        ("example", "shape", "price_key", "hours", "usd"),
        [
            ("P1", N1, "standard", "1.5", "0.367919508"),
            ("P2", H100, "standard", "10", "1015.429684"),
            ("P3", H100, "flex_start", "10", "520.306163"),
            ("P4", H100, "spot", "10", "643.201189"),
            ("P5", H100, "reservation", "10", "1022.005779"),
            ("P6", N1, "standard", "96", "23.546848504"),
            ("P7", N1, "standard", "10", "2.452796719"),
            ("P8", H100, "standard", "1", "101.542968"),
            ("P9", H100, "flex_start", "1", "52.030616"),
        ],
    )
    def test_come_out_to_the_printed_digit(
        self, example: str, shape: Shape, price_key: str, hours: str, usd: str
    ) -> None:
        cost = rate(shape, price_key, book=JULY).usd_per_hour

        assert cost is not None
        assert rounded(cost * Decimal(hours), len(usd.partition(".")[2])) == usd, example

    @pytest.mark.parametrize(("price_key", "usd"), [("standard", "10.80"), ("flex_start", "5.40"), ("spot", "5.6132")])
    def test_of_tpus_come_out_without_a_fee(self, price_key: str, usd: str) -> None:
        cost = machine_rate(BOOK, Shape("ct6e-standard-4t"), region="us-east5", price_key=price_key)

        assert cost.usd_per_hour == Decimal(usd)
        assert "not published" in cost.notes[0]

    @pytest.mark.parametrize(
        ("shape", "replicas", "spot", "standard"),
        [
            (Shape("a2-highgpu-1g"), 1, "2.47903", "4.22439"),
            (H100, 1, "63.78450", "101.00735"),
            (N1_T4, 4, "1.67408", "3.35799"),
        ],
    )
    def test_of_the_restart_model_use_these_prices(self, shape: Shape, replicas: int, spot: str, standard: str) -> None:
        for price_key, usd in (("spot", spot), ("standard", standard)):
            cost = machine_rate(JULY, shape, region="us-central1", price_key=price_key).times(replicas)

            assert rounded(cost.usd_per_hour, 5) == usd

    def test_of_flex_start_save_what_the_published_bill_says(self) -> None:
        flex, standard = rate(H100, "flex_start").usd_per_hour, rate(H100, "standard").usd_per_hour

        assert flex is not None
        assert standard is not None
        assert f"{1 - flex / standard:.2%}" == "48.76%"


class TestStandard:
    def test_takes_the_price_of_vertex_as_it_is(self) -> None:
        (machine, disk) = rate(N1, "standard").lines

        assert machine.unit_usd == Decimal("0.21849885")
        assert (machine.basis, machine.as_of, machine.assumption) == ("vertex_training", date(2026, 10, 7), "")
        assert not disk.assumed

    def test_takes_a_bill_over_a_newer_page_that_contradicts_it(self) -> None:
        gpu = only(rate(Shape("a3-highgpu-1g"), "standard").lines, "NVIDIA_H100_80GB")

        assert gpu.unit_usd == Decimal("11.2660332")

    def test_marks_up_the_price_of_compute_engine_and_says_so(self) -> None:
        machine = only(rate(Shape("n1-standard-8"), "standard").lines, "n1-standard-8")

        assert machine.unit_usd == Decimal("1.15") * Decimal("0.379998")
        assert machine.basis == "compute_engine"
        assert machine.assumption.startswith("Estimate: 1.15 ×")

    def test_of_an_a3_leaves_out_its_local_ssd(self) -> None:
        newest = machine_rate(BOOK, Shape("a3-megagpu-8g"), region="us-central1", price_key="standard")

        listed, ssd = Decimal("93.400712807"), 6000 * Decimal("0.08") / 730
        assert rounded(newest.usd_per_hour) == rounded(Decimal("1.15") * (listed - ssd))
        assert "local SSD" in newest.lines[0].assumption

    def test_adds_the_gpus_that_are_attached_to_an_n1(self) -> None:
        gpu = only(rate(Shape("n1-standard-8", "NVIDIA_TESLA_T4", 4), "standard").lines, "NVIDIA_TESLA_T4")

        assert (gpu.quantity, gpu.unit) == (4, "GPU")
        assert gpu.usd_per_hour == 4 * Decimal("1.15") * Decimal("0.35")

    def test_does_not_add_the_gpus_that_a_machine_has_anyway(self) -> None:
        bare = rate(Shape("a2-highgpu-1g"), "standard")

        assert rate(Shape("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1), "standard") == bare

    def test_is_unknown_for_what_google_does_not_price_on_demand(self) -> None:
        cost = rate(Shape("a4-highgpu-8g"), "standard")

        assert cost.usd_per_hour is None
        assert "Google's price list has no on-demand price for a4-highgpu-8g in us-central1." in cost.notes

    def test_warns_of_a_shape_that_is_not_sold_on_demand(self) -> None:
        note = "Compute Engine does not sell a3-highgpu-1g on demand; its price is the sum of its parts."

        assert note in rate(Shape("a3-highgpu-1g"), "standard", region="us-east4").notes


class TestFee:
    @pytest.mark.parametrize("price_key", ["spot", "flex_start", "reservation"])
    def test_is_read_where_it_was_billed(self, price_key: str) -> None:
        fee = only(rate(H100, price_key).lines, "management fee on a3-highgpu-8g")

        assert (fee.unit_usd, fee.basis) == (Decimal("13.1749616"), "management_fee")

    def test_is_summed_over_the_parts_of_a_smaller_machine(self) -> None:
        lines = rate(Shape("a3-highgpu-1g"), "spot").lines

        assert sum(line.usd_per_hour for line in lines if line.basis == "management_fee") == Decimal(
            "1.4694826"
        ) + 26 * Decimal("0.0038247") + 234 * Decimal("0.0003331")

    def test_is_estimated_elsewhere_and_says_so(self) -> None:
        fee = only(rate(Shape("a2-highgpu-1g"), "spot").lines, "management fee on a2-highgpu-1g")

        assert fee.unit_usd == Decimal("0.15") * Decimal("3.673385")
        assert fee.assumption.startswith("Estimate: 15 %")

    def test_is_not_part_of_the_standard_price(self) -> None:
        assert not [line for line in rate(H100, "standard").lines if line.basis == "management_fee"]


class TestBootDisk:
    @pytest.mark.parametrize(
        ("disk_type", "region", "unit_usd", "assumed"),
        [
            ("", "us-central1", Decimal("0.1955") / 730, False),
            ("pd-ssd", "us-central1", Decimal("0.1955") / 730, False),
            ("pd-ssd", "europe-west4", Decimal("1.15") * Decimal("0.187") / 730, True),
            ("pd-standard", "us-central1", Decimal("1.15") * Decimal("0.04") / 730, True),
            ("hyperdisk-balanced", "us-central1", Decimal("0.1955") / 730, True),
        ],
    )
    def test_costs_by_the_gib_and_says_what_is_assumed(
        self, disk_type: str, region: str, unit_usd: Decimal, assumed: bool
    ) -> None:
        disk = rate(Shape("n1-standard-4", disk_type=disk_type, disk_gib=250), "spot", region).lines[-1]

        assert disk.resource == f"{disk_type or 'pd-ssd'} boot disk"
        assert (disk.quantity, disk.unit_usd, disk.assumed) == (250, unit_usd, assumed)

    def test_comes_once_for_each_machine_of_a_tpu_slice(self) -> None:
        chips, disk = rate(Shape("ct6e-standard-4t", tpu_topology="4x4"), "standard", "us-east5").lines

        assert (chips.quantity, disk.quantity) == (16, 400)


class TestOtherStrategies:
    def test_on_a_persistent_resource_a_run_costs_nothing(self) -> None:
        assert rate(H100, "persistent").usd_per_hour == 0

    def test_a_reservation_says_that_it_bills_unused_hours_too(self) -> None:
        assert "used or not" in rate(N1, "reservation").notes[0]

    def test_flex_start_says_that_its_prices_change(self) -> None:
        assert "November 2026" in rate(H100, "flex_start").notes[0]

    def test_flex_start_is_summed_from_parts_where_no_machine_is_priced(self) -> None:
        cost = machine_rate(BOOK, Shape("a2-highgpu-8g"), region="us-central1", price_key="flex_start")

        parts = 8 * Decimal("1.61365") + 96 * Decimal("0.01739") + 680 * Decimal("0.00233")
        assert cost.usd_per_hour == parts + Decimal("0.15") * Decimal("29.38708")


class TestUnknownPrice:
    @pytest.mark.parametrize(
        ("shape", "region", "price_key", "missing"),
        [
            (H100, "us-west1", "flex_start", "a3-vcpu-hour"),
            (Shape("a4x-highgpu-4g"), "us-central1", "reservation", "a4x-highgpu-4g"),
            (Shape("tpu7x-standard-4t"), "us-central1", "standard", "tpu7x-standard-4t"),
            (Shape("cloud-tpu", "TPU_V3", 32), "us-central1", "standard", "cloud-tpu 32 × TPU_V3"),
            (Shape("e2-standard-4"), "moon-west1", "standard", "e2-standard-4"),
            (Shape("n1-standard-8", "NVIDIA_TESLA_P100", 1), "us-east4", "spot", "NVIDIA_TESLA_P100"),
            (Shape("z9-giga-1"), "us-central1", "standard", "z9-giga-1"),
            (Shape(""), "us-central1", "standard", "a machine without a type"),
        ],
    )
    def test_is_none_and_names_what_is_missing(self, shape: Shape, region: str, price_key: str, missing: str) -> None:
        cost = rate(shape, price_key, region)

        assert cost.usd_per_hour is None
        assert missing in " ".join(cost.notes)

    def test_mentions_another_region_but_does_not_use_it(self) -> None:
        cost = rate(Shape("a3-megagpu-8g"), "standard", region="me-central2")

        assert cost.usd_per_hour is None
        assert "In us-central1 such a machine costs $106.65 an hour." in cost.notes[-1]


class TestEveryMachineEverywhere:
    @pytest.mark.parametrize("price_key", STRATEGIES)
    def test_has_a_price_with_its_source_or_says_that_it_has_none(self, price_key: str) -> None:
        for machine_type, region in product(MACHINES, REGIONS):
            cost = rate(Shape(machine_type), price_key, region)

            assert cost.usd_per_hour is None or cost.usd_per_hour > 0 or price_key == "persistent"
            assert cost.usd_per_hour is not None or "Not known" in cost.notes[-1]
            for line in cost.lines:
                assert line.unit_usd is None or line.source
                assert (line.source and line.as_of) or line.assumption
