"""Cached advice of Compute Engine about VMs of a project. A worker asks for what is not known.

A page never waits for Google. It shows what is stored and asks a worker for the rest; nothing that is submitted needs
it. Every question is bounded: by age, per minute, and in number.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings

from jobs.bounds import is_storable
from jobs.cache import Recent
from jobs.cost.advice import Advice, Method, PreemptionRates, Question, Vms, rates_of, vms_of
from jobs.models import AdviceReading
from jobs.spec import Submission

FRESH = {Method.CAPACITY: timedelta(minutes=5), Method.HISTORY: timedelta(hours=6), Method.CALENDAR: timedelta(hours=1)}
"""How long an answer is reused. Capacity is "real-time availability"; rates are by day."""
MAX_AGE = {Method.CAPACITY: timedelta(hours=1), Method.HISTORY: timedelta(days=1), Method.CALENDAR: timedelta(days=1)}
"""Older answers are not shown, and no estimate uses them."""
OF_A_FORM = (Method.CAPACITY, Method.HISTORY)
"""What a composed job is asked about."""
RETRY = timedelta(minutes=10)
"""How long to wait after a failed question."""
PATIENCE = timedelta(seconds=30)
"""How long to wait for an answer; after this time the question is asked again."""
MINUTE = timedelta(minutes=1)
MAX_ASKED_A_MINUTE = 40
"""Questions per project. Compute Engine publishes no limit of their own for these methods."""
MAX_KEPT = 600
"""Stored readings per project; those asked for longest ago are deleted first."""
MAX_LISTED = 200
"""Readings that the page of machines shows."""
KEPT = timedelta(days=30)
LOOKED_UP_EVERY = 2
"""Seconds for which a process caches readings, since a form is assessed at almost every key press."""


class Known(NamedTuple):
    """What is known, by question; a question that was not asked is missing. `is_asked`: a worker has work to do."""

    advice: Mapping[Question, Advice] = {}
    is_asked: bool = False


def is_on() -> bool:
    """Return whether this site asks Compute Engine for advice."""
    return bool(settings.CAPACITY_ADVICE)


def questions_of(submission: Submission, *methods: Method) -> list[Question]:
    """Return the questions about the VMs of a job; a history does not depend on their number."""
    found = vms_of(submission)
    return [
        Question(submission.region, each, vms._replace(size=1) if each is Method.HISTORY else vms)
        for each in methods
        for vms in found
    ]


def known_advice(project: str, questions: Iterable[Question], *, now: datetime) -> Known:
    """Return what is known, and ask a worker for the rest. One query if all is known; none if the site does not ask."""
    wanted = frozenset(questions)
    if not wanted or not is_on() or not is_storable(project):
        return Known()
    rows = _readings.get((project, wanted), now)
    due = [each for each in sorted(wanted) if _is_due(rows.get(each), each.method, now)]
    is_asked = bool(due) and ask(project, due, now=now)
    if is_asked:
        rows = _readings.get((project, wanted), now)
    return Known({each: _advice(row, each.method, now) for each, row in rows.items()}, is_asked)


def preemption_rates(project: str, submission: Submission, *, now: datetime) -> PreemptionRates | None:
    """Return the recent preemption rates of the VMs of a job, all of one kind; None if they are not known.

    At most one query, which is that of a form. Nothing is asked here.
    """
    questions = questions_of(submission, *OF_A_FORM)
    histories = [each for each in questions if each.method is Method.HISTORY]
    if len(histories) != 1 or not is_on() or not is_storable(project):
        return None
    (question,) = histories
    row = _readings.get((project, frozenset(questions)), now).get(question)
    found = _advice(row, question.method, now) if row is not None else None
    return rates_of(found, question.vms, question.region)


def ask(project: str, questions: Sequence[Question], *, now: datetime) -> bool:
    """Make questions due, within the limit of the project. Return whether there was room for any."""
    kept = AdviceReading.objects.filter(project=project)
    room = MAX_ASKED_A_MINUTE - kept.filter(asked_at__gt=now - MINUTE).count()
    rows = [_row(project, each, now) for each in questions[: max(room, 0)]]
    if not rows:
        return False
    AdviceReading.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["project", "region", "method", *Vms._fields],
        update_fields=["asked_at", "due_at"],
    )  # fmt: skip
    oldest = kept.order_by("-asked_at", "-pk").values_list("pk", flat=True)[MAX_KEPT:]
    kept.filter(pk__in=list(oldest)).delete()
    forget()
    return True


def forget() -> None:
    """Discard cached readings; call it after writing an answer."""
    _readings.forget_changed()


def question_of(row: AdviceReading) -> Question:
    """Return the question of a row."""
    vms = Vms(row.machine_type, row.accelerator, row.accelerator_count, row.size, row.days)
    return Question(row.region, Method(row.method), vms)


def advice_of(row: AdviceReading, *, now: datetime) -> Advice:
    """Return the advice in a row."""
    return _advice(row, Method(row.method), now)


def load_readings(projects: Iterable[str], region: str) -> list[AdviceReading]:
    """Return the readings about Spot VMs of these projects in a region, at most MAX_LISTED. One query."""
    rows = AdviceReading.objects.filter(project__in=set(projects), region=region, method__in=OF_A_FORM)
    return list(rows.order_by("project", "machine_type", "accelerator", "accelerator_count", "size", "pk")[:MAX_LISTED])


def _row(project: str, question: Question, now: datetime) -> AdviceReading:
    region, method, vms = question
    return AdviceReading(project=project, region=region, method=method, asked_at=now, due_at=now, **vms._asdict())


def _load(key: tuple[str, frozenset[Question]], _: datetime) -> dict[Question, AdviceReading]:
    project, wanted = key
    rows = AdviceReading.objects.filter(
        project=project,
        region__in={each.region for each in wanted},
        method__in={each.method for each in wanted},
        machine_type__in={each.vms.machine_type for each in wanted},
    )
    found = {question_of(row): row for row in rows}
    return {question: row for question, row in found.items() if question in wanted}


_readings: Recent[tuple[str, frozenset[Question]], dict[Question, AdviceReading]] = Recent(
    _load, seconds=LOOKED_UP_EVERY
)


def _is_due(row: AdviceReading | None, method: Method, now: datetime) -> bool:
    if row is None:
        return True
    if row.due_at is not None:
        return now - row.asked_at > PATIENCE
    if row.failed_at is not None:
        return now - row.failed_at > RETRY
    return row.read_at is None or now - row.read_at > FRESH[method]


def _advice(row: AdviceReading, method: Method, now: datetime) -> Advice:
    is_recent = row.read_at is not None and abs(now - row.read_at) <= MAX_AGE[method]
    is_awaited = row.due_at is not None and now - row.asked_at <= PATIENCE
    if is_recent:
        return Advice(row.answer, row.read_at, row.last_error, is_awaited)
    return Advice(error=row.last_error, is_awaited=is_awaited)
