"""The catalogue: machines, accelerators, TPU slices, regions and disks, with prices, sources and dates."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from dashboard.access import Request, teams_of
from dashboard.drawing import attached, machine_rows
from dashboard.drawing.sources import Sources
from dashboard.forms.catalogue_form import CatalogueForm
from dashboard.pages.parts.fragments import page_or_fragment
from jobs.catalog import ACCELERATORS, DISKS, MACHINES, REGIONS, Machine, accelerators_in, regions_with

USUAL_REGION = "us-central1"


@require_safe
def catalogue(request: Request) -> HttpResponse:
    """Show the catalogue; without a region in the address prices are those of the team's usual one."""
    team = teams_of(request.user).first()
    usual = team.default_region if team and team.default_region in REGIONS else USUAL_REGION
    form = CatalogueForm({"region": usual} | request.GET.dict())
    form.is_valid()
    said = {name: form.cleaned_data.get(name, "") for name in form.fields}
    return page_or_fragment(request, "catalogue.html", "found", {"form": form} | found(**said))


def found(*, q: str, region: str, accelerator: str) -> dict[str, Any]:
    """Return what the filters leave of every part of the catalogue."""
    sources = Sources()
    machines = machine_rows.found(text=q, region=region, accelerator=accelerator)
    everywhere = machine_rows.found(text=q, region="", accelerator=accelerator)
    return {
        "region": region,
        "priced": machine_rows.PRICED if region else (),
        "rows": [
            machine_rows.draw(each.machine_type, region, sources.number(each.source, each.read_date))
            for each in machines
        ],
        "attached": [each for each in attached.attached_in(region) if accelerator in ("", each.name)] if region else (),
        "left_out": len(everywhere) - len(machines),
        "slices": [(each, each.topologies.values()) for each in machines if each.topologies],
        "accelerators": _accelerators(region, accelerator, sources),
        "retired": [
            (each, ACCELERATORS.get(each.replacement), sources.number(each.source, each.read_date))
            for each in ACCELERATORS.values()
            if each.is_retired
        ],
        "places": _places(region, accelerator, sources),
        "disks": [
            (disk, [name for name in disk.default_for if name in MACHINES], sources.number(disk.source, disk.read_date))
            for disk in DISKS.values()
        ],
        "sources": sources.listed(),
        "price_sources": machine_rows.sources_in(region) if region else (),
    }


def _accelerators(region: str, accelerator: str, sources: Sources) -> list[dict[str, Any]]:
    """Return the accelerators that can be had, each with its regions and the machines that carry or take it."""
    return [
        {
            "is": each,
            "regions": regions_with(each.name),
            "series": sorted({m.series.upper() for m in MACHINES.values() if m.trainable and _carries(m, each.name)}),
            "source": sources.number(each.source, each.read_date),
        }
        for each in ACCELERATORS.values()
        if not each.is_retired
        and accelerator in ("", each.name)
        and (not region or each.name in accelerators_in(region))
    ]


def _carries(machine: Machine, accelerator: str) -> bool:
    return accelerator == machine.fixed_accelerator or accelerator in machine.attachable


def _places(region: str, accelerator: str, sources: Sources) -> list[dict[str, Any]]:
    """Return the regions with what they have for training, those that have nothing last."""
    places = [
        {
            "name": each.name,
            "labels": [found.label for name, found in ACCELERATORS.items() if name in accelerators_in(each.name)],
            "source": sources.number(each.source, each.read_date),
        }
        for each in REGIONS.values()
        if region in ("", each.name) and (accelerator in ("", "none") or accelerator in accelerators_in(each.name))
    ]
    return sorted(places, key=lambda place: not place["labels"])
