"""Tests of the table of states: which may follow which, and how Vertex AI's states become the site's."""

import itertools

import pytest

from docs.state_diagram import PAGE, with_diagram
from jobs.states import FINISHED, LOCAL, LOCAL_MOVES, REMOTE, RUNNING, WAITING, JobState, from_vertex, may_follow

OURS = LOCAL - {JobState.LOST}


class TestMoves:
    @pytest.mark.parametrize(("before", "after"), list(itertools.product(sorted(FINISHED), JobState)))
    def test_nothing_follows_a_finished_state_but_that_a_lost_job_is_found_again(self, before: str, after: str) -> None:
        assert may_follow(before, after) == (before == JobState.LOST and after in REMOTE)

    @pytest.mark.parametrize(("before", "after"), list(itertools.product(sorted(OURS), sorted(OURS))))
    def test_local_states_move_along_the_table_only(self, before: str, after: str) -> None:
        assert may_follow(before, after) == (after in LOCAL_MOVES.get(before, ()))

    @pytest.mark.parametrize("after", sorted(REMOTE))
    def test_remote_states_are_entered_from_submitting_or_after_a_loss(self, after: str) -> None:
        entered_from = {before for before in LOCAL if may_follow(before, after)}

        assert entered_from == {JobState.SUBMITTING, JobState.LOST}
        assert not may_follow("", after)

    @pytest.mark.parametrize("after", [*sorted(REMOTE), "JOB_STATE_DREAMING"])
    def test_an_adopted_job_begins_in_any_remote_state(self, after: str) -> None:
        assert may_follow("", after, is_adopted=True)
        assert not may_follow("", after)

    @pytest.mark.parametrize(("before", "after"), list(itertools.product(["", *sorted(REMOTE)], sorted(LOCAL))))
    def test_an_adopted_job_is_in_no_state_of_ours_but_lost(self, before: str, after: str) -> None:
        may_be_lost = after == JobState.LOST and before != "" and before not in FINISHED

        assert may_follow(before, after, is_adopted=True) == may_be_lost

    @pytest.mark.parametrize("after", sorted(REMOTE))
    def test_a_cancelling_job_only_ends(self, after: str) -> None:
        assert may_follow(JobState.CANCELLING, after) == (after in FINISHED)

    @pytest.mark.parametrize("before", sorted(REMOTE - FINISHED - {JobState.CANCELLING}))
    def test_a_poll_may_miss_any_number_of_remote_states(self, before: str) -> None:
        reachable = {after for after in REMOTE if may_follow(before, after)}

        assert reachable == REMOTE - {before}

    def test_an_unknown_remote_state_is_recorded_and_left_again(self) -> None:
        assert may_follow(JobState.RUNNING, "JOB_STATE_DREAMING")
        assert may_follow("JOB_STATE_DREAMING", JobState.SUCCEEDED)

    @pytest.mark.parametrize("before", sorted(REMOTE - FINISHED))
    def test_only_a_remote_job_can_be_lost(self, before: str) -> None:
        assert may_follow(before, JobState.LOST)
        assert not may_follow(JobState.APPROVED, JobState.LOST)


class TestFromVertex:
    @pytest.mark.parametrize(
        ("word", "state"),
        [
            ("JOB_STATE_RUNNING", JobState.RUNNING),
            ("PIPELINE_STATE_RUNNING", JobState.RUNNING),
            ("JOB_STATE_PARTIALLY_SUCCEEDED", JobState.PARTIALLY_SUCCEEDED),
            ("JOB_STATE_DREAMING", "JOB_STATE_DREAMING"),
            ("JOB_STATE_APPROVED", "JOB_STATE_APPROVED"),
            (None, "JOB_STATE_UNSPECIFIED"),
            (3, "3"),
        ],
    )
    def test_translates_what_it_knows_and_keeps_the_rest_raw(self, word: str | int | None, state: str) -> None:
        assert from_vertex(word) == state


def test_every_state_is_waiting_running_finished_or_asks_a_person() -> None:
    resting = {JobState.AWAITING_APPROVAL, JobState.PAUSED}

    assert WAITING | RUNNING | FINISHED | resting == set(JobState)
    assert not WAITING & RUNNING
    assert not (WAITING | RUNNING) & FINISHED


def test_the_diagram_of_the_docs_is_drawn_from_the_table() -> None:
    """`make diagram` draws it again."""
    page = PAGE.read_text()

    assert with_diagram(page) == page
