"""Tests that a submission gives the same view of every kind of job."""

import pytest

from jobs.spec import Submission, read, rest_body

POOLS = [
    {"machineSpec": {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 2}},
    {},
    {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 4},
]
TUNED = {"maxTrialCount": 20, "parallelTrialCount": 50, "trialJobSpec": {"workerPoolSpecs": POOLS}}
BODIES = {
    "custom_job": {"displayName": "a", "jobSpec": {"workerPoolSpecs": POOLS}},
    "hyperparameter_tuning_job": {"displayName": "a", **TUNED},
    "training_pipeline": {"displayName": "a", "trainingTaskInputs": {"workerPoolSpecs": POOLS}},
}


def submission(kind: str, body: object) -> Submission:
    return Submission(kind=kind, project="p", region="us-central1", job=read(kind, body)[0])


@pytest.mark.parametrize("kind", BODIES)
def test_shows_pools_machines_and_paths_whatever_the_kind(kind: str) -> None:
    shown = submission(kind, BODIES[kind])

    assert [index for index, _ in shown.pools] == [0, 2]
    assert shown.machines_summary == "1 × n1-standard-8 (2 × NVIDIA_TESLA_T4) + 4 × n1-standard-4"
    assert shown.display_name == "a"
    assert shown.pool_path(2, "replicaCount").endswith("workerPoolSpecs[2].replicaCount")


@pytest.mark.parametrize(
    ("kind", "body", "path"),
    [
        ("custom_job", BODIES["custom_job"], "jobSpec"),
        ("hyperparameter_tuning_job", BODIES["hyperparameter_tuning_job"], "trialJobSpec"),
        ("training_pipeline", BODIES["training_pipeline"], "trainingTaskInputs"),
        ("training_pipeline", {"trainingTaskInputs": {"studySpec": {}, **TUNED}}, "trainingTaskInputs.trialJobSpec"),
    ],
)
def test_changes_the_spec_where_it_lies(kind: str, body: object, path: str) -> None:
    before = submission(kind, body)

    after = before.with_job_spec(before.job_spec.but(service_account="robot"))

    found = rest_body(after.job)
    for part in path.split("."):
        found = found[part]
    assert before.spec_path == path
    assert found["serviceAccount"] == "robot"
    assert found["workerPoolSpecs"][1] == {}


def test_counts_trials_of_tuning_jobs_only() -> None:
    tuned = submission("training_pipeline", {"trainingTaskInputs": {"studySpec": {}, **TUNED}})

    assert (tuned.trials, tuned.parallel_trials) == (20, 20)
    assert (submission("custom_job", {}).trials, submission("custom_job", {}).parallel_trials) == (1, 1)
    assert submission("hyperparameter_tuning_job", {"maxTrialCount": -3}).trials == 1


def test_says_so_when_there_are_no_machines_and_stays_short() -> None:
    many = {"jobSpec": {"workerPoolSpecs": [{"machineSpec": {"machineType": "m" * 300}}]}}

    assert submission("training_pipeline", {}).machines_summary == "no machines"
    assert len(submission("custom_job", many).machines_summary) == 200
