"""Tests of real messages from Vertex AI, old and new, and their meaning."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.diagnosis import Diagnosis, diagnose
from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.diagnosis import ACTIONS
from jobs.diagnosis.exits import read_exits

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n{}\n'
EXIT = "The replica workerpool0-0 exited with a non-zero status of {}. Termination reason: {}. "


def found(code: int | None, message: str) -> Diagnosis:
    diagnosis = diagnose(code, message)
    assert diagnosis is not None
    return diagnosis


HERE = Path(__file__).parent
FILES = [HERE / "messages.json", *sorted((HERE / "messages").glob("*.json"))]
"""Wordings of one subject each; `guards` are those that a careless reader takes for another cause."""
MESSAGES = [row for file in FILES for row in json.loads(file.read_text())]


@pytest.mark.parametrize("row", MESSAGES, ids=[f"{row['cause']}-{row['message'][:40]}" for row in MESSAGES])
def test_message_has_a_cause(row: dict[str, Any]) -> None:
    assert found(row["code"], row["message"]).cause == row["cause"]


@pytest.mark.parametrize("code", [None, 0])
@pytest.mark.parametrize("message", ["", " \n\t"])
def test_silence_has_none(code: int | None, message: str) -> None:
    assert diagnose(code, message) is None


class TestTextBeforeCode:
    @pytest.mark.parametrize("code", [None, 0, 3, 8, 13, 14, 42])
    def test_code_cannot_overrule_words(self, code: int | None) -> None:
        assert found(code, "Replicas low on memory: workerpool0.").cause == "out_of_memory"
        assert found(code, "Resources are insufficient in region: us-east1.").cause == "stockout"

    @pytest.mark.parametrize(
        "words",
        [
            "RuntimeError: internal error encountered",
            "RuntimeError: The following quota metrics exceed quota limits: aiplatform.googleapis.com/x",
            "RuntimeError: STOCKOUT",
            'RuntimeError: Machine type "x" is not supported',
            "RuntimeError: Permission 'a.b' denied on resource",
        ],
    )
    def test_what_the_program_printed_is_not_taken_for_vertex_ais_words(self, words: str) -> None:
        assert found(3, EXIT.format(1, "Error") + TRACEBACK.format(words)).cause == "user_code"


class TestQuota:
    MESSAGE = (
        "The following quota metrics exceed quota limits: "
        "aiplatform.googleapis.com/custom_model_training_preemptible_cpus,"
        "aiplatform.googleapis.com/custom_model_training_preemptible_nvidia_t4_gpus"
    )

    def test_names_the_metrics_and_suggests_asking_for_them(self) -> None:
        diagnosis = found(8, self.MESSAGE)

        assert diagnosis.suggestions[0] == {
            "action": "request_quota",
            "metrics": [
                "aiplatform.googleapis.com/custom_model_training_preemptible_cpus",
                "aiplatform.googleapis.com/custom_model_training_preemptible_nvidia_t4_gpus",
            ],
        }
        assert "custom_model_training_preemptible_nvidia_t4_gpus" in diagnosis.explanation
        assert "Spot and Flex-start" in diagnosis.explanation

    def test_says_nothing_of_spot_for_ordinary_quota(self) -> None:
        assert "Spot" not in found(8, self.MESSAGE.replace("preemptible_", "")).explanation


class TestStockout:
    def test_suggests_any_region_but_this(self) -> None:
        diagnosis = found(8, "Resources are insufficient in region: us-central1. Please try a different region.")

        assert diagnosis.title == "Out of capacity in us-central1"
        assert diagnosis.suggestions[0] == {"action": "other_region", "avoid": "us-central1"}
        assert {"action": "flex_start"} in diagnosis.suggestions
        assert "six times" in diagnosis.retried


class TestMemory:
    def test_suggests_the_next_machine_for_the_pools_that_were_short(self) -> None:
        diagnosis = found(8, "Replicas low on memory: workerpool0, workerpool2. Specify a machine with larger memory.")

        assert diagnosis.suggestions == ({"action": "next_machine_size", "pools": ["workerpool0", "workerpool2"]},)
        assert diagnosis.replicas == ("workerpool0", "workerpool2")
        assert diagnosis.retried == "Vertex AI does not retry this."

    def test_names_the_replica_of_the_old_wording(self) -> None:
        diagnosis = found(
            None, "The replica master 0 ran out-of-memory and exited with a non-zero status of 9(SIGKILL)"
        )

        assert diagnosis.explanation == "master 0 ran out of memory."
        assert diagnosis.suggestions == ({"action": "next_machine_size"},)

    def test_is_only_probable_when_nobody_says_so(self) -> None:
        assert found(3, EXIT.format(137, "Error")).title == "Probably out of memory"
        assert found(3, EXIT.format(137, "OOMKilled")).title == "Out of memory"


class TestProgram:
    def test_says_what_the_exit_code_means(self) -> None:
        """`jobs.explain` adds the exception or the last words."""
        diagnosis = found(3, EXIT.format(1, "Error") + "\n" + TRACEBACK.format("ValueError: bad shape") + "Bye.\n")

        assert diagnosis.explanation == "workerpool0-0 ended with exit code 1: as Python does after an error."
        assert diagnosis.suggestions == ()

    @pytest.mark.parametrize("code", [6, 11, 134, 139])
    def test_exit_that_may_pass_was_retried_by_vertex_ai(self, code: int) -> None:
        assert "three times" in found(3, EXIT.format(code, "Error")).retried

    @pytest.mark.parametrize("code", [1, 2, 77])
    def test_any_other_was_not(self, code: int) -> None:
        assert found(3, EXIT.format(code, "Error")).retried == (
            "Vertex AI does not retry a program that ended with such an error."
        )

    def test_counts_the_replicas_that_ended_with_it(self) -> None:
        message = "".join(
            f"The replica workerpool1-{index} exited with a non-zero status of 1. Termination reason: Error. \n"
            f"log {index}\n"
            for index in range(3)
        )

        diagnosis = found(3, message)

        assert diagnosis.replicas == ("workerpool1-0", "workerpool1-1", "workerpool1-2")
        assert "2 more replicas failed too." in diagnosis.explanation

    def test_lack_of_memory_of_one_replica_explains_the_others(self) -> None:
        diagnosis = found(
            3,
            EXIT.format(1, "Error")
            + "\nConnectionResetError: peer\nThe replica workerpool1-1 ran out of memory and exited with a non-zero "
            "status of 137.",
        )

        assert diagnosis.cause == "out_of_memory"
        assert diagnosis.suggestions == ({"action": "next_machine_size", "pools": ["workerpool1"]},)


class TestExits:
    def test_reads_replicas_codes_signals_and_reasons(self) -> None:
        head, exits = read_exits(
            "Job failed. The replica ps 0 exited with a non-zero status of 1. Termination reason: Error. "
            "The replica ps 1 exited with a non-zero status of 11(SIGSEGV). Bye"
        )

        assert head == "Job failed. "
        assert [(each.replica, each.code, each.reason, each.output.strip()) for each in exits] == [
            ("ps 0", 1, "Error", ""),
            ("ps 1", 11, "", "Bye"),
        ]


class TestValidation:
    @pytest.mark.parametrize("gap", ["\t", " "])
    def test_points_at_the_fields(self, gap: str) -> None:
        message = gap.join(
            (
                "List of found errors:",
                "1.Field: job_spec.worker_pool_specs[0].machine_spec.accelerator_type; Message: Both or none.",
                "2.Field: display_name; Message: Too long; at most 128.",
            )
        )

        diagnosis = found(None, message)

        fields = ["jobSpec.workerPoolSpecs[0].machineSpec.acceleratorType", "displayName"]
        assert diagnosis.suggestions == ({"action": "edit_field", "fields": fields},)
        assert "displayName: Too long; at most 128”." in diagnosis.explanation


class TestUnknown:
    def test_repeats_the_words(self) -> None:
        assert found(3, "The moon is in the wrong phase.").explanation == "The moon is in the wrong phase."

    def test_names_the_code_when_there_are_no_words(self) -> None:
        assert found(9, "").explanation == "Vertex AI gave no message, only the code 9 (FAILED_PRECONDITION)."
        assert "a code that Google does not define" in found(99, "").explanation

    def test_words_that_only_the_code_explains_are_kept(self) -> None:
        assert found(8, "Something new ran short.").explanation.endswith("Its words: “Something new ran short”.")


class TestTable:
    def test_every_cause_has_a_message_that_tells_it(self) -> None:
        assert {row["cause"] for row in MESSAGES} == set(CAUSES)

    @pytest.mark.parametrize("cause", CAUSES)
    def test_row_is_complete(self, cause: str) -> None:
        row = CAUSES[cause]

        assert row.cause == cause
        assert 3 <= len(row.title) <= 45
        assert row.remedy.endswith(".")
        assert row.source
        assert row.explanation.endswith(".") or cause == "unknown"
        assert {each["action"] for each in row.suggestions} <= ACTIONS
        assert row.retried.endswith(".") or cause == "unknown"
