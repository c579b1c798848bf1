"""Tests that events become spans, billable time, attempts and phases. The rows here are never saved."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import timeline
from jobs.models import Job, JobEvent
from jobs.states import FINISHED, JobState

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def life(*steps: tuple[float, str]) -> list[JobEvent]:
    """State events in the order they were recorded."""
    before = ""
    events = []
    for minutes, state in steps:
        moment = at(minutes)
        events.append(
            JobEvent(
                kind=JobEvent.Kind.STATE, from_state=before, to_state=state, occurred_at=moment, recorded_at=moment
            )
        )
        before = state
    return events


def restart(minutes: float) -> JobEvent:
    return JobEvent(kind=JobEvent.Kind.RESTARTED, occurred_at=at(minutes), recorded_at=at(minutes), reason="preempted")


def custom_job(*steps: tuple[float, str], before: str = "") -> list[JobEvent]:
    """Events of the states of a pipeline's custom job."""
    events = life(*steps)
    events[0].from_state = before
    for event in events:
        event.kind = JobEvent.Kind.CUSTOM_JOB_STATE
    return events


PREEMPTED_ONCE = [
    *life((0, "approved"), (1, "submitting"), (2, "queued"), (5, "pending"), (10, "running"), (30, "pending")),
    restart(30),
    *life((40, "running"), (60, "succeeded")),
]


class TestFacts:
    def test_counts_running_time_only(self) -> None:
        facts = timeline.facts(PREEMPTED_ONCE)

        assert facts.running == timedelta(minutes=40)
        assert facts.running_since is None
        assert facts.started_at == at(10)
        assert facts.ended_at == at(60)
        assert facts.restarts == 1

    def test_an_open_run_is_told_by_its_start(self) -> None:
        facts = timeline.facts(life((0, "submitting"), (1, "running")))

        assert facts.running == timedelta()
        assert facts.running_since == at(1)

    def test_cancelling_a_running_job_still_costs(self) -> None:
        facts = timeline.facts(life((0, "submitting"), (1, "running"), (11, "cancelling"), (14, "cancelled")))

        assert facts.running == timedelta(minutes=13)

    def test_cancelling_a_queued_job_costs_nothing(self) -> None:
        facts = timeline.facts(life((0, "submitting"), (1, "queued"), (11, "cancelling"), (14, "cancelled")))

        assert facts.running == timedelta()
        assert facts.started_at is None

    def test_a_job_that_never_ran_has_an_end_and_no_start(self) -> None:
        facts = timeline.facts(life((0, "awaiting_approval"), (9, "rejected")))

        assert (facts.started_at, facts.ended_at) == (None, at(9))

    @given(
        st.lists(
            st.tuples(st.floats(-60, 600), st.sampled_from([*sorted(set(JobState) - FINISHED), "JOB_STATE_NEW"])),
            min_size=1,
            max_size=30,
        )
    )
    def test_spans_follow_each_other_whatever_the_clocks_say(self, steps: list[tuple[float, str]]) -> None:
        spans = timeline.state_spans(life(*steps))

        assert len(spans) == len(steps)
        assert all(before.end == after.start for before, after in itertools.pairwise(spans))
        assert all(span.length(at(1000)) >= timedelta() for span in spans)


class TestEntries:
    def test_tell_the_same_thing_in_a_row_once(self) -> None:
        events = [*life((0, "pending"), (1, "running")), restart(2), restart(3), restart(5), *life((6, "pending"))]

        rows = timeline.entries([*events, restart(7)])

        assert [row.count for row in rows] == [1, 1, 3, 1, 1]
        assert (rows[2].since, rows[2].event.occurred_at) == (at(2), at(5))

    def test_never_draw_two_changes_of_state_together(self) -> None:
        assert [row.count for row in timeline.entries(life((0, "running"), (1, "running")))] == [1, 1]

    def test_tell_once_what_a_pipeline_and_its_custom_job_report_together(self) -> None:
        own = life((0, "pending"), (3, "running"), (60, "succeeded"))
        inner = custom_job(
            (0, "pending"), (3.5, "running"), (3.6, "pending"), (3.7, "running"), (20, "pending"), (25, "running"),
            (50, "succeeded"),
        )  # fmt: skip
        events = sorted([*own, *inner], key=lambda event: event.occurred_at)

        rows = [row.event for row in timeline.entries(events)]

        assert [event.to_state for event in rows if event in own] == ["pending", "running", "succeeded"]
        assert [(event.occurred_at, event.to_state) for event in rows if event in inner] == [
            (at(3.6), "pending"), (at(3.7), "running"), (at(20), "pending"), (at(25), "running"), (at(50), "succeeded"),
        ]  # fmt: skip


