"""What is known about the job itself, and how it changes an answer that its error's words alone would give."""

from dataclasses import dataclass, replace

from jobs.diagnosis.answer import Diagnosis, Suggestion
from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.causes.sources import FLEX_PAGE, SPOT_PAGE

WORDS = "zero one two three four five six seven eight nine ten".split()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts of a job that its diagnosis depends on; the defaults say that nothing is known.

    `restarts`: how often Vertex AI restarted the whole job. `restart_limit`: how often it does so under the job's
    strategy. `has_accelerator`: whether a worker pool has one; None where the machines are not known.
    """

    strategy: str = ""
    has_run: bool | None = None
    restarts: int = 0
    restart_limit: int = 6
    has_accelerator: bool | None = None


def diagnose_expiry(job: Circumstances) -> Diagnosis:
    """Return why a job that Vertex AI calls EXPIRED, without an error, has ended: its wait or its time ran out."""
    waited = job.strategy == "flex_start" and job.has_run is False
    return _without(CAUSES["flex_wait" if waited else "timeout"], job)


def fitted(known: Diagnosis, job: Circumstances) -> Diagnosis:
    """Return the answer as the job's own facts correct it."""
    if known.cause == "stockout" and job.strategy == "flex_start" and job.has_run is False:
        return _without(_but_quoting("flex_wait", known), job)
    if known.cause in {"stockout", "preempted"} and job.strategy == "spot" and job.restarts >= job.restart_limit:
        return _spot_end(job)
    if known.cause == "gpu_memory" and job.has_accelerator is False:
        return _no_gpu(known)
    return _without(known, job)


def _but_quoting(cause: str, known: Diagnosis) -> Diagnosis:
    found = CAUSES[cause]
    avoid = next((each for each in known.suggestions if each.get("avoid")), None)
    suggestions = tuple(
        avoid if avoid is not None and each["action"] == "other_region" else each for each in found.suggestions
    )
    return replace(found, suggestions=suggestions)


def _spot_end(job: Circumstances) -> Diagnosis:
    known = CAUSES["preempted"]
    lost, used = job.restart_limit + 1, job.restart_limit
    return replace(
        known,
        title=f"Preempted {_count(lost)} times",
        explanation=f"The Spot job lost its machines, or found none, {_count(lost)} times, and all {_count(used)}"
        " restarts are used.",
        retried=f"Vertex AI restarted it {_count(used)} times, which is as often as it restarts a Spot job.",
        source=SPOT_PAGE,
    )


def _count(number: int) -> str:
    return WORDS[number] if number < len(WORDS) else str(number)


def _no_gpu(known: Diagnosis) -> Diagnosis:
    first: Suggestion = {"action": "other_machine"}
    second = {"action": "edit_field", "fields": ["machineSpec.acceleratorType", "containerSpec.args"]}
    return replace(
        known,
        title="CUDA was used on a machine without GPU",
        explanation=f"{known.explanation} None of the job's machines has a GPU, so a larger one is no help.",
        remedy="Give the worker pool an accelerator, or let the program run on the CPU.",
        suggestions=(first, second),
    )


def _without(known: Diagnosis, job: Circumstances) -> Diagnosis:
    """Return the answer without what the job has already, and with what its strategy has to say."""
    kept = tuple(each for each in known.suggestions if each["action"] != job.strategy)
    if known.cause == "stockout" and job.strategy not in {"", "spot"}:
        first = known.explanation.partition(" Of a Spot job")[0]
        retried = "Vertex AI had already tried it up to three times."
        return replace(known, explanation=first, retried=retried, suggestions=kept)
    if known.cause == "flex_wait":
        return replace(known, suggestions=kept, source=FLEX_PAGE)
    return replace(known, suggestions=kept) if kept != known.suggestions else known
