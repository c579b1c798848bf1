"""Tests of field paths: from names and indexes to text and back, to the parent, and from Google's spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.spec.paths import join, json_path, steps, upward

NAMES = st.from_regex(r"[a-z][A-Za-z]{0,12}", fullmatch=True)


@given(st.lists(NAMES | st.integers(0, 500), max_size=8))
def test_steps_are_what_a_path_was_made_of(parts: list[str | int]) -> None:
    path = ""
    for part in parts:
        path = f"{path}[{part}]" if isinstance(part, int) else join(path, part)

    assert steps(path) == parts


@given(st.text(max_size=60))
def test_any_text_has_steps(text: str) -> None:
    assert all(isinstance(step, str | int) for step in steps(text))
    assert upward(text) == sorted(upward(text), key=len, reverse=True)


def test_upward_leads_to_the_first_name() -> None:
    assert upward("jobSpec.workerPoolSpecs[0].replicaCount") == [
        "jobSpec.workerPoolSpecs[0].replicaCount",
        "jobSpec.workerPoolSpecs[0]",
        "jobSpec.workerPoolSpecs",
        "jobSpec",
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("labels[my.team]", ["labels", "my.team"]),
        ("args[12]", ["args", 12]),
        ("workerPoolSpecs[].env", ["workerPoolSpecs", "", "env"]),
    ],
)
def test_entries_of_mappings_have_names(path: str, found: list[str | int]) -> None:
    assert steps(path) == found


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("custom_job.job_spec.worker_pool_specs[0].machine_spec", "jobSpec.workerPoolSpecs[0].machineSpec"),
        (" study_spec.metrics[1].metric_id", "studySpec.metrics[1].metricId"),
        ("displayName", "displayName"),
    ],
)
def test_google_s_names_become_those_of_the_body(field: str, path: str) -> None:
    assert json_path(field) == path


@pytest.mark.parametrize("text", ["9" * 10, "9" * 5_000, "٣"])
def test_only_short_numbers_are_indexes(text: str) -> None:
    assert steps(f"labels[{text}]") == ["labels", text]
