"""Patterns for the descriptions of training machines' parts in the Cloud Billing Catalog.

The descriptions come from bills and published captures of the Catalog up to 2026-09; docs/cost.md lists those that were
never seen.
"""

import re
from dataclasses import dataclass
from typing import Literal

from jobs.cost.prices import ANY_STRATEGY, COMPUTE_ENGINE, MANAGEMENT_FEE, VERTEX_TRAINING

SERVICES = {"Compute Engine": "6F81-5844-456A", "Vertex AI": "C7E2-9256-1C43"}
"""The services whose SKUs are read, with their ids in the Catalog."""

HOUR, GIB_HOUR, GIB_MONTH = "h", "GiBy.h", "GiBy.mo"
"""Units as the Catalog writes them. Memory has the unit GiBy.h, so reading `h` alone would miss it."""

EXCLUDED = re.compile(
    r"^(?:Reserved|Commitment|DWS Calendar Mode|Capacity Optimized)\b"
    r"|\b(?:Sole Tenancy|Custom|Premium for|suspended|vGPU)\b",
    re.IGNORECASE,
)
"""Other products with similar descriptions. `usageType` does not distinguish them, because many of them have
OnDemand."""

FAMILIES = {
    "n1": "N1 Predefined Instance",
    "e2": "E2 Instance",
    "n2": "N2 Instance",
    "n4": "N4 Instance",
    "g2": "G2 Instance",
    "g4": "G4 Instance",
    "a2": "A2 Instance",
    "a3": "A3 Instance",
    "a3plus": "A3Plus Instance",
    "c2": "Compute optimized(?: Instance)?",
    "m1": "Memory-optimized Instance",
}
_DWS_FAMILIES = {"g2": "G2", "g4": "G4", "a2": "A2", "a3": "A3", "a3ultra": "A3 ?Ultra"}
_VERTEX_FAMILIES = FAMILIES | {"n1": "N1(?: Predefined)? Instance"}

GPUS = {
    "NVIDIA_TESLA_T4": "Nvidia Tesla T4",
    "NVIDIA_TESLA_P4": "Nvidia Tesla P4",
    "NVIDIA_TESLA_P100": "Nvidia Tesla P100",
    "NVIDIA_TESLA_V100": "Nvidia Tesla V100",
    "NVIDIA_TESLA_A100": "Nvidia Tesla A100",
    "NVIDIA_A100_80GB": "Nvidia Tesla A100 80GB",
    "NVIDIA_L4": "Nvidia L4",
    "NVIDIA_H100_80GB": "Nvidia H100 80GB",
    "NVIDIA_H100_MEGA_80GB": "Nvidia H100 (?:80GB (?:Mega|Plus)|(?:Mega|Plus) 80GB)",
    "NVIDIA_H200_141GB": "(?:Nvidia )?H200 141GB",
}
"""Whole names, each followed by " GPU" in the Catalog; "A100" and "H100 80GB" are also the beginning of other names."""
_RTX = "(?:Nvidia )?RTX 6000 96GB(?: GPU)?"
_B200 = r"A4 Nvidia B200 \(1 gpu slice\)"
_BOOT_DISKS = {"pd-standard": "Storage", "pd-ssd": "SSD backed"}
_CHIPS = {"tpu-v5e-chip": "V5e", "tpu-v6e-chip": "V6e"}

