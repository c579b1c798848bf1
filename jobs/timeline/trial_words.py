"""Describe a study in words: the results of its trials, why one waits, and when all will have ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _

from jobs.bounds import bounded
from jobs.cost.actual import for_time
from jobs.cost.trials import billed_time_left, time_left
from jobs.models import Job, Trial
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.timeline.spans import billable
from jobs.timeline.trial_time import ENDED, INFEASIBLE, SUCCEEDED, all_trials_ran, machine_states, ran, trial_price
from jobs.timeline.trials import Study
from jobs.timeline.waiting import waiting_words

MAX_NAMED = 5
"""Number of trials that one line names."""
MAX_SUMMARY_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Outlook:
    """When the trials of a study will have ended and what they will have cost, at the pace of those that have ended.

    `trial` is the assumed run time of one trial. `is_measured` means that it is the mean of succeeded trials.
    """

    trial: timedelta
    is_measured: bool
    left: timedelta
    usd: Decimal | None


def summary(study: Study) -> str:
    """Return a summary of the trials: "20 trials: 18 succeeded, 2 infeasible; best accuracy 0.93 by trial 7"."""
    if not study.trials:
        return ""
    count, under_way = len(study.trials), study.under_way
    counts = {"succeeded": study.succeeded, "infeasible": study.failed, "under way": under_way}
    parts = [f"{number} {word}" for word, number in counts.items() if number]
    best = _best(study)
    words = f"{count} trial{'s' * (count != 1)}: {', '.join(parts)}"
    return bounded(f"{words}; {best}" if best else words, MAX_SUMMARY_CHARACTERS)


def _best(study: Study) -> str:
    if not study.best:
        return ""
    if len(study.objectives) > 1:
        return f"{len(study.best)} on the Pareto front: {_named(study.best)}"
    (trial,), (metric,) = study.best, study.objectives
    return f"best {metric.id} {trial.metrics[metric.id]:.5g} by trial {trial.trial_id}"


def failures(study: Study) -> str:
    """Return which trials failed and how many may fail, or "" if none did."""
    failed = [trial for trial in study.trials if trial.state == INFEASIBLE]
    if not failed:
        return ""
    limit = study.allowed_failures
    rule = f"maxFailedTrialCount is {limit}" if limit else "maxFailedTrialCount is not set, so Vertex AI decides"
    named = _named(failed).replace("trial", "Trial", 1)
    return f"{named} {'is' if len(failed) == 1 else 'are'} infeasible; {rule}."


def _named(trials: Sequence[Trial]) -> str:
    names = ", ".join(trial.trial_id for trial in trials[:MAX_NAMED])
    more = len(trials) - MAX_NAMED
    return f"trial{'s' * (len(trials) != 1)} {names}" + (f" and {more} more" if more > 0 else "")


def wait_words(job: Job, trial: Trial) -> str:
    """Return why a trial that has begun has no machines, or "" if it runs or has ended.

    The text is the error of its custom job, if there is one. Vertex AI reports nothing else, so otherwise the text
    follows the custom job's state and the job's strategy.
    """
    if trial.state in ENDED:
        return ""
    if trial.state == "REQUESTED":
        return _("requested; Vertex AI has not begun it yet")
    states = machine_states(trial)
    if not states or billable(states[-1:]):
        return ""
    if trial.job_error:
        return trial.job_error.partition("\n")[0]
    state = states[-1].state
    if state not in WAITING_AT_VERTEX:
        return _("its custom job is %(state)s") % {"state": state}
    return waiting_words(job.strategy, state, has_run=bool(billable(states)))


def to_come_words(study: Study) -> str:
    """Return why the trials that Vertex AI has not begun are waiting, or "" if none will follow."""
    if not study.to_come:
        return ""
    if study.under_way < study.parallel:
        return _("Vertex AI begins them soon")
    running, waiting = study.running, study.waiting
    if not waiting:
        return _("%(running)s of %(all)s parallel trials are running") % {"running": running, "all": study.parallel}
    words = _("%(begun)s of %(all)s parallel trials are under way: %(running)s running, %(waiting)s waiting")
    return words % {"begun": study.under_way, "all": study.parallel, "running": running, "waiting": waiting}


def outlook(job: Job, study: Study, now: datetime) -> Outlook | None:
    """Return a forecast of the study, or None if it has ended or the run time of a trial is unknown.

    The run time of a trial is the mean of those that succeeded, or the expected run time before the first of them.
    """
    if job.is_finished:
        return None
    measured = [ran(trial, now) for trial in study.trials if trial.state == SUCCEEDED]
    trial = sum(measured, timedelta()) / len(measured) if measured else timedelta(seconds=job.expected_seconds)
    if trial <= timedelta():
        return None
    begun = [ran(each, now) for each in study.trials if each.state not in ENDED]
    to_come = 0 if job.state == JobState.CANCELLING else study.to_come
    price, rest = trial_price(job), billed_time_left(begun, to_come, trial=trial)
    return Outlook(
        trial=trial,
        is_measured=bool(measured),
        left=time_left(begun, to_come, study.parallel, trial=trial),
        usd=None if price is None else for_time(price, all_trials_ran(job, now) + rest),
    )
