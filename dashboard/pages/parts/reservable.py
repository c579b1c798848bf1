"""When and where the machines of a composed job could be reserved, and the command that asks Google for it."""

from dataclasses import dataclass
from datetime import datetime
from shlex import quote

from django.utils.translation import gettext_lazy as _

from dashboard.drawing.figures import ago
from jobs import known_advice, tasks
from jobs.bounds import parse_digits
from jobs.cost.advice import Method, Question, Vms, vms_of
from jobs.spec import Submission

DEFAULT_DAYS, MAX_DAYS = 7, 90
"""Google reserves for 1 to 90 days ("Create a future reservation request in calendar mode", read 2026-11-28)."""
STATUSES = {
    "NO_CAPACITY": _("no capacity in the next 60 days"),
    "NOT_SUPPORTED": _("not offered there"),
    "CONDITIONS_NOT_MET": _("not for this time"),
    "RECOMMENDED": _("possible too"),
}


@dataclass(frozen=True, slots=True)
class Dates:
    """A zone and the time for which Google recommends a reservation, with the command that asks for it."""

    zone: str
    start: datetime
    end: datetime
    command: str


@dataclass(frozen=True, slots=True)
class Calendar:
    """The answer for `vms` machines over some days. `others` are zones without dates, each with its reason."""

    days: int = DEFAULT_DAYS
    vms: Vms | None = None
    region: str = ""
    dates: tuple[Dates, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    age: str = ""
    error: str = ""
    is_awaited: bool = False
    is_off: bool = False


def find_dates(submission: Submission | None, days: str, *, now: datetime) -> Calendar:
    """Return what is known of dates for the machines of a job, and ask a worker for the rest. Nothing is reserved.

    Jobs with machines of several kinds, or with attached accelerators, are not asked about.
    """
    wanted = min(max(parse_digits(days.strip()[:4]) or DEFAULT_DAYS, 1), MAX_DAYS)
    if not known_advice.is_on():
        return Calendar(wanted, is_off=True)
    found = vms_of(submission) if submission is not None else ()
    if submission is None or len(found) != 1 or found[0].accelerator:
        return Calendar(wanted)
    question = Question(submission.region, Method.CALENDAR, found[0]._replace(days=wanted))
    known = known_advice.known_advice(submission.project, [question], now=now)
    if known.is_asked:
        tasks.enqueue_advice()
    advice = known.advice.get(question)
    if advice is None:
        return Calendar(wanted, found[0], submission.region)
    answer = advice.answer or {}
    dates = tuple(
        Dates(zone, begin, end, _command(submission.project, zone, found[0], begin, end))
        for zone, begin, end in (
            (zone, datetime.fromisoformat(start), datetime.fromisoformat(stop))
            for zone, start, stop in answer.get("offers", ())
        )
    )
    others = tuple((zone, str(STATUSES.get(status, status))) for zone, status in answer.get("others", ()))
    age = str(ago(advice.read_at, now)) if advice.read_at is not None else ""
    return Calendar(wanted, found[0], submission.region, dates, others, age, advice.error, advice.is_awaited)


def _command(project: str, zone: str, vms: Vms, start: datetime, end: datetime) -> str:
    """Return the gcloud command that asks for a reservation.

    Source: `gcloud compute future-reservations create`, gcloud reference, read 2026-11-28.
    """
    return (
        f"gcloud compute future-reservations create {quote(f'{vms.machine_type}-{start:%Y-%m-%d}')}"
        f" --project={quote(project)} --zone={quote(zone)} --machine-type={quote(vms.machine_type)}"
        f" --total-count={vms.size} --start-time={start:%Y-%m-%dT%H:%M:%SZ} --end-time={end:%Y-%m-%dT%H:%M:%SZ}"
        " --reservation-mode=CALENDAR --require-specific-reservation --auto-delete-auto-created-reservations"
        " --planning-status=SUBMITTED"
    )
