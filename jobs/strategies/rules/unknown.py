"""Rules about what Trainboard does not know and Vertex AI may: a person confirms it, and an approver decides."""

from collections.abc import Iterator

from jobs.spec import Severity, Submission
from jobs.spec.unknown import FIELD, TOO_MANY, VALUE, unknown_findings
from jobs.strategies.base import Problem, rule
from jobs.strategies.sources import API


@rule(Severity.APPROVAL, API, by_strategy=True)
def unknown_field(submission: Submission) -> Iterator[Problem]:
    """Every field is one of the API, or a person confirmed it and Vertex AI decides."""
    yield from _problems(submission, FIELD)


@rule(Severity.APPROVAL, API, by_strategy=True)
def unknown_value(submission: Submission) -> Iterator[Problem]:
    """Every value of a fixed list is in the list, or a person confirmed it and Vertex AI decides."""
    yield from _problems(submission, VALUE)


@rule(Severity.ERROR, API, by_strategy=True)
def too_many_unknown(submission: Submission) -> Iterator[Problem]:
    """At most 50 fields, and as many values, are not known to Trainboard."""
    yield from _problems(submission, TOO_MANY)


def _problems(submission: Submission, code: str) -> Iterator[Problem]:
    for found in unknown_findings(submission.job):
        if found.code == code:
            yield Problem(found.field, found.message, found.remedy, found.confirm)


RULES = (unknown_field, unknown_value, too_many_unknown)
