"""The timeline as SVG: one strip per lane, drawn in shares of its width so that it fits any screen unscaled.

Every position is a percentage and every text keeps its size. A label carries the width that its strip must have for
it to fit (`w300`, in pixels); the stylesheet hides it in a narrower one. What nobody saw is hatched.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dashboard.drawing.figures import duration, utc
from dashboard.drawing.marks import SHAPES, look_of, state_word
from jobs.states import JobState
from jobs.timeline import Lane, Mark, Span, Story

CHARACTER_PIXELS = 6.8
PADDING_PIXELS = 14
WIDTHS = (200, 300, 400, 500, 600, 700, 800, 1000)
LEAST_PERCENT = 0.4
"""A span is drawn at least so wide, or it could not be seen at all."""
STEPS = tuple(
    timedelta(seconds=seconds)
    for seconds in (
        *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200),
        *(10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_592_000),
    )
)
MOST_TICKS = 5
NEAR_PERCENT = 2.5
"""Marks that follow one another so closely share one bolt, for several would lie over each other."""
ROOM_FOR_AXIS = "w500"
"""Narrower than this the axis shows every second hour."""
OWN_WORDS = ("Trainboard", "Vertex AI")
"""Lanes whose spans are called by their state; the others are replicas."""
SHORT: dict[str, str] = {JobState.AWAITING_APPROVAL: "approval", JobState.APPROVED: "our queue"}
HATCH = mark_safe(
    '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="hatch-ground" width="8" height="8"/><rect class="hatch-line" width="3" height="8"/></pattern></defs>'
)


class Scale:
    """Turns moments into percentages of the drawing's width."""

    def __init__(self, start: datetime, end: datetime) -> None:
        self.start = start
        self.length = max(end - start, timedelta(seconds=1))
        self.end = start + self.length

    def at(self, moment: datetime) -> float:
        """Return where `moment` lies, 0 to 100; moments outside lie at the edge."""
        return min(100.0, max(0.0, 100 * ((moment - self.start) / self.length)))


def draw(story: Story) -> SafeString:
    """Return the whole drawing: the lanes and, under them, the hours."""
    scale = Scale(story.start, story.end)
    lanes = format_html_join(
        "",
        '<div class="lane"><span class="lane-name">{}</span><div class="track">{}</div></div>',
        ((lane.name, _lane(lane, scale, is_first=place == 0)) for place, lane in enumerate(story.lanes)),
    )
    return format_html(
        '<div class="timeline">{}<div class="lane axis"><span class="lane-name">UTC</span>'
        '<div class="track">{}</div></div></div>',
        lanes,
        _axis(scale),
    )


@dataclass(frozen=True, slots=True)
class Strip:
    """A span as it is drawn: what it is called, how it looks, and where its label must end."""

    span: Span
    word: str
    look: str
    clear_until: datetime | None = None
    """Where a hatched stretch or a mark begins to cover it; None where nothing does."""
    joint: str = " "
    """What stands between the word and the length: "RUNNING 5 m", but "attempt 2 · 5 m"."""


def _strips(lane: Lane) -> list[Strip]:
    """Return the lane's strips; a replica's are called by their attempt."""
    unseen = [span for span in lane.spans if not span.seen]
    found = []
    for span in lane.spans:
        if not span.seen:
            found.append(Strip(span, "not observed", "blind"))
            continue
        is_own = lane.name in OWN_WORDS
        word = (SHORT.get(span.state) or state_word(span.state)) if is_own else f"attempt {span.attempt}"
        covers = [max(each.start, span.start) for each in unseen if each.end is None or each.end > span.start]
        covers += [mark.at for mark in lane.marks if mark.at > span.start and (span.end is None or mark.at < span.end)]
        found.append(Strip(span, word, look_of(span.state), min(covers, default=None), " " if is_own else " · "))
    return found


def _lane(lane: Lane, scale: Scale, *, is_first: bool) -> SafeString:
    strips = _strips(lane)
    told = [_told(strip, scale) for strip in strips]
    told += [f"{mark.sentence.rstrip('.')} at {utc(mark.at):%H:%M:%S}" for mark in lane.marks]
    return format_html(
        '<svg role="img" aria-label="{}" width="100%" height="30">{}{}{}{}</svg>',
        f"{lane.name}: " + (", ".join(told) or "nothing yet"),
        HATCH if is_first else "",
        format_html_join(
            "",
            '<line class="tick" x1="{0}%" x2="{0}%" y1="2" y2="28"/>',
            ((_percent(scale.at(tick)),) for tick in ticks(scale)),
        ),
        format_html_join("", "{}", ((_strip(strip, scale),) for strip in strips)),
        format_html_join("", "{}", ((_marks(near, scale),) for near in _gathered(lane.marks, scale))),
    )


