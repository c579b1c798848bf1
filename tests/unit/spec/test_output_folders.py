"""Tests of the output folders of runs."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.models import Schedule
from jobs.requests.schedules import submission_of
from jobs.spec import GcsDestination, Submission, with_own_folder
from tests.support import samples

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def job_in(folder: str) -> Submission:
    job = samples.submission()
    return job.with_job_spec(job.job_spec.but(base_output_directory=GcsDestination(output_uri_prefix=folder)))


@pytest.mark.parametrize("folder", ["gs://b/nightly", "gs://b/nightly/", "gs://b/nightly/run-2026-03-01-120000"])
def test_a_run_has_a_folder_of_its_own_beside_those_of_others(folder: str) -> None:
    run = with_own_folder(job_in(folder), NOON)

    assert run.job_spec.base_output_directory.output_uri_prefix == "gs://b/nightly/run-2026-03-02-120000"


def test_each_run_of_a_schedule_has_its_own() -> None:
    body = samples.body()
    body["jobSpec"]["baseOutputDirectory"] = {"outputUriPrefix": "gs://b/nightly"}
    row = Schedule(
        kind="custom_job", spec=body, name="nightly", time_zone="UTC", project="vision", region="us-central1"
    )

    first, second = (submission_of(row, NOON + timedelta(days=day)).job_spec for day in (0, 1))

    assert first.base_output_directory.output_uri_prefix == "gs://b/nightly/run-2026-03-02-120000"
    assert second.base_output_directory.output_uri_prefix == "gs://b/nightly/run-2026-03-03-120000"


def test_a_job_without_a_folder_gets_none() -> None:
    assert with_own_folder(samples.submission(), NOON) == samples.submission()


def test_runs_are_identical_jobs_whatever_their_folder() -> None:
    assert with_own_folder(job_in("gs://b/nightly"), NOON).digest == job_in("gs://b/nightly").digest
    assert job_in("gs://b/other").digest != job_in("gs://b/nightly").digest
