"""A job's times on the axis shared by all rows of the board: waits, runs, preemptions, expected end, and now.

Every position is a percentage, so that a track fits any width. Colours are CSS classes.

Rows are cached for up to a minute and must agree with rows that are drawn later. A track is therefore drawn in time:
its positions count from the anchor of the axis, which rarely moves, and `place` moves all tracks of a page to where the
anchor is now. What lasts until now is drawn beyond it and cut off there. The lines of the hours are drawn once, by
`hour_lines`, and every track refers to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from dashboard.drawing.figures import duration, local, zone
from dashboard.drawing.marks import look_of, state_word
from dashboard.drawing.scale import Scale, grid, now_line
from jobs import timeline
from jobs.models import Job, JobEvent
from jobs.states import FINISHED
from jobs.timeline import BILLABLE, Mark, Span

BEFORE_NOW = 0.75
"""Share of the axis that is before now."""
PIECES = 4
"""Maximum intervals between round hours, because the board's column is narrow."""
MIN_PERCENT = 0.4
HEIGHT = 40
"""Height of a row in pixels."""
PREEMPTED = "preempted"
ANCHOR, ANCHOR_BEFORE_NOW = ' x="~~%"', ' x="~%"'
"""Stand for where the anchor is, in percent of the axis and of its part before now. Text in a row has no raw quote."""
STUB = SafeString('<path class="bar-before" d="M6 15 1 20l5 5"/>')
"""The arrow at the left edge of a track that began before the axis."""
FAR = 300.0
"""Positions end at this many percent from the anchor, beyond every axis that shows it."""


def board_scale(now: datetime, length: timedelta) -> Scale:
    """Return the scale of the board's tracks: a period of `length`, most of it before `now`."""
    return Scale(now - length * BEFORE_NOW, now + length * (1 - BEFORE_NOW), now, PIECES)


def anchor_of(scale: Scale) -> datetime:
    """Return the last time before now that is a whole number of lengths of the axis after 1970."""
    epoch = datetime.fromtimestamp(0, UTC)
    return scale.now - (scale.now - epoch) % scale.length


def place(row: SafeString, scale: Scale) -> SafeString:
    """Return a row with its track moved to where the anchor is at the scale's present."""
    share = 100 * ((anchor_of(scale) - scale.start) / scale.length)
    text = row.replace(ANCHOR, f' x="{share:.3f}%"').replace(ANCHOR_BEFORE_NOW, f' x="{share / BEFORE_NOW:.3f}%"')
    return mark_safe(text)  # noqa: S308  # two numbers in place of two constants


def hour_lines(scale: Scale) -> SafeString:
    """Return the lines of the hours and of now as a symbol, to which every track on the page refers."""
    lines = grid(scale, HEIGHT), now_line(scale, HEIGHT)
    return format_html('<svg class="drawings" aria-hidden="true"><symbol id="hours">{}{}</symbol></svg>', *lines)


@dataclass(frozen=True, slots=True)
class Track:
    """The times of a job in a row. `expected` is the period from now to the expected end.

    `began_before` is True if some of them are before the axis.
    """

    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]
    expected: tuple[datetime, datetime] | None
    state: str
    began_before: bool = False


def track_of(job: Job, events: Sequence[JobEvent], scale: Scale, expected_end: datetime | None) -> Track:
    """Return the track of a job. `events` are its events since the start of the scale, in order."""
    start = scale.start
    changes = [event for event in events if event.kind == JobEvent.Kind.STATE]
    before = changes[0].from_state if changes else job.state
    is_cut = before and job.requested_at < start and (not changes or changes[0].occurred_at > start)
    spans = timeline.state_spans(events, timeline.Before(start, before, job.custom_job_state) if is_cut else None)
    shown = tuple(span for span in spans if span.state not in FINISHED)
    is_expected = expected_end is not None and job.running_since is not None and expected_end > scale.now
    expected = (scale.now, expected_end) if is_expected and expected_end is not None else None
    return Track(shown, timeline.restart_marks(events), expected, job.state, job.requested_at < start)


