"""Find the cause of a failure in the ends of replicas and the output of the program."""

from collections.abc import Sequence
from dataclasses import replace

from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.consequences import is_consequence
from jobs.diagnosis.cues import first_fit
from jobs.diagnosis.cues.access import ACCESS_CUES, PERMISSION_CUES
from jobs.diagnosis.cues.lines import Line, errors
from jobs.diagnosis.cues.machines import MACHINE_CUES
from jobs.diagnosis.cues.programs import PROGRAM_CUES, WEAK_CUES
from jobs.diagnosis.cues.request import REQUEST_CUES
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.diagnosis.exits import CAUSE_OF_CODE, KILLED, NOT_PERMANENT, NOT_STARTED, TRANSIENT, TRANSIENT_RETRIED, Exit
from jobs.diagnosis.explanations import out_of_memory
from jobs.diagnosis.failure_record import FailureRecord, find_failure, has_reason
from jobs.diagnosis.output_lines import Output
from jobs.texts import joined
from jobs.texts import translatable as _

SERVICE_CUES = (*ACCESS_CUES, *MACHINE_CUES, *REQUEST_CUES, *PERMISSION_CUES)


def program_cause(lines: list[Line]) -> tuple[str, Line] | None:
    """Return the cause that a program's output shows, and the line that shows it; None if it shows none.

    If the program died of an API's answer, that answer is checked first, then the errors, then all lines. Phrases that
    healthy programs print too are checked last.
    """
    failed = errors(lines)
    if failed and failed[-1].is_of_client:
        clues = [line for line in lines if line.is_of_client or line.folded.startswith("details =")]
        found = first_fit(SERVICE_CUES, clues)
        if found is not None:  # an internal error of Cloud Storage, for example, is none of Vertex AI
            return "unavailable" if found[0].cause == "internal" else found[0].cause, found[1]
    found = first_fit(PROGRAM_CUES, failed) or first_fit(WEAK_CUES[:2], failed) or first_fit(PROGRAM_CUES, lines)
    if found is None and not failed:
        found = first_fit(WEAK_CUES, lines)
    return (found[0].cause, found[1]) if found else None


def output_cause(output: Sequence[Output]) -> tuple[FailureRecord | None, tuple[str, Line] | None]:
    """Return the failure in a program's output, and the cause that a rule knows for it with the line that shows it."""
    record, lines = find_failure(output) or (None, [])
    if record is not None and record.words == "Killed":  # as the shell writes it of a process that the kernel ended
        return record, ("out_of_memory", lines[0])
    return record, program_cause(lines)


def diagnose_exits(exits: list[Exit]) -> Diagnosis:
    """Return the diagnosis for the end of one replica: one out of memory, then one not started, else the first one."""
    replicas = tuple(dict.fromkeys(each.replica for each in exits))
    short = [each for each in exits if each.out_of_memory or each.reason.lower() == "oomkilled"]
    if short:
        return out_of_memory(
            tuple(each.replica for each in short), _("%(replica)s ran out of memory.", replica=short[0].replica)
        )
    if all(each.reason.lower() in NOT_PERMANENT for each in exits):
        return _with_words(CAUSES["machine_lost"], exits[0], replicas)
    clues = [(each, *output_cause([Output(each.replica, each.output)])) for each in exits]
    first, _record, found = min(clues, key=_order)
    cause = found[0] if found is not None else ""
    unstarted = [each for each in exits if each.reason == "StartError"]
    if (unstarted or first.code in NOT_STARTED) and cause not in {"image_arch", "missing_file"}:
        return _with_words(CAUSES["image_start"], (unstarted or exits)[0], replicas)
    if cause:
        known = CAUSES[cause]
        known = replace(known, retried=TRANSIENT_RETRIED) if first.code in TRANSIENT else known
        return _with_words(known, first, replicas)
    return _from_code(first, replicas)


RANK = {"distributed": 1, "terminated": 2}
"""Order of replicas' causes when several failed: causes that follow from another failure come last."""


def _order(clue: tuple[Exit, FailureRecord | None, tuple[str, Line] | None]) -> int:
    """Return the rank of one end: failures of its own first, those that follow from another or have no reason last."""
    _exit, record, found = clue
    if found is not None and found[0] != "user_code":
        return RANK.get(found[0], 0)
    is_own = record is not None and (bool(record.exception) or has_reason(record.words))
    return 0 if is_own and record is not None and not is_consequence(record.words) else 3


def _from_code(first: Exit, replicas: tuple[str, ...]) -> Diagnosis:
    if first.code in KILLED:
        words = _("%(words)s The cause is nearly always a lack of memory.", words=first.words)
        return replace(out_of_memory((first.replica,), words), title=_("Probably out of memory"), replicas=replicas)
    if first.code in CAUSE_OF_CODE:
        known = CAUSES[CAUSE_OF_CODE[first.code]]
        if known.cause != "terminated":  # the signal alone is no proof
            known = replace(known, title=_("Likely: %(label)s", label=known.title))
        return _with_words(known, first, replicas)
    known = CAUSES["user_code"]
    if first.code in TRANSIENT:
        known = replace(known, retried=TRANSIENT_RETRIED)
    return _with_words(replace(known, explanation=""), first, replicas)


def _with_words(known: Diagnosis, first: Exit, replicas: tuple[str, ...]) -> Diagnosis:
    others = len(replicas) - 1
    words = [known.explanation, first.words]
    if others:
        words.append(
            _("%(count)s more replicas failed too.", count=others) if others > 1 else _("One more replica failed too.")
        )
    return replace(known, explanation=joined(*words), replicas=replicas)
