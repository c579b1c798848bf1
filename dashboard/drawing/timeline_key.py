"""The key of the timeline. It lists only the colours and icons that are drawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from dashboard.drawing import restart_marks
from dashboard.drawing.scale import Scale
from dashboard.drawing.timeline import GOES_ON, strips_of
from jobs.timeline import JobTimeline

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LABELS: "dict[str, StrOrPromise]" = {
    "ask": gettext_lazy("approval"),
    "wait": gettext_lazy("waited"),
    "run": gettext_lazy("ran"),
    "ok": gettext_lazy("succeeded"),
    "bad": gettext_lazy("failed"),
    "halt": gettext_lazy("stopping"),
    "pause": gettext_lazy("paused"),
    "odd": gettext_lazy("another state"),
    "assumed": gettext_lazy("assumed"),
    "warned": gettext_lazy("may waste money"),
    "blind": gettext_lazy("not observed"),
    "expected": gettext_lazy("expected"),
}
"""Meaning of each look of a span, in the order of the key."""


@dataclass(frozen=True, slots=True)
class Key:
    """One entry: the look of a span or the icon of a mark, and its label."""

    look: str
    label: "StrOrPromise"
    is_mark: bool = False


def keys_of(story: JobTimeline, scale: Scale, ends_at: datetime | None) -> list[Key]:
    """Return the key of a timeline drawn with this scale and this expected end."""
    looks = set(_looks(story, scale, ends_at))
    marks = [mark for lane in story.lanes for mark in lane.marks if scale.holds(mark.at, mark.at)]
    signs = {restart_marks.shape_of(mark.reason) for mark in marks}
    keys = [Key(look, label) for look, label in LABELS.items() if look in looks]
    return keys + [Key(sign, label, is_mark=True) for sign, label in restart_marks.LABELS.items() if sign in signs]


def _looks(story: JobTimeline, scale: Scale, ends_at: datetime | None) -> Iterator[str]:
    for lane in story.lanes:
        strips = strips_of(lane)
        yield from (strip.look for strip in strips if scale.holds(strip.span.start, strip.span.end))
        if ends_at is not None and strips and strips[-1].span.end is None and strips[-1].look in GOES_ON:
            yield "expected"
