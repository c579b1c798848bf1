"""The fields of one worker pool: its machines, its disk, and what runs on them."""

from itertools import groupby
from typing import Any

from django import forms

from dashboard.forms.fields import LinesField, PairsField, ShellWordsField
from dashboard.forms.found import FoundForm
from dashboard.forms.widgets import PickField
from jobs.catalog import ACCELERATORS, DISKS, LARGEST_DISK_GB, MACHINES, TRAINABLE, Machine

NONE = ("", "none")
MONO = {"class": "mono", "spellcheck": "false"}


def machine_words(machine: Machine) -> str:
    """Return a machine type with what it is made of, for the picker."""
    parts = []
    if machine.gpu_count and machine.gpu_type:
        known = ACCELERATORS.get(machine.gpu_type)
        parts.append(f"{machine.gpu_count} × {known.label if known else machine.gpu_type}")
    if machine.vcpu:
        parts.append(f"{machine.vcpu} vCPU")
    if machine.memory_gib:
        parts.append(f"{machine.memory_gib:g} GB")
    return f"{machine.machine_type} ({', '.join(parts)})" if parts else machine.machine_type


def machine_choices() -> list[tuple[str, Any]]:
    """Return the machine types that train, grouped by series; TPU machines need fields that this form lacks."""
    usable = [MACHINES[name] for name in TRAINABLE if not MACHINES[name].is_tpu]
    groups = groupby(sorted(usable, key=_order), key=lambda machine: machine.series)
    return [
        ("", "choose a machine type"),
        *((series.upper(), [(each.machine_type, machine_words(each)) for each in group]) for series, group in groups),
    ]


def _order(machine: Machine) -> tuple[bool, str, int, int, str]:
    """GPU series first, then by series and size."""
    return (not machine.gpu_type, machine.series, machine.gpu_count, machine.vcpu or 0, machine.machine_type)


def accelerator_choices() -> list[tuple[str, str]]:
    """Return the accelerators that can be attached to some machine."""
    names = dict.fromkeys(
        name for machine in MACHINES.values() if machine.trainable and not machine.is_tpu for name in machine.attachable
    )
    return [NONE, *((name, ACCELERATORS[name].label) for name in names if name in ACCELERATORS)]


def disk_choices() -> list[tuple[str, str]]:
    """Return the boot disk types."""
    return [("", "default"), *((name, disk.label) for name, disk in DISKS.items())]


class PoolForm(FoundForm):
    """One worker pool. An N1 machine takes accelerators; every other GPU machine brings its own."""

    machine_type = PickField(label="Machine type", required=False, choices=machine_choices)
    accelerator_type = PickField(label="Accelerator (N1 only)", required=False, choices=accelerator_choices)
    accelerator_count = forms.IntegerField(label="How many", required=False, min_value=0, max_value=10_000)
    replicas = forms.IntegerField(label="Replicas", required=False, min_value=0, max_value=1_000_000, initial=1)
    disk_type = PickField(label="Boot disk", required=False, choices=disk_choices)
    disk_gb = forms.IntegerField(label="Disk size, GB", required=False, min_value=0, max_value=LARGEST_DISK_GB * 1000)
    runs = forms.ChoiceField(
        label="What runs",
        choices=[("container", "Container"), ("package", "Python package")],
        initial="container",
        widget=forms.RadioSelect,
    )
    image = forms.CharField(
        label="Container image", required=False, max_length=4000, widget=forms.TextInput(attrs=MONO)
    )
    command = ShellWordsField(
        label="Command", required=False, help_text="Replaces the image's entrypoint. Quotes as in a shell."
    )
    executor_image = forms.CharField(
        label="Executor image",
        required=False,
        max_length=4000,
        help_text="A prebuilt training image of Google's.",
        widget=forms.TextInput(attrs=MONO),
    )
    package_uris = LinesField(label="Packages", required=False, help_text="One gs:// address on each line.")
    module = forms.CharField(label="Python module", required=False, max_length=4000, widget=forms.TextInput(attrs=MONO))
    args = ShellWordsField(label="Arguments", required=False, help_text="Quotes as in a shell.")
    env = PairsField(label="Environment variables", required=False, help_text="One NAME=value on each line.")
