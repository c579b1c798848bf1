"""Tests of `webAccessUris`, the addresses of shells of running replicas."""

from typing import Any

import pytest

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body
from tests.unit.emulator.test_studies import STUDIES, get, study_body

WORKERS = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "2"}


def job(emulator: Running, **more: Any) -> dict[str, Any]:
    """A job of three replicas that has run for a moment."""
    pool = WORKERS | {"containerSpec": {"imageUri": "i", "command": ["true"]}}
    made: dict[str, Any] = emulator.call("POST", JOBS, job_body(["true"], pools=[pool], **more))
    assert "webAccessUris" not in made
    emulator.advance(200)
    shown = get(emulator, made)
    assert shown["state"] == "JOB_STATE_RUNNING"
    return shown


class TestJobs:
    """Custom jobs."""

    def test_one_for_each_replica_while_the_job_runs(self, scripted: Running) -> None:
        shown = job(scripted, enableWebAccess=True)
        uris = shown["webAccessUris"]

        assert list(uris) == ["workerpool0-0", "workerpool1-0", "workerpool1-1"]
        assert len(set(uris.values())) == 3
        assert all(uri.startswith("https://") and ".invalid" in uri for uri in uris.values())
        assert scripted.call("GET", JOBS)["customJobs"][0]["webAccessUris"] == uris
        scripted.advance(5_000)
        assert get(scripted, shown)["state"] == "JOB_STATE_SUCCEEDED"
        assert "webAccessUris" not in get(scripted, shown)

    @pytest.mark.parametrize(
        ("asked", "names"), [({}, None), ({"enableDashboardAccess": True}, ["workerpool0-0"]), ({"network": "n"}, None)]
    )
    def test_none_for_a_job_that_did_not_ask(self, scripted: Running, asked: dict[str, Any], names: Any) -> None:
        found = job(scripted, **asked).get("webAccessUris")
        assert (list(found) if found else None) == names

    def test_others_after_a_preemption(self, scripted: Running) -> None:
        labels = {"emulator_script": "preempted"}
        shown = job(scripted, enableWebAccess=True, labels=labels, scheduling={"strategy": "SPOT"})
        scripted.advance(120)
        assert get(scripted, shown)["state"] == "JOB_STATE_PENDING"
        assert "webAccessUris" not in get(scripted, shown)
        scripted.advance(200)

        again = get(scripted, shown)["webAccessUris"]
        assert set(again) == set(shown["webAccessUris"])
        assert set(again.values()).isdisjoint(shown["webAccessUris"].values())


class TestTrials:
    """Hyperparameter tuning jobs."""

    def test_a_trial_that_runs_has_those_of_its_job(self, scripted: Running) -> None:
        made = scripted.call("POST", STUDIES, study_body(job={"enableWebAccess": True}))
        assert "trials" not in made
        scripted.advance(200)
        trials = get(scripted, made)["trials"]

        assert [list(trial["webAccessUris"]) for trial in trials] == [["workerpool0-0"]] * 2
        for trial in trials:
            assert trial["webAccessUris"] == get(scripted, {"name": trial["customJob"]})["webAccessUris"]
        assert "trials" not in scripted.call("GET", STUDIES)["hyperparameterTuningJobs"][0]
        scripted.advance(10_000)
        assert all("webAccessUris" not in trial for trial in get(scripted, made)["trials"])
