"""The study in a job's body, and how many of its trials run at once."""

from typing import Any

from jobs.bounds import parse_digits
from jobs.models import Job

MAX_DIGITS = 10
"""Maximum number of digits of a count. The API's counts are int32."""


def study_spec(job: Job) -> dict[str, Any] | None:
    """Return the object with `studySpec` and the trial counts: the body, or a pipeline's inputs.

    None for other jobs.
    """
    for body in (job.spec, job.spec.get("trainingTaskInputs")):
        if isinstance(body, dict) and isinstance(body.get("studySpec"), dict):
            return body
    return None


def parallel_trials(job: Job) -> int:
    """Return how many trials of a job may run at once: at least one and at most all, as in the estimate."""
    body = study_spec(job) or {}
    return max(1, min(whole(body.get("parallelTrialCount")), max(1, whole(body.get("maxTrialCount")))))


def whole(value: object) -> int:
    """Return a count in a body, which an adopted job may contain in any form. Return 0 if it is not a count."""
    if isinstance(value, str):
        return parse_digits(value, MAX_DIGITS) or 0
    return int(value) if isinstance(value, int | float) and 0 <= value < 10**MAX_DIGITS else 0


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list in a body, or [] if it is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