def render_track(track: Track, scale: Scale) -> SafeString:
    """Return the track as one SVG with a description in words, to be placed by `place`."""
    anchor = anchor_of(scale)
    closed = [span for span in track.spans if span.end is not None]
    lasting = [span for span in track.spans if span.end is None]
    return format_html(
        '<svg class="times" role="img" aria-label="{}"><use href="#hours" width="100%" height="{}"/>{}'
        '<svg height="{}"><svg{} overflow="visible">{}{}</svg></svg>{}<svg{} overflow="visible">{}</svg></svg>',
        describe(track, scale.now),
        HEIGHT,
        STUB if track.began_before else "",
        HEIGHT,
        mark_safe(ANCHOR),  # noqa: S308
        _expected(track, anchor, scale),
        _bars(closed, track, anchor, scale),
        _until_now(_bars(lasting, track, anchor, scale)) if lasting else "",
        mark_safe(ANCHOR),  # noqa: S308
        format_html_join(
            "",
            '<svg x="{}%" overflow="visible">'
            '<use class="bar-bolt" href="#bolt" x="-5" y="12" width="10" height="16"/></svg>',
            (
                (f"{_from(anchor, mark.at, scale):.2f}",)
                for mark in track.marks
                if mark.reason == PREEMPTED and mark.at >= scale.start
            ),
        ),
    )


def describe(track: Track, now: datetime) -> str:
    """Return the track in words: "waited 14 min, ran 1 h 56 min, preempted at 13:48, expected until 15:10 UTC"."""
    parts = [f"{_verb(span)} {duration(span.length(now))}" for span in track.spans]
    cuts = [f"{local(mark.at):%H:%M}" for mark in track.marks if mark.reason == PREEMPTED]
    parts += [_("preempted at %(time)s") % {"time": time} for time in cuts]
    if track.expected:
        until = f"{local(track.expected[1]):%H:%M} {zone(track.expected[1])}"
        parts.append(_("expected until %(time)s") % {"time": until})
    return ", ".join(parts) or state_word(track.state)


def _verb(span: Span) -> str:
    if span.state in BILLABLE:
        return _("ran")
    return {"ask": _("awaited approval"), "wait": _("waited")}.get(look_of(span.state), state_word(span.state))


def _from(anchor: datetime, moment: datetime, scale: Scale) -> float:
    """Return how far a time is from the anchor, in percent of the axis."""
    return min(FAR, max(-FAR, 100 * ((moment - anchor) / scale.length)))


def _look(span: Span, track: Track) -> str:
    """Return the class of a span's bar. Of a job that has ended, what ran has the look of its end."""
    look = look_of(track.state if span.state in BILLABLE and track.state in FINISHED else span.state)
    return look if look in {"ask", "wait", "run", "ok", "bad"} else "halt"


def _bars(spans: Sequence[Span], track: Track, anchor: datetime, scale: Scale) -> SafeString:
    """Return a bar for each span. One that lasts ends far beyond now."""
    bars = []
    for span in spans:
        left = _from(anchor, span.start, scale)
        right = FAR if span.end is None else _from(anchor, span.end, scale)
        bars.append((_look(span, track), f"{left:.2f}", f"{max(right - left, MIN_PERCENT):.2f}"))
    return format_html_join("", '<rect class="bar-{}" x="{}%" y="14" width="{}%" height="12" rx="2"/>', bars)


def _until_now(bars: SafeString) -> SafeString:
    """Return bars cut off at now, which is at the same place in every axis."""
    return format_html(
        '<svg width="{}%" height="{}"><svg{} width="{}%" overflow="visible">{}</svg></svg>',
        f"{100 * BEFORE_NOW:g}",
        HEIGHT,
        mark_safe(ANCHOR_BEFORE_NOW),  # noqa: S308
        f"{100 / BEFORE_NOW:.4f}",
        bars,
    )


def _expected(track: Track, anchor: datetime, scale: Scale) -> SafeString:
    """Return the outline of the expected rest, from the start of the span that lasts, whose bar covers it until now."""
    if track.expected is None:
        return SafeString("")
    start = next((span.start for span in track.spans if span.end is None), track.expected[0])
    left, right = (_from(anchor, moment, scale) for moment in (start, track.expected[1]))
    return format_html(
        '<rect class="bar-expected" x="{}%" y="14.5" width="{}%" height="11" rx="2"/>',
        f"{left:.2f}",
        f"{max(right - left, MIN_PERCENT):.2f}",
    )
