"""The reason for a job's state in lists, and the advice on its page: what the state means, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.drawing.figures import countdown, duration
from dashboard.queries.readiness import is_unsent_for_lack_of_a_worker
from jobs import observation, timeline
from jobs.diagnosis import Diagnosis, FailureRecord
from jobs.explain import Explanation, error_of, explain, has_failed, has_unknown_run, obstacle_of, times_out_at
from jobs.models import Job, JobEvent
from jobs.spec.body import custom_job_spec
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.texts import is_translatable, joined
from jobs.timeline import RetryBudget
from jobs.timeline.waiting import gives_up_at, may_wait
from jobs.translations import pieces, translated

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Part(NamedTuple):
    """A piece of text: one or more sentences, or part of one.

    `lang` is "en" for text that is not the site's own and therefore not translated. `is_code` marks text written by a
    program or by Vertex AI. `space` separates the piece from the next.
    """

    words: "StrOrPromise"
    lang: str = ""
    is_code: bool = False
    space: str = " "


@dataclass(frozen=True, slots=True)
class Advice:
    """A paragraph of explanation, a paragraph on what to do, and the source."""

    title: Part
    text: tuple[Part, ...] = ()
    remedy: tuple[Part, ...] = ()
    source: str = ""
    fixes: "tuple[tuple[str, StrOrPromise], ...]" = ()
    """Corrected copies of the job that the compose page can prefill: (action, label)."""
    is_in_log: bool = False
    """Whether only the log shows what to change."""
    failure: FailureRecord | None = None
    """The failure of the program, whose lines are shown."""


def advice(title: "StrOrPromise", text: "StrOrPromise" = "", remedy: "StrOrPromise" = "") -> Advice:
    """Return advice in the site's own text."""
    return Advice(Part(title), (Part(text),), (Part(remedy),) if remedy else ())


def quoted(words: str) -> Part:
    """Return text of a diagnosis, a rule or Vertex AI, translated if possible, else in English."""
    return Part(translated(words), "" if is_translatable(words) else "en")


def quoted_parts(words: str) -> tuple[Part, ...]:
    """Return the text as parts, with each quotation as code; () if it is empty."""
    if not is_translatable(words):
        return (Part(translated(words), "en"),) if words else ()
    found = [Part(text, "en" if is_code else "", is_code, "") for text, is_code in pieces(words) if text]
    return (*found[:-1], found[-1]._replace(space=" ")) if found else ()


NOT_BILLED = gettext_lazy("Nothing is billed until the job runs.")
NOTHING_BILLED = gettext_lazy("Nothing is billed while no trial is running.")
SIMPLE: dict[str, Advice] = {
    JobState.APPROVED: advice(
        gettext_lazy("Queued in Trainboard"), gettext_lazy("A worker sends the job to Vertex AI within seconds.")
    ),
    JobState.SUBMITTING: advice(
        gettext_lazy("Being sent to Vertex AI"),
        gettext_lazy("If the answer is lost, Trainboard looks for the job at Vertex AI before it sends it again."),
    ),
    JobState.QUEUED: advice(
        gettext_lazy("Waiting for quota or capacity"),
        gettext_lazy("The job starts when quota and capacity are available."),
        NOT_BILLED,
    ),
    JobState.PENDING: advice(
        gettext_lazy("Preparing machines"),
        gettext_lazy("Vertex AI starts the machines and pulls the image."),
        NOT_BILLED,
    ),
    JobState.CANCELLING: advice(
        gettext_lazy("Vertex AI is cancelling the job"), gettext_lazy("It may still end as succeeded or failed.")
    ),
    JobState.UPDATING: advice(gettext_lazy("Vertex AI is updating the job"), gettext_lazy("It then runs again.")),
    JobState.PAUSED: advice(gettext_lazy("Paused at Vertex AI"), gettext_lazy("Trainboard cannot resume it.")),
    JobState.WITHDRAWN: advice(
        gettext_lazy("Cancelled before it was submitted"),
        gettext_lazy("The job was not sent to Vertex AI, and nothing was billed."),
    ),
    JobState.REJECTED: advice(
        gettext_lazy("Rejected"), gettext_lazy("The job was not sent to Vertex AI, and nothing was billed.")
    ),
    JobState.CANCELLED: advice(
        gettext_lazy("Cancelled"), gettext_lazy("Vertex AI stopped its replicas. The time that they ran is billed.")
    ),
    JobState.LOST: advice(
        gettext_lazy("Not found at Vertex AI"),
        gettext_lazy("The job was deleted there before Trainboard saw its end, so its result is not known."),
        gettext_lazy("Check its output folder before you run it again."),
    ),
}
UNKNOWN = advice(
    gettext_lazy("Unknown state"),
    gettext_lazy("Trainboard shows the state as Vertex AI sent it, and polls the job until it ends."),
)
CANCELLED_BEFORE = advice(
    gettext_lazy("Cancelled before it ran"),
    gettext_lazy("Vertex AI gave up its place. It never ran, and nothing was billed."),
)
UNSEEN_RUN = (
    Part(gettext_lazy("Trainboard did not see it run, and neither Vertex AI nor the log shows when it started.")),
    Part(gettext_lazy("So no run time and no cost are shown.")),
)
"""What is known of a job that ran although nothing shows when."""
CANCELLATION_REQUESTED = advice(
    gettext_lazy("Cancellation requested"),
    gettext_lazy("Vertex AI stops the job when it can. It may end by itself first."),
    gettext_lazy("Trainboard repeats the request until the job has ended."),
)
NO_WORKER = advice(
    gettext_lazy("No worker takes the next step"),
    gettext_lazy("The worker that sends jobs and cancellations to Vertex AI has not reported for a minute."),
    gettext_lazy(
        "A site admin can see on the doctor's page which part does not run. When it runs again, the step is taken once."
    ),
)

