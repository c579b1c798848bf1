"""The catalogue: machines, accelerators, regions, disks and prices as data files with source and date."""

from jobs.catalog.accelerators import ACCELERATORS, Accelerator, accelerator
from jobs.catalog.machines import (
    DISKS,
    LARGEST_DISK_GB,
    MACHINES,
    SMALLEST_DISK_GB,
    TRAINABLE,
    Disk,
    Machine,
    Topology,
    default_disk,
    machine,
)
from jobs.catalog.prices import PriceRow, fee_rows, price_rows
from jobs.catalog.regions import REGIONS, Region, accelerators_in, regions_with

__all__ = [
    "ACCELERATORS",
    "DISKS",
    "LARGEST_DISK_GB",
    "MACHINES",
    "REGIONS",
    "SMALLEST_DISK_GB",
    "TRAINABLE",
    "Accelerator",
    "Disk",
    "Machine",
    "PriceRow",
    "Region",
    "Topology",
    "accelerator",
    "accelerators_in",
    "default_disk",
    "fee_rows",
    "machine",
    "price_rows",
    "regions_with",
]
