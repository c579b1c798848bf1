"""The timeline as SVG: one strip per lane, in percentages of the width, so that it fits any screen without scaling.

Texts keep their size. A label has a class with the width in pixels that its strip needs for it to fit (`w300`), and the
stylesheet hides it in a narrower one. Periods that were not observed are hatched.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.drawing.curves import Curve, draw_curve
from dashboard.drawing.figures import duration, time_and_day, time_only, zone, zones
from dashboard.drawing.marks import look_of, state_word, trial_look
from dashboard.drawing.restart_marks import draw_marks, group
from dashboard.drawing.scale import Scale, axis, grid, now_line, percent
from jobs.states import JobState
from jobs.timeline import JobTimeline, Lane, Span, fault_title
from jobs.translations import translated

CHARACTER_PIXELS = 6.8
PADDING_PIXELS = 14
WIDTHS = (200, 300, 400, 500, 600, 700, 800, 1000)
MIN_PERCENT = 0.4
"""Minimum width of a span in percent, so that it is visible."""
LANE_HEIGHT = 30
"""Pixels. Rows touch, so that the lines of the hours are continuous."""
GOES_ON = ("run", "assumed")
ASSUMED = gettext_lazy("assumed from the state of the job: no log of this replica is kept")
VERTEX = "Vertex AI"
OWN_WORDS = ("Trainboard", VERTEX)
"""Lanes whose spans are named by the job's state. The others are replicas and trials."""
SHORT = {
    JobState.AWAITING_APPROVAL: gettext_lazy("approval"),
    JobState.APPROVED: gettext_lazy("our queue"),
}
HATCH = mark_safe(
    '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="hatch-ground" width="8" height="8"/><rect class="hatch-line" width="3" height="8"/></pattern></defs>'
)


def draw(
    story: JobTimeline, scale: Scale | None = None, curves: Sequence[Curve] = (), ends_at: datetime | None = None
) -> SafeString:
    """Return the whole drawing on one axis: the lanes, curves below them, and the hours.

    `scale` is the part of the time that is shown, None for all of it. `ends_at` is the expected end of the job.
    """
    scale = scale or Scale(story.start, story.end)
    lanes = format_html_join(
        "",
        '<div class="lane"><span class="lane-name">{}</span><div class="track">{}{}</div></div>',
        (
            (_name(lane), _lane(lane, scale, ends_at, is_first=place == 0), _note(lane))
            for place, lane in enumerate(lane for lane in story.lanes if _is_drawn(lane, scale))
        ),
    )
    return format_html(
        '<div class="timeline">{}{}<div class="lane axis"><span class="lane-name">{}</span>'
        '<div class="track">{}</div></div></div>',
        lanes,
        format_html_join("", "{}", ((draw_curve(curve, scale),) for curve in curves)),
        zones(scale.start, scale.end),
        axis(scale),
    )


def _is_drawn(lane: Lane, scale: Scale) -> bool:
    """Return whether a lane has content in the period shown. Vertex AI's lane is always drawn."""
    times = [*((span.start, span.end) for span in lane.spans), *((mark.at, mark.at) for mark in lane.marks)]
    return lane.name == VERTEX or any(scale.holds(*each) for each in times)


@dataclass(frozen=True, slots=True)
class Strip:
    """A span with its name, its look, and where its label must end."""

    span: Span
    word: str
    look: str
    clear_until: datetime | None = None
    """When a hatched period or a mark begins to cover it. None if nothing does."""
    joint: str = " "
    """Text between the word and the duration: "RUNNING 5 m", but "attempt 2 · 5 m"."""


def strips_of(lane: Lane) -> list[Strip]:
    """Return the lane's strips. Those of a replica are named by attempt, those of a trial by state."""
    unseen = [span for span in lane.spans if not span.seen]
    strips = []
    for span in lane.spans:
        if not span.seen:
            strips.append(Strip(span, _("not observed"), "blind"))
            continue
        is_own = lane.name in OWN_WORDS or lane.of_trial or lane.of_faults
        word = _word(span, lane)
        covers = [max(each.start, span.start) for each in unseen if each.end is None or each.end > span.start]
        covers += [mark.at for mark in lane.marks if mark.at > span.start and (span.end is None or mark.at < span.end)]
        look = trial_look(span.state) if lane.of_trial else "assumed" if lane.is_assumed else look_of(span.state)
        look = "warned" if lane.of_faults else look
        strips.append(Strip(span, word, look, min(covers, default=None), " " if is_own else " · "))
    return strips


def _name(lane: Lane) -> str:
    return _("Warnings") if lane.of_faults else lane.name


def _note(lane: Lane) -> SafeString | str:
    """Return why a trial waits, as a text below its lane."""
    return format_html('<small class="lane-note" aria-hidden="true">{}</small>', lane.note) if lane.note else ""


