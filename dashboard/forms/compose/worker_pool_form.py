"""The fields of one worker pool: its machines, its disk, and the code that it runs."""

from copy import deepcopy
from functools import partial
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.compose import fitting, paths
from dashboard.forms.compose.body import load_fields, write_fields
from dashboard.forms.compose.carried import CarryingForm
from dashboard.forms.fields.choices import CountField, OpenChoiceField
from dashboard.forms.fields.located import IntegerField, LineField, OneOfField
from dashboard.forms.fields.objects import ObjectsField
from dashboard.forms.fields.words import EnvField, LinesField, ShellWordsField
from dashboard.forms.findings import FindingsField
from jobs.catalog import DISKS, MAX_DISK_GB, machine
from jobs.spec.images import ImageState

MAX_DISK_GB = 1000 * MAX_DISK_GB
AFFINITY = "machineSpec.reservationAffinity"
SPECIFIC = "SPECIFIC_RESERVATION"
RESERVATION_KEY = "compute.googleapis.com/reservation-name"
"""The key of a SPECIFIC_RESERVATION (REST reference, ReservationAffinity, read 2026-11-21)."""
AFFINITIES = (
    ("", _("as for the whole job")),
    (SPECIFIC, _("these reservations")),
    ("ANY_RESERVATION", _("any with free capacity")),
    ("NO_RESERVATION", _("none")),
)


_code = partial(LineField, max_length=4000, is_code=True)


def disk_choices() -> list[tuple[str, Any]]:
    """Return the boot disk types."""
    return [("", _("default")), *((name, disk.label) for name, disk in DISKS.items())]


