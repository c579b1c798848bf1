"""Tests of scripted jobs under a clock that the test advances: the documented life of a custom job."""

import urllib.error
from datetime import timedelta
from typing import Any

import pytest

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, entries, job_body, log_texts, stamp_of, state

WAITING = ["PENDING", "QUEUED", "PENDING"]
"""What a new job reads until it runs."""


def submit(emulator: Running, script: str = "happy", **more: Any) -> dict[str, Any]:
    """Create a job that plays a script."""
    return dict(emulator.call("POST", JOBS, job_body(labels={"emulator_script": script}, **more)))


def states(emulator: Running, job: dict[str, Any]) -> list[str]:
    """All public states so far."""
    return [step["state"].removeprefix("JOB_STATE_") for step in facts(emulator, job)["history"]]


def facts(emulator: Running, job: dict[str, Any]) -> dict[str, Any]:
    """The hidden truth about a job."""
    return dict(emulator.truth(job["name"])["jobs"][0])


def document(emulator: Running, job: dict[str, Any]) -> dict[str, Any]:
    """The job as clients see it."""
    return dict(emulator.call("GET", "/v1/" + job["name"]))


class TestHappy:
    """Queued, pending, running, succeeded: each at its time."""

    def test_passes_through_all_states_on_time(self, scripted: Running) -> None:
        job = submit(scripted)
        seen = [state(scripted, job)]
        for seconds in (0.3, 1.6, 0.2, 168, 6, 592, 60, 2):
            scripted.advance(seconds)
            seen.append(state(scripted, job))

        assert [one.removeprefix("JOB_STATE_") for one in seen] == [
            "PENDING",
            "QUEUED",
            "QUEUED",
            "PENDING",
            "PENDING",
            "RUNNING",
            "RUNNING",
            "RUNNING",
            "SUCCEEDED",
        ]

    def test_one_leap_gives_the_same_times_as_small_steps(self, scripted: Running) -> None:
        slow, fast = submit(scripted), submit(scripted)
        for _ in range(100):
            scripted.advance(10)
        scripted.advance(5_000)

        assert facts(scripted, slow)["history"] == facts(scripted, fast)["history"]
        assert document(scripted, slow)["endTime"] < "2027-01-15T08:20"

    def test_says_the_service_lines_in_their_order(self, scripted: Running) -> None:
        job = submit(scripted)
        scripted.advance(2_000)

        assert [line.split(".")[0] for line in log_texts(scripted, job, "service")] == [
            "Waiting for job to be provisioned",
            "Vertex AI is provisioning job running framework",
            "Vertex AI is setting up this job",
            "Waiting for training program to start",
            "Job is preparing",
            "Job is running",
            "Tearing down training program",
            "Finished tearing down training program",
            "Job completed successfully",
        ]

    def test_the_provisional_start_gives_way_to_a_whole_second(self, scripted: Running) -> None:
        job = submit(scripted)
        assert not {"startTime", "endTime", "error"} & set(job)
        scripted.advance(0.3)
        provisional = document(scripted, job)["startTime"]
        scripted.advance(170)
        assert document(scripted, job)["startTime"] == provisional
        scripted.advance(5)
        runs = document(scripted, job)
        scripted.advance(2_000)
        ended = document(scripted, job)

        created, settled = stamp_of(job["createTime"]), stamp_of(runs["startTime"])
        assert timedelta(seconds=0.12) <= stamp_of(provisional) - created <= timedelta(seconds=0.17)
        assert timedelta(seconds=10) <= stamp_of(runs["updateTime"]) - settled <= timedelta(seconds=14)
        assert ended["startTime"] == runs["startTime"]
        assert timedelta(0) < stamp_of(ended["updateTime"]) - stamp_of(ended["endTime"]) < timedelta(seconds=29)
        assert {len(each) for each in (ended["startTime"], ended["endTime"])} == {len("2027-01-15T08:00:00Z")}
        assert "error" not in ended


