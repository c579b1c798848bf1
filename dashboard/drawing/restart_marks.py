"""Restarts and exits of replicas as marks on a lane of the timeline, such as a bolt for a preemption."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy

from dashboard.drawing.figures import time_only, zone
from dashboard.drawing.marks import SHAPES
from dashboard.drawing.scale import Scale, percent
from jobs.timeline import Mark

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SHAPE_OF_REASON = {"preempted": "bolt", "exit": "bad", "asked": "ask", "declared_fine": "ok"}
"""Icon of each reason. A bolt means preemption; every other restart is `again`."""
LABELS: "dict[str, StrOrPromise]" = {
    "bolt": gettext_lazy("preempted"),
    "again": gettext_lazy("restarted"),
    "bad": gettext_lazy("ended with an error"),
    "ask": gettext_lazy("Still working?"),
    "ok": gettext_lazy("declared fine"),
}
"""Meaning of each icon."""
NEAR_PERCENT = 2.5
"""Marks closer to each other than this share one icon, because several would overlap."""


def shape_of(reason: str, *others: str) -> str:
    """Return the icon for marks drawn together: a bolt only if all are preemptions, "bad" if one is an exit."""
    shapes = {SHAPE_OF_REASON.get(each, "again") for each in (reason, *others)}
    if shapes <= {"ask", "ok"}:
        return min(shapes)
    return shapes.pop() if len(shapes) == 1 else "bad" if "bad" in shapes else "again"


def group(marks: Iterable[Mark], scale: Scale) -> list[list[Mark]]:
    """Return the marks in order, grouped with the previous one if they are close to it."""
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        if groups and scale.at(mark.at) - scale.at(groups[-1][-1].at) < NEAR_PERCENT:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return groups


def draw_marks(near: list[Mark], scale: Scale) -> SafeString:
    """Return marks close to each other as one icon, with a line over the time that they cover."""
    shape = shape_of(*(mark.reason for mark in near))
    first, last = scale.at(near[0].at), scale.at(near[-1].at)
    title = "\n".join(f"{mark.message} {time_only(mark.at)} {zone(mark.at)}" for mark in near)
    return format_html(
        '<svg class="mark {}" x="{}%" overflow="visible"><title lang="en">{}</title><line y1="0" y2="30"/>'
        '<line x2="{}%" y1="1" y2="1"/><g transform="translate(-7 -7) scale(1.2)">{}</g></svg>',
        shape,
        percent(first),
        title,
        percent(last - first),
        mark_safe(SHAPES[shape]),  # noqa: S308 our own constant
    )
