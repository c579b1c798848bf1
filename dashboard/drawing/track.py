"""A job's times on the axis shared by all rows of the board: waits, runs, preemptions, expected end, and now.

Every position is a percentage, so that a track fits any width. Colours are CSS classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
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


def board_scale(now: datetime, length: timedelta) -> Scale:
    """Return the scale of the board's tracks: a period of `length`, most of it before `now`."""
    return Scale(now - length * BEFORE_NOW, now + length * (1 - BEFORE_NOW), now, PIECES)


@dataclass(frozen=True, slots=True)
class Track:
    """The times of a job in a row. `expected` is the period from now to the expected end."""

    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]
    expected: tuple[datetime, datetime] | None
    state: str


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
    return Track(shown, timeline.restart_marks(events), expected, job.state)


def render_track(track: Track, scale: Scale) -> SafeString:
    """Return the track as one SVG with a description in words."""
    return format_html(
        '<svg class="times" role="img" aria-label="{}">{}{}{}{}{}</svg>',
        describe(track, scale.now),
        grid(scale, HEIGHT),
        format_html_join("", "{}", ((_bar(span, track, scale),) for span in track.spans)),
        _expected(track, scale),
        format_html_join(
            "",
            '<svg x="{}%" overflow="visible">'
            '<use class="bar-bolt" href="#bolt" x="-5" y="12" width="10" height="16"/></svg>',
            ((f"{scale.at(mark.at):.2f}",) for mark in track.marks if mark.reason == PREEMPTED),
        ),
        now_line(scale, HEIGHT),
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


def _bar(span: Span, track: Track, scale: Scale) -> SafeString:
    left = scale.at(span.start)
    right = scale.at(span.end or scale.now)
    if (span.end or scale.now) < scale.start:
        return SafeString("")
    look = look_of(span.state)
    if span.state in BILLABLE and track.state in FINISHED:
        look = look_of(track.state)
    return format_html(
        '<rect class="bar-{}" x="{}%" y="14" width="{}%" height="12" rx="2"/>',
        look if look in {"ask", "wait", "run", "ok", "bad"} else "halt",
        f"{min(left, 100 - MIN_PERCENT):.2f}",
        f"{max(right - left, MIN_PERCENT):.2f}",
    )


def _expected(track: Track, scale: Scale) -> SafeString:
    if track.expected is None:
        return SafeString("")
    left, right = (scale.at(moment) for moment in track.expected)
    return format_html(
        '<rect class="bar-expected" x="{}%" y="14.5" width="{}%" height="11" rx="2"/>',
        f"{left:.2f}",
        f"{max(right - left, MIN_PERCENT):.2f}",
    )