class WorkerPoolForm(CarryingForm):
    """One worker pool. Machines without built-in GPUs may have attached ones; all others have fixed accelerators."""

    first_field = "machine_type"
    image_state: ImageState | None = None
    """The state of its image, if known."""

    machine_type = OpenChoiceField(_("Machine type"), path="machineSpec.machineType", covers=("", "machineSpec"))
    accelerator_type = OpenChoiceField(_("Accelerator"), path="machineSpec.acceleratorType")
    accelerator_count = CountField(_("How many"), path="machineSpec.acceleratorCount", min_value=0, max_value=10_000)
    tpu_topology = OpenChoiceField(_("TPU topology"), path="machineSpec.tpuTopology")
    replicas = IntegerField(_("Replicas"), path="replicaCount", min_value=0, max_value=1_000_000, initial=1)
    disk_type = OpenChoiceField(
        _("Boot disk"), path="diskSpec.bootDiskType", choices=disk_choices, covers=("diskSpec",)
    )
    disk_gb = IntegerField(_("Disk size, GB"), path="diskSpec.bootDiskSizeGb", min_value=0, max_value=MAX_DISK_GB)
    affinity = OpenChoiceField(
        _("Reservation of this worker pool"),
        path=f"{AFFINITY}.reservationAffinityType",
        choices=AFFINITIES,
        covers=(AFFINITY,),
    )
    reservations = LinesField(
        _("Its full name"), _("projects/P/zones/Z/reservations/NAME, one on each line."), path=f"{AFFINITY}.values"
    )
    runs = OneOfField(
        _("What runs"),
        objects={"container": "containerSpec", "package": "pythonPackageSpec"},
        choices=[("container", _("Container")), ("package", _("Python package"))],
        initial="container",
        required=True,
        widget=forms.RadioSelect,
    )
    image = _code(_("Container image"), path="containerSpec.imageUri", covers=("containerSpec",))
    command = ShellWordsField(
        _("Command"), _("Replaces the image's entrypoint. Quotes as in a shell."), path="containerSpec.command"
    )
    executor_image = _code(
        _("Executor image"),
        _("One of Google's prebuilt training images."),
        path="pythonPackageSpec.executorImageUri",
        covers=("pythonPackageSpec",),
    )
    package_uris = LinesField(_("Packages"), _("One gs:// address on each line."), path="pythonPackageSpec.packageUris")
    module = _code(_("Python module"), path="pythonPackageSpec.pythonModule")
    args = ShellWordsField(
        _("Arguments"), _("Quotes as in a shell."), path=("containerSpec.args", "pythonPackageSpec.args")
    )
    env = EnvField(
        _("Environment variables"),
        _("One NAME=value on each line."),
        path=("containerSpec.env", "pythonPackageSpec.env"),
    )
    nfs_mounts = ObjectsField(
        "{server}:{path} {mountPoint}",
        _("NFS shares"),
        _("SERVER:/PATH MOUNT_POINT on each line; mounted at /mnt/nfs/MOUNT_POINT. They need a network."),
        path="nfsMounts",
    )
    lustre_mounts = ObjectsField(
        "{instanceIp} {volumeHandle} {filesystem} {mountPoint}",
        _("Lustre file systems"),
        _("ADDRESS VOLUME_HANDLE FILESYSTEM MOUNT_POINT on each line; mounted at /mnt/lustre/MOUNT_POINT."),
        path="lustreMounts",
    )
    skip = forms.BooleanField(label=_("Skip this worker pool; the others keep their roles"), required=False)

    @property
    def row_label(self) -> str:
        """The name of this worker pool on the page."""
        return _("Worker pool %(number)s") % {"number": str(self.prefix).rpartition("-")[2]}

    def fit(self, region: str) -> None:
        """Offer choices that fit the region and the current values. Remember these values in `fits`."""
        machine_type, accelerator = (str(self[name].value() or "") for name in ("machine_type", "accelerator_type"))
        self.fits = "|".join((region, machine_type, accelerator))
        self.offer("machine_type", fitting.machine_choices(), fitting.missing_machines(region))
        self.offer("accelerator_type", fitting.accelerator_choices(machine_type), fitting.missing_accelerators(region))
        self.offer("accelerator_count", fitting.count_choices(machine_type, accelerator))
        self.offer("tpu_topology", fitting.topology_choices(machine_type))

    def refitted(self) -> list[FindingsField]:
        """Return the fields whose lists differ from those in the browser, according to the posted `fits`."""
        had = str(self.data.get(self.add_prefix("fits"), "")).split("|")
        now = self.fits.split("|")
        if len(had) != len(now):
            had = [""] * len(now)
        names = ["machine_type"] if had[0] != now[0] else []
        if had[:2] != now[:2]:
            names += ["accelerator_type", "tpu_topology"]
        if had[1:] != now[1:]:
            names.append("accelerator_count")
        return self.bound_fields(names)

    @property
    def accelerator(self) -> str:
        """The accelerator that the chosen machine has or was given, "" for none."""
        known = machine(str(self["machine_type"].value() or ""))
        return (known.fixed_accelerator if known else "") or str(self["accelerator_type"].value() or "")

    @property
    def is_skipped(self) -> bool:
        """Whether the pool is to be left empty: the box is checked, or all fields were cleared."""
        values = self.cleaned_data
        return bool(values.get("skip")) or not any(
            value for name, value in values.items() if name not in ("runs", "drop_carried")
        )

    @property
    def has_mounts(self) -> bool:
        """Whether a field of the folded part has a value or was refused."""
        return any(field.value() or field.is_refused for field in self.bound_fields(("nfs_mounts", "lustre_mounts")))

    def to_body(self) -> dict[str, Any]:
        """Return a WorkerPoolSpec. A machine with fixed GPUs names them, as Vertex AI requires."""
        pool = deepcopy(self.kept)
        write_fields(self, pool)
        spec = pool.get("machineSpec", {})
        known = machine(spec.get("machineType", ""))
        own = known is not None and known.gpu_attach == "fixed" and known.gpu_type
        if known is not None and own and not spec.get("acceleratorType") and not spec.get("acceleratorCount"):
            spec |= {"acceleratorType": known.gpu_type, "acceleratorCount": known.gpu_count}
        affinity = spec.get("reservationAffinity", {})
        if affinity.get("reservationAffinityType") == SPECIFIC:
            affinity.setdefault("key", RESERVATION_KEY)
        return pool


def reserve(pools: list[dict[str, Any]], name: str) -> None:
    """Set the job's reservation ("" for none) for each pool that has no choice of its own."""
    for pool in pools if name else ():
        if pool and paths.get(pool, AFFINITY) is paths.MISSING:
            paths.put(pool, AFFINITY, {"reservationAffinityType": SPECIFIC, "key": RESERVATION_KEY, "values": [name]})


def load_worker_pool(pool: dict[str, Any], *, is_empty: bool = False) -> dict[str, Any]:
    """Return the initial values of a WorkerPoolSpec, which is modified. Fixed GPUs of its machine are omitted."""
    if is_empty:
        return {"machine_type": None, "replicas": None, "skip": True, "carried": pool}
    affinity = pool.get("machineSpec", {}).get("reservationAffinity", {})
    if affinity.get("reservationAffinityType") == SPECIFIC and affinity.get("key") == RESERVATION_KEY:
        del affinity["key"]
    values = load_fields(WorkerPoolForm, pool)
    known = machine(values["machine_type"] or "")
    own = known is not None and known.gpu_attach == "fixed" and known.gpu_type
    if known is not None and own and known.takes(values["accelerator_type"] or "", values["accelerator_count"] or 0):
        values |= {"accelerator_type": None, "accelerator_count": None}
    return values | {"carried": pool}
