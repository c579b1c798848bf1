"""Adapt a diagnosis to facts about the job that the error message does not contain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.causes.sources import FLEX_PAGE, SPOT_PAGE
from jobs.diagnosis.diagnosis import Diagnosis, Suggestion
from jobs.diagnosis.exits import TRANSIENT_RETRIED
from jobs.texts import joined
from jobs.texts import translatable as _

WORDS = (
    *(_("zero"), _("one"), _("two"), _("three"), _("four"), _("five")),
    *(_("six"), _("seven"), _("eight"), _("nine"), _("ten")),
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts of a job that its diagnosis depends on; the defaults mean that nothing is known.

    `has_ended` means that the job ended with this error. `restarts` is how often Vertex AI restarted the
    whole job, and `restart_limit` how often it does so under the job's strategy. `has_accelerator` is whether a worker
    pool has one; None if the machines are not known. `causes` is the number of observed restarts by cause, and `limits`
    the number of restarts that Vertex AI allows for each; None if not counted. `last_loss` is the cause of a Spot job's
    last loss of its machines. `ran` is the time from first run to end.
    """

    strategy: str = ""
    has_run: bool | None = None
    has_ended: bool = False
    restarts: int = 0
    restart_limit: int = 6
    has_accelerator: bool | None = None
    causes: Mapping[str, int] | None = None
    limits: Mapping[str, int] | None = None
    last_loss: str = ""
    ran: timedelta | None = None
    timeout: timedelta | None = None
    is_cancel_requested: bool = False

    @property
    def losses(self) -> int:
        """How often a Spot job was restarted after losing its machines or finding none, as far as known."""
        if self.causes is None:
            return self.restarts
        return self.causes.get("preempted", 0) + self.causes.get("stockout", 0)

    @property
    def has_outlived_timeout(self) -> bool:
        """Whether the job ended after running for its whole timeout, without a cancellation requested here."""
        if self.ran is None or self.timeout is None:
            return False
        return self.ran >= self.timeout and not self.is_cancel_requested


EXPIRED_IN_WAIT = replace(
    CAUSES["timeout"],
    title=_("Expired before it ran"),
    explanation=_("Vertex AI ended the job as expired while it waited for machines. It gave no other reason."),
    retried="",
    remedy=_("Run it again, in another region, or under Flex-start, which waits for machines."),
    suggestions=({"action": "resubmit"}, {"action": "other_region"}, {"action": "flex_start"}),
)


def diagnose_expiry(job: Circumstances) -> Diagnosis:
    """Return why a job that Vertex AI reports as EXPIRED without an error ended: its wait or its timeout."""
    if job.has_run is False:
        return _without(CAUSES["flex_wait"] if job.strategy == "flex_start" else EXPIRED_IN_WAIT, job)
    return _without(CAUSES["timeout"], job)


def fit_to_job(known: Diagnosis, job: Circumstances) -> Diagnosis:
    """Return the diagnosis corrected by the facts of the job."""
    if known.cause == "stockout" and job.strategy == "flex_start" and job.has_run is False:
        return _without(_flex_wait(known), job)
    is_loss = known.cause in {"stockout", "preempted"} and job.strategy == "spot"
    if is_loss and (job.has_ended or job.losses >= job.restart_limit):
        return _spot_end(job)
    if known.cause == "cancelled" and job.has_outlived_timeout:
        return _without(CAUSES["timeout"], job)
    if known.cause == "gpu_memory" and job.has_accelerator is False:
        return _no_gpu(known)
    return _without(known, job)


def _flex_wait(known: Diagnosis) -> Diagnosis:
    """Return the diagnosis of a wait that was too long, with the region that `known` advises to avoid."""
    found = CAUSES["flex_wait"]
    avoid = next((suggestion for suggestion in known.suggestions if suggestion.get("avoid")), None)
    suggestions = tuple(
        avoid if avoid is not None and suggestion["action"] == "other_region" else suggestion
        for suggestion in found.suggestions
    )
    return replace(found, suggestions=suggestions)


def _spot_end(job: Circumstances) -> Diagnosis:
    """Return the diagnosis of a Spot job's last loss. It has used all its restarts, also those that were not seen."""
    known = CAUSES["preempted"]
    lost, used = job.restart_limit + 1, job.restart_limit
    none_found, seen = 0, job.losses + 1
    if job.has_run is False:
        none_found = lost
    elif job.causes is not None:
        none_found = job.causes.get("stockout", 0) + (job.last_loss == "stockout")
    if not none_found:
        title = _("Preempted %(times)s", times=_times(lost))
    elif none_found >= min(lost, seen):
        title = _("Found no machines %(times)s", times=_times(lost))
    elif seen < lost:
        title = _("Lost its machines, or found none, %(times)s", times=_times(lost))
    else:
        words = {"times": _times(lost - none_found), "others": _times(none_found)}
        title = _("Preempted %(times)s, found no machines %(others)s", **words)
    return replace(
        known,
        title=title,
        explanation=_(
            "The Spot job lost its machines, or found none, %(times)s, and all %(used)s restarts are used.",
            times=_times(lost),
            used=_count(used),
        ),
        retried=_("Vertex AI restarted it %(times)s, which is as often as it restarts a Spot job.", times=_times(used)),
        source=SPOT_PAGE,
    )


def _times(number: int) -> str:
    return {1: _("once"), 2: _("twice")}.get(number, _("%(number)s times", number=_count(number)))


def _count(number: int) -> str:
    return WORDS[number] if number < len(WORDS) else str(number)


def _no_gpu(known: Diagnosis) -> Diagnosis:
    first: Suggestion = {"action": "other_machine"}
    second = {"action": "edit_field", "fields": ["machineSpec.acceleratorType", "containerSpec.args"]}
    return replace(
        known,
        title=_("CUDA was used on a machine without GPU"),
        explanation=joined(known.explanation, _("None of the job's machines has a GPU, so a larger one is no help.")),
        remedy=_("Give the worker pool an accelerator, or let the program run on the CPU."),
        suggestions=(first, second),
    )


def _without(known: Diagnosis, job: Circumstances) -> Diagnosis:
    """Return the diagnosis without what the job has already, and with what its strategy adds."""
    known = _counted(known, job)
    kept = tuple(suggestion for suggestion in known.suggestions if suggestion["action"] != job.strategy)
    if known.cause == "stockout" and job.strategy not in {"", "spot"}:
        retried = known.retried if job.causes is not None else _("Vertex AI had already tried it up to three times.")
        words = _("Google had no free machines of this kind. Quota is not the reason.")
        return replace(known, explanation=words, retried=retried, suggestions=kept)
    if known.cause == "flex_wait":
        return replace(known, suggestions=kept, source=FLEX_PAGE)
    return replace(known, suggestions=kept) if kept != known.suggestions else known


def _counted(known: Diagnosis, job: Circumstances) -> Diagnosis:
    """Return the diagnosis with the observed number of retries in place of the possible number."""
    cause = "job_retry" if known.retried == TRANSIENT_RETRIED else known.cause
    limit = (job.limits or {}).get(cause)
    if job.causes is None or limit is None:
        return known
    used = job.losses if cause == "stockout" else job.causes.get(cause, 0)
    if used >= limit:
        return replace(
            known, retried=_("Vertex AI tried it again %(times)s, which is as often as it does.", times=_times(limit))
        )
    if used:
        seen = _("Vertex AI used %(used)s of at most %(limit)s retries.", used=used, limit=limit)
        return replace(known, retried=seen)
    words = _("Vertex AI tries it again at most %(times)s; no retry was seen.", times=_times(limit))
    return replace(known, retried=words)
