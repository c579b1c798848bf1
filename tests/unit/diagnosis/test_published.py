"""Tests of failures as people publish them: as a log, quoted in an error, and before another failure.

The forms in published.json are those of issues of PyTorch, JAX, TensorFlow, XGBoost, transformers, DeepSpeed, vLLM,
Ray, Horovod, PaddlePaddle and others (read 2026-11-26 and 2026-11-27). Names, paths and figures are examples.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.diagnosis import Output, diagnose, diagnose_output

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "published.json").read_text())
IDS = [each["of"] for each in CASES]
OF_REPLICAS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "replicas.json").read_text())
NOISE = "2026-11-26 10:00:00 INFO loading, shared memory size 64 GB"
QUOTE = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error. \n"
BUG = (
    "Traceback (most recent call last):",
    '  File "/app/end.py", line 7, in <module>',
    "    1 / n",
    "ZeroDivisionError: division by zero",
)
REPLICA = "workerpool0-0"
LOST = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in f\ntorch.distributed.DistBackendError: NCCL aborted'
)


def output(lines: list[str]) -> list[Output]:
    return [Output(REPLICA, line, key) for key, line in enumerate(lines, start=1)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_published_log_gives_exception_place_and_cause(case: dict[str, Any]) -> None:
    record, known = diagnose_output(output([NOISE, *case["log"]]))

    assert record is not None
    name = record.exception if "::" in record.exception else record.exception.rpartition(".")[2]
    assert name in case["exceptions"]
    assert not case["places"] or record.place in case["places"]
    assert case["rank"] is None or record.rank == case["rank"]
    assert (known.cause if known is not None else "user_code") in case["causes"]
    assert case.get("words", "") in record.words
    assert record.lines
    assert record.replica == REPLICA


@pytest.mark.parametrize("case", OF_REPLICAS, ids=lambda each: each["of"])
def test_the_replica_that_failed_first_is_named(case: dict[str, Any]) -> None:
    record, known = diagnose_output([Output(replica, line, key) for key, (replica, line) in enumerate(case["log"])])

    assert record is not None
    assert record.exception.rpartition(".")[2] in case["exceptions"]
    assert (record.replica, record.rank) == (case["replica"], case["rank"])
    assert not case["places"] or record.place in case["places"]
    assert (known.cause if known is not None else "user_code") in case["causes"]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_published_failure_that_an_error_quotes_has_its_cause(case: dict[str, Any]) -> None:
    known = diagnose(3, QUOTE + "\n".join(case["log"]))

    assert known is not None
    assert known.cause in case["causes"]


UNTOLD = frozenset(
    "ray train|ray unhandled|sysexit|sig|keyboard|sigterm handler|gunicorn java|elastic sigabrt|elastic sigsegv"
    "|triton gcc lcuda|critical only|sigterm only".split("|")
)
"""Failures that follow from another one, or do not say what failed."""


@pytest.mark.parametrize("case", [each for each in CASES if each["of"] not in UNTOLD], ids=lambda each: each["of"])
def test_a_replica_that_only_lost_the_first_does_not_hide_its_failure(case: dict[str, Any]) -> None:
    lost = QUOTE.replace("workerpool0-0", "workerpool1-0") + LOST
    first = diagnose(3, QUOTE + "\n".join([*case["log"], lost]))
    last = diagnose(3, "\n".join([lost, QUOTE, *case["log"]]))

    assert first is not None
    assert last is not None
    assert {first.cause, last.cause} <= {*case["causes"]}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_plain_bug_after_a_failure_that_was_survived_is_the_failure(case: dict[str, Any]) -> None:
    went_on = [f"step {number} loss 1.{number}" for number in range(60)]
    record, known = diagnose_output(output([*case["log"], *went_on, *BUG]))

    assert record is not None
    assert (record.words, record.place) == ("ZeroDivisionError: division by zero", "end.py:7")
    assert known is None


def test_the_error_file_of_torch_elastic_is_read_if_a_program_prints_it() -> None:
    trace = "\n".join(BUG)
    printed = json.dumps({"message": {"message": "ZeroDivisionError", "extraInfo": {"py_callstack": trace}}})
    record, _known = diagnose_output(output(["step 1", printed]))

    assert record is not None
    assert record.place == "end.py:7"


def test_processes_that_failed_after_the_first_are_listed_in_their_order() -> None:
    lost = "torch.distributed.DistBackendError: NCCL error: remote process exited"
    lines = [
        Output("workerpool1-1", 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyError: 1', 5),
        Output("workerpool0-0", f"[rank0]: {lost}"),
        Output("workerpool1-0", f"[rank1]: {lost}"),
    ]
    record, _known = diagnose_output(lines)

    assert record is not None
    assert (record.replica, record.key, record.others) == (
        "workerpool1-1", 5, ("workerpool0-0 rank 0", "workerpool1-0 rank 1"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "lost",
    [
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.4]:2145",
        "tensorflow.python.framework.errors_impl.UnavailableError: Collective ops is aborted by: Socket closed",
        "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: tasks are unhealthy (stopped sending heartbeats):",
        "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for rank 1.",
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the store has failed.",
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 2, for key: k:1",
        "grpc._channel._InactiveRpcError: <_InactiveRpcError that terminated with:\n\tstatus = StatusCode.UNAVAILABLE",
        "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down.",
        "xgboost.core.XGBoostError: [10:00:00] allgather.cc:88: Failed to receive: Connection reset by peer",
        "BrokenPipeError: [Errno 32] Broken pipe",
    ],
)
def test_a_process_that_only_lost_another_one_is_not_the_first_that_failed(lost: str) -> None:
    trace = 'Traceback (most recent call last):\n  File "/app/train.py", line 9, in <module>\n    step()\n'
    lines = [Output("workerpool0-0", f"{trace}{lost}"), Output("workerpool1-2", f"{trace}KeyError: 'b'", 7)]
    record, _known = diagnose_output(lines)

    assert record is not None
    assert (record.exception, record.replica, record.key) == ("KeyError", "workerpool1-2", 7)
