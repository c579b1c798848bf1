"""What an estimate says in words: how trials, restarts and the timeout make its figures, and what they rest on."""

import math
from datetime import timedelta

from jobs.cost.actual import HOUR
from jobs.cost.forecast import Forecast
from jobs.cost.learned import Learned
from jobs.cost.lines import Rate
from jobs.cost.money import format_usd
from jobs.cost.restarts import CHECKPOINT_HOURS, LIKELY_HIGH
from jobs.cost.trials import rounds
from jobs.spec import StudySpec, Submission
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT
from jobs.texts import translatable as _

HARDLY_ANY = 0.05
"""Preemptions; fewer would be told as 0.0."""
MIN_CHANCE = 0.0001
"""A smaller one would be told as 0.00%."""
RANGE = (
    "Low and high are the 5th and the 95th percentile: 9 of 10 such jobs that succeed should cost an amount between."
)


def tuning_notes(submission: Submission, hours: float, billed_hours: float) -> list[str]:
    """Say how a tuning job's time and cost follow from its trials, and what may make them less."""
    tuning = submission.tuning
    if tuning is None:
        return []
    trials, parallel = submission.trials, submission.parallel_trials
    count = rounds(trials, parallel)
    notes = [f"{trials} trials of {in_words(hours)} each, {parallel} at a time; every trial is billed."]
    if math.isfinite(billed_hours):
        times = f"{count} rounds" if count > 1 else "one round"
        notes[0] += f" In {times} they take about {in_words(billed_hours * count)}; a trial that waits costs nothing."
    less = ["trials that are stopped early"] if _stops_early(tuning.study_spec) else []
    less += [f"an end after {tuning.max_failed_trial_count} failed trials"] if tuning.max_failed_trial_count > 0 else []
    return [*notes, f"It costs less with {' or '.join(less)}."] if less else notes


def _stops_early(study: StudySpec) -> bool:
    ways = (study.decay_curve_stopping_spec, study.median_automated_stopping_spec, study.convex_automated_stopping_spec)
    return any(way is not None for way in ways)


def timeout_notes(submission: Submission, expected: timedelta, timeout: timedelta | None, high: float) -> list[str]:
    """Say what the timeout does to the range, whose upper end would else be `high` hours; each trial has its own."""
    is_trial = submission.tuning is not None
    applies = timeout or DEFAULT_TIMEOUT
    of_each = "each trial" if is_trial else "the job"
    if expected > applies:
        whose = "timeout" if timeout else "default timeout"
        return [f"The {whose} ends {of_each} after {in_words(applies / HOUR)}, before the expected end."]
    if timeout and timeout / HOUR == high:
        runs = "that every trial runs" if is_trial else "a run"
        return [f"The upper end is {runs} until the timeout, after {in_words(timeout / HOUR)}."]
    return []


def restart_notes(found: Forecast, hours: float, allowed: int, submission: Submission) -> list[str]:
    """Say what was assumed about preemptions, where there are any, and how likely the job, or a trial, dies of them."""
    if found.outlooks is None:
        return []
    least, middle, most = found.outlooks
    few, _middle, many = found.assumptions
    shares = f"{_percent(few.daily_share)} to {_percent(many.daily_share)}"
    is_documented = many is LIKELY_HIGH
    assumed = (
        f"{'Assumed' if is_documented else 'By your jobs'}: {shares} of the machines are preempted within a day, each "
        f"restart loses {few.restart * 60:.0f} to {many.restart * 60:.0f} minutes, and the training saves a checkpoint "
        f"every {in_words(min(middle.interval_hours, hours))}, which takes {CHECKPOINT_HOURS * 60:.0f} minute."
    )
    if not math.isfinite(middle.billed_hours):
        return [assumed, "With that many machines it would hardly ever finish."]
    times = f"{middle.preemptions:.1f} preemptions" if middle.preemptions >= HARDLY_ANY else "hardly a preemption"
    gone = _chance(1 - least.survival, 1 - most.survival)
    billed = f"{in_words(hours)} of work take about {in_words(middle.billed_hours)} of billed time with {times}"
    chance = f"The chance of more than {allowed} preemptions, after which Vertex AI gives the"
    if submission.tuning is None:
        return [assumed, f"{billed}.", f"{chance} job up, is {gone}."]
    trials = submission.trials
    any_gone = _chance(1 - least.survival**trials, 1 - most.survival**trials)
    every = f"{chance} trial up, is {gone} for each trial and {any_gone} for any of the {trials}."
    return [assumed, f"In each trial {billed}.", f"{every} The others go on."]


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"


def _chance(least: float, most: float) -> str:
    if most < MIN_CHANCE:
        return f"below {MIN_CHANCE:.2%}"
    return " to ".join(dict.fromkeys((f"{least:.2%}", f"{most:.2%}")))


def resource_notes(held: Rate) -> list[str]:
    """Say what the machines cost on the bill of the persistent resource, which is priced like standard."""
    share = f"about {format_usd(held.usd_per_hour)}" if held.usd_per_hour is not None else "an unknown share"
    return [
        "The run itself costs nothing: the persistent resource is billed all the time it is up, busy or not. "
        f"The machines that this run holds account for {share} an hour of that, taken at the standard price."
    ]


def basis_of(label: str, learned: Learned, *, is_preemptible: bool) -> tuple[str, ...]:
    """Return what the range rests on, what it means, and how often earlier ranges held; `label` is the strategy's."""
    return (_rests_on(label, learned, is_preemptible=is_preemptible), RANGE, *_calibration(label, learned))


def _rests_on(label: str, learned: Learned, *, is_preemptible: bool) -> str:
    prior = "half to twice the run time that is expected"
    prior += " and the documented rate of preemptions" if is_preemptible else ""
    team, alike = learned.team_runs.runs, learned.alike_runs.runs
    if not team:
        return f"Rests on no jobs of your team yet: on {prior}."
    since = f" since {learned.since:%B %Y}" if learned.since else ""
    jobs = f"{team} of your team's jobs{since}, on other machines or in other regions"
    if alike:
        others = f" and {_counted(team - alike, 'other')}" if team > alike else ""
        jobs = f"{alike} of your team's {learned.machine} jobs in {learned.region}{since}{others}"
    seen = learned.team.runs if is_preemptible else 0
    preemptions = f" and the preemptions of {_counted(seen, f'{label} job')}" if seen else ""
    return f"Rests on the run times of {jobs}{preemptions}, with {prior} as prior."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _calibration(label: str, learned: Learned) -> tuple[str, ...]:
    """Say how often the team's jobs under the strategy cost what their range said; nothing before the first."""
    held, of = learned.team.inside, learned.team.estimated
    if not of:
        return ()
    share = f"{held} of {of} ({held / of:.0%})"
    return (f"Calibration: {share} earlier {label} jobs of your team that succeeded cost what their range said.",)


def in_words(hours: float) -> str:
    """Write a length of time for people: seconds below two minutes, minutes below two hours, else hours."""
    if hours < 2 / 60:
        return _("%(count)s seconds", count=f"{hours * 3600:.0f}")
    if hours < 2:
        return _("%(count)s minutes", count=f"{hours * 60:.0f}")
    return _("%(count)s hours", count=f"{hours:.1f}".removesuffix(".0"))
