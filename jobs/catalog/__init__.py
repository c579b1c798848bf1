"""The catalogue: machines, accelerators, regions, disks and prices from data files with source and date."""

from jobs.catalog.accelerators import ACCELERATORS, Accelerator
from jobs.catalog.machines import (
    DISKS,
    MACHINES,
    MAX_DISK_GB,
    MIN_DISK_GB,
    READ_DATE,
    TRAINABLE,
    Machine,
    count_accelerators,
    default_disk,
    machine,
)
from jobs.catalog.prices import PriceRow, fee_rows, price_rows
from jobs.catalog.regions import REGIONS, accelerators_in, regions_with

__all__ = [
    "ACCELERATORS",
    "DISKS",
    "MACHINES",
    "MAX_DISK_GB",
    "MIN_DISK_GB",
    "READ_DATE",
    "REGIONS",
    "TRAINABLE",
    "Accelerator",
    "Machine",
    "PriceRow",
    "accelerators_in",
    "count_accelerators",
    "default_disk",
    "fee_rows",
    "machine",
    "price_rows",
    "regions_with",
]
