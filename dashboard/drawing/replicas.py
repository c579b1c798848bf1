"""A persistent resource as safe HTML: its state, and the used replicas of a resource pool."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.marks import shape

LOOKS: dict[str, str] = {
    "PROVISIONING": "wait",
    "RUNNING": "run",
    "STOPPING": "halt",
    "ERROR": "bad",
    "REBOOTING": "wait",
    "UPDATING": "wait",
}
"""Look of each PersistentResource.State (persistent_resource.proto). Unknown states look `odd`."""
MAX_CELLS = 24
CELL, STEP, HIGH = 10, 13, 12
"""Width of a cell, distance between cells, and height, in units of the drawing."""


def resource_mark(state: str) -> SafeString:
    """Return the state of a persistent resource as icon, word and colour. Return an unknown one as it was sent."""
    look = LOOKS.get(state, "odd")
    return format_html('<span class="state {}">{}{}</span>', look, shape(look), state)


def replicas(used: int, size: int, most: int) -> SafeString:
    """Return a row of cells with a label: `used` filled, the rest of `size` empty, the rest of `most` dashed.

    More than `MAX_CELLS` replicas share the cells. Each kind with a number above zero has at least one cell.
    """
    most = max(most, size, used, 0)
    cells = min(most, MAX_CELLS)
    in_use, there = (_share(part, most, cells) for part in (used, max(size, used)))
    kinds = ["used"] * in_use + ["free"] * (there - in_use) + ["room"] * (cells - there)
    drawn = format_html_join(
        "",
        '<rect class="{}" x="{}" y="1" width="{}" height="{}" rx="2"/>',
        ((kind, 1 + place * STEP, CELL, HIGH - 2) for place, kind in enumerate(kinds)),
    )
    known = {"used": used, "size": size, "most": most}
    if most > size:
        label = _("%(used)s of %(size)s replicas in use, may grow to %(most)s") % known
    else:
        label = _("%(used)s of %(size)s replicas in use") % known
    width = max(cells * STEP - 1, 1)
    return format_html(
        '<svg class="replicas" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">{}</svg>',
        label,
        width,
        HIGH,
        width,
        HIGH,
        drawn,
    )


def _share(part: int, whole: int, cells: int) -> int:
    """Return the number of cells of `part`, rounded. It is 0 only for 0, and all only for the whole."""
    if part <= 0 or not whole:
        return 0
    return cells if part >= whole else min(max(round(part * cells / whole), 1), max(cells - 1, 1))