EDIT = "edit_field"
FIX_LABELS: "dict[str, StrOrPromise]" = {
    "next_machine_size": gettext_lazy("Rerun with more memory"),
    "more_disk": gettext_lazy("Rerun with a larger disk"),
    "bigger_gpu": gettext_lazy("Rerun with a larger GPU"),
    "other_accelerator": gettext_lazy("Rerun with another GPU"),
    "other_region": gettext_lazy("Rerun in another region"),
    "flex_start": gettext_lazy("Rerun under Flex-start"),
    "spot": gettext_lazy("Rerun on Spot machines"),
    "standard": gettext_lazy("Rerun under Standard"),
    "own_machines": gettext_lazy("Rerun on machines of its own"),
    "longer_wait": gettext_lazy("Rerun with a longer wait"),
    "endless_wait": gettext_lazy("Rerun without a limit on the wait"),
    "longer_timeout": gettext_lazy("Rerun with a longer timeout"),
    "resubmit": gettext_lazy("Rerun unchanged"),
    "gcs_path": gettext_lazy("Rerun with /gcs/ paths"),
    "other_machine": gettext_lazy("Edit the machines of a copy"),
    EDIT: gettext_lazy("Edit a copy"),
}
"""{action: label of the link to the compose page with a copy of the job}"""

LAST_CHANCES = {
    "Spot restarts": gettext_lazy("The next loss of its machines ends the job: no restart of that kind is left."),
    "capacity retries": gettext_lazy("The next lack of capacity ends the job: no restart of that kind is left."),
    "job retries": gettext_lazy("The next crash or lost worker ends the job: no restart of that kind is left."),
    "internal errors": gettext_lazy("The next internal error ends the job: no restart of that kind is left."),
}
"""{name of a retry budget: what its exhaustion means for the job}"""

EDIT_ONLY = ((EDIT, FIX_LABELS[EDIT]),)