class TestFailures:
    """What is tried again, how often, and how it ends."""

    def test_a_plain_exit_is_final_though_its_container_starts_once_more(self, scripted: Running) -> None:
        job = submit(scripted, "fails")
        scripted.advance(100_000)
        ended = document(scripted, job)

        assert ended["error"]["code"] == 3
        assert ended["error"]["message"].startswith(
            "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error. \n"
        )
        assert log_texts(scripted, job).count("Training has started.") == 2
        assert states(scripted, job) == [*WAITING, "RUNNING", "FAILED"]
        assert facts(scripted, job)["attempt"] == 1

    def test_the_log_of_a_failure_is_as_it_was_recorded(self, scripted: Running) -> None:
        job = submit(scripted, "fails")
        scripted.advance(100_000)
        *_, told, torn_down, failed = entries(scripted, job, ' AND resource.labels.task_name="service"')
        runs = next(step for step in facts(scripted, job)["history"] if step["state"] == "JOB_STATE_RUNNING")
        ended = stamp_of(document(scripted, job)["updateTime"])

        assert told["severity"] == "ERROR"
        assert told["textPayload"].endswith(
            "RuntimeError: the script says so\n\nTo find out more about why your job exited please check the logs: "
            f"https://console.cloud.google.com/logs/viewer?project={job['name'].split('/')[1]}"
            f"&resource=ml_job%2Fjob_id%2F{job['name'].rpartition('/')[2]}&advancedFilter="
            "resource.type%3D%22ml_job%22%0Aresource.labels.job_id%3D%22" + job["name"].rpartition("/")[2] + "%22"
        )
        assert stamp_of(told["timestamp"]) - stamp_of(runs["at"]) == timedelta(seconds=25 + 26), "26 s after the exit"
        assert [(line["severity"], line["textPayload"]) for line in (torn_down, failed)] == [
            ("INFO", "Finished tearing down training program."),
            ("INFO", "Job failed."),
        ]
        assert torn_down["timestamp"] == failed["timestamp"]
        assert ended - stamp_of(told["timestamp"]) >= timedelta(minutes=1)
        assert "Tearing down training program." not in log_texts(scripted, job, "service")

    def test_another_worker_that_ends_meanwhile_changes_nothing(self, scripted: Running) -> None:
        job = submit(scripted, "fails")
        scripted.advance(20 + 150 + 30 + 12)
        scripted.evict(job["name"])
        scripted.advance(100_000)

        assert states(scripted, job) == [*WAITING, "RUNNING", "FAILED"]
        assert "status of 1." in document(scripted, job)["error"]["message"]

    def test_an_evicted_worker_restarts_five_times_then_the_job_retries_three_times(self, scripted: Running) -> None:
        job = submit(scripted, "always-evicted")
        scripted.advance(100_000)

        assert log_texts(scripted, job).count("Training has started.") == 24
        assert states(scripted, job) == ["PENDING", "QUEUED", *["PENDING", "RUNNING"] * 4, "FAILED"]
        assert (facts(scripted, job)["retries"], facts(scripted, job)["workerRestarts"]) == (3, {"workerpool0-0": 5})

    def test_a_worker_restart_is_one_of_the_job_where_the_job_says_so(self, scripted: Running) -> None:
        job = submit(scripted, "evicted", scheduling={"restartJobOnWorkerRestart": True})
        scripted.advance(5_000)

        assert states(scripted, job) == ["PENDING", "QUEUED", *["PENDING", "RUNNING"] * 3, "SUCCEEDED"]

    def test_disabled_retries_fail_at_once(self, scripted: Running) -> None:
        job = submit(scripted, "fails", scheduling={"disableRetries": True})
        scripted.advance(1_000)

        assert log_texts(scripted, job).count("Training has started.") == 1
        assert states(scripted, job)[-1] == "FAILED"

    @pytest.mark.parametrize("script", ["oom", "image", "internal", "stockout", "quota-fails", "fails", "segfault"])
    def test_the_first_answer_that_says_failed_says_why(self, scripted: Running, script: str) -> None:
        job = submit(scripted, script)
        for _ in range(4_000):
            scripted.advance(5)
            shown = document(scripted, job)
            if shown["state"] == "JOB_STATE_FAILED":
                break
            assert "error" not in shown

        assert {"code", "message"} <= set(shown["error"])
        assert shown["updateTime"] > shown["endTime"]

    def test_a_minute_of_tear_down_comes_before_it(self, scripted: Running) -> None:
        job = submit(scripted, "oom")
        scripted.advance(20 + 150 + 30 + 59)
        assert document(scripted, job)["state"] == "JOB_STATE_RUNNING"

        scripted.advance(2)

        assert document(scripted, job)["error"] == {
            "code": 8,
            "message": "Replicas low on memory: workerpool0. Specify a machine with larger memory and try again.",
        }

    def test_a_story_lets_the_error_come_late(self, scripted: Running) -> None:
        job = submit(scripted, "late-error")
        scripted.advance(20 + 150 + 30 + 60 + 59)
        assert document(scripted, job)["state"] == "JOB_STATE_FAILED"
        assert "error" not in document(scripted, job)

        scripted.advance(2)

        ended = document(scripted, job)
        assert ended["error"]["code"] == 8
        assert ended["updateTime"] > ended["endTime"]

    def test_an_evicted_worker_stays_on_its_machine(self, scripted: Running) -> None:
        job = submit(scripted, "evicted")
        scripted.advance(5_000)
        assert log_texts(scripted, job).count("Training has started.") == 3

        assert states(scripted, job) == [*WAITING, "RUNNING", "SUCCEEDED"]
        machines = {one["labels"].get("compute.googleapis.com/resource_name") for one in entries(scripted, job)}
        assert len(machines - {None}) == 1

    @pytest.mark.parametrize(
        ("script", "starts", "code", "words"),
        [
            ("segfault", 4, 3, "exited with a non-zero status of 139"),
            ("image", 0, 9, "does not have permission to access Artifact Registry repository projects/p/locations/us/"),
            ("internal", 3, 13, "Internal error occurred for the current attempt."),
            ("stockout", 0, 8, "Resources are insufficient in region: us-central1. Please try a different region."),
            ("quota-fails", 0, 8, "quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training"),
        ],
    )
    def test_ends_with_the_words_of_the_service(
        self, scripted: Running, script: str, starts: int, code: int, words: str
    ) -> None:
        job = submit(scripted, script)
        scripted.advance(100_000)
        error = document(scripted, job)["error"]

        assert error["code"] == code
        assert words in error["message"]
        assert log_texts(scripted, job).count("Training has started.") == starts

    def test_quota_can_refuse_the_request_itself(self, scripted: Running) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            submit(scripted, "quota")

        with refused.value:
            assert refused.value.code == 429
        assert scripted.call("GET", JOBS) == {}


