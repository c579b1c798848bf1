"""Tests that the protocol holds on many seeds, and that the simulation finds each fixed fault without its fix."""

import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs import vertex
from jobs.models import Job
from jobs.queue.claims import JOB_LEASE
from jobs.submission import cancel, submit
from jobs.submission.doubts import Doubts
from jobs.submission.ports import Change, Decide, Ports, Written
from tests.simulation.kernel import Kernel
from tests.simulation.run import Clock, Simulation, Violation

SEEDS = 1_000
MAX_SEEDS = 6_000
"""Until a fault that was put back has to show; the rarest shows in about one of 550."""
CANCELLATION_LOST = "was accepted, and its job is still live"


class OwnClock(Clock):
    """A worker that believes its own clock."""

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.skew)


def first_violation(
    about: str = "", *, clock: Any = Clock, seeds: int = MAX_SEEDS, likely: int = 0
) -> Violation | None:
    """Run seeds until one violates something, in words that hold `about`; None when none does.

    Seeds from `likely` on come first. It showed the fault once, and a change of the simulation may move it.
    """
    for seed in (*range(likely, seeds), *range(likely)):
        try:
            Simulation(seed, clock).run()
        except Violation as violation:
            if about in violation.what:
                return violation
    return None


def test_a_thousand_seeds_violate_nothing() -> None:
    assert first_violation(seeds=SEEDS) is None


def test_the_command_runs_seeds_in_processes_of_their_own() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--protocol", "--seeds", "300", "--processes", "2"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "300 seeds without a violation" in told


def test_a_violation_is_told_in_sentences() -> None:
    kernel = Kernel(1)
    kernel.start(lambda: kernel.log("{} is approved.", "request 1"), at=12)
    kernel.run(20)

    assert kernel.messages() == ["    12.0 s  request 1 is approved."]


def test_the_same_seed_is_the_same_run() -> None:
    told = []
    for _ in range(2):
        simulation = Simulation(17)
        simulation.run()
        told.append(simulation.kernel.messages())

    assert told[0] == told[1]
    assert len(told[0]) > 5


class TestMendsTakenOut:
    """Each test puts an old fault back."""

    def test_an_attempt_that_is_dated_at_the_start_of_the_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A1: the doubt ran out before the call had left."""
        begin_create = submit.begin_create

        def dated_early(job: Job, now: datetime) -> Change | None:
            change = begin_create(job, now)
            if change is None or "attempted_at" not in change.columns or change.releases:
                return change
            columns = dict(change.columns) | {"attempted_at": job.claimed_until - JOB_LEASE}
            return Change(change.events, columns)

        def sent_whenever(begun: Written, ports: Ports) -> None:
            create(replace(begun, read_at=ports.clock.monotonic()), ports)

        create = submit._create
        monkeypatch.setattr(submit, "begin_create", dated_early)
        monkeypatch.setattr(submit, "_create", sent_whenever)

        assert first_violation("times although nothing came later", likely=4_862) is not None

    def test_workers_that_believe_their_own_clocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A2: a worker whose clock is ahead takes over a claim that has not expired.

        What a process remembers of attempts prevents it too, so both guards are removed.
        """
        monkeypatch.setattr(Doubts, "note", lambda _self, _job, monotonic: monotonic - 3_600)
        assert first_violation("times although nothing came later", clock=OwnClock, likely=911) is not None

    def test_a_second_job_that_cannot_be_cancelled_before_the_first_is_followed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A5: a second job that had ended kept the request from being settled for ever."""

        def cancel_first(job: Job, found: list[vertex.RemoteJob], ports: Ports) -> None:
            kept = submit.choose(found)
            for other in found:
                if other.name != kept.name:
                    try:
                        ports.remote.cancel(ports.store.record_unmatched(job, other, has_ended=False))
                    except vertex.VertexError as error:
                        ports.store.apply(job, submit.failed(error))
                        return
            ports.store.apply(job, submit.adopted(kept), needs_claim=False)

        monkeypatch.setattr(submit, "follow", cancel_first)

        assert first_violation("is still submitting", likely=394) is not None

    def test_a_refused_cancellation_that_counts_as_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A6: after one response 400, the cancellation was never sent again."""
        not_taken = cancel.not_taken

        def sent(error: vertex.VertexError) -> Decide:
            def decide(job: Job, now: datetime) -> Change:
                change = not_taken(error)(job, now)
                is_refused = isinstance(error, vertex.Refused)
                columns = dict(change.columns) | ({"due_at": None, "cancel_sent_at": now} if is_refused else {})
                return Change(change.events, columns, releases=True)

            return decide

        monkeypatch.setattr(cancel, "not_taken", sent)

        assert first_violation(CANCELLATION_LOST) is not None

    def test_a_cancellation_during_the_create_that_the_answer_overwrites(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A6: the answer was applied with the row as it was before the call."""
        monkeypatch.setattr(submit, "next_step_at", lambda job, now: None)

        assert first_violation(CANCELLATION_LOST) is not None

    def test_a_cancellation_that_was_taken_and_is_not_repeated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A6: Vertex AI cancels as best it can, which may be not at all."""
        taken = cancel.taken

        def once(job: Job, now: datetime) -> Change:
            change = taken(job, now)
            return Change(change.events, dict(change.columns) | {"due_at": None}, releases=True)

        monkeypatch.setattr(cancel, "taken", once)

        assert first_violation(CANCELLATION_LOST) is not None
