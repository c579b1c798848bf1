"""Tests of the catalogue and its claims: no claim holds without a sign of it, and no answer breaks a check."""

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import conformance
from jobs.conformance import EXPERIMENTS, Recording, Site
from jobs.conformance.lab import LABEL, RESOURCE
from jobs.conformance.recording import Answer

SITE = Site("apollo-research", "us-central1", "apollo-data", "r12345678", "image", "e2-highmem-2")
BEGAN = datetime(2026, 11, 26, 12, tzinfo=UTC)
STATES = ("PENDING", "QUEUED", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")
METHODS = ("customJobs", "hyperparameterTuningJobs", "trainingPipelines")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("2026-11-26T12:00:00.150000Z"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
FIELDS = st.sampled_from(
    ["state", "startTime", "endTime", "updateTime", "createTime", "error", "trials", "name", "customJobs", "entries",
     "resourcePools", "response", "done", "trainingTaskMetadata"]
)  # fmt: skip


def recording() -> Recording:
    """Return a recording in which every experiment has the same long story, in every kind of job."""
    found = Recording({"speed": 1})
    for experiment in EXPERIMENTS:
        for kind in METHODS:
            for index, state in enumerate(STATES):
                body = {"name": "projects/PROJECT/locations/us-central1/customJobs/ID-1", "state": f"JOB_STATE_{state}"}
                body |= {"createTime": "2026-11-26T12:00:00.000000Z", "startTime": "2026-11-26T12:00:09Z"}
                method, step = (f"{kind}.get", "poll") if index else (f"{kind}.create", "create")
                at = BEGAN + timedelta(seconds=index)
                found.answers.append(Answer(experiment.name, step, method, "path", {}, 200, at, body))
        line = {"timestamp": "2026-11-26T12:00:09Z", "insertId": "1", "textPayload": "Job is running."}
        line["resource"] = {"labels": {"task_name": "service"}}
        found.answers.append(Answer(experiment.name, "log", "entries.list", "", {}, 200, BEGAN, {"entries": [line]}))
    return found


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_every_job_has_a_timeout_and_the_label_of_its_run(experiment: conformance.Experiment) -> None:
    planned = experiment.plan(SITE)

    assert planned
    for each in planned:
        body: dict[str, Any] = dict(each.body)
        assert body["labels"] == {LABEL: SITE.run}
        if each.kind == RESOURCE:
            continue
        spec = body.get("jobSpec") or body.get("trialJobSpec") or body["trainingTaskInputs"]
        assert 0 < float(spec["scheduling"]["timeout"].removesuffix("s")) <= each.timeout_seconds
        assert each.timeout_seconds <= 3_600


def test_names_are_unique() -> None:
    names = [(each.name, claim.name) for each in EXPERIMENTS for claim in each.claims]

    assert len(names) == len(set(names))
    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS)


def test_nothing_holds_if_every_call_fails() -> None:
    broken = recording()
    body = {"error": {"code": 500, "message": "Internal error encountered.", "status": "INTERNAL"}}
    broken.answers = [replace(each, status=500, body=body) for each in broken.answers]

    outcomes = {f"{name}/{claim.name}": outcome.result for name, claim, outcome in check_claim(broken)}

    assert [name for name, outcome in outcomes.items() if outcome == "holds"] == []


def test_nothing_is_observed_without_answers() -> None:
    outcomes = [outcome for _, _, outcome in check_claim(Recording())]

    assert {(each.result, each.evidence) for each in outcomes} == {("not observed", "The experiment was not run.")}


def test_claims_about_time_are_not_observed_at_another_speed() -> None:
    fast = recording()
    fast.about["speed"] = 30

    timed = [outcome.result for _, claim, outcome in check_claim(fast) if claim.is_timed]

    assert len(timed) >= 8
    assert set(timed) == {"not observed"}


@given(st.data())
def test_no_answer_breaks_a_check(data: st.DataObject) -> None:
    odd = recording()
    experiment = data.draw(st.sampled_from(EXPERIMENTS))
    index = data.draw(st.sampled_from([i for i, each in enumerate(odd.answers) if each.experiment == experiment.name]))
    body = copy.deepcopy(dict(odd.answers[index].body)) | data.draw(st.dictionaries(FIELDS, VALUES, max_size=4))
    odd.answers[index] = replace(odd.answers[index], body=body, status=data.draw(st.sampled_from([200, 400, 503])))

    assert len(check_claim(odd)) > len(EXPERIMENTS)
    list(odd.rows())


def check_claim(found: Recording) -> list[tuple[str, Any, Any]]:
    """Return the outcomes on all claims."""
    return list(conformance.check_all(found, EXPERIMENTS))