class TestStory:
    @pytest.fixture
    def job(self) -> Job:
        return Job(requested_at=at(0), ended_at=at(60), state="succeeded", state_since=at(60))

    def test_draws_our_states_theirs_and_each_replica(self, job: Job) -> None:
        story = timeline.build_timeline(job, PREEMPTED_ONCE, at(90), replicas=["workerpool0-0"])

        ours, theirs, replica = story.lanes
        assert [span.state for span in ours.spans] == ["approved", "submitting"]
        assert [span.state for span in theirs.spans] == ["queued", "pending", "running", "pending", "running"]
        assert [span.attempt for span in replica.spans] == [1, 2]
        assert [mark.reason for mark in theirs.marks] == ["preempted"]
        assert (replica.marks, replica.is_assumed) == ((), True), "its log is not known"

    def test_ends_with_the_job_and_counts_attempts(self, job: Job) -> None:
        story = timeline.build_timeline(job, PREEMPTED_ONCE, at(90))

        assert story.end == at(60)
        assert story.attempts == 2

    def test_a_try_that_never_ran_counts_as_in_the_log(self, job: Job) -> None:
        events = [*life((0, "submitting"), (1, "pending")), restart(5), *life((10, "running"), (60, "succeeded"))]

        story = timeline.build_timeline(job, events, at(90), replicas=["workerpool0-0"])

        assert [span.attempt for span in story.lanes[-1].spans] == [2]
        assert story.attempts == 2

    def test_measures_the_way_to_the_first_run(self, job: Job) -> None:
        story = timeline.build_timeline(job, PREEMPTED_ONCE, at(90))

        assert [(phase.name, phase.length) for phase in story.phases] == [
            ("our queue", timedelta(minutes=1)),
            ("submitting", timedelta(minutes=1)),
            ("QUEUED", timedelta(minutes=3)),
            ("PENDING", timedelta(minutes=5)),
        ]

    def test_shows_what_nobody_saw(self, job: Job) -> None:
        blind = JobEvent(
            kind=JobEvent.Kind.UNSEEN, occurred_at=at(25), recorded_at=at(25), detail={"from": at(12).isoformat()}
        )

        story = timeline.build_timeline(job, [*PREEMPTED_ONCE, blind], at(90))

        unseen = [span for span in story.lanes[1].spans if not span.seen]
        assert [(span.start, span.end) for span in unseen] == [(at(12), at(25))]

    def test_an_open_wait_grows_with_the_clock(self) -> None:
        job = Job(requested_at=at(0), state="queued", state_since=at(2))

        story = timeline.build_timeline(job, life((0, "approved"), (1, "submitting"), (2, "queued")), at(50))

        assert story.phases[-1] == timeline.Phase("QUEUED", timedelta(minutes=48), is_open=True)


class TestRunning:
    def test_adds_the_open_run_to_the_finished_ones(self) -> None:
        job = Job(running_seconds=600, running_since=at(30))

        assert timeline.running(job, at(45)) == timedelta(minutes=25)

    def test_a_clock_behind_vertex_never_makes_it_negative(self) -> None:
        job = Job(running_seconds=0, running_since=at(30))

        assert timeline.running(job, at(29)) == timedelta()