class TestInterruptions:
    """Spot machines are reclaimed, others are maintained."""

    def test_a_preempted_job_goes_back_to_pending_and_on(self, scripted: Running) -> None:
        job = submit(scripted, "preempted", scheduling={"strategy": "SPOT"})
        scripted.advance(5_000)

        assert states(scripted, job) == ["PENDING", "QUEUED", *["PENDING", "RUNNING"] * 3, "SUCCEEDED"]
        assert sum(line.startswith("Terminated by service") for line in log_texts(scripted, job)) == 2

    def test_the_seventh_preemption_is_a_stockout(self, scripted: Running) -> None:
        job = submit(scripted, "always-preempted", scheduling={"strategy": "SPOT"})
        scripted.advance(10_000)

        assert facts(scripted, job)["preemptions"] == 7
        assert document(scripted, job)["error"]["message"].startswith("Resources are insufficient in region")

    def test_preemptions_and_stockouts_share_six_restarts(self, scripted: Running) -> None:
        job = submit(scripted, "always-preempted", scheduling={"strategy": "SPOT"})
        scripted.advance(20 + 150 + 5 + 30)
        scripted.call("POST", "/_emulator/capacity", {"spot": {"us-central1": {"cpu": 0}}})
        scripted.advance(30 + 300 + 10)  # reclaimed; none after half a minute, none after five more
        scripted.call("DELETE", "/_emulator/capacity")
        scripted.advance(10_000)

        told = facts(scripted, job)
        assert (told["preemptions"], told["stockouts"]) == (5, 2)
        assert document(scripted, job)["error"]["message"].startswith("Resources are insufficient in region")
        assert told["attempt"] == 7

    def test_only_the_worker_that_is_moved_gets_another_machine(self, scripted: Running) -> None:
        more = job_body()["jobSpec"]["workerPoolSpecs"][0]
        job = submit(scripted, "happy", pools=[more])
        scripted.advance(200)
        scripted.call("POST", "/_emulator/maintenance", {"job": job["name"], "replica": "workerpool1-0"})
        scripted.advance(5_000)

        machines = {
            name: {
                line["labels"]["compute.googleapis.com/resource_name"]
                for line in entries(scripted, job, f' AND resource.labels.task_name="{name}"')
            }
            for name in ("workerpool0-0", "workerpool1-0")
        }
        assert {name: len(found) for name, found in machines.items()} == {"workerpool0-0": 1, "workerpool1-0": 2}

    def test_only_spot_jobs_can_be_preempted_by_hand(self, scripted: Running) -> None:
        job = submit(scripted)
        scripted.advance(200)

        with pytest.raises(urllib.error.HTTPError) as refused:
            scripted.preempt(job["name"])

        refused.value.close()
        assert state(scripted, job) == "JOB_STATE_RUNNING"

    def test_preemption_by_hand_takes_effect_after_the_program_ended(self, scripted: Running) -> None:
        job = submit(scripted, scheduling={"strategy": 4})
        scripted.advance(200)
        scripted.preempt("a job")
        assert state(scripted, job) == "JOB_STATE_RUNNING"
        scripted.advance(3)

        assert state(scripted, job) == "JOB_STATE_PENDING"
        scripted.advance(5_000)
        assert state(scripted, job) == "JOB_STATE_SUCCEEDED"

    def test_maintenance_moves_a_worker_and_the_job_keeps_running(self, scripted: Running) -> None:
        job = submit(scripted, "maintenance")
        scripted.advance(5_000)

        assert states(scripted, job) == [*WAITING, "RUNNING", "SUCCEEDED"]
        assert log_texts(scripted, job).count("Training has started.") == 2

    def test_a_stop_signal_that_is_ignored_ends_in_a_kill(self, scripted: Running) -> None:
        job = submit(scripted, "stubborn")
        scripted.advance(200)
        scripted.call("POST", f"/v1/{job['name']}:cancel", {})
        scripted.advance(29)
        assert state(scripted, job) == "JOB_STATE_CANCELLING"
        scripted.advance(2)

        assert state(scripted, job) == "JOB_STATE_CANCELLED"


