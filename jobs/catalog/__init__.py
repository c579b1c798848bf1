"""The catalogue: machines, accelerators, regions, disks and prices from data files with source and date."""

from jobs.catalog.accelerators import ACCELERATORS, Accelerator
from jobs.catalog.carbon import CARBON, Carbon
from jobs.catalog.growing import forget_when_recorded
from jobs.catalog.machines import (
    DISKS,
    MACHINES,
    MAX_DISK_GB,
    MIN_DISK_GB,
    READ_DATE,
    Machine,
    count_accelerators,
    default_disk,
    machine,
    trainable,
)
from jobs.catalog.prices import PriceRow, fee_rows, price_rows
from jobs.catalog.regions import REGIONS, accelerators_in, regions_with

__all__ = [
    "ACCELERATORS",
    "CARBON",
    "DISKS",
    "MACHINES",
    "MAX_DISK_GB",
    "MIN_DISK_GB",
    "READ_DATE",
    "REGIONS",
    "Accelerator",
    "Carbon",
    "Machine",
    "PriceRow",
    "accelerators_in",
    "count_accelerators",
    "default_disk",
    "fee_rows",
    "forget_when_recorded",
    "machine",
    "price_rows",
    "regions_with",
    "trainable",
]
