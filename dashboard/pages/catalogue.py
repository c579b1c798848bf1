"""The catalogue: machines, accelerators, TPU slices, regions and disks, with prices, sources and dates."""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from dashboard.access import Request, teams_by_project
from dashboard.drawing import attached, machine_rows
from dashboard.drawing.sources import Sources
from dashboard.forms.catalogue_form import CatalogueForm
from dashboard.pages.parts.capacity_advice import advised_machines
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.pages.parts.regions import default_region
from jobs.catalog import ACCELERATORS, DISKS, MACHINES, REGIONS, Machine, accelerators_in, regions_with
from jobs.clock import display_now
from jobs.prices import current_book


@require_safe
def catalogue(request: Request) -> HttpResponse:
    """Show the catalogue. Prices are those of the region in the address, else of the team's default region."""
    form = CatalogueForm({"region": default_region(request.user)} | request.GET.dict())
    form.is_valid()
    filters = {name: form.cleaned_data.get(name, "") for name in form.fields}
    shown = {
        "form": form,
        "advised": advised_machines(teams_by_project(request.user), filters["region"], now=display_now()),
    }
    return page_or_fragment(request, "catalogue.html", "results", shown | filter_catalogue(**filters))


def filter_catalogue(*, q: str, region: str, accelerator: str) -> dict[str, Any]:
    """Return the entries of every part of the catalogue that match the filters."""
    sources, book = Sources(), current_book()
    machines = machine_rows.filter_machines(text=q, region=region, accelerator=accelerator)
    everywhere = machine_rows.filter_machines(text=q, region="", accelerator=accelerator)
    return {
        "region": region,
        "priced": machine_rows.PRICED if region else (),
        "rows": [
            machine_rows.render(
                each.machine_type, region, sources.number(each.source, each.read_date), book, get_language()
            )
            for each in machines
        ],
        "attached": [each for each in attached.list_attached(region, book) if accelerator in ("", each.name)],
        "left_out": len(everywhere) - len(machines),
        "slices": [(each, each.topologies.values()) for each in machines if each.topologies],
        "accelerators": _accelerators(region, accelerator, sources),
        "retired": [
            (each, ACCELERATORS.get(each.replacement), sources.number(each.source, each.read_date))
            for each in ACCELERATORS.values()
            if each.is_retired
        ],
        "regions": _regions(region, accelerator, sources),
        "disks": [
            (disk, [name for name in disk.default_for if name in MACHINES], sources.number(disk.source, disk.read_date))
            for disk in DISKS.values()
        ],
        "sources": sources.listed(),
        "price_sources": machine_rows.sources_in(region, book) if region else (),
        "oldest_price": machine_rows.oldest_in(region, book) if region else None,
        "now": display_now(),
    }


def _accelerators(region: str, accelerator: str, sources: Sources) -> list[dict[str, Any]]:
    """Return the current accelerators, each with its regions and the machine series that include or accept it."""
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


def _regions(region: str, accelerator: str, sources: Sources) -> list[dict[str, Any]]:
    """Return the regions with what they offer for training. Regions that offer nothing come last."""
    regions = [
        {
            "name": each.name,
            "labels": [item.label for name, item in ACCELERATORS.items() if name in accelerators_in(each.name)],
            "source": sources.number(each.source, each.read_date),
        }
        for each in REGIONS.values()
        if region in ("", each.name) and (accelerator in ("", "none") or accelerator in accelerators_in(each.name))
    ]
    return sorted(regions, key=lambda each: not each["labels"])
