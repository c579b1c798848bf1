"""Tests of the failure that is found in a program's output: the one that ended it, and no other.

`outputs.json` holds ends of logs in the formats of torchrun, accelerate, Ray, JAX and others, shortened.
`failures.json` holds the ends of logs and messages that Trainboard explained wrongly on 2026-11-25, written for this
purpose, with what must come out.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.diagnosis import FailureRecord, Output, diagnose, diagnose_output
from jobs.diagnosis.failure_record import MAX_LINES

CASES = json.loads((Path(__file__).parent / "failures.json").read_text())
EXIT = "The replica workerpool0-0 exited with a non-zero status of {}. Termination reason: Error. "


def output(text: str, replica: str = "workerpool0-0") -> list[Output]:
    return [Output(replica, line, key) for key, line in enumerate(text.splitlines(), 1)]


def found(lines: list[Output]) -> tuple[FailureRecord, str]:
    """Return the failure and the cause that a rule knows for it, or ""."""
    record, known = diagnose_output(lines)
    assert record is not None
    return record, known.cause if known is not None else ""


def traceback(error: str, file: str = "/app/train.py", line: int = 7) -> str:
    return f'Traceback (most recent call last):\n  File "{file}", line {line}, in main\n    run()\n{error}\n'


@pytest.mark.parametrize("case", [case for case in CASES if case["where"] == "log"], ids=lambda case: case["words"])
def test_failure_in_a_log(case: dict[str, Any]) -> None:
    record, known = diagnose_output(output(case["message"]))

    assert record is not None
    assert case["words"] in record.words
    assert (record.place, record.rank, record.replica) == (case["place"], case["rank"], "workerpool0-0")
    assert known.cause == case["cause"] if known is not None else case["cause"] == "user_code"
    suggested = [each["action"] for each in known.suggestions] if known is not None else []
    assert set(case["fixes"]) <= set(suggested)
    assert any(case["words"].partition(":")[0] in line for line in record.lines)


@pytest.mark.parametrize("case", [case for case in CASES if case["where"] == "log"], ids=lambda case: case["words"])
def test_failure_quoted_in_the_error(case: dict[str, Any]) -> None:
    known = diagnose(3, EXIT.format(case["exit"]) + "\n" + case["message"])

    assert known is not None
    assert known.cause == case["cause"]


@pytest.mark.parametrize("case", [case for case in CASES if case["where"] == "error"], ids=lambda case: case["cause"])
def test_message_of_the_service(case: dict[str, Any]) -> None:
    known = diagnose(None, case["message"])

    assert known is not None
    assert known.cause == case["cause"]
    assert case["words"] in f"{known.explanation} {known.suggestions}"
    assert set(case["fixes"]) <= {each["action"] for each in known.suggestions}


OUTPUTS = json.loads((Path(__file__).parent / "outputs.json").read_text())


@pytest.mark.parametrize("case", OUTPUTS, ids=lambda case: case["of"])
def test_failure_in_the_output_of_a_known_launcher(case: dict[str, Any]) -> None:
    record, known = diagnose_output(output(case["output"]))

    assert record is not None
    assert (record.words, record.place, record.rank) == (case["words"], case["place"], case["rank"])
    assert (known.cause if known is not None else "user_code") == case["cause"]


@pytest.mark.parametrize("case", OUTPUTS, ids=lambda case: case["of"])
def test_ordinary_lines_of_a_healthy_run_before_it_change_nothing(case: dict[str, Any]) -> None:
    healthy = (
        "INFO shared memory size 64 GB\nNCCL INFO Connected all rings\nepoch 1 loss 0.5\n"
        "WARNING: optional dependency missing: No module named 'apex'\nno space left on device? checked, 3 TB free\n"
    ) * 20
    record, known = diagnose_output(output(healthy + case["output"]))

    assert record is not None
    assert record.words == case["words"]
    assert (known.cause if known is not None else "user_code") == case["cause"]


class TestOneProcess:
    def test_an_info_line_is_no_evidence(self) -> None:
        record, cause = found(
            output("INFO shared memory size 64 GB\n" + traceback("ZeroDivisionError: division by zero"))
        )

        assert (record.words, record.place, cause) == ("ZeroDivisionError: division by zero", "train.py:7", "")

    def test_the_text_of_a_missing_key_is_no_system_message(self) -> None:
        assert found(output(traceback("KeyError: 'out of memory policy'")))[1] == ""
        assert found(output(traceback("RuntimeError: CUDA out of memory.")))[1] == "gpu_memory"

    def test_source_lines_are_no_evidence(self) -> None:
        text = traceback("ValueError: bad shape").replace("run()", 'print("no space left on device")')

        assert found(output(text)) == (found(output(text))[0], "")

    def test_the_cause_that_was_raised_from_comes_first(self) -> None:
        text = (
            traceback("KeyError: 'vocab_size'", "/app/data.py", 31)
            + "\nThe above exception was the direct cause of the following exception:\n\n"
            + traceback("RuntimeError: could not build the model", "/app/train.py", 7)
        )
        record, _ = found(output(text))

        assert (record.exception, record.place) == ("KeyError", "data.py:31")
        assert "RuntimeError: could not build the model" in record.lines

    def test_an_error_while_another_was_handled_ended_it(self) -> None:
        text = (
            traceback("FileNotFoundError: last.ckpt", "/app/data.py", 31)
            + "\nDuring handling of the above exception, another exception occurred:\n\n"
            + traceback("AttributeError: no attribute 'warm'", "/app/train.py", 7)
        )

        assert found(output(text))[0].exception == "AttributeError"

    def test_frames_of_libraries_are_not_the_users(self) -> None:
        text = traceback("ValueError: bad shape").replace(
            "    run()\n",
            "    run()\n"
            '  File "/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward\n    f()\n',
        )

        assert found(output(text))[0].place == "train.py:7"

    def test_one_that_was_survived_is_not_the_end(self) -> None:
        text = traceback("ConnectionError: retrying") + "step\n" * 300 + "gradient norm is inf at step 812, aborting\n"
        record, cause = found(output(text))

        assert (record.words, cause) == ("gradient norm is inf at step 812, aborting", "diverged")

    def test_errors_of_the_shutdown_follow_from_the_failure(self) -> None:
        text = traceback("ValueError: bad shape") + "Exception ignored in: <function Pool.__del__>\n"

        assert found(output(text + traceback("TypeError: NoneType")))[0].exception == "ValueError"

    def test_a_container_that_starts_again_is_not_read(self) -> None:
        text = "Running task\nepoch 1\n" + traceback("IndexError: 513", line=19)
        again = "Running task\nepoch 1\n" + traceback("FileExistsError: out", line=3)

        assert found(output(text + again))[0].exception == "IndexError"

    def test_a_first_line_that_is_printed_again_is_no_new_start(self) -> None:
        text = "loading\nepoch 1\n" + traceback("OSError: retried", line=3) + "loading\nepoch 2\n"

        assert found(output(text + traceback("IndexError: 513")))[0].exception == "IndexError"

    def test_last_words_are_no_ruler(self) -> None:
        assert found(output("cannot go on without data\n==========\n"))[0].words == "cannot go on without data"

    def test_last_words_are_no_line_of_a_lua_stack(self) -> None:
        stack = "stack traceback:\n\t[C]: in function 'error'\n\tmain.lua:38: in main chunk\n\t[C]: at 0x00406260\n"

        assert found(output("bad argument #2 to '?' (out of range)\n" + stack))[0].words.startswith("bad argument #2")

    def test_a_quoted_traceback_does_not_end_in_a_ruler(self) -> None:
        of_rank = "".join(f"[1,0]<stderr>:{line}\n" for line in traceback("app.MetadataError: none").splitlines())
        after = (
            f"{'-' * 40}\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code.\n{'-' * 40}\n"
        )
        record, _ = found(output(f"Traceback (most recent call last):\n  [...]\n{of_rank}{after}"))

        assert (record.exception, record.rank) == ("app.MetadataError", 0)

    def test_what_a_simulation_raises_from_its_client_follows_from_it(self) -> None:
        ray = "ray.exceptions.RayTaskError(ClientAppException): ray::ClientAppActor.run() (pid=9)\n"
        text = "ERROR :     " + traceback(ray, "/lib/python3.10/site-packages/flwr/proxy.py")
        text += traceback("TypeError: no subscript", "/app/client.py", 41).partition("\n")[2]
        text += "\nThe above exception was the direct cause of the following exception:\n\n"
        text += "ray::ClientAppActor.run() (pid=9)\n"
        text += traceback("flwr.client.ClientAppException: \nOccurred", "/lib/python3.10/site-packages/flwr/actor.py")
        text += "ERROR :     Your simulation crashed :(\n" + traceback(
            "RuntimeError: Simulation crashed.", "/app/run.py"
        )
        record, _ = found(output(text.replace("(pid=9)\n" + "Traceback (most recent call last):\n", "(pid=9)\n")))

        assert (record.words, record.place) == ("TypeError: no subscript", "client.py:41")

    def test_a_long_traceback_keeps_its_beginning_and_end(self) -> None:
        frames = "".join(f'  File "/app/m{number}.py", line {number}, in f\n    f()\n' for number in range(60))
        record, _ = found(output(f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n"))

        assert len(record.lines) == MAX_LINES
        assert (record.lines[0], record.lines[-1]) == ("Traceback (most recent call last):", "RecursionError: too deep")
        assert record.place == "m59.py:59"


class TestManyProcesses:
    def test_interleaved_tracebacks_are_read_apart(self) -> None:
        one = [f"[rank0]: {line}" for line in traceback("ValueError: zero", "/app/a.py", 1).splitlines()]
        two = [f"[rank1]: {line}" for line in traceback("IndexError: one", "/app/b.py", 2).splitlines()]
        lines = [line for pair in zip(two, one, strict=True) for line in pair]

        record, _ = found(output("\n".join(lines)))

        assert (record.exception, record.place, record.rank) == ("IndexError", "b.py:2", 1)

    def test_the_replica_that_failed_first_is_named(self) -> None:
        lost = traceback("torch.distributed.DistBackendError: NCCL error: remote process exited")
        lines = output(lost, "workerpool0-0") + output(traceback("OSError: bad sector"), "workerpool1-2")

        record, _ = found(lines + output(lost, "workerpool1-0"))

        assert (record.replica, record.words) == ("workerpool1-2", "OSError: bad sector")

    def test_torchruns_root_cause_decides(self) -> None:
        ranks = [f"[rank{rank}]: {line}" for rank in (0, 3) for line in traceback(f"ValueError: {rank}").splitlines()]
        summary = "Root Cause (first observed failure):\n[0]:\n  time : 2026-02-23\n  rank      : 3 (local_rank: 3)\n"

        assert found(output("\n".join(ranks) + "\n" + summary))[0].words == "ValueError: 3"

    def test_torchruns_root_cause_names_the_rank_of_lines_without_one(self) -> None:
        summary = "Root Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n"

        assert found(output(traceback("ValueError: 3") + summary))[0].rank == 3

    def test_consequences_are_named_if_there_is_nothing_else(self) -> None:
        record, cause = found(output(traceback("torch.distributed.DistNetworkError: The client socket has timed out")))

        assert (record.exception, cause) == ("torch.distributed.DistNetworkError", "distributed")


@given(st.lists(st.text(max_size=60) | st.sampled_from(traceback("ValueError: x").splitlines()), max_size=40))
def test_any_output_is_read(lines: list[str]) -> None:
    record, known = diagnose_output([Output("workerpool0-0", line, key) for key, line in enumerate(lines)])

    assert known is None or record is not None
    assert record is None or len(record.lines) <= MAX_LINES


@given(st.lists(st.sampled_from(["INFO loss 0.5", "step 3", "[rank1]: epoch 2", "WARNING: No module named 'apex'"])))
def test_ordinary_lines_before_change_nothing(noise: list[str]) -> None:
    failure = output(traceback("IndexError: 513"))

    assert found(output("\n".join(noise)) + failure)[0].words == "IndexError: 513"


def test_a_process_that_was_killed_under_a_script_is_the_failure_and_not_those_that_lost_it() -> None:
    lost = traceback("torch.distributed.DistBackendError: NCCL error: remote process exited")
    lines = [
        Output("workerpool1-0", "/app/start.sh: line 4:    21 Killed                  python train.py"),
        *(Output(replica, lost) for replica in ("workerpool0-0", "workerpool1-1", "workerpool1-2")),
    ]
    record, cause = found(lines)

    assert (record.replica, cause) == ("workerpool1-0", "out_of_memory")
