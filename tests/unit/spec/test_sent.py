"""Tests of the comparison of a body with the job that Vertex AI has."""

from typing import Any

import pytest

from jobs.spec.sent import find_differences
from tests.support import samples

FOLDER = "gs://runs/resnet/run-2026-03-02-090000"


def with_spec(**fields: Any) -> dict[str, Any]:
    body = samples.body()
    return body | {"jobSpec": body["jobSpec"] | fields}


def with_pool(**fields: Any) -> dict[str, Any]:
    pool = samples.body()["jobSpec"]["workerPoolSpecs"][0]
    return with_spec(workerPoolSpecs=[pool | fields])


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (samples.body(), with_pool(replicaCount=1, diskSpec={"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100})),
        (samples.body(), samples.body() | {"name": "projects/1", "state": "JOB_STATE_QUEUED", "error": {"code": 8}}),
        (samples.body(), samples.body() | {"labels": {"trainboard_job": "1", "trainboard_instance": "site"}}),
        (with_spec(enableWebAccess=False, tensorboard=""), samples.body()),
        (with_spec(network="projects/mine/global/networks/n"), with_spec(network="projects/12/global/networks/n")),
        (
            with_spec(baseOutputDirectory={"outputUriPrefix": FOLDER}),
            with_spec(baseOutputDirectory={"outputUriPrefix": f"{FOLDER.replace('09', '17')}/"}),
        ),
        (samples.body(), {"name": "projects/1", "labels": {}, "displayName": "a list leaves the body out"}),
    ],
)
def test_what_vertex_ai_fills_in_or_renames_does_not_differ(sent: dict[str, Any], found: dict[str, Any]) -> None:
    assert find_differences("custom_job", sent, found) == []


@pytest.mark.parametrize(
    ("found", "field"),
    [
        (samples.body(name="other"), "displayName"),
        (samples.body(labels={"run": "1"}), "labels[run]"),
        (with_pool(replicaCount="2"), "jobSpec.workerPoolSpecs[0].replicaCount"),
        (with_pool(diskSpec={"bootDiskSizeGb": 200}), "jobSpec.workerPoolSpecs[0].diskSpec.bootDiskSizeGb"),
        (with_spec(network="projects/1/global/networks/n"), "jobSpec.network"),
        (with_spec(scheduling={"timeout": "60s", "strategy": "SPOT"}), "jobSpec.scheduling.timeout"),
    ],
)
def test_every_other_field_does(found: dict[str, Any], field: str) -> None:
    assert [row.field for row in find_differences("custom_job", samples.body(), found)] == [field]


def test_the_folder_of_the_run_differs_if_asked() -> None:
    sent = with_spec(baseOutputDirectory={"outputUriPrefix": FOLDER})
    found = with_spec(baseOutputDirectory={"outputUriPrefix": f"{FOLDER.replace('09', '17')}/"})

    (row,) = find_differences("custom_job", sent, found, with_run_folder=True)

    assert row.field == "jobSpec.baseOutputDirectory.outputUriPrefix"