def _word(span: Span, lane: Lane) -> str:
    if lane.of_trial:
        return span.state
    if lane.of_faults:
        return translated(fault_title(span.state))
    if lane.name not in OWN_WORDS:
        return _("attempt %(number)s") % {"number": span.attempt}
    return str(SHORT[JobState(span.state)]) if span.state in SHORT else state_word(span.state)


def _lane(lane: Lane, scale: Scale, ends_at: datetime | None, *, is_first: bool) -> SafeString:
    strips = strips_of(lane)
    marks = [mark for mark in lane.marks if scale.holds(mark.at, mark.at)]
    parts = [*([lane.note] if lane.note else []), *(_describe(strip, scale) for strip in strips)]
    parts += [str(ASSUMED)] if lane.is_assumed else []
    parts += [
        _("%(event)s at %(time)s") % {"event": mark.message.rstrip("."), "time": time_only(mark.at)}
        for mark in lane.marks
    ]
    shown = [strip for strip in strips if scale.holds(strip.span.start, strip.span.end)]
    return format_html(
        '<svg role="img" aria-label="{}" width="100%" height="{}">{}{}{}{}{}{}</svg>',
        f"{_name(lane)}: " + (", ".join(parts) or _("nothing yet")),
        LANE_HEIGHT,
        HATCH if is_first else "",
        grid(scale, LANE_HEIGHT),
        _expected(strips, scale, ends_at, is_named=lane.name == VERTEX),
        format_html_join("", "{}", ((_strip(strip, scale),) for strip in shown)),
        now_line(scale, LANE_HEIGHT),
        format_html_join("", "{}", ((draw_marks(near, scale),) for near in group(marks, scale))),
    )


def _expected(strips: Sequence[Strip], scale: Scale, ends_at: datetime | None, *, is_named: bool) -> SafeString | str:
    """Return the dashed part from now to the expected end, on a lane that still runs.

    It has no right edge if the end is outside the scale. With `is_named`, it contains the time of the end.
    """
    if ends_at is None or not strips or strips[-1].span.end is not None or strips[-1].look not in GOES_ON:
        return ""
    left, width = scale.at(scale.now), scale.at(ends_at) - scale.at(scale.now)
    is_open = ends_at > scale.end
    end = f"{time_and_day(ends_at, scale.now)} {zone(ends_at)}"
    label, fits = _fitting([f"→ {end}"], width) if is_named else ("", "")
    return format_html(
        '<svg class="expected{}" x="{}%" y="5.5" width="{}%" height="19"><title>{}</title>'
        '<rect class="bar-expected" x="1" y="1" width="{}%" height="17" rx="3"/>{}</svg>',
        " open" if is_open else "",
        percent(left),
        percent(width),
        _("expected to run until %(time)s") % {"time": end},
        120 if is_open else 99,
        format_html('<text class="{}" x="7" y="13.5">{}</text>', fits, label) if label else "",
    )


def _describe(strip: Strip, scale: Scale) -> str:
    """Return a span as text, for screen readers and its tooltip."""
    return f"{strip.word}{strip.joint}{duration(strip.span.length(scale.now))}"


def has_assumed(story: JobTimeline) -> bool:
    """Return whether a lane is drawn for a replica whose log is not stored."""
    return any(lane.is_assumed for lane in story.lanes)


def _strip(strip: Strip, scale: Scale) -> SafeString:
    span = strip.span
    left = scale.at(span.start)
    width = max(scale.at(span.end or scale.now) - left, MIN_PERCENT)
    left = min(left, 100 - width)
    room = width if strip.clear_until is None else min(width, scale.at(strip.clear_until) - left)
    label, fits = _fitting((_describe(strip, scale), strip.word), room)
    text = format_html('<text class="{}" x="7" y="15.5">{}</text>', fits, label) if label else ""
    return format_html(
        '<svg class="span {}" x="{}%" y="4" width="{}%" height="22"><title>{}</title>'
        '<rect width="100%" height="100%" rx="4"{}/>{}</svg>',
        strip.look,
        percent(left),
        percent(width),
        _("%(span)s, from %(time)s")
        % {"span": _describe(strip, scale), "time": f"{time_only(span.start)} {zone(span.start)}"},
        "" if span.seen else mark_safe(' fill="url(#hatch)"'),
        text,
    )


def _fitting(texts: Iterable[str], width: float) -> tuple[str, str]:
    """Return the first text that fits into `width` percent of a wide screen, and its class.

    The class contains the width that the text needs.
    """
    if width <= 0:
        return "", ""
    for text in texts:
        needed = (len(text) * CHARACTER_PIXELS + PADDING_PIXELS) * 100 / width
        fits = next((step for step in WIDTHS if step >= needed), None)
        if fits:
            return text, f"w{fits}"
    return "", ""
