"""Ask Compute Engine for advice about the VMs that forms wait for, and about those that teams use.

A worker does this on request. A question that fails is asked again when a form or the sweep wants it, not by itself.
"""

from datetime import datetime, timedelta
from http import HTTPStatus

from django.db.models import QuerySet

from jobs import known_advice
from jobs.bounds import bounded
from jobs.clients import account_of, platform_client
from jobs.cost.advice import Question
from jobs.isolation import take_each
from jobs.known_advice import OF_A_FORM, is_on, question_of, questions_of
from jobs.models import AdviceReading, Job
from jobs.observation.cadence import Stopwatch
from jobs.observation.failures import record_failure
from jobs.queue import claims
from jobs.requests import submission_of
from jobs.vertex import AuthFailed, PermissionDenied, RateLimited, Unavailable, VertexError

UPKEEP = "advice"
MAX_READ = 60
"""Questions of one run."""
MAX_ERROR_LENGTH = 300
USED_SINCE = timedelta(days=7)
MAX_JOBS = 300
"""Newest jobs whose machines are asked about."""
MAX_QUESTIONS = 40
"""Questions about the machines that the teams of one project use."""
OF_THE_PROJECT = (AuthFailed, PermissionDenied, RateLimited, Unavailable)
"""Errors that the next question about the project would get as well, unless they are about the content of an answer."""


def read_when_due(now: datetime) -> None:
    """Ask the questions that wait, those that have waited longest first. Only one worker does this."""
    if not is_on() or not AdviceReading.objects.filter(due_at__lte=now).exists():
        return
    held = claims.claim_upkeep(UPKEEP, now)
    if held is None:
        return
    watch, count = Stopwatch(now), 0
    failed = dict[str, VertexError]()
    with record_failure(held, now=now):
        while count < MAX_READ and not watch.has_run_out and (row := _next(watch.now)) is not None:
            claims.keep_poll(held, now=watch.now)
            _read(row, failed, now=watch.now)
            count += 1
        known_advice.forget()
        errors = "; ".join(f"{project}: {error}" for project, error in sorted(failed.items()))
        claims.release_poll(
            held, due_at=now, answered_at=now, result={"questions": count}, last_error=bounded(errors, 2_000)
        )


def ask_about_used(now: datetime) -> int:
    """Make the questions about the machines of recent jobs due, and return the number of these jobs."""
    if not is_on():
        return 0
    asked: dict[str, dict[Question, None]] = {}

    def add(job: Job) -> int:
        questions = questions_of(submission_of(job), *OF_A_FORM)
        asked.setdefault(job.project, {}).update(dict.fromkeys(questions))
        return 1

    count = take_each(used_recently(now).order_by("-requested_at", "pk")[:MAX_JOBS], add, what="machines of jobs")
    for project, questions in asked.items():
        known_advice.known_advice(project, list(questions)[:MAX_QUESTIONS], now=now)
    return count


def used_recently(now: datetime) -> QuerySet[Job]:
    """Return the jobs whose machines are in use, as far as advice is concerned."""
    return Job.objects.filter(requested_at__gte=now - USED_SINCE)


def _read(row: AdviceReading, failed: dict[str, VertexError], *, now: datetime) -> None:
    """Ask one question and save the answer, or the error. After an error of the project it is not asked any more."""
    question, error = question_of(row), failed.get(row.project)
    answer = None
    if error is None:
        try:
            client = platform_client(account_of(row.project))
            answer = client.advice(row.project, question.region, question.method, question.vms, now=now)
        except VertexError as reason:
            error = reason
            if isinstance(reason, OF_THE_PROJECT) and reason.status != HTTPStatus.OK:
                failed[row.project] = reason
    rows = AdviceReading.objects.filter(pk=row.pk)
    if error is None:
        rows.update(due_at=None, read_at=now, answer=answer, failed_at=None, last_error="")
    else:
        rows.update(due_at=None, failed_at=now, last_error=bounded(str(error), MAX_ERROR_LENGTH))


def _next(now: datetime) -> AdviceReading | None:
    return AdviceReading.objects.filter(due_at__lte=now).order_by("due_at", "pk").first()
