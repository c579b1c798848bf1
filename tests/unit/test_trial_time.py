"""Tests of when a trial's machines ran, from responses about its custom job in every order and with every gap."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import timeline
from jobs.models import Job, Trial
from jobs.observation.trial_jobs import record_answer
from jobs.timeline.trial_time import total_run_time, trial_time
from jobs.timeline.trial_words import outlook, summary, to_come_words, wait_words
from jobs.timeline.trials import Study, study
from jobs.vertex import RemoteJob

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WAITS = ("QUEUED", "PENDING")


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    return at(seconds).isoformat()


def answer(state: str, seconds: float, **more: Any) -> RemoteJob:
    raw = {"state": f"JOB_STATE_{state}", "createTime": stamp(0), "updateTime": stamp(seconds)} | more
    return RemoteJob(name="projects/1/locations/x/customJobs/1", state=raw["state"], raw=raw)


def trial(**more: Any) -> Trial:
    return Trial(trial_id="1", state="ACTIVE", custom_job="c", started_at=NOON, **more)


def seen(*answers: RemoteJob, **more: Any) -> Trial:
    found = trial(**more)
    for each in answers:
        record_answer(found, each, at(10_000))
    return found


def states(found: Trial) -> list[str]:
    return [span.state for span in timeline.machine_states(found)]


def ran(found: Trial, now: float = 10_000) -> float:
    return timeline.ran(found, at(now)).total_seconds()


class TestAnswers:
    def test_a_wait_and_a_run_are_told_apart(self) -> None:
        found = seen(
            answer("QUEUED", 1), answer("PENDING", 60), answer("RUNNING", 90, startTime=stamp(90)),
            answer("SUCCEEDED", 150, startTime=stamp(90), endTime=stamp(150)),
        )  # fmt: skip

        assert states(found) == ["queued", "pending", "running"]
        assert ran(found) == 60
        assert timeline.trial_waited(found, at(10_000)) == 90 * SECOND
        assert found.job_is_settled

    def test_only_the_end_tells_the_whole_run(self) -> None:
        found = seen(answer("FAILED", 150, startTime=stamp(90), endTime=stamp(150), error={"code": 8, "message": "no"}))

        assert states(found) == ["", "running"]
        assert (ran(found), found.job_error) == (60, "no")

    def test_one_that_failed_without_having_run_cost_nothing(self) -> None:
        found = seen(answer("QUEUED", 0), answer("FAILED", 150, endTime=stamp(150)))

        assert ran(found) == 0

    def test_a_start_while_it_waits_is_no_run(self) -> None:
        """Vertex AI sets a provisional `startTime` of a job that is still QUEUED (vertex-facts 17.2)."""
        found = seen(answer("QUEUED", 0, startTime=stamp(0.15)), answer("PENDING", 200, startTime=stamp(0.15)))

        assert states(found) == ["queued", "pending"]
        assert ran(found) == 0

    def test_a_success_whose_custom_job_does_not_show_when_it_ran_has_its_own_times(self) -> None:
        ended = answer("SUCCEEDED", 150, startTime=stamp(0.15), endTime=stamp(150))
        for state, seconds in (("SUCCEEDED", 100), ("INFEASIBLE", 0)):
            found = seen(ended)
            found.state, found.started_at, found.ended_at = state, at(50), at(150)
            assert ran(found) == seconds

    def test_an_older_answer_changes_nothing(self) -> None:
        found = seen(answer("RUNNING", 90, startTime=stamp(90)), answer("PENDING", 30))

        assert states(found) == ["", "running"]

    def test_a_time_far_ahead_is_not_believed(self) -> None:
        found = seen(answer("QUEUED", 0), answer("RUNNING", 99, updateTime="2036-01-01T00:00:00Z", startTime=stamp(90)))

        assert ran(found) == 9_910

    def test_a_job_that_is_gone_is_settled_with_its_trial_only(self) -> None:
        found = seen(answer("RUNNING", 90, startTime=stamp(90)))
        record_answer(found, None, at(200))
        assert not found.job_is_settled

        found.state, found.ended_at = "SUCCEEDED", at(190)
        record_answer(found, None, at(210))
        assert found.job_is_settled
        assert ran(found) == 100

    def test_a_success_of_which_only_the_wait_was_seen_did_run(self) -> None:
        waiting = seen(answer("QUEUED", 0), answer("PENDING", 50))
        waiting.ended_at = at(190)

        for state, seconds in (("SUCCEEDED", 140), ("INFEASIBLE", 0)):
            waiting.state = state
            assert ran(waiting) == seconds

    def test_a_wait_that_was_seen_lasted_until_the_trial_began(self) -> None:
        waiting = seen(answer("QUEUED", 0), answer("PENDING", 50))
        waiting.state, waiting.started_at, waiting.ended_at = "SUCCEEDED", at(120), at(190)

        assert ran(waiting) == 70
        assert timeline.trial_waited(waiting, at(10_000)) == 120 * SECOND
        assert states(waiting) == ["queued", "pending", "running"]

    @given(
        st.lists(st.tuples(st.sampled_from([*WAITS, "RUNNING"]), st.integers(1, 500)), min_size=1, max_size=12),
        st.sets(st.integers(0, 12)),
    )
    def test_whatever_looks_are_missed_no_wait_that_was_seen_is_billed(
        self, lengths: list[tuple[str, int]], missed: set[int]
    ) -> None:
        clock, started, true_run, found = 0, None, 0, trial()
        for index, (state, seconds) in enumerate(lengths):
            started = clock if state == "RUNNING" and started is None else started
            true_run += seconds if state == "RUNNING" else 0
            known = {} if started is None else {"startTime": stamp(started)}
            if index not in missed:
                record_answer(found, answer(state, clock, **known), at(clock))
            clock += seconds
        known = {} if started is None else {"startTime": stamp(started)}
        record_answer(found, answer("SUCCEEDED", clock, endTime=stamp(clock), **known), at(clock))

        assert ran(found) == 0 or started is not None
        assert ran(found) <= clock - (started or 0)
        if not missed:
            assert ran(found) == true_run
        total = ran(found) + timeline.trial_waited(found, at(clock)).total_seconds()
        assert total == clock


class TestWords:
    def told(self, *trials: Trial, **body: Any) -> tuple[Job, Study]:
        spec = {"studySpec": {"metrics": [{"metricId": "accuracy"}]}, "maxTrialCount": 6, "parallelTrialCount": 2}
        job = Job(spec=spec | body, strategy="standard", state="running", expected_seconds=600, started_at=NOON)
        found = study(job, trials)
        assert found is not None
        return job, found

    def done(self, number: int, value: float | None, seconds: float = 60) -> Trial:
        state = "SUCCEEDED" if value is not None else "INFEASIBLE"
        metrics = {} if value is None else {"accuracy": value}
        return Trial(trial_id=str(number), state=state, metrics=metrics, started_at=NOON, ended_at=at(seconds))

    def test_a_summary_counts_and_names_the_best(self) -> None:
        _, found = self.told(self.done(1, 0.5), self.done(2, None), self.done(3, 0.912349), trial())

        assert summary(found) == "4 trials: 2 succeeded, 1 infeasible, 1 under way; best accuracy 0.91235 by trial 3"

    def test_what_is_to_come_waits_for_those_that_run(self) -> None:
        _, found = self.told(Trial(trial_id="1", state="ACTIVE", started_at=NOON), self.done(2, 1.0), trial())

        assert to_come_words(found) == "2 of 2 parallel trials are running"

    @pytest.mark.parametrize(
        ("answers", "words"),
        [
            ((answer("QUEUED", 0),), "waits for quota or to be processed"),
            ((answer("PENDING", 0),), "machines are being prepared"),
            ((answer("PENDING", 99, startTime=stamp(0.15)),), "machines are being prepared"),
            (
                (answer("RUNNING", 50, startTime=stamp(50)), answer("PENDING", 99, startTime=stamp(50))),
                "gets machines again after a restart",
            ),
            (
                (answer("PENDING", 9, error={"message": "Resources are insufficient in region: r."}),),
                "Resources are insufficient in region: r.",
            ),
            ((answer("RUNNING", 99, startTime=stamp(50)),), ""),
        ],
    )
    def test_a_waiting_trial_says_why(self, answers: tuple[RemoteJob, ...], words: str) -> None:
        job, _ = self.told()

        assert wait_words(job, seen(*answers)) == words

    def test_the_outlook_follows_the_trials_that_succeeded(self) -> None:
        job, found = self.told(self.done(1, 0.5, 100), self.done(2, 0.6, 200))

        told = outlook(job, found, at(300))

        assert told is not None
        assert (told.trial, told.is_measured, told.left) == (150 * SECOND, True, 300 * SECOND)

    def test_the_run_time_of_trials_is_not_what_is_billed(self) -> None:
        trials = [self.done(number, 0.5, 14) for number in range(3)]

        assert total_run_time(trials, at(20)) == 42 * SECOND
        assert trial_time(trials, at(20)).total == 90 * SECOND

    def test_the_cost_at_the_end_rounds_up_each_trial_that_is_to_come(self) -> None:
        job, found = self.told(self.done(1, 0.5, 14), self.done(2, 0.6, 14))
        job.hourly_usd, job.trial_seconds = Decimal(240), 60

        told = outlook(job, found, at(20))

        assert told is not None
        assert told.usd == 6 * Decimal(120) * 30 / 3600, "120 USD an hour for each of the two parallel trials"

    def test_before_any_succeeded_the_outlook_is_what_was_expected(self) -> None:
        job, found = self.told()

        told = outlook(job, found, NOON)

        assert told is not None
        assert (told.trial, told.is_measured, told.left) == (600 * SECOND, False, 1_800 * SECOND)