def what_now(
    job: Job,
    now: datetime,
    budgets: Sequence[RetryBudget] = (),
    study: timeline.Study | None = None,
    *,
    events: Sequence[JobEvent] | None = None,
    errors: Sequence[str] | None = None,
) -> Advice | None:
    """Return the advice for the job in its current state; None while an approver has to act.

    `budgets` are the retry budgets, and `study` the trials of a tuning job. `events` and `errors` are as for
    `explain`.
    """
    if job.state == JobState.AWAITING_APPROVAL:
        return None
    if is_unsent_for_lack_of_a_worker(job, now):
        return NO_WORKER
    if job.last_error and not job.is_finished:
        return _repeating(job)
    if has_failed(job):
        failed = _with_trials(_failure(job, explain(job, events=events, errors=errors), now), study)
        return replace(failed, text=(*failed.text, *UNSEEN_RUN)) if has_unknown_run(job) else failed
    if job.cancel_requested_at and not job.is_finished:
        return CANCELLATION_REQUESTED
    if job.state in WAITING_AT_VERTEX:
        return _waiting(job, budgets, now)
    if job.state == JobState.RUNNING and job.started_at is None and study is None:
        text = _("Vertex AI is running the pipeline. Its custom job has no machines yet, so nothing is billed.")
        return advice(_("Running, without machines yet"), text)
    if job.state == JobState.RUNNING:
        return _last_chance(_running(job, now), budgets) if study is None else _running_trials(job, now, study)
    if job.state == JobState.CANCELLED and has_unknown_run(job):
        return replace(SIMPLE[job.state], text=UNSEEN_RUN)
    if job.state == JobState.CANCELLED and job.started_at is None:
        return CANCELLED_BEFORE
    if job.state in {JobState.SUCCEEDED, JobState.PARTIALLY_SUCCEEDED}:
        return _succeeded(job, now, study)
    return SIMPLE.get(job.state, UNKNOWN)


def _repeating(job: Job) -> Advice:
    title = Part(_("A step failed and is retried"))
    if (known := obstacle_of(job)) is None:
        return Advice(title, (quoted(job.last_error),), (Part(_("You do not have to do anything.")),))
    text = (
        Part(f"{translated(known.title)}."),
        *quoted_parts(known.explanation),
        Part(_("Trainboard retries until it succeeds.")),
    )
    return Advice(title, text, quoted_parts(known.remedy), known.source)


def _succeeded(job: Job, now: datetime, study: timeline.Study | None) -> Advice:
    words = _("It ran %(length)s.") % {"length": duration(timeline.running(job, now))}
    ran: tuple[Part, ...] = UNSEEN_RUN if has_unknown_run(job) else (Part(words),)
    if study is not None and study.trials:
        length = duration(timeline.total_run_time(study.trials, min(job.ended_at or now, now)))
        in_all = Part(_("Their machines ran %(length)s in total.") % {"length": length})
        ran = (quoted(f"{timeline.summary(study)}."), in_all)
    folder = custom_job_spec(job.spec).get("baseOutputDirectory", {}).get("outputUriPrefix", "")
    where = _("Its output is in %(folder)s.") % {"folder": folder} if folder else _("It had no output folder.")
    whole, part = _("Succeeded"), _("Partially succeeded: some results are missing")
    return Advice(Part(whole if job.state == JobState.SUCCEEDED else part), (*ran, Part(where)))


def _with_trials(known: Advice, study: timeline.Study | None) -> Advice:
    """Add which trials failed, and the limit on failed trials."""
    if study is None or not study.trials:
        return known
    summary = f"{timeline.summary(study)}. {timeline.failures(study)}".strip()
    return replace(known, text=(*known.text, quoted(summary)))


def _failure(job: Job, known: Explanation | None, now: datetime) -> Advice:
    is_new = job.ended_at is not None and now - job.ended_at < observation.ERROR_WINDOW
    if known is not None:
        return _explained(known, is_new=is_new)
    if is_new:
        text = _("The reason usually follows within a minute; Trainboard keeps asking for it.")
        return advice(_("Failed, reason not known yet"), text, _("The log may show it already."))
    message = error_of(job)[1]
    text_part = quoted(message) if message else Part(_("Vertex AI gave no reason."))
    title, remedy = Part(_("Failed for an unknown reason")), (Part(_("The log may show more.")),)
    return Advice(title, (text_part,), remedy, fixes=EDIT_ONLY, is_in_log=True)


def _explained(failure: Explanation, *, is_new: bool) -> Advice:
    known = failure.diagnosis
    text = quoted_parts(joined(known.explanation, known.retried))
    if failure.is_from_log and is_new:
        text += (Part(_("Vertex AI has not given its reason yet; this is from the log.")),)
    elif failure.is_from_log:
        text += (Part(_("Vertex AI gave no reason; this is from the log.")),)
    title, remedy, fixes = quoted(known.title), quoted_parts(known.remedy), fixes_of(known)
    return Advice(title, text, remedy, known.source, fixes or EDIT_ONLY, is_in_log=not fixes, failure=failure.failure)


