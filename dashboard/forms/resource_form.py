"""Forms to create a persistent resource with one resource pool, and to resize the resource pools of one."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.budgets import MAX_LIFETIME
from jobs.catalog import ACCELERATORS, REGIONS, default_disk, machine, trainable
from jobs.spec import ResourcePool

ID = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
MAX_REPLICAS = 1_000
MAX_COUNT = 16


class ResourceForm(forms.Form):
    """The values for a new resource. `body` is its REST body."""

    project = forms.ChoiceField(label=_("Project"))
    region = forms.ChoiceField(label=_("Region"), choices=[(region, region) for region in REGIONS])
    resource_id = forms.CharField(
        label=_("Id"), max_length=63, help_text=_("Lower-case letters, digits and hyphens; jobs name it by this.")
    )
    machine_type = forms.ChoiceField(
        label=_("Machine type"), choices=lambda: [(name, name) for name in sorted(trainable())]
    )
    accelerator_type = forms.ChoiceField(
        label=_("Accelerator"),
        required=False,
        choices=lambda: [
            ("", _("none, or that of the machine")),
            *((key, each.label) for key, each in ACCELERATORS.items()),
        ],
    )
    accelerator_count = forms.IntegerField(
        label=_("Accelerators per machine"), required=False, min_value=1, max_value=MAX_COUNT
    )
    replicas = forms.IntegerField(label=_("Replicas"), min_value=1, max_value=MAX_REPLICAS, initial=1)
    lifetime_days = forms.IntegerField(
        label=_("Lifetime, days"),
        min_value=1,
        max_value=MAX_LIFETIME.days,
        initial=7,
        help_text=_("Then Trainboard deletes it, with the jobs on it. Vertex AI never does. It can be extended."),
    )
    disk_gb = forms.IntegerField(label=_("Boot disk, GB"), min_value=100, max_value=64_000, initial=100)

    def __init__(self, *given: Any, projects: Iterable[str], **named: Any) -> None:
        super().__init__(*given, **named)
        self.fields["project"].choices = [(project, project) for project in projects]  # type: ignore[attr-defined]

    def clean_resource_id(self) -> str:
        """Raise ValidationError for an id that Vertex AI does not accept."""
        name: str = self.cleaned_data["resource_id"]
        if not ID.fullmatch(name):
            raise forms.ValidationError(
                _("Begin with a letter; then lower-case letters, digits and hyphens, no hyphen last.")
            )
        return name

    def clean(self) -> dict[str, Any]:
        """Add errors for accelerators that the machine does not support, and for a number without a type."""
        found = super().clean() or self.cleaned_data
        known, kind = machine(found.get("machine_type", "")), found.get("accelerator_type", "")
        count = found.get("accelerator_count")
        if known is None:
            return found
        if known.is_tpu:
            self.add_error("machine_type", _("Create one with TPUs with gcloud: it needs a topology."))
        if bool(kind) != bool(count) and not known.fixed_accelerator:
            self.add_error("accelerator_count", _("Give both an accelerator and how many, or neither."))
        elif kind and kind != known.fixed_accelerator and count not in known.attachable.get(kind, frozenset()):
            self.add_error(
                "accelerator_type",
                _("%(machine)s does not take %(count)s × %(kind)s.")
                % {"machine": known.machine_type, "count": count, "kind": kind},
            )
        elif known.fixed_accelerator and kind and count != known.gpu_count:
            self.add_error(
                "accelerator_count",
                _("%(machine)s has %(count)s.") % {"machine": known.machine_type, "count": known.gpu_count},
            )
        return found

    @property
    def body(self) -> dict[str, Any]:
        """The REST body of the resource."""
        found = self.cleaned_data
        known = machine(found["machine_type"])
        spec: dict[str, Any] = {"machineType": found["machine_type"]}
        kind = found["accelerator_type"] or (known.fixed_accelerator if known else "")
        if kind:
            spec |= {"acceleratorType": kind, "acceleratorCount": found["accelerator_count"] or known.gpu_count}  # type: ignore[union-attr]
        disk = {"bootDiskType": default_disk(found["machine_type"]), "bootDiskSizeGb": found["disk_gb"]}
        pool = {"machineSpec": spec, "replicaCount": str(found["replicas"]), "diskSpec": disk}
        return {"resourcePools": [pool]}


class ExtendForm(forms.Form):
    """How much longer a resource is kept."""

    lifetime_days = forms.IntegerField(
        label=_("Keep it for this many days longer"), min_value=1, max_value=MAX_LIFETIME.days, initial=7
    )


class ResizeForm(forms.Form):
    """The number of replicas of each resource pool without autoscaling."""

    def __init__(self, *given: Any, pools: Sequence[ResourcePool], **named: Any) -> None:
        super().__init__(*given, **named)
        for index, pool in enumerate(pools):
            if pool.autoscaling_spec is None:
                self.fields[f"pool-{index}"] = forms.IntegerField(
                    label=_("Replicas of %(machine)s") % {"machine": pool.machine_spec.machine_type},
                    min_value=max(1, pool.used_replica_count),
                    max_value=MAX_REPLICAS,
                    initial=pool.replica_count,
                    help_text=_("%(count)s in use now") % {"count": pool.used_replica_count}
                    if pool.used_replica_count
                    else "",
                )

    @property
    def sizes(self) -> dict[int, int]:
        """The requested replicas by index of the pool."""
        return {int(name.removeprefix("pool-")): size for name, size in self.cleaned_data.items()}
