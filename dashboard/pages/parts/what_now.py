"""Advice for every state: what it means, whether it resolves by itself, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dashboard.drawing.figures import countdown, duration
from dashboard.pages.parts.reasons import (
    Failure,
    error_of,
    failure_of,
    gives_up_at,
    has_failed,
    may_wait,
    obstacle_of,
)
from dashboard.pages.parts.stored_spec import spec_of
from jobs import observation, timeline
from jobs.diagnosis import Diagnosis
from jobs.models import Job, JobEvent
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.timeline import RetryBudget


@dataclass(frozen=True, slots=True)
class Advice:
    """One paragraph of explanation, one of what to do, and where the knowledge comes from."""

    title: str
    text: str
    remedy: str = ""
    source: str = ""
    fixes: tuple[tuple[str, str], ...] = ()
    """Copies of the job that the compose page prefills: (action, label)."""


NOT_BILLED = "Nothing is billed until the job runs."
NOTHING_BILLED = "Nothing is billed while no trial is running."
SIMPLE: dict[str, Advice] = {
    JobState.APPROVED: Advice("Queued in Trainboard", "A worker sends the job to Vertex AI within seconds."),
    JobState.SUBMITTING: Advice(
        "Being sent to Vertex AI",
        "If the answer is lost, Trainboard looks for the job at Vertex AI before it sends it again.",
    ),
    JobState.QUEUED: Advice(
        "Waiting for quota or capacity",
        "The job starts when quota and capacity are available.",
        NOT_BILLED,
    ),
    JobState.PENDING: Advice("Preparing machines", "Vertex AI starts the machines and pulls the image.", NOT_BILLED),
    JobState.CANCELLING: Advice("Vertex AI is cancelling the job", "It may still end as succeeded or failed."),
    JobState.UPDATING: Advice("Vertex AI is updating the job", "It then runs again."),
    JobState.PAUSED: Advice("Paused at Vertex AI", "Trainboard cannot resume it."),
    JobState.WITHDRAWN: Advice(
        "Cancelled before it was submitted", "The job was not sent to Vertex AI, and nothing was billed."
    ),
    JobState.REJECTED: Advice("Rejected", "The job was not sent to Vertex AI, and nothing was billed."),
    JobState.CANCELLED: Advice("Cancelled", "Vertex AI stopped its replicas. The time that they ran is billed."),
    JobState.LOST: Advice(
        "Not found at Vertex AI",
        "The job was deleted there before Trainboard saw its end, so its result is not known.",
        "Check its output folder before you run it again.",
    ),
}

CANCELLED_BEFORE = Advice(
    "Cancelled before it ran", "Vertex AI gave up its place. It never ran, and nothing was billed."
)

FIX_LABELS: dict[str, str] = {
    "next_machine_size": "with more memory",
    "more_disk": "with a larger disk",
    "bigger_gpu": "with a larger GPU",
    "other_accelerator": "with another GPU",
    "other_region": "in another region",
    "flex_start": "under Flex-start",
    "spot": "on Spot machines",
    "standard": "on demand",
    "own_machines": "on machines of its own",
    "longer_wait": "with a longer wait",
    "endless_wait": "without a limit on the wait",
    "longer_timeout": "with a longer timeout",
    "resubmit": "as it was",
    "edit_field": "to edit",
    "other_machine": "to edit",
}
"""What follows "Run a copy" on the link of each action."""


def what_now(
    job: Job,
    now: datetime,
    budgets: Sequence[RetryBudget] = (),
    study: timeline.Study | None = None,
    *,
    events: Sequence[JobEvent] | None = None,
    errors: Sequence[str] | None = None,
) -> Advice | None:
    """Return the advice for the job as it is; None while an approver has to act.

    `budgets`: what restarts are left; `study`: what came of its trials where it tunes; `events` and `errors` as
    `failure_of` takes them.
    """
    if job.state == JobState.AWAITING_APPROVAL:
        return None
    if job.last_error and not job.is_finished:
        return _repeating(job)
    if has_failed(job):
        return _with_trials(_failure(job, failure_of(job, events, errors), now), study)
    if job.cancel_requested_at and not job.is_finished:
        text = "Vertex AI stops the job when it can. It may end by itself first."
        return Advice("Cancellation requested", text, "Trainboard repeats the request until the job has ended.")
    if job.restarts and job.state in WAITING_AT_VERTEX:
        return _restarting(job, budgets)
    if (limit := may_wait(job)) is not None and job.state in WAITING_AT_VERTEX:
        return _waiting_for_all(job, limit, now)
    if job.state == JobState.RUNNING:
        return _last_chance(_running(job, now), budgets) if study is None else _running_trials(job, now, study)
    if job.state == JobState.CANCELLED and job.started_at is None:
        return CANCELLED_BEFORE
    if job.state in {JobState.SUCCEEDED, JobState.PARTIALLY_SUCCEEDED}:
        return _succeeded(job, now, study)
    return SIMPLE.get(job.state, UNKNOWN)


UNKNOWN = Advice(
    "Unknown state",
    "Trainboard shows the state as Vertex AI sent it, and polls the job until it ends.",
)


def _repeating(job: Job) -> Advice:
    title = "A step failed and is retried"
    if (known := obstacle_of(job)) is None:
        return Advice(title, job.last_error, "You do not have to do anything.")
    text = f"{known.title}. {known.explanation} Trainboard retries until it succeeds."
    return Advice(title, text, known.remedy, known.source)


def _succeeded(job: Job, now: datetime, study: timeline.Study | None) -> Advice:
    ran = f"It ran {duration(timeline.running(job, now))}."
    if study is not None and study.trials:
        ran = f"{timeline.summary(study)}. Their machines ran {duration(timeline.all_trials_ran(job, now))} in total."
    folder = spec_of(job).get("baseOutputDirectory", {}).get("outputUriPrefix", "")
    where = f"Its output is in {folder}." if folder else "It had no output folder."
    title = "Succeeded" if job.state == JobState.SUCCEEDED else "Partially succeeded: some results are missing"
    return Advice(title, f"{ran} {where}")


def _with_trials(advice: Advice, study: timeline.Study | None) -> Advice:
    """Add which trials failed, and the limit on failed trials."""
    if study is None or not study.trials:
        return advice
    summary = f"{timeline.summary(study)}. {timeline.failures(study)}".strip()
    return replace(advice, text=f"{advice.text} {summary}")


def _failure(job: Job, known: Failure | None, now: datetime) -> Advice:
    is_new = job.ended_at is not None and now - job.ended_at < observation.ERROR_WINDOW
    if known is not None:
        return _explained(known, is_new=is_new)
    if is_new:
        text = "The reason usually follows within a minute; Trainboard keeps asking for it."
        return Advice("Failed, reason not known yet", text, "The log may show it already.")
    message = error_of(job)[1] or "Vertex AI gave no reason."
    return Advice("Failed for an unknown reason", message, "The log may show more.")


def _explained(failure: Failure, *, is_new: bool) -> Advice:
    known, origin = failure.diagnosis, ""
    if failure.is_from_log:
        silence = "Vertex AI has not given its reason yet" if is_new else "Vertex AI gave no reason"
        origin = f"{silence}; this is from the log."
    text = " ".join(filter(None, (known.explanation, known.retried, origin)))
    return Advice(known.title, text, known.remedy, known.source, fixes_of(known))


def fixes_of(known: Diagnosis) -> tuple[tuple[str, str], ...]:
    """Return the changes that a diagnosis suggests and that the compose page can make, best first."""
    actions = dict.fromkeys(str(each["action"]) for each in known.suggestions)
    return tuple((action, FIX_LABELS[action]) for action in actions if action in FIX_LABELS)


def _restarting(job: Job, budgets: Sequence[RetryBudget]) -> Advice:
    title = "Waiting for new machines" if job.started_at else "Out of capacity; Vertex AI retries"
    used = [budget for budget in budgets if budget.used and budget.of]
    rule = " ".join(["Vertex AI restarts the job.", *(budget.rule for budget in used[:1])])
    left = [f"{budget.name}: {budget.left} of {budget.of} left." for budget in used]
    return _last_chance(Advice(title, rule, " ".join([*left, "Nothing is billed while it waits."])), budgets)


def _last_chance(advice: Advice, budgets: Sequence[RetryBudget]) -> Advice:
    """Add that the next failure ends the job, where a retry budget is used up."""
    gone = [budget.name for budget in budgets if budget.is_used_up and not budget.name.startswith("workerpool")]
    if not gone:
        return advice
    warning = (
        f"The next {' or '.join(NEXT_FAILURE[name] for name in gone)} ends the job: no restart of that kind is left."
    )
    return replace(advice, remedy=f"{warning} {advice.remedy}".strip())


NEXT_FAILURE = {
    "Spot restarts": "loss of its machines",
    "capacity retries": "lack of capacity",
    "job retries": "crash or lost worker",
    "internal errors": "internal error",
}
"""From the name of a retry budget to the failure that ends the job when it is used up."""


def _waiting_for_all(job: Job, limit: timedelta, now: datetime) -> Advice:
    text = (
        f"Flex-start lets it wait at most {duration(limit)}." if limit else "Flex-start lets it wait without a limit."
    )
    if not limit:
        text += " Its maxWaitDuration is 0."
    elif (at := gives_up_at(job)) is not None:
        text += f" It {countdown(at, now)}."
        text += "" if at > now else " Vertex AI has not reported its end yet."
    if job.state == JobState.PENDING:
        text += " It is also PENDING while Vertex AI starts the machines."
    return Advice("Waiting until all machines are available at once", text, NOT_BILLED)


def _running_trials(job: Job, now: datetime, study: timeline.Study) -> Advice:
    title = "Running" if study.running else "No trial running: the active trials wait for machines"
    billed = "" if study.running else NOTHING_BILLED
    outlook = timeline.outlook(job, study, now)
    if outlook is None:
        return Advice(title, f"{timeline.summary(study)}." if study.trials else "", billed)
    pace = "the mean of those that succeeded" if outlook.is_measured else "as expected"
    text = f"About {duration(outlook.left)} left if each trial runs {duration(outlook.trial)}, {pace}."
    return Advice(title, text, billed)


def _running(job: Job, now: datetime) -> Advice:
    if not job.expected_seconds:
        return Advice("Running", "This is an external job, so its expected run time is not known.")
    left = timedelta(seconds=job.expected_seconds) - timeline.running(job, now)
    if left < timedelta():
        return Advice("Running longer than expected", f"It was expected to run {duration(job.expected_seconds)}.")
    return Advice("Running", f"About {duration(left)} left of the expected run time.")
