"""Machine types for training, from data/machines.csv: vCPUs and supported accelerators.

Source: "Configure compute resources for training" in Google's documentation, read 2026-08 to 2026-11.
"""

import csv
from dataclasses import dataclass

from emulator.protocol.schema import DATA

REGIONS = set(
    """africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2
    asia-southeast1 asia-southeast2 australia-southeast1 australia-southeast2 europe-central2 europe-north1
    europe-southwest1 europe-west1 europe-west2 europe-west3 europe-west4 europe-west6 europe-west8 europe-west9
    europe-west12 me-central1 me-central2 me-west1 northamerica-northeast1 northamerica-northeast2
    southamerica-east1 southamerica-west1 us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2
    us-west3 us-west4""".split()
)
"""Regions with custom training ("Locations" page, read 2026-08). A catalogue may add more."""


@dataclass(frozen=True)
class Machine:
    """One machine type. `accelerator_counts` is `{type: (count, ...)}`, where an empty tuple means any count."""

    series: str
    vcpus: int
    memory_gib: float
    accelerator_counts: dict[str, tuple[int, ...]]

    def accepts(self, accelerator: str, count: int) -> bool:
        """Return whether this number of accelerators of a type fits the machine."""
        allowed = self.accelerator_counts.get(accelerator)
        return allowed is not None and (not allowed or count in allowed)


def _counts(row: dict[str, str]) -> dict[str, tuple[int, ...]]:
    if row["machine_type"] == "cloud-tpu":
        return {"TPU_V2": (), "TPU_V3": ()}
    if row["accelerator_type"]:
        return {row["accelerator_type"]: (int(row["accelerator_count"]),)}
    offered = (part.split(":") for part in row["attachable"].split(";") if part)
    return {accelerator: tuple(map(int, counts.split("|"))) for accelerator, counts in offered}


def _load() -> dict[str, Machine]:
    with (DATA / "machines.csv").open(newline="") as file:
        return {
            row["machine_type"]: Machine(
                series=row["series"],
                vcpus=int(row["vcpus"] or 0),
                memory_gib=float(row["memory_gib"] or 0),
                accelerator_counts=_counts(row),
            )
            for row in csv.DictReader(file)
        }


MACHINES = _load()
