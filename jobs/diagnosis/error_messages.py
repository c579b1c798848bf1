"""Find the cause of a failure in Vertex AI's message, and in its code only if the message shows none.

The message comes first because the code is ambiguous: 8 (RESOURCE_EXHAUSTED) means quota, capacity or memory, and 3
(INVALID_ARGUMENT) may mean a failed program. The output of the training program is part of the message too. It is kept
separate, so that a traceback about an "internal error" is not mistaken for one of Vertex AI's.
"""

from collections.abc import Sequence
from dataclasses import replace

from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.circumstances import Circumstances, fit_to_job
from jobs.diagnosis.cues import first_fit
from jobs.diagnosis.cues.access import ACCESS_CUES
from jobs.diagnosis.cues.lines import TRACEBACK, Line, errors, fold, of_service, read_lines
from jobs.diagnosis.cues.own_words import is_readable
from jobs.diagnosis.cues.programs import PROGRAM_CUES, WEAK_CUES
from jobs.diagnosis.cues.request import FIELD_CUES, REFUSED_CUES
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.diagnosis.exit_causes import SERVICE_CUES, diagnose_exits, output_cause
from jobs.diagnosis.exits import read_exits
from jobs.diagnosis.explanations import explain, explain_validation, quote_cause
from jobs.diagnosis.failure_record import FailureRecord
from jobs.diagnosis.output_lines import Output
from jobs.texts import joined, quotation
from jobs.texts import translatable as _

MAX_MESSAGE = 20_000
"""Characters of a message that are read; the time is proportional to them."""
CODES = {
    1: "cancelled", 3: "invalid_value", 4: "timeout", 5: "not_found", 6: "conflict", 7: "permission", 8: "resources",
    10: "conflict", 11: "invalid_value", 13: "internal", 14: "unavailable", 16: "credentials",
}  # fmt: skip
"""The cause for a code if the message is missing or has no meaning."""
WORDLESS_CODES = frozenset({3, 10, 11})
"""Codes that are used only without a message; with an unknown message, the cause is unknown."""
REFUSALS = frozenset({3, 9, 11})
"""Codes for an argument or a precondition that Vertex AI does not accept."""
CODE_NAMES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED"
    " RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS"
    " UNAUTHENTICATED"
).split()


def rules() -> str:
    """Return everything that describes and indicates causes, the same for the same rules."""
    return repr((CAUSES, SERVICE_CUES, FIELD_CUES, PROGRAM_CUES, WEAK_CUES, REFUSED_CUES))


def diagnose(code: int | None, message: str, job: Circumstances | None = None) -> Diagnosis | None:
    """Return why a job failed, from the `error` of Vertex AI or the message of a refusal; None if there is none.

    `code` is a google.rpc number or None. `job` is what else is known about the job. An unknown message gives the cause
    "unknown" and is quoted.
    """
    message = message[:MAX_MESSAGE].strip()
    if not message and not code:
        return None
    known = _read(code, message)
    return fit_to_job(known, job) if job is not None else known


def diagnose_output(
    output: Sequence[Output], job: Circumstances | None = None
) -> tuple[FailureRecord | None, Diagnosis | None]:
    """Return the failure that a program's output shows, and its diagnosis; None where there is no failure or rule."""
    record, cause = output_cause(output)
    if cause is None:
        return record, None
    is_quoted = record is not None and cause[1].text.strip() in record.words  # it is quoted with the failure
    known = quote_cause(cause[0], cause[1], "" if is_quoted else _("Its log says"))
    return record, fit_to_job(known, job) if job is not None else known


def _read(code: int | None, message: str) -> Diagnosis:
    before, exits = read_exits(message)
    if exits:
        found = _by_service(before, read_lines(before), skipped="trials_failed")
        if found is not None:
            return found
        if code != 1:  # after a cancellation, the ends of replicas are only a consequence
            return diagnose_exits(exits)
        return CAUSES["cancelled"]
    lines = read_lines(message)
    found = _by_program(message) if TRACEBACK in message.lower() else _by_anyone(message, lines)
    if found is None and code in REFUSALS and (refused := first_fit(REFUSED_CUES, lines)) is not None:
        return quote_cause(refused[0].cause, refused[1])
    return found or _from_code(code, message)


def _by_service(message: str, lines: list[Line], skipped: str = "") -> Diagnosis | None:
    """Return the diagnosis of an answer of Vertex AI or another API; `message` is its whole text."""
    if (found := first_fit(FIELD_CUES, lines)) is not None:
        return explain(found[0].cause, found[1], message)
    start = message.lower().find("list of found errors:")
    if start >= 0:
        return explain_validation(message[start + len("list of found errors:") :])
    found = first_fit(SERVICE_CUES, lines)
    return None if found is None or found[0].cause == skipped else explain(found[0].cause, found[1], message)


def _by_anyone(message: str, lines: list[Line]) -> Diagnosis | None:
    """Return the diagnosis of a message, or a line of a log, that the service or a program may have written."""
    service = of_service(lines)
    named = first_fit((*FIELD_CUES, *ACCESS_CUES), service)
    if named is None and "list of found errors:" not in message.lower():
        program = first_fit(PROGRAM_CUES, [each for each in lines if is_readable(each.exception, each.text)])
        if program is not None:
            return quote_cause(program[0].cause, program[1], _("Its words"))
    found = _by_service(message, service)
    if found is not None or not lines:
        return found
    weak = first_fit(WEAK_CUES, lines)
    if weak is not None:
        return quote_cause(weak[0].cause, weak[1], _("Its words"))
    failed = errors(lines)
    return quote_cause("user_code", failed[-1], _("Its last words")) if failed else None


def _by_program(message: str) -> Diagnosis:
    """Return the diagnosis of a traceback without the end of a replica."""
    record, found = output_cause([Output("", message)])
    if found is not None:
        return quote_cause(found[0], found[1], _("Its words"))
    words = record.words if record is not None else message
    return quote_cause("user_code", Line(words, fold(words)), _("Its last words"))


def _from_code(code: int | None, message: str) -> Diagnosis:
    if message.upper().startswith(("CANCELED", "CANCELLED")):
        return CAUSES["cancelled"]
    is_believed = code is not None and (not message or code not in WORDLESS_CODES)
    known = CAUSES[CODES.get(code or 0, "unknown") if is_believed else "unknown"]
    name = CODE_NAMES[code] if code and 0 < code < len(CODE_NAMES) else _("a code that Google does not define")
    words = message or _("Vertex AI gave no message, only the code %(code)s (%(name)s).", code=code, name=name)
    if known.cause in {"unknown", "permission"}:
        return replace(known, explanation=joined(known.explanation, words))
    words = _("Its words: %(words)s.", words=quotation(message))
    return replace(known, explanation=joined(known.explanation, words)) if message else known