Part = Literal["core", "ram", "unit", "disk"]
_UNITS = {"core": HOUR, "ram": GIB_HOUR, "unit": HOUR, "disk": GIB_MONTH}
_HOST_PARTS: tuple[tuple[Part, str], ...] = (("core", "Core"), ("ram", "Ram"))
_NAMES = {"core": "{}-vcpu-hour", "ram": "{}-ram-gb-hour", "unit": "{}", "disk": "{}-gb-month"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One form of description, and what a SKU of this form is the price of."""

    text: re.Pattern[str]
    name: str
    part: Part
    strategy: str
    basis: str

    @property
    def unit(self) -> str:
        """The unit of the price."""
        return _UNITS[self.part]

    @property
    def is_monthly(self) -> bool:
        """Whether the price is per month."""
        return self.unit == GIB_MONTH

    @property
    def resource(self) -> str:
        """The resource's name in the price book."""
        return _NAMES[self.part].format(self.name)


def _form(text: str, name: str, part: Part, strategy: str, basis: str = COMPUTE_ENGINE) -> Pattern:
    return Pattern(re.compile(text, re.IGNORECASE), name, part, strategy, basis)


def _hosts() -> list[Pattern]:
    """Return the patterns for cores and memory of Compute Engine."""
    forms = []
    for part, word in _HOST_PARTS:
        for name, text in FAMILIES.items():
            forms.append(_form(f"{text} {word} running in ", name, part, "standard"))
            forms.append(_form(f"Spot Preemptible {text} {word} running in ", name, part, "spot"))
        for name, text in _DWS_FAMILIES.items():
            forms.append(
                _form(f"DWS Defined Duration {text}(?: Instance)? {word} running in ", name, part, "flex_start")
            )
    return forms


def _accelerators() -> list[Pattern]:
    """Return the patterns for GPUs and TPU chips of Compute Engine."""
    texts = {name: f"{text} GPU" for name, text in GPUS.items()} | {"NVIDIA_RTX_PRO_6000": _RTX}
    forms = [
        _form(f"{text} {words}", name, "unit", strategy)
        for name, text in texts.items()
        for strategy, words in (
            ("standard", "running in "),
            ("spot", "attached to Spot Preemptible VMs"),
            ("flex_start", "attached to DWS Defined Duration VMs"),
        )
    ]
    forms.append(_form(f"{_B200} running in ", "NVIDIA_B200", "unit", "standard"))
    forms.append(_form(f"Spot Preemptible {_B200}", "NVIDIA_B200", "unit", "spot"))
    for name, text in _CHIPS.items():
        forms.append(_form(f"Tpu{text} running in ", name, "unit", "standard"))
        forms.append(_form(f"Tpu{text} attached to Spot Preemptible VMs", name, "unit", "spot"))
        forms.append(_form(f"DWS Defined Duration {text} running in ", name, "unit", "flex_start"))
    return forms


def _disks() -> list[Pattern]:
    ssd = "SSD backed Local Storage"
    return [
        _form(f"{ssd} attached to Spot Preemptible", "local-ssd", "disk", "spot"),
        _form(f"DWS Defined Duration {ssd}", "local-ssd", "disk", "flex_start"),
        _form(f"{ssd}(?: in |$)", "local-ssd", "disk", "standard"),
        *(_form(f"{text} PD Capacity(?: in |$)", name, "disk", "standard") for name, text in _BOOT_DISKS.items()),
    ]


def _vertex() -> list[Pattern]:
    """Return the patterns for Vertex AI's training prices and fees: the same text after another beginning."""
    forms = []
    for beginning, strategy, basis in (
        ("Vertex AI: Training/Pipelines on ", "standard", VERTEX_TRAINING),
        ("Vertex AI: Training/Pipelines management fee on ", ANY_STRATEGY, MANAGEMENT_FEE),
    ):
        for name, text in _VERTEX_FAMILIES.items():
            for part, word in _HOST_PARTS:
                forms.append(_form(f"{beginning}{text} {word} (?:running )?in ", name, part, strategy, basis))
        for name, text in (GPUS | {"NVIDIA_RTX_PRO_6000": _RTX}).items():
            forms.append(_form(f"{beginning}{text}(?: GPU)? (?:running )?in ", name, "unit", strategy, basis))
    disk = "Vertex AI: Training/Pipelines on SSD backed PD Capacity(?: in |$)"
    return [*forms, _form(disk, "pd-ssd", "disk", "standard", VERTEX_TRAINING)]


PATTERNS = (*_hosts(), *_accelerators(), *_disks(), *_vertex())