class TestWaits:
    """PREEMPTED_ONCE is allowed at 0, runs from 10 to 30, waits again to 40 and ends at 60."""

    def job(self, events: list[JobEvent]) -> Job:
        facts = timeline.facts(events)
        return Job(
            requested_at=at(0), approved_at=facts.approved_at, started_at=facts.started_at, ended_at=facts.ended_at,
            waited_again_seconds=facts.waited_again.total_seconds(), waiting_again_since=facts.waiting_again_since,
        )  # fmt: skip

    def test_of_a_restarted_job_are_added(self) -> None:
        job = self.job(PREEMPTED_ONCE)

        assert timeline.first_wait(job, at(90)) == timedelta(minutes=10)
        assert timeline.waited(job, at(90)) == timedelta(minutes=20)
        assert timeline.waiting_again(job, at(90)) == timedelta()

    def test_an_open_one_grows_with_the_clock(self) -> None:
        job = self.job(life((0, "approved"), (5, "running"), (20, "pending"), (21, "queued")))

        assert timeline.waiting_again(job, at(30)) == timedelta(minutes=9)
        assert timeline.waited(job, at(30)) == timedelta(minutes=15)
        assert timeline.waiting_again(job, at(20)) == timedelta()

    def test_of_an_ended_job_do_not_grow(self) -> None:
        job = Job(ended_at=at(30), waiting_again_since=at(20))

        assert timeline.waiting_again(job, at(90)) == timedelta(minutes=10)

    def test_of_a_pipeline_are_those_of_its_custom_job(self) -> None:
        states = custom_job((1, "pending"), (12, "running"), (30, "pending"), (40, "running"), (50, "succeeded"))
        job = self.job([*life((0, "approved"), (1, "running"), (60, "succeeded")), *states])

        assert job.waited_again_seconds == 600

    @given(st.lists(st.tuples(st.floats(0, 100), st.sampled_from(sorted(set(JobState) - FINISHED))), max_size=20))
    def test_and_runs_are_never_longer_than_the_job(self, steps: list[tuple[float, str]]) -> None:
        facts = timeline.facts([*life((0, "approved"), *sorted(steps)), *life((200, "failed"))])

        assert facts.waiting_again_since is None
        assert timedelta() <= facts.waited_again + facts.running <= timedelta(minutes=200)


class TestPipelines:
    """A pipeline stays RUNNING while its custom job waits for machines again."""

    LIFE = life((0, "submitting"), (1, "pending"), (10, "running"), (60, "succeeded"))

    def shown(self, spans: list[timeline.Span]) -> list[tuple[str, float, bool]]:
        return [(span.state, (span.start - NOON) / timedelta(minutes=1), span.has_machines) for span in spans]

    def test_costs_only_while_its_custom_job_has_machines(self) -> None:
        events = [*self.LIFE, *custom_job((2, "pending"), (12, "running"), (30, "pending"), (40, "running"))]

        facts = timeline.facts(events)

        assert facts.running == timedelta(minutes=38)
        assert facts.started_at == at(12)
        assert (facts.state_since, facts.ended_at) == (at(60), at(60))
        assert facts.custom_job_state == "running"
        assert [span.attempt for span in timeline.billable(timeline.state_spans(events))] == [1, 2]

    def test_that_waits_again_runs_not(self) -> None:
        facts = timeline.facts([*self.LIFE[:3], *custom_job((2, "pending"), (10, "running"), (30, "queued"))])

        assert (facts.running, facts.running_since) == (timedelta(minutes=20), None)
        assert facts.state_since == at(10)

    def test_that_outlives_its_custom_job_has_no_machines(self) -> None:
        spans = timeline.state_spans([*self.LIFE, *custom_job((2, "running"), (50, "succeeded"))])

        assert self.shown(spans)[2:] == [("running", 10, True), ("running", 50, False), ("succeeded", 60, True)]
        assert [span.end for span in timeline.billable(spans)] == [at(50)]

    def test_is_as_its_own_states_tell_before_its_custom_job_was_asked_for(self) -> None:
        spans = timeline.state_spans([*self.LIFE, *custom_job((20, "running"), (30, "pending"), (45, "running"))])

        assert self.shown(spans)[2:-1] == [("running", 10, True), ("pending", 30, True), ("running", 45, True)]

    def test_of_which_only_the_latest_events_are_read(self) -> None:
        later = [*custom_job((40, "running"), before="pending"), *life((60, "succeeded"))]

        before = timeline.Before(at(35), "running", "running")
        spans = timeline.state_spans(later, before)

        assert self.shown(spans) == [("pending", 35, True), ("running", 40, True), ("succeeded", 60, True)]
        assert self.shown(timeline.state_spans([], timeline.Before(at(35), "running", "pending")))[0][0] == "pending"