def fixes_of(known: Diagnosis) -> "tuple[tuple[str, StrOrPromise], ...]":
    """Return the changes suggested by a diagnosis that the compose page can make, best first."""
    actions = dict.fromkeys(str(each["action"]) for each in known.suggestions)
    return tuple((action, FIX_LABELS[action]) for action in actions if action in FIX_LABELS)


def _waiting(job: Job, budgets: Sequence[RetryBudget], now: datetime) -> Advice:
    limit = may_wait(job)
    known = SIMPLE[job.state] if limit is None else _waiting_for_all(job, limit, now)
    known = _restarting(job, budgets) if job.restarts else known
    if not job.wait_error:
        return known
    goes_on = Part(_("It keeps waiting and starts by itself."))
    return replace(known, text=(Part(_("Vertex AI reports:")), quoted(job.wait_error), goes_on, *known.text))


def _restarting(job: Job, budgets: Sequence[RetryBudget]) -> Advice:
    title = _("Waiting for new machines") if job.started_at else _("Out of capacity; Vertex AI retries")
    used = [budget for budget in budgets if budget.used and budget.of]
    rules = (Part(_("Vertex AI restarts the job.")), *(quoted(budget.rule) for budget in used[:1]))
    words = _("%(name)s: %(left)s of %(all)s left.")
    left = [Part(words % {"name": translated(budget.name), "left": budget.left, "all": budget.of}) for budget in used]
    unbilled = Part(_("Nothing is billed while it waits."))
    return _last_chance(Advice(Part(title), rules, (*left, unbilled)), budgets)


def _last_chance(known: Advice, budgets: Sequence[RetryBudget]) -> Advice:
    """Add that the next failure ends the job, if a retry budget is used up."""
    gone = [budget.name for budget in budgets if budget.is_used_up and budget.name in LAST_CHANCES]
    return replace(known, remedy=(*(Part(LAST_CHANCES[name]) for name in gone), *known.remedy))


def _waiting_for_all(job: Job, limit: timedelta, now: datetime) -> Advice:
    if not limit:
        text = [_("Flex-start lets it wait without a limit. Its maxWaitDuration is 0.")]
    else:
        text = [_("Flex-start lets it wait at most %(length)s.") % {"length": duration(limit)}]
    if limit and (at := gives_up_at(job)) is not None:
        text.append(_("It %(gives_up)s.") % {"gives_up": countdown(at, now)})
        text += [] if at > now else [_("Vertex AI has not reported its end yet.")]
    if job.state == JobState.PENDING:
        text.append(_("It is also PENDING while Vertex AI starts the machines."))
    return advice(_("Waiting until all machines are available at once"), " ".join(text), NOT_BILLED)


def _running_trials(job: Job, now: datetime, study: timeline.Study) -> Advice:
    title = _("Running") if study.running else _("No trial running: the active trials wait for machines")
    billed = "" if study.running else NOTHING_BILLED
    outlook = timeline.outlook(job, study, now)
    if outlook is None:
        known = advice(title, "", billed)
        return replace(known, text=(quoted(f"{timeline.summary(study)}."),)) if study.trials else known
    if outlook.is_measured:
        text = _("About %(left)s left if each trial runs %(trial)s, the mean of those that succeeded.")
    else:
        text = _("About %(left)s left if each trial runs %(trial)s, as expected.")
    return advice(title, text % {"left": duration(outlook.left), "trial": duration(outlook.trial)}, billed)


def _running(job: Job, now: datetime) -> Advice:
    ends_at = job.metrics.ends_at if hasattr(job, "metrics") else None
    left = timedelta(seconds=job.expected_seconds) - timeline.running(job, now)
    end = ends_at if ends_at is not None and ends_at > now else now + left
    if (limit := times_out_at(job, now)) is not None and end > limit:
        words = _("Its timeout ends it in %(length)s, before its expected end. Work that is not saved by then is lost.")
        return advice(_("Running"), words % {"length": duration(limit - now)})
    if end == ends_at:
        words = _("About %(length)s left, judging by the progress in its log.")
        return advice(_("Running"), words % {"length": duration(ends_at - now)})
    if not job.expected_seconds:
        return advice(_("Running"), _("This is an external job, so its expected run time is not known."))
    if left < timedelta():
        words = _("It was expected to run %(length)s.") % {"length": duration(job.expected_seconds)}
        return advice(_("Running longer than expected"), words)
    return advice(_("Running"), _("About %(length)s left of the expected run time.") % {"length": duration(left)})
