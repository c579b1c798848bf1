"""Tests of the lane of faults on a job's time axis."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.models import Job, JobEvent
from jobs.timeline.replicas import Lane
from jobs.timeline.warned import warned_lane

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def event(minutes: float, kind: str, reason: str = "", since: float | None = None, **detail: Any) -> JobEvent:
    detail |= {"since": at(since).isoformat()} if since is not None else {}
    return JobEvent(kind=kind, reason=reason, occurred_at=at(minutes), message=f"{kind}.", detail=detail)


def lane(*events: JobEvent, ended_at: datetime | None = None) -> Lane:
    return warned_lane(Job(requested_at=BEGAN, ended_at=ended_at), events)


def spans(found: Lane) -> list[tuple[str, datetime, datetime | None]]:
    return [(span.state, span.start, span.end) for span in found.spans]


def test_a_fault_lasts_until_it_is_not_found_any_more() -> None:
    found = lane(event(100, "warned", "stuck", 10), event(130, "cleared", "stuck"), event(200, "warned", "idle", 150))
    assert spans(found) == [("stuck", at(10), at(130)), ("idle", at(150), None)]
    assert spans(lane()) == []


def test_another_fault_an_answer_a_restart_and_the_end_finish_it() -> None:
    warned = event(100, "warned", "stuck", 10)
    assert spans(lane(warned, event(120, "warned", "idle", 90)))[0] == ("stuck", at(10), at(120))
    assert spans(lane(warned, event(120, "warned", "idle", 90)))[1] == ("idle", at(120), None), "they do not overlap"
    for kind in ("declared_fine", "restarted", "machines_lost"):
        assert spans(lane(warned, event(120, kind))) == [("stuck", at(10), at(120))]
    assert spans(lane(warned, ended_at=at(140))) == [("stuck", at(10), at(140))]


def test_a_fault_that_is_asked_about_again_is_one_span() -> None:
    found = lane(event(100, "warned", "stuck", 10), event(120, "warned", "stuck", 10, asked=True))
    assert spans(found) == [("stuck", at(10), None)]
    assert [(mark.at, mark.reason) for mark in found.marks] == [(at(120), "asked")]


def test_answers_and_the_cancellation_are_marks() -> None:
    found = lane(
        event(100, "warned", "stuck", 10, asked=True), event(110, "declared_fine"), event(300, "warned", "stuck"),
        event(400, "cancel_requested", "waste"), event(401, "cancel_requested", "policy"),
    )  # fmt: skip
    assert [(mark.at, mark.reason) for mark in found.marks] == [
        (at(100), "asked"), (at(110), "declared_fine"), (at(400), "exit"),
    ]  # fmt: skip
    assert spans(found)[1] == ("stuck", at(300), None), "an event from before this release has no such detail"
