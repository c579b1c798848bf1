"""Tests of which attempt wrote a line: exactly one, in order, whatever restarted and however late it was observed."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jobs.models import JobEvent
from jobs.timeline.attempts import Attempts, attempts, match_in_order, restart_evidence

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOW = NOON + timedelta(hours=10)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def restart(minutes: float, reason: str = "preempted", *, replica: str = "", **detail: Any) -> JobEvent:
    return JobEvent(
        kind=JobEvent.Kind.RESTARTED, occurred_at=at(minutes), recorded_at=at(minutes), reason=reason,
        detail={"replica": replica, "is_certain": True} | detail, once_key=f"restart:{replica}:{minutes}",
    )  # fmt: skip


def state(minutes: float, to: str) -> JobEvent:
    moment = at(minutes)
    return JobEvent(kind=JobEvent.Kind.STATE, to_state=to, occurred_at=moment, recorded_at=moment)


def told(found: Attempts, *minutes: float) -> list[int]:
    return [found.of(at(each)).number for each in minutes]


class TestOfTheJob:
    def test_a_job_without_restarts_has_one_that_holds_everything(self) -> None:
        found = attempts([state(0, "running")], NOW)

        assert [each.key for each in found.whole] == ["1"]
        assert found.span("1") == (None, None)
        assert told(found, -60, 0, 60) == [1, 1, 1]

    def test_the_moment_of_a_restart_belongs_to_the_new_one(self) -> None:
        found = attempts([restart(30)], NOW)

        assert told(found, 29.99, 30, 30.01) == [1, 2, 2]
        assert found.span("1") == (None, at(30))
        assert found.span("2") == (at(30), None)

    def test_it_begins_with_the_services_first_line_when_that_is_kept(self) -> None:
        found = attempts([restart(30), restart(60)], NOW, beginnings=[at(1), at(30.5), at(59.2)])

        assert told(found, 30.4, 30.5, 59.1, 59.2) == [1, 2, 2, 3]

    def test_a_line_after_it_ran_again_is_not_its_beginning(self) -> None:
        events = [state(1, "running"), state(30, "pending"), restart(30), state(32, "running")]
        found = attempts(events, NOW, beginnings=[at(0), at(33)])

        assert told(found, 29, 31) == [1, 2]

    def test_a_line_before_it_was_seen_running_is_not_its_beginning(self) -> None:
        events = [state(1, "running"), state(10, "pending"), state(29, "running"), state(30, "pending"), restart(30)]
        found = attempts(events, NOW, beginnings=[at(0), at(11)])

        assert told(found, 29, 31) == [1, 2]

    def test_each_beginning_is_used_once(self) -> None:
        found = attempts([restart(30), restart(31)], NOW, beginnings=[at(1), at(30.4)])

        assert told(found, 30.3, 30.4, 30.9, 31) == [1, 2, 2, 3]

    def test_tells_the_cause_and_the_time_without_machines(self) -> None:
        events = [state(0, "pending"), state(5, "running"), state(30, "pending"), restart(30), state(34, "running")]

        second = attempts(events, NOW).whole[1]

        assert (second.cause, second.wait, second.is_waiting) == (
            "machine preempted (Spot)", timedelta(minutes=4), False,
        )  # fmt: skip

    def test_the_log_tells_the_wait_that_no_poll_saw(self) -> None:
        events = [state(0, "running"), restart(30), restart(50), state(60, "succeeded")]

        second, third = attempts(events, NOW, runs=[at(1), at(33), at(54.5)]).whole[1:]

        assert [(each.wait, each.is_waiting) for each in (second, third)] == [
            (timedelta(minutes=3), False), (timedelta(minutes=4.5), False),
        ]  # fmt: skip

    def test_a_line_of_the_log_is_closer_than_a_state_that_was_seen_late(self) -> None:
        events = [state(0, "running"), state(30, "pending"), restart(30), state(40, "running")]

        assert attempts(events, NOW, runs=[at(1), at(34)]).whole[1].wait == timedelta(minutes=4)

    def test_queued_and_pending_are_one_wait_that_may_last(self) -> None:
        events = [state(0, "running"), state(30, "queued"), restart(30, "stockout"), state(40, "pending")]

        second = attempts(events, at(50)).whole[1]

        assert (second.cause, second.wait, second.is_waiting) == (
            "the region was out of capacity",
            timedelta(minutes=20),
            True,
        )

    def test_a_wait_that_no_state_told_is_not_invented(self) -> None:
        second = attempts([state(0, "running"), restart(30), state(60, "succeeded")], NOW).whole[1]

        assert (second.wait, second.is_waiting) == (None, False)

    def test_a_cause_that_was_learned_later_replaces_the_guess(self) -> None:
        guess = restart(30, is_certain=False)
        assert attempts([guess], NOW).whole[1].cause == "most likely machine preempted (Spot)"

        learned = JobEvent(
            kind=JobEvent.Kind.EXPLAINED, occurred_at=at(30), reason="internal", detail={"restart": guess.once_key}
        )

        assert attempts([guess, learned], NOW).whole[1].cause == "internal error of Vertex AI"

    def test_an_unknown_cause_is_told_as_such(self) -> None:
        assert attempts([restart(1, "unknown", is_certain=False)], NOW).whole[1].cause == "Vertex AI does not say why"

    def test_there_is_no_other(self) -> None:
        found = attempts([restart(30)], NOW)

        assert [found.span(key) for key in ("", "0", "3", "x", "1.9", "1.x", "-1")] == [None] * 7


class TestOfAReplica:
    EVENTS = (
        restart(10, "worker_exit", replica="workerpool1-0", exit_code=137),
        restart(20, "maintenance", replica="workerpool1-0"),
        restart(30),
        restart(40, "worker_exit", replica="workerpool1-0", exit_code=1),
        restart(12, "maintenance", replica="trial 3 workerpool0-0"),
    )

    def test_starts_count_anew_in_each_attempt(self) -> None:
        found = attempts(self.EVENTS, NOW)

        assert [each.key for each in found.starts("workerpool1-0", 1)] == ["1.1", "1.2", "1.3"]
        assert [each.key for each in found.starts("workerpool1-0", 2)] == ["2.1", "2.2"]
        assert [each.key for each in found.starts("workerpool0-0", 2)] == ["2.1"]
        assert [each.cause for each in found.starts("workerpool1-0", 1)] == [
            "", "it had ended with exit code 137", "moved by maintenance",
        ]  # fmt: skip

    def test_the_line_that_tells_the_end_is_the_last_of_the_old_start(self) -> None:
        found = attempts(self.EVENTS, NOW)

        assert found.start_of("workerpool1-0", at(10)).key == "1.1"
        assert found.start_of("workerpool1-0", at(10) + timedelta(microseconds=1)).key == "1.2"
        assert found.start_of("workerpool1-0", at(30)).key == "2.1"

    def test_a_trials_replica_is_known_by_its_whole_name(self) -> None:
        found = attempts(self.EVENTS, NOW)

        assert found.start_of("trial 3 workerpool0-0", at(13)).key == "1.2"
        assert found.start_of("workerpool0-0", at(13)).key == "1.1"

    def test_a_start_lasts_until_the_next_or_the_end_of_its_attempt(self) -> None:
        found = attempts(self.EVENTS, NOW)
        after = timedelta(microseconds=1)

        assert found.span("1.1", "workerpool1-0") == (None, at(10) + after)
        assert found.span("1.3", "workerpool1-0") == (at(20) + after, at(30))
        assert found.span("2.2", "workerpool1-0") == (at(40) + after, None)
        assert found.span("1.3", "workerpool0-0") is None
        assert found.span("1.1", "workerpool0-0") == (None, at(30))


REPLICAS = ("", "workerpool0-0", "workerpool1-0", "trial 3 workerpool0-0", "service")
SECONDS = st.integers(-100, 400).map(lambda second: second / 60)  # minutes; close enough to coincide


@given(
    restarts=st.lists(st.tuples(SECONDS, st.sampled_from(REPLICAS)), max_size=12),
    beginnings=st.lists(SECONDS, max_size=8),
    lines=st.lists(st.tuples(SECONDS, st.sampled_from(REPLICAS[1:])), max_size=30),
)
def test_every_line_belongs_to_one_attempt_and_the_filters_part_them(
    restarts: list[tuple[float, str]], beginnings: list[float], lines: list[tuple[float, str]]
) -> None:
    found = attempts(
        [restart(minutes, replica=replica) for minutes, replica in restarts],
        NOW,
        beginnings=[at(minutes) for minutes in beginnings],
    )
    written = [(at(minutes), replica) for minutes, replica in lines]

    starts = [each.start for each in found.whole]
    assert [each.number for each in found.whole] == list(range(1, len(starts) + 1))
    assert starts[0] is None
    assert len(starts) == 1 + sum(not replica for _, replica in restarts)
    assert all(before <= after for before, after in itertools.pairwise(starts[1:]))  # type: ignore[operator]
    numbers = [found.of(moment).number for moment, _ in sorted(written)]
    assert numbers == sorted(numbers), "attempts follow each other"
    for moment, replica in written:
        homes = [each.key for each in found.whole if lies_in(moment, found.span(each.key))]
        assert homes == [found.of(moment).key]
        inner = [each.key for each in found.starts(replica, int(homes[0]))]
        assert [key for key in inner if lies_in(moment, found.span(key, replica))] == [
            found.start_of(replica, moment).key
        ]


def lies_in(moment: datetime, span: Sequence[datetime | None] | None) -> bool:
    assert span is not None
    since, until = span
    return (since is None or moment >= since) and (until is None or moment < until)


@dataclass
class Story:
    """What really happened to a job: the time at which each attempt began to wait, and at which it ran."""

    waits: list[float]
    runs: list[float]
    lag: float
    polled: list[bool]

    @property
    def events(self) -> list[JobEvent]:
        """The states that polls have seen, `lag` seconds after the log says the same."""
        shown = [("pending", second) for second in self.waits] + [("running", second) for second in self.runs]
        shown = sorted(shown, key=lambda each: each[1])
        seen = [each for each, is_polled in zip(shown, itertools.cycle(self.polled), strict=False) if is_polled]
        events, before = [], ""
        for to, second in seen:
            if to != before:
                event = state((second + self.lag) / 60, to)
                event.from_state, before = before, to
                events.append(event)
        return events

    @property
    def lines(self) -> list[datetime]:
        """The lines with which the second and later attempts begin."""
        return [NOON + timedelta(seconds=second) for second in self.waits[1:]]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    lengths = draw(st.lists(st.tuples(st.floats(0.5, 200), st.floats(0.5, 2_000)), min_size=1, max_size=9))
    now, waits, runs = 0.0, [], []
    for wait, run in lengths:
        waits.append(now)
        runs.append(now + wait)
        now += wait + run
    return Story(waits, runs, draw(st.floats(0, 29)), draw(st.lists(st.booleans(), min_size=1, max_size=20)))


class TestEvidence:
    @given(stories())
    def test_a_whole_log_gives_the_number_of_restarts_whatever_polls_saw(self, story: Story) -> None:
        assert len(restart_evidence(story.events, story.lines)) == len(story.lines)

    @given(stories())
    def test_states_alone_give_those_that_they_show(self, story: Story) -> None:
        events = story.events
        back = [event for event in events if event.from_state == "running"]

        assert [each.state for each in restart_evidence(events, [])] == back

    @given(stories(), st.data())
    def test_in_whatever_order_they_are_read_none_is_counted_twice(self, story: Story, data: st.DataObject) -> None:
        """Each source is read in its own order. The number of restarts never falls and never exceeds the truth."""
        events, lines = story.events, story.lines
        sources = [*["state"] * len(events), *["line"] * len(lines)]
        states = written = last = 0
        for source in data.draw(st.permutations(sources)):
            states, written = states + (source == "state"), written + (source == "line")
            count = len(restart_evidence(events[:states], lines[:written]))
            assert last <= count <= len(lines)
            last = count
        assert last == len(lines)

    @given(stories())
    def test_each_attempt_begins_with_its_line(self, story: Story) -> None:
        evidence = restart_evidence(story.events, story.lines)
        recorded = [restart(0, replica="") for _ in evidence]
        for event, each in zip(recorded, evidence, strict=True):
            event.occurred_at = each.at

        found = attempts([*story.events, *recorded], NOW, beginnings=[NOON, *story.lines])

        assert [each.start for each in found.whole[1:]] == story.lines

    @given(
        st.lists(st.integers(0, 9), max_size=6).map(sorted),
        st.lists(st.integers(0, 9), max_size=6).map(sorted),
        st.lists(st.integers(0, 9), max_size=4).map(sorted),
    )
    def test_pairs_are_as_many_as_possible_and_do_not_cross(
        self, moments: list[int], lines: list[int], running: list[int]
    ) -> None:
        def times(minutes: list[int]) -> list[datetime]:
            return [at(each) for each in minutes]

        found = match_in_order(times(moments), times(lines), times(running))

        taken = [line for line in found if line is not None]
        assert taken == sorted(taken)
        assert not Counter(taken) - Counter(times(lines))
        equal = sum(line == moment for moment, line in zip(times(moments), found, strict=True))
        assert equal == (Counter(moments) & Counter(lines)).total(), "equal times come first"
        if not running and not equal:
            assert len(taken) == min(len(moments), len(lines))