def _told(strip: Strip, scale: Scale) -> str:
    """Return a span in words, for those who hear the drawing and for its tooltip."""
    return f"{strip.word}{strip.joint}{duration(strip.span.length(scale.end))}"


def _strip(strip: Strip, scale: Scale) -> SafeString:
    span = strip.span
    left = scale.at(span.start)
    width = max(scale.at(span.end or scale.end) - left, LEAST_PERCENT)
    left = min(left, 100 - width)
    room = width if strip.clear_until is None else min(width, scale.at(strip.clear_until) - left)
    label, fits = _label(strip, scale, room)
    text = format_html('<text class="{}" x="7" y="15.5">{}</text>', fits, label) if label else ""
    return format_html(
        '<svg class="span {}" x="{}%" y="4" width="{}%" height="22"><title>{}</title>'
        '<rect width="100%" height="100%" rx="4"{}/>{}</svg>',
        strip.look,
        _percent(left),
        _percent(width),
        f"{_told(strip, scale)}, from {utc(span.start):%H:%M:%S} UTC",
        "" if span.seen else mark_safe(' fill="url(#hatch)"'),
        text,
    )


def _label(strip: Strip, scale: Scale, width: float) -> tuple[str, str]:
    """Return the longest text that fits into `width` percent of a wide screen, and the class of the width it needs."""
    if width <= 0:
        return "", ""
    for text in (_told(strip, scale), strip.word):
        needed = (len(text) * CHARACTER_PIXELS + PADDING_PIXELS) * 100 / width
        fits = next((step for step in WIDTHS if step >= needed), None)
        if fits:
            return text, f"w{fits}"
    return "", ""


def _gathered(marks: Iterable[Mark], scale: Scale) -> list[list[Mark]]:
    """Return the marks in order, those together that lie near the one before them."""
    found: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        if found and scale.at(mark.at) - scale.at(found[-1][-1].at) < NEAR_PERCENT:
            found[-1].append(mark)
        else:
            found.append([mark])
    return found


def _marks(near: list[Mark], scale: Scale) -> SafeString:
    """Draw marks that lie near each other as one bolt, with a line over the time that they cover."""
    first, last = scale.at(near[0].at), scale.at(near[-1].at)
    title = "\n".join(f"{mark.sentence} {utc(mark.at):%H:%M:%S} UTC" for mark in near)
    return format_html(
        '<svg class="mark" x="{}%" overflow="visible"><title>{}</title><line y1="0" y2="30"/>'
        '<line x2="{}%" y1="1" y2="1"/><g transform="translate(-7 -7) scale(1.2)">{}</g></svg>',
        _percent(first),
        title,
        _percent(last - first),
        mark_safe(SHAPES["bolt"]),  # noqa: S308 our own constant
    )


def _axis(scale: Scale) -> SafeString:
    step = step_of(scale.length)
    return format_html(
        '<svg aria-hidden="true" width="100%" height="16">{}</svg>',
        format_html_join(
            "",
            '<text class="{}" x="{}%" y="12" text-anchor="{}">{}</text>',
            (
                (ROOM_FOR_AXIS if place % 2 else "", _percent(share), _anchor(share), _hour(tick, step))
                for place, tick in enumerate(ticks(scale))
                for share in [scale.at(tick)]
            ),
        ),
    )


def _anchor(share: float) -> str:
    """Return how an hour is set beside its tick, so that it stays inside the drawing."""
    return "start" if share < 4 else "end" if share > 96 else "middle"


def step_of(length: timedelta) -> timedelta:
    """Return the round step that cuts `length` into at most MOST_TICKS pieces."""
    return next((step for step in STEPS if length / step <= MOST_TICKS), STEPS[-1])


def ticks(scale: Scale) -> Iterator[datetime]:
    """Yield the round moments inside the drawing, counted from midnight UTC on its first day."""
    step = step_of(scale.length)
    midnight = scale.start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tick = midnight + -(-(scale.start - midnight) // step) * step
    while tick <= scale.end:
        yield tick
        tick += step


def _hour(tick: datetime, step: timedelta) -> str:
    at = utc(tick)
    if step >= timedelta(days=1):
        return f"{at.day} {at:%b}"
    return f"{at:%H:%M:%S}" if step < timedelta(minutes=1) else f"{at:%H:%M}"


def _percent(share: float) -> str:
    return f"{share:.2f}"
