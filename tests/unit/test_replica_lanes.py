"""Tests of the lane of each replica: its spans and ends, from the log. The rows here are never saved."""

from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from jobs import timeline
from jobs.models import Job, JobEvent
from jobs.timeline import EXIT, TAKEN, Lane, ReplicaEnd, ReplicaLog
from tests.unit.test_attempts import restart
from tests.unit.test_timeline import at, life

ONE, OTHER = "workerpool0-0", "workerpool1-0"
RUN = life((0, "submitting"), (1, "pending"), (10, "running"), (60, "failed"))
JOB = Job(requested_at=at(0), ended_at=at(60), state="failed", state_since=at(60))


def lanes(events: list[JobEvent], heard: ReplicaLog | None = None, job: Job = JOB) -> dict[str, Lane]:
    story = timeline.build_timeline(job, events, at(90), replicas=[ONE, OTHER], replica_log=heard)
    return {lane.name: lane for lane in story.lanes}


def spans(lane: Lane) -> list[tuple[datetime, datetime | None]]:
    return [(span.start, span.end) for span in lane.spans]


def end(minutes: float, reason: str = TAKEN, *, again: float | None = None, of: str = OTHER) -> ReplicaEnd:
    return ReplicaEnd(of, at(minutes), reason, "It ended.", at(again) if again is not None else None)


class TestLane:
    def test_without_a_log_it_is_the_jobs_and_says_so(self) -> None:
        found = lanes(RUN)

        assert spans(found[ONE]) == spans(found[OTHER]) == [(at(10), at(60))]
        assert found[ONE].is_assumed

    def test_begins_with_its_own_first_line(self) -> None:
        found = lanes(RUN, ReplicaLog(first={(ONE, 1): at(6), (OTHER, 1): at(11)}))

        assert spans(found[ONE]) == [(at(6), at(60))]
        assert spans(found[OTHER]) == [(at(10), at(60))], "a job that is RUNNING has all of its replicas"
        assert not found[ONE].is_assumed

    def test_ends_with_its_own_exit_while_others_go_on(self) -> None:
        found = lanes(RUN, ReplicaLog(ends=[end(40, EXIT)]))

        assert spans(found[OTHER]) == [(at(10), at(40))]
        assert [(mark.at, mark.reason) for mark in found[OTHER].marks] == [(at(40), EXIT)]
        assert (spans(found[ONE]), found[ONE].marks) == ([(at(10), at(60))], ())

    def test_goes_on_where_it_wrote_again(self) -> None:
        events = [*RUN, restart(30, "worker_restart", replica=OTHER)]

        found = lanes(events, ReplicaLog(ends=[end(30, again=31)]))

        assert spans(found[OTHER]) == [(at(10), at(30)), (at(31), at(60))]
        assert [mark.reason for mark in found[OTHER].marks] == ["worker_restart"]
        assert found["Vertex AI"].marks == (), "the job itself was not restarted"

    def test_a_container_that_starts_once_more_after_its_exit_is_no_span(self) -> None:
        found = lanes(RUN, ReplicaLog(ends=[end(40, EXIT, again=41)]))

        assert spans(found[OTHER]) == [(at(10), at(40))]

    def test_of_a_replica_whose_machine_was_taken_has_the_bolt_and_the_others_have_none(self) -> None:
        events = [
            *life((0, "submitting"), (1, "pending"), (10, "running"), (31, "pending")),
            restart(31),
            *life((40, "running"), (60, "failed")),
        ]

        found = lanes(events, ReplicaLog(ends=[end(30.5)]))

        assert [mark.reason for mark in found[OTHER].marks] == ["preempted"]
        assert found[ONE].marks == ()
        assert spans(found[OTHER]) == [(at(10), at(30.5)), (at(40), at(60))]
        assert spans(found[ONE]) == [(at(10), at(31)), (at(40), at(60))]

    def test_what_became_of_one_that_wrote_no_more_is_not_known(self) -> None:
        found = lanes(RUN, ReplicaLog(ends=[end(30)]))

        assert [(span.start, span.end, span.seen) for span in found[OTHER].spans] == [
            (at(10), at(30), True),
            (at(30), at(60), False),
        ]

    def test_the_last_loss_is_a_preemption_too(self) -> None:
        lost = JobEvent(
            kind=JobEvent.Kind.MACHINES_LOST, occurred_at=at(59), reason="preempted", detail={"replica": ""}
        )

        found = lanes([*RUN, lost], ReplicaLog(ends=[end(59)]))

        assert [mark.reason for mark in found[OTHER].marks] == ["preempted"]
        assert [mark.reason for mark in found["Vertex AI"].marks] == ["preempted"]

    def test_ends_when_the_program_ended_and_not_with_the_tear_down(self) -> None:
        found = lanes(RUN, ReplicaLog(first={(ONE, 1): at(10)}, torn_down_at=at(59)))

        assert spans(found[ONE]) == [(at(10), at(59))]

    def test_of_an_attempt_that_never_was_running_is_told_by_its_lines(self) -> None:
        events = [*life((0, "submitting"), (1, "pending")), restart(20, "job_retry"), *life((30, "running"))]
        job = Job(requested_at=at(0), state="running", state_since=at(30))

        found = lanes(events, ReplicaLog(first={(ONE, 1): at(12), (ONE, 2): at(30)}), job)

        assert spans(found[ONE]) == [(at(12), at(20)), (at(30), None)]
        assert spans(found[OTHER]) == [(at(30), None)]


@given(
    st.lists(st.tuples(st.floats(0, 80), st.sampled_from([EXIT, TAKEN]), st.none() | st.floats(0, 80)), max_size=8),
    st.lists(st.floats(0, 80), max_size=4),
)
def test_spans_are_in_order_whatever_the_log_says(
    told: list[tuple[float, str, float | None]], restarts: list[float]
) -> None:
    ends = sorted((end(at_, reason, again=again) for at_, reason, again in told), key=lambda each: each.at)
    events = [*RUN, *(restart(each, "worker_restart", replica=OTHER) for each in restarts)]

    found = spans(lanes(events, ReplicaLog(ends=ends)).get(OTHER, Lane(OTHER, ())))

    moments = [moment for span in found for moment in span if moment is not None]
    assert moments == sorted(moments)
