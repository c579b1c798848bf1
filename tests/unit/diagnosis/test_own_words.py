"""Tests that the words of a program's own exception are no message of the system, whatever they are.

Every cue's words are put into exceptions that a program raises itself. What still gets a label is a form that a library
raises so; `own_words.FORMS` has the reason of each.
"""

import pytest

from jobs.diagnosis import FailureRecord, Output, diagnose, diagnose_output
from jobs.diagnosis.cues import Cue
from jobs.diagnosis.cues.own_words import FORMS, has_form
from jobs.diagnosis.cues.programs import PROGRAM_CUES, WEAK_CUES
from jobs.diagnosis.exit_causes import SERVICE_CUES
from jobs.explain import _title

CUES = (*PROGRAM_CUES, *WEAK_CUES, *SERVICE_CUES)
CLASSES = ("ValueError", "RuntimeError", "KeyError", "app.table.Rejected")
TRACE = 'Traceback (most recent call last):\n  File "/app/src/loop.py", line 91, in step\n    y = f(x)\n'
QUOTE = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error. \n"


def words_of(cue: Cue) -> list[str]:
    """Return texts that the cue matches: each of its phrases once, with the first ones of the other groups."""
    return [
        " ".join(phrase if group is each else each[0] for each in cue.wanted).strip()
        for group in cue.wanted
        for phrase in group
    ]


def label(lines: list[str]) -> str:
    """Return the cause that a rule knows for the output, or ""."""
    record, known = diagnose_output([Output("workerpool0-0", line, key) for key, line in enumerate(lines, 1)])
    assert record is not None
    return known.cause if known is not None else ""


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("cue", CUES, ids=[f"{at} {cue.cause}" for at, cue in enumerate(CUES)])
def test_words_of_a_cue_in_a_programs_own_exception_are_no_cause(cue: Cue, name: str) -> None:
    for words in filter(lambda each: not has_form(each), words_of(cue)):
        lines = ["epoch 1 loss 0.3", *TRACE.splitlines(), f"{name}: row 12 has {words}"]
        quoted = diagnose(3, QUOTE + "\n".join(lines))

        assert (words, label(lines)) == (words, "")
        assert (words, label([*lines, f"which means {words}"])) == (words, "")
        assert quoted is not None
        assert (words, quoted.cause) == (words, "user_code")


@pytest.mark.parametrize(
    "error",
    [
        "KeyError: 'no space left on device'", "KeyError: 'cuda out of memory'", "KeyError: 'nccl'",
        "ValueError: permission denied column has 3 values", "ValueError: connection refused by policy table",
        "AssertionError: connection timed out label missing", "app.Rejected: quota exceeded for class 4",
        "RuntimeError: bus error station 12 is unknown", "ValueError: nan loss weight not allowed",
        "ValueError: too many open files in index", "KeyError: 'Killed'", "LookupError: no GPU in price list",
        "TypeError: 403 is not a string", "app.Missing: module not found in table",
    ],
)  # fmt: skip
def test_an_exception_about_the_programs_data_has_no_label(error: str) -> None:
    assert label([*TRACE.splitlines(), error]) == ""


def test_a_library_may_raise_its_words_in_any_class_but_not_those_of_the_program() -> None:
    library = TRACE + '  File "/usr/lib/python3.11/site-packages/lib/a.py", line 3, in send\n    raise\n'
    again = TRACE + '  File "/usr/lib/python3.11/site-packages/joblib/a.py", line 3, in get\n    raise\n'
    words = "ValueError: connection refused by policy table"
    chained = [*TRACE.splitlines(), words, "", "The above exception was the direct cause of the following exception:"]

    assert label([*library.splitlines(), words]) == "program_network"
    assert label([*chained, "", *again.splitlines(), words]) == ""


def test_forms_have_a_reason_and_are_as_cues_see_text() -> None:
    for reason, phrases in FORMS.items():
        assert "raise" in reason
        assert all(has_form(phrase) and len(phrase) > 3 for phrase in phrases.split("|"))


def test_an_illegal_instruction_is_no_wrong_image_once_the_program_has_run() -> None:
    fatal = ["Illegal instruction (core dumped)"]

    assert label(fatal) == "image_arch"
    assert label(["iteration 912/50000", *fatal]) == ""
    assert label(["Fatal Python error: Illegal instruction"]) == "user_code"


def test_causes_of_signals_alone_are_likely() -> None:
    known = [diagnose(3, QUOTE.replace("of 1.", f"of {code}.")) for code in (132, 135, 143)]

    assert [each.title for each in known if each is not None] == [
        "Likely: The image is built for another processor",
        "Likely: Shared memory ran out",
        "The program was told to stop",
    ]


@pytest.mark.parametrize(
    ("exception", "is_certain", "expected"),
    [
        ("", False, "Likely: Out of memory"), ("", True, "Out of memory"),
        ("a.E", False, "E in w, likely: Out of memory"), ("a.E", True, "E in w: Out of memory"),
    ],
)  # fmt: skip
def test_a_label_that_is_likely_is_called_so_also_without_an_exception(
    exception: str, is_certain: bool, expected: str
) -> None:
    record = FailureRecord(exception, "Killed", replica="w", is_certain=is_certain)

    assert _title(record, "Out of memory") == expected


def test_an_exception_that_python_ignores_at_the_end_is_not_the_failure() -> None:
    late = ["[E] Exception ignored in: <function Pool.__del__ at 0x7f>", "OSError: [Errno 9] Bad file descriptor"]
    lines = [*TRACE.splitlines(), "StopTraining", *late]
    record, _known = diagnose_output([Output("workerpool0-0", line, key) for key, line in enumerate(lines)])

    assert record is not None
    assert record.exception == "StopTraining"
