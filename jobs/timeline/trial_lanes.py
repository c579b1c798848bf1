"""The lanes of a tuning job: one for each trial, with a limit for large studies."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _

from jobs.models import Job, JobEvent, Trial
from jobs.timeline.replicas import Lane, Mark
from jobs.timeline.spans import Span
from jobs.timeline.trial_time import ENDED, WAITS, machine_spans, machine_states
from jobs.timeline.trial_words import to_come_words, wait_words
from jobs.timeline.trials import Study, number_of

MAX_LANES = 12
"""Number of trials with a lane of their own. Unfinished ones come first, then those that ended last."""
REQUESTED, ACTIVE = "REQUESTED", "ACTIVE"


def trial_lanes(job: Job, study: Study, events: Iterable[JobEvent], now: datetime) -> tuple[Lane, ...]:
    """Return the lanes of the trials in order of their numbers, then one for the others and one for future trials."""
    marks: dict[str, list[Mark]] = {}
    for event in events:
        if event.kind == JobEvent.Kind.RESTARTED and event.detail.get("replica", "").startswith("trial "):
            name = event.detail["replica"].rpartition(" ")[0]
            marks.setdefault(name, []).append(Mark(event.occurred_at, event.reason, event.message))
    # Unfinished trials come first, then those that ended last.
    newest = sorted(study.trials, key=lambda trial: (trial.state in ENDED, -_ended(trial), -number_of(trial)))
    shown = sorted(newest[:MAX_LANES], key=lambda trial: (number_of(trial), trial.trial_id))
    lanes = [_lane(job, trial, tuple(marks.get(f"trial {trial.trial_id}", ()))) for trial in shown]
    if others := [trial for trial in study.trials if trial not in shown]:
        lanes.append(Lane(f"{len(others)} more", _merged(others, now), of_trial=True))
    if study.to_come and not job.is_finished:
        lanes.append(_to_come(job, study))
    return tuple(lane for lane in lanes if lane.spans)


def _ended(trial: Trial) -> float:
    return trial.ended_at.timestamp() if trial.ended_at is not None else 0.0


def _lane(job: Job, trial: Trial, marks: tuple[Mark, ...]) -> Lane:
    """Return a trial's lane: its waits, and the time its machines ran with the trial's own state."""
    spans = machine_states(trial)
    work = machine_spans(trial)
    last = work[-1] if work else None
    named = []
    for span in spans:
        if span not in work:
            word = WAITS.get(span.state, span.state.upper())
        else:
            word = trial.state if span == last else ACTIVE
        named.append(replace(span, state=word))
    if trial.state == REQUESTED and not named and trial.started_at:
        named = [Span(REQUESTED, trial.started_at, None)]
    if trial.state in ENDED and named and (last is None or last != spans[-1]):
        end = named[-1].end or named[-1].start
        named.append(Span(trial.state, end, end))
    note = "" if job.is_finished else wait_words(job, trial)
    return Lane(_("trial %(trial)s") % {"trial": trial.trial_id}, tuple(named), marks, of_trial=True, note=note)


def _merged(trials: Sequence[Trial], now: datetime) -> tuple[Span, ...]:
    """Return when machines of any of these trials ran."""
    found: list[Span] = []
    for span in sorted((span for trial in trials for span in machine_spans(trial)), key=lambda span: span.start):
        end = span.end or now
        if found and (found[-1].end or now) >= span.start:
            found[-1] = replace(found[-1], end=max(found[-1].end or now, end))
        else:
            found.append(Span(ACTIVE, span.start, end))
    return tuple(found)


def _to_come(job: Job, study: Study) -> Lane:
    """Return the lane of the trials that wait for others to end, because of the limit of parallel trials."""
    first, last = len(study.trials) + 1, study.most
    name = _("trial %(trial)s") % {"trial": last}
    if first != last:
        name = _("trials %(first)s–%(last)s") % {"first": first, "last": last}
    since = job.started_at or job.submitted_at or job.requested_at
    return Lane(name, (Span("QUEUED", since, None),), of_trial=True, note=to_come_words(study))