class TestCancel:
    """A cancellation is first requested, and takes effect later."""

    @pytest.mark.parametrize(
        ("after", "then"),
        [(0, "PENDING"), (1, "QUEUED"), (30, "PENDING"), (172, "CANCELLING"), (300, "CANCELLING")],
    )
    def test_ends_cancelled_with_error_code_one(self, scripted: Running, after: float, then: str) -> None:
        job = submit(scripted)
        scripted.advance(after)
        before = document(scripted, job)
        assert scripted.call("POST", f"/v1/{job['name']}:cancel", {}) == {}
        scripted.advance(1)
        assert state(scripted, job) == f"JOB_STATE_{then}"
        scripted.advance(9)
        ended = document(scripted, job)

        assert ended["state"] == "JOB_STATE_CANCELLED"
        assert ended["error"] == {"code": 1, "message": "CANCELED"}
        assert ended["endTime"] == ended["updateTime"]
        if then != "CANCELLING":
            assert ended.get("startTime") == before.get("startTime"), "a wait keeps its provisional start"

    @pytest.mark.parametrize(("script", "after"), [("cancel-races", 300), ("happy", 800)])
    def test_may_still_end_with_success(self, scripted: Running, script: str, after: float) -> None:
        job = submit(scripted, script)
        scripted.advance(after)
        scripted.call("POST", f"/v1/{job['name']}:cancel")
        scripted.advance(1_000)

        assert states(scripted, job)[-2:] == ["CANCELLING", "SUCCEEDED"]

    def test_twice_is_once(self, scripted: Running) -> None:
        job = submit(scripted)
        for _ in range(2):
            scripted.call("POST", f"/v1/{job['name']}:cancel", {})
        scripted.advance(100)

        assert states(scripted, job) == ["PENDING", "CANCELLED"]

    def test_of_a_finished_job_is_refused(self, scripted: Running) -> None:
        job = submit(scripted)
        scripted.advance(5_000)

        with pytest.raises(urllib.error.HTTPError) as refused:
            scripted.call("POST", f"/v1/{job['name']}:cancel", {})

        with refused.value:
            assert b"FAILED_PRECONDITION" in refused.value.read()

    def test_timeout_cancels(self, scripted: Running) -> None:
        job = submit(scripted, "long", scheduling={"timeout": "3600s"})
        scripted.advance(175 + 3_599)
        assert state(scripted, job) == "JOB_STATE_RUNNING"
        scripted.advance(100)

        assert document(scripted, job)["state"] == "JOB_STATE_CANCELLED"
        assert "timeout of 3600s" in document(scripted, job)["error"]["message"]
