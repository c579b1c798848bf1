"""Tests that the data files match the documentation and that every row has a source."""

from datetime import date
from decimal import Decimal

import pytest
from google.cloud import aiplatform_v1

from jobs.catalog import (
    ACCELERATORS,
    DISKS,
    MACHINES,
    REGIONS,
    accelerators_in,
    default_disk,
    fee_rows,
    machine,
    price_rows,
    regions_with,
    trainable,
)


class TestMachines:
    def test_carry_their_fixed_accelerators(self) -> None:
        found = machine("a2-highgpu-1g")

        assert found is not None
        assert (found.vcpu, found.memory_gib, found.gpu_type, found.gpu_count) == (12, 85, "NVIDIA_TESLA_A100", 1)
        assert found.takes("NVIDIA_TESLA_A100", 1)
        assert not found.takes("NVIDIA_TESLA_A100", 2)

    @pytest.mark.parametrize(
        ("machine_type", "accelerator", "count", "allowed"),
        [
            ("n1-standard-16", "NVIDIA_TESLA_V100", 1, False),
            ("n1-standard-16", "NVIDIA_TESLA_V100", 2, True),
            ("n1-standard-64", "NVIDIA_TESLA_T4", 4, True),
            ("n1-standard-64", "NVIDIA_TESLA_T4", 2, False),
            ("e2-standard-4", "NVIDIA_TESLA_T4", 1, False),
            ("cloud-tpu", "TPU_V2", 8, True),
            ("cloud-tpu", "TPU_V3", 64, True),
            ("cloud-tpu", "TPU_V3", 40, False),
            ("cloud-tpu", "NVIDIA_L4", 8, False),
        ],
    )
    def test_take_only_what_the_table_allows(
        self, machine_type: str, accelerator: str, count: int, allowed: bool
    ) -> None:
        found = machine(machine_type)

        assert found is not None
        assert found.takes(accelerator, count) is allowed

    def test_that_only_serve_are_known_but_not_offered(self) -> None:
        assert "n2d-standard-4" in MACHINES
        assert "n2d-standard-4" not in trainable()
        assert len(trainable()) == 117
        assert machine("n1-standard-1") is None

    def test_form_tpu_slices(self) -> None:
        found = machine("ct5lp-hightpu-4t")

        assert found is not None
        assert (found.topologies["4x4"].chips, found.topologies["4x4"].vms) == (16, 4)
        assert (found.fixed_accelerator, found.is_tpu) == ("TPU_V5E", True)

    def test_keep_fractions_of_memory(self) -> None:
        found = machine("n1-highcpu-16")

        assert found is not None
        assert found.memory_gib == Decimal("14.4")

    def test_get_the_documented_boot_disk(self) -> None:
        assert default_disk("a4-highgpu-8g") == "hyperdisk-balanced"
        assert default_disk("n1-standard-4") == "pd-ssd"


class TestRegions:
    def test_are_the_39_that_train(self) -> None:
        assert len(REGIONS) == 39
        assert "global" not in REGIONS

    def test_offer_accelerators_without_the_retired(self) -> None:
        assert "NVIDIA_TESLA_P100" in REGIONS["us-central1"].accelerators
        assert "NVIDIA_TESLA_P100" not in accelerators_in("us-central1")
        assert accelerators_in("me-central2") == {"NVIDIA_L4"}
        assert accelerators_in("nowhere") == frozenset()
        assert regions_with("TPU_7X") == ("us-central1",)

    def test_name_only_accelerators_that_are_listed(self) -> None:
        assert {name for region in REGIONS.values() for name in region.accelerators} <= set(ACCELERATORS)


class TestAccelerators:
    def test_tell_when_support_ended_and_what_to_take_instead(self) -> None:
        assert ACCELERATORS["NVIDIA_TESLA_P100"].retired_date == date(2026, 9, 15)
        assert ACCELERATORS["NVIDIA_TESLA_K80"].retired_date == date(2024, 5, 1)
        for found in ACCELERATORS.values():
            assert not found.is_retired or found.replacement in ACCELERATORS

    @pytest.mark.sdk
    def test_cover_the_gpus_of_the_api(self) -> None:
        names = {value.name for value in aiplatform_v1.AcceleratorType}

        assert {name for name in names if name.startswith("NVIDIA")} == {
            name for name, found in ACCELERATORS.items() if found.kind == "gpu"
        }

    def test_that_machines_carry_are_listed(self) -> None:
        carried = {found.fixed_accelerator for found in MACHINES.values()} - {""}
        attached = {name for found in MACHINES.values() for name in found.attachable}

        assert carried | attached <= set(ACCELERATORS)


class TestPrices:
    def test_are_exact_decimals_with_a_date(self) -> None:
        [row] = [r for r in price_rows() if r.resource == "a3-highgpu-8g" and r.basis == "vertex_training"]

        assert row.usd_per_hour == Decimal("101.007352")
        assert (row.region, row.strategy, row.as_of) == ("us-central1", "standard", date(2025, 8, 16))

    def test_leave_unknown_fees_empty(self) -> None:
        [row] = [r for r in fee_rows() if r.resource == "NVIDIA_L4"]

        assert row.usd_per_hour is None

    def test_are_never_negative_and_always_of_a_known_strategy(self) -> None:
        rows = price_rows() + fee_rows()

        assert all(row.usd_per_hour is None or row.usd_per_hour > 0 for row in rows)
        assert {row.strategy for row in rows} == {"standard", "spot", "flex_start", "reservation", "*"}


def test_every_row_names_its_source_and_day() -> None:
    for found in (*MACHINES.values(), *ACCELERATORS.values(), *REGIONS.values(), *DISKS.values()):
        assert found.source
        assert found.read_date is not None


@pytest.mark.parametrize(
    ("machine_type", "gib"),
    [("n1-standard-4", "12.40"), ("e2-standard-4", "13.30"), ("n1-highmem-2", "10.60"), ("n1-standard-64", "228.34")],
)
def test_allocatable_memory_is_what_gke_leaves(machine_type: str, gib: str) -> None:
    """GKE keeps 25, 20, 10, 6 and 2 percent of the first 4, next 4, 8, 112 GiB and the rest, and 100 MiB."""
    found = machine(machine_type)

    assert found is not None
    assert found.allocatable_gib is not None
    assert round(found.allocatable_gib, 2) == Decimal(gib)


def test_every_gpu_says_since_when_cuda_knows_it() -> None:
    gpus = [each for each in ACCELERATORS.values() if each.kind == "gpu" and each.name != "NVIDIA_TESLA_K80"]

    assert all(each.min_cuda is not None for each in gpus)
    assert {each.label for each in gpus if each.end_cuda} == {"V100", "P4", "P100"}
    assert all(each.end_cuda > each.min_cuda for each in gpus if each.min_cuda and each.end_cuda)
