"""Compatible choices: the machines of a region, the options of a machine, and the regions with a job's machines.

Pure, from the catalogue. The rules use the same data, so that a list never offers a value that they refuse.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from dashboard.forms.findings import Choices
from jobs.catalog import (
    ACCELERATORS,
    MACHINES,
    REGIONS,
    Machine,
    accelerators_in,
    forget_when_recorded,
    machine,
    trainable,
)

NONE = ("", _("none"))
CORES = (8, 32, 64, 128, 256, 512)
"""Numbers of cloud-tpu cores that the list offers. Every other multiple of 32 can be entered in a spec."""


def machine_words(machine: Machine) -> str:
    """Return a machine type with its hardware, for the picker."""
    parts = []
    if machine.gpu_count and machine.gpu_type:
        known = ACCELERATORS.get(machine.gpu_type)
        parts.append(f"{machine.gpu_count} × {known.label if known else machine.gpu_type}")
    elif machine.topologies:
        parts.append(f"{machine.gpu_count} × {label_of(machine.fixed_accelerator)}")
    if machine.vcpu:
        parts.append(f"{machine.vcpu} vCPU")
    if machine.memory_gib:
        parts.append(f"{machine.memory_gib:g} GB")
    return f"{machine.machine_type} ({', '.join(parts)})" if parts else machine.machine_type


def label_of(accelerator: str) -> str:
    """Return an accelerator's display name."""
    known = ACCELERATORS.get(accelerator)
    return known.label if known else accelerator


@cache
def machine_choices() -> Choices:
    """Return the machine types for training, grouped by series, those with GPUs first."""
    groups = groupby(sorted((MACHINES[name] for name in trainable()), key=_order), key=lambda found: found.series)
    return (
        ("", (("", _("choose a machine type")),)),
        *(
            (series.upper(), tuple((each.machine_type, machine_words(each)) for each in group))
            for series, group in groups
        ),
    )


@lru_cache(maxsize=128)
def missing_machines(region: str) -> Mapping[str, Any]:
    """Return {machine type: the part of it that the region lacks}."""
    return {name: reason for name in trainable() if (reason := lacks(region, MACHINES[name]))}


forget_when_recorded(machine_choices.cache_clear)
forget_when_recorded(missing_machines.cache_clear)


def lacks(region: str, found: Machine) -> Any:
    """Return the part of the machine that the region lacks, translated.

    Return "" if there is none or it is not known.
    """
    name = found.fixed_accelerator
    if region not in REGIONS or not name or name in accelerators_in(region):
        return ""
    return format_lazy(_("no {accelerator} in {region}"), accelerator=label_of(name), region=region)


def _order(found: Machine) -> tuple[bool, bool, str, int, int, str]:
    """Return the sort key: GPU series first, TPUs last, then by series and size."""
    return (found.is_tpu, not found.gpu_type, found.series, found.gpu_count, found.vcpu or 0, found.machine_type)


def accelerator_choices(machine_type: str) -> Choices:
    """Return the accelerators that can be attached to a machine, or to one that is unknown; no retired ones."""
    found = machine(machine_type)
    known = [
        name for name in (found.attachable if found else ACCELERATORS if machine_type else {}) if name in ACCELERATORS
    ]
    return (("", (NONE, *((name, label_of(name)) for name in known if not ACCELERATORS[name].is_retired))),)


def missing_accelerators(region: str) -> Mapping[str, str]:
    """Return {accelerator: a text} for those that the region lacks."""
    if region not in REGIONS:
        return {}
    words = _("not in %(region)s") % {"region": region}
    return {name: words for name in ACCELERATORS if name not in accelerators_in(region)}


def count_choices(machine_type: str, accelerator: str) -> Choices:
    """Return the possible numbers of an accelerator for a machine, or the usual ones for an unknown machine."""
    found = machine(machine_type)
    counts = CORES if found is not None and found.series == "cloud-tpu" else range(1, 17)
    is_unknown = found is None and bool(machine_type)
    usable = [
        count
        for count in counts
        if accelerator and (is_unknown or (found is not None and found.takes(accelerator, count)))
    ]
    return (("", (NONE, *((str(count), str(count)) for count in usable))),)


def topology_choices(machine_type: str) -> Choices:
    """Return the slices that a TPU machine type can form."""
    found = machine(machine_type)
    slices = found.topologies.values() if found else ()
    words = str(_("%(name)s (%(chips)s chips, %(machines)s machines)"))
    named = ((each.name, words % {"name": each.name, "chips": each.chips, "machines": each.vms}) for each in slices)
    return (("", (NONE, *named)),)


def region_choices(accelerators: frozenset[str] = frozenset()) -> Choices:
    """Return the regions. Those with all of the accelerators come first, the others have a list of what they lack.

    Regions that lack something can still be chosen. Otherwise nobody could change both the machine and the region.
    """
    wanted = {name for name in accelerators if name in ACCELERATORS}
    missing = {name: sorted(map(label_of, wanted - accelerators_in(name))) for name in REGIONS}
    having = tuple((name, name) for name in REGIONS if not missing[name])
    words = str(_("%(region)s · no %(accelerators)s"))
    rest = tuple(
        (name, words % {"region": name, "accelerators": ", ".join(lack)}) for name, lack in missing.items() if lack
    )
    groups = ((_("Has the machines"), having), (_("Lacks some of them"), rest)) if rest else (("", having),)
    return tuple(group for group in groups if group[1])
