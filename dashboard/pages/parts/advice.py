"""The structure of advice, and advice that is the same for every job in a state."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy as _

from jobs.diagnosis import FailureRecord
from jobs.states import JobState
from jobs.texts import is_translatable
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


NOT_BILLED = _("Nothing is billed until the job runs.")
NOTHING_BILLED = _("Nothing is billed while no trial is running.")
SIMPLE: dict[str, Advice] = {
    JobState.APPROVED: advice(_("Queued in Trainboard"), _("A worker sends the job to Vertex AI within seconds.")),
    JobState.SUBMITTING: advice(
        _("Being sent to Vertex AI"),
        _("If the answer is lost, Trainboard looks for the job at Vertex AI before it sends it again."),
    ),
    JobState.QUEUED: advice(
        _("Waiting for quota or capacity"),
        _("The job starts when quota and capacity are available."),
        NOT_BILLED,
    ),
    JobState.PENDING: advice(
        _("Preparing machines"), _("Vertex AI starts the machines and pulls the image."), NOT_BILLED
    ),
    JobState.CANCELLING: advice(_("Vertex AI is cancelling the job"), _("It may still end as succeeded or failed.")),
    JobState.UPDATING: advice(_("Vertex AI is updating the job"), _("It then runs again.")),
    JobState.PAUSED: advice(_("Paused at Vertex AI"), _("Trainboard cannot resume it.")),
    JobState.WITHDRAWN: advice(
        _("Cancelled before it was submitted"), _("The job was not sent to Vertex AI, and nothing was billed.")
    ),
    JobState.REJECTED: advice(_("Rejected"), _("The job was not sent to Vertex AI, and nothing was billed.")),
    JobState.CANCELLED: advice(_("Cancelled"), _("Vertex AI stopped its replicas. The time that they ran is billed.")),
    JobState.LOST: advice(
        _("Not found at Vertex AI"),
        _("The job was deleted there before Trainboard saw its end, so its result is not known."),
        _("Check its output folder before you run it again."),
    ),
}
UNKNOWN = advice(
    _("Unknown state"), _("Trainboard shows the state as Vertex AI sent it, and polls the job until it ends.")
)
CANCELLED_BEFORE = advice(
    _("Cancelled before it ran"), _("Vertex AI gave up its place. It never ran, and nothing was billed.")
)
UNSEEN_RUN = (
    Part(_("Trainboard did not see it run, and neither Vertex AI nor the log shows when it started.")),
    Part(_("So no run time and no cost are shown.")),
)
"""What is known of a job that ran although nothing shows when."""
CANCELLATION_REQUESTED = advice(
    _("Cancellation requested"),
    _("Vertex AI stops the job when it can. It may end by itself first."),
    _("Trainboard repeats the request until the job has ended."),
)
NO_WORKER = advice(
    _("No worker takes the next step"),
    _("The worker that sends jobs and cancellations to Vertex AI has not reported for a minute."),
    _("A site admin can see on the doctor's page which part does not run. When it runs again, the step is taken once."),
)

EDIT = "edit_field"
FIX_LABELS: "dict[str, StrOrPromise]" = {
    "next_machine_size": _("Rerun with more memory"),
    "more_disk": _("Rerun with a larger disk"),
    "bigger_gpu": _("Rerun with a larger GPU"),
    "other_accelerator": _("Rerun with another GPU"),
    "other_region": _("Rerun in another region"),
    "flex_start": _("Rerun under Flex-start"),
    "spot": _("Rerun on Spot machines"),
    "standard": _("Rerun under Standard"),
    "own_machines": _("Rerun on machines of its own"),
    "longer_wait": _("Rerun with a longer wait"),
    "endless_wait": _("Rerun without a limit on the wait"),
    "longer_timeout": _("Rerun with a longer timeout"),
    "resubmit": _("Rerun unchanged"),
    EDIT: _("Edit a copy"),
    "other_machine": _("Edit a copy"),
}
"""{action: label of the link to the compose page with a copy of the job}"""

LAST_CHANCES = {
    "Spot restarts": _("The next loss of its machines ends the job: no restart of that kind is left."),
    "capacity retries": _("The next lack of capacity ends the job: no restart of that kind is left."),
    "job retries": _("The next crash or lost worker ends the job: no restart of that kind is left."),
    "internal errors": _("The next internal error ends the job: no restart of that kind is left."),
}
"""{name of a retry budget: what its exhaustion means for the job}"""
