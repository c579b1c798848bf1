"""Tests that facts of the job correct what the text of its error alone suggests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.diagnosis import Circumstances, Diagnosis, Output, diagnose, diagnose_expiry, diagnose_output
from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.diagnosis import ACTIONS

STOCKOUT = "Resources are insufficient in region: us-east1. Please try a different region."


def found(message: str, job: Circumstances) -> Diagnosis:
    diagnosis = diagnose(8, message, job)
    assert diagnosis is not None
    return diagnosis


def actions(diagnosis: Diagnosis) -> list[str]:
    return [each["action"] for each in diagnosis.suggestions]


class TestStockout:
    def test_of_flex_start_before_it_ran_is_its_wait(self) -> None:
        diagnosis = found(STOCKOUT, Circumstances("flex_start", has_run=False))

        assert diagnosis.cause == "flex_wait"
        assert "maxWaitDuration" in diagnosis.explanation + diagnosis.remedy
        assert actions(diagnosis) == ["longer_wait", "endless_wait", "spot", "standard", "other_region"]
        assert diagnosis.suggestions[-1] == {"action": "other_region", "avoid": "us-east1"}

    @pytest.mark.parametrize("has_run", [True, None])
    def test_of_flex_start_otherwise_is_one(self, *, has_run: bool | None) -> None:
        diagnosis = found(STOCKOUT, Circumstances("flex_start", has_run=has_run))

        assert diagnosis.cause == "stockout"
        assert "flex_start" not in actions(diagnosis)

    @pytest.mark.parametrize("restarts", [6, 7])
    def test_of_spot_after_its_last_restart_is_its_end(self, restarts: int) -> None:
        diagnosis = found(STOCKOUT, Circumstances("spot", has_run=True, restarts=restarts, restart_limit=6))

        assert (diagnosis.cause, diagnosis.title) == ("preempted", "Preempted seven times")

    def test_of_spot_before_that_is_one(self) -> None:
        assert found(STOCKOUT, Circumstances("spot", restarts=5, restart_limit=6)).cause == "stockout"

    def test_of_standard_says_nothing_of_spot(self) -> None:
        diagnosis = found(STOCKOUT, Circumstances("standard", has_run=False))

        assert "Spot" not in diagnosis.explanation + diagnosis.retried


class TestGpuMemory:
    MESSAGE = "RuntimeError: CUDA out of memory."

    def test_without_a_gpu_a_larger_one_is_no_help(self) -> None:
        assert "bigger_gpu" not in actions(found(self.MESSAGE, Circumstances(has_accelerator=False)))

    @pytest.mark.parametrize("has_accelerator", [True, None])
    def test_else_it_is_offered(self, *, has_accelerator: bool | None) -> None:
        assert actions(found(self.MESSAGE, Circumstances(has_accelerator=has_accelerator))) == ["bigger_gpu"]


def test_expiry_is_of_the_wait_or_of_the_run() -> None:
    assert diagnose_expiry(Circumstances("flex_start", has_run=False)).cause == "flex_wait"
    assert diagnose_expiry(Circumstances("flex_start", has_run=True)).cause == "timeout"
    assert diagnose_expiry(Circumstances("spot", has_run=False)).cause == "timeout"


class TestOutput:
    def test_tells_what_the_program_died_of(self) -> None:
        _, known = diagnose_output([Output("", "Epoch 1\nTraceback (most recent call last):\n  x\nMemoryError\n")])

        assert known is not None
        assert known.cause == "out_of_memory"
        assert known.explanation == "It used more memory than its machine has."

    @pytest.mark.parametrize("output", ["", "Epoch 1: loss 2", "INFO: quota exceeded? no", "ValueError: bad shape"])
    def test_tells_nothing_where_nothing_is_known(self, output: str) -> None:
        assert diagnose_output([Output("", output)])[1] is None


@given(
    st.none() | st.integers(0, 20),
    st.sampled_from([STOCKOUT, TestGpuMemory.MESSAGE, "preempted 6 times", "x", ""]),
    st.builds(
        Circumstances,
        st.sampled_from(["", "spot", "flex_start", "standard", "reservation", "persistent", "new"]),
        has_run=st.none() | st.booleans(),
        restarts=st.integers(0, 99),
        restart_limit=st.integers(0, 20),
        has_accelerator=st.none() | st.booleans(),
    ),
)
def test_any_circumstances_give_a_whole_answer(code: int | None, message: str, job: Circumstances) -> None:
    diagnosis = diagnose(code, message, job)

    if diagnosis is not None:
        assert diagnosis.cause in CAUSES
        assert all((diagnosis.title, diagnosis.explanation, diagnosis.remedy, diagnosis.source))
        assert set(actions(diagnosis)) <= ACTIONS - {job.strategy}
