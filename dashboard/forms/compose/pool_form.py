"""The fields of one worker pool: its machines, its disk, and what runs on them."""

from django import forms

from dashboard.forms.compose.carried import CarriedField, DropField, carried_words
from dashboard.forms.compose.fitting import accelerator_groups, count_groups, machine_groups, topology_groups
from dashboard.forms.fields.objects import ObjectsField
from dashboard.forms.fields.picks import CountField, OpenPickField
from dashboard.forms.fields.words import LinesField, PairsField, ShellWordsField, line_field
from dashboard.forms.found import FoundField, FoundForm
from jobs.catalog import DISKS, LARGEST_DISK_GB

LONGEST_CODE = 4000
AFFINITIES = (
    ("", "as for the whole job"),
    ("SPECIFIC_RESERVATION", "these reservations"),
    ("ANY_RESERVATION", "any that has room"),
    ("NO_RESERVATION", "none"),
)


def disk_choices() -> list[tuple[str, str]]:
    """Return the boot disk types."""
    return [("", "default"), *((name, disk.label) for name, disk in DISKS.items())]


class PoolForm(FoundForm):
    """One worker pool. Machines without GPUs of their own may take some; every other brings what it has."""

    machine_type = OpenPickField(label="Machine type", required=False)
    accelerator_type = OpenPickField(label="Accelerator", required=False)
    accelerator_count = CountField(label="How many", required=False, min_value=0, max_value=10_000)
    tpu_topology = OpenPickField(label="TPU topology", required=False)
    replicas = forms.IntegerField(label="Replicas", required=False, min_value=0, max_value=1_000_000, initial=1)
    disk_type = OpenPickField(label="Boot disk", required=False, choices=disk_choices)
    disk_gb = forms.IntegerField(label="Disk size, GB", required=False, min_value=0, max_value=LARGEST_DISK_GB * 1000)
    affinity = OpenPickField(label="Reservation of this pool", required=False, choices=AFFINITIES)
    reservations = LinesField(
        label="Its full name", required=False, help_text="projects/P/zones/Z/reservations/NAME, one on each line."
    )
    runs = forms.ChoiceField(
        label="What runs",
        choices=[("container", "Container"), ("package", "Python package")],
        initial="container",
        widget=forms.RadioSelect,
    )
    image = line_field("Container image", longest=LONGEST_CODE, is_code=True)
    command = ShellWordsField(
        label="Command", required=False, help_text="Replaces the image's entrypoint. Quotes as in a shell."
    )
    executor_image = line_field(
        "Executor image", "A prebuilt training image of Google's.", longest=LONGEST_CODE, is_code=True
    )
    package_uris = LinesField(label="Packages", required=False, help_text="One gs:// address on each line.")
    module = line_field("Python module", longest=LONGEST_CODE, is_code=True)
    args = ShellWordsField(label="Arguments", required=False, help_text="Quotes as in a shell.")
    env = PairsField(label="Environment variables", required=False, help_text="One NAME=value on each line.")
    nfs_mounts = ObjectsField(
        "{server}:{path} {mountPoint}",
        label="NFS shares",
        required=False,
        help_text="SERVER:/PATH MOUNT_POINT on each line; mounted at /mnt/nfs/MOUNT_POINT. They need a network.",
    )
    lustre_mounts = ObjectsField(
        "{instanceIp} {volumeHandle} {filesystem} {mountPoint}",
        label="Lustre file systems",
        required=False,
        help_text="ADDRESS VOLUME_HANDLE FILESYSTEM MOUNT_POINT on each line; mounted at /mnt/lustre/MOUNT_POINT.",
    )
    skip = forms.BooleanField(label="Skip this pool; the others keep their roles", required=False)
    carried = CarriedField()
    drop_carried = DropField()

    def fit(self, region: str) -> None:
        """Offer what fits the region and what is chosen so far; remember for what the lists were made."""
        machine, accelerator = (str(self[name].value() or "") for name in ("machine_type", "accelerator_type"))
        self.fits = "|".join((region, machine, accelerator))
        self.lists = {
            "machine_type": machine_groups(region),
            "accelerator_type": accelerator_groups(machine, region),
            "accelerator_count": count_groups(machine, accelerator),
            "tpu_topology": topology_groups(machine),
        }

    def refitted(self) -> list[FoundField]:
        """Return the fields whose lists are others than those that the browser has, by what it says of them."""
        had = str(self.data.get(self.add_prefix("fits"), "")).split("|")
        now = self.fits.split("|")
        if len(had) != len(now):
            had = [""] * len(now)
        names = ["machine_type"] if had[0] != now[0] else []
        if had[:2] != now[:2]:
            names += ["accelerator_type", "tpu_topology"]
        if had[1:] != now[1:]:
            names.append("accelerator_count")
        return self.found(names)

    @property
    def carried_words(self) -> list[str]:
        """What is carried along without a field of its own, in lines."""
        return carried_words(self.cleaned_data.get("carried") or {})

    @property
    def is_skipped(self) -> bool:
        """Whether the pool is to be left empty: ticked, or emptied by hand."""
        said = self.cleaned_data
        return bool(said.get("skip")) or not any(
            said.get(name) for name in said if name not in ("runs", "drop_carried")
        )

    @property
    def has_mounts(self) -> bool:
        """Whether a field of the folded part holds something or was refused."""
        return any(field.value() or field.is_refused for field in self.found(("nfs_mounts", "lustre_mounts")))

    def focus(self) -> None:
        """Begin here when the page opens."""
        self.begins_at = "machine_type"
