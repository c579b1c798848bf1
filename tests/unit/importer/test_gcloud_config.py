"""Tests of how gcloud's flags change the worker pools of a config file, and of findings about a missing file."""

import pytest

from jobs import importer, strategies
from jobs.spec import Severity
from tests.unit.importer.test_commands import START
from tests.unit.importer.test_reading import codes, refused, spec_of

CONFIG = """workerPoolSpecs:
- machineSpec: {machineType: n1-standard-4}
  replicaCount: 1
  containerSpec: {imageUri: gcr.io/p/i, args: [--old]}
- machineSpec: {machineType: n1-standard-4}
  replicaCount: 2
  pythonPackageSpec: {executorImageUri: gcr.io/p/e, pythonModule: a.b, packageUris: [gs://bucket/p]}
"""
TUNING = "gcloud ai hp-tuning-jobs create --region=us-central1 --display-name=x"


def judged(reading: importer.Reading) -> list[str]:
    assert reading.submission is not None
    found = reading.with_rules(strategies.check(reading.submission))
    return [finding.code for finding in found if finding.severity is Severity.ERROR]


def test_args_and_command_replace_those_of_the_config_in_every_pool() -> None:
    text = f"{START} --command=python --args=--a=1,--b --config=- <<'EOF'\n{CONFIG}EOF\n"

    reading = importer.read_text(text)

    container, package = spec_of(reading)["workerPoolSpecs"]
    assert refused(reading) == []
    assert container["containerSpec"] == {"imageUri": "gcr.io/p/i", "command": ["python"], "args": ["--a=1", "--b"]}
    assert package["pythonPackageSpec"]["args"] == ["--a=1", "--b"]
    assert "command" not in package["pythonPackageSpec"]


def test_of_a_config_that_is_elsewhere_only_the_file_is_missed() -> None:
    reading = importer.read_text(f"{START} --args=--a=1 --config=job.yaml")

    assert judged(reading) == ["config_elsewhere"]


def test_of_a_tuning_config_that_is_elsewhere_only_the_file_is_missed() -> None:
    reading = importer.read_text(f"{TUNING} --config=job.yaml")

    assert judged(reading) == ["config_elsewhere"]
    assert "count_assumed" not in codes(reading)


@pytest.mark.parametrize("flag", ["--args=--a=1", "--command=python", "--worker-pool-spec=machine-type=n1-standard-4"])
def test_tuning_jobs_take_no_flags_of_pools(flag: str) -> None:
    reading = importer.read_text(f"{TUNING} {flag} --config=job.yaml")

    found = next(finding for finding in reading.findings if finding.code == "unknown_flag")
    assert "trialJobSpec" in found.remedy


def test_accelerators_may_be_written_as_gcloud_s_choices() -> None:
    pool = "machine-type=n1-standard-4,accelerator-type=nvidia-tesla-t4,container-image-uri=gcr.io/p/i"

    reading = importer.read_text(f"{START} --worker-pool-spec={pool}")

    assert spec_of(reading)["workerPoolSpecs"][0]["machineSpec"]["acceleratorType"] == "NVIDIA_TESLA_T4"


@pytest.mark.parametrize(
    "region", ["{REGION}", "YOUR REGION", "#", "<region>", "your-region", "my-location", "${REGION}"]
)
def test_a_placeholder_for_the_region_is_no_wrong_region(region: str) -> None:
    pool = "machine-type=n1-standard-4,container-image-uri=gcr.io/p/{IMAGE}"

    reading = importer.read_text(f'gcloud ai custom-jobs create "--region={region}" --worker-pool-spec={pool}')

    assert "region_trains" not in judged(reading)
    assert spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["imageUri"] == "gcr.io/p/{IMAGE}"


def test_a_pool_may_be_a_placeholder_whole() -> None:
    reading = importer.read_text(f"{START} --worker-pool-spec={{POOL}}")

    assert "no_pair" not in codes(reading)
    assert "placeholder" in codes(reading)


def test_rules_are_silent_about_what_could_not_be_read() -> None:
    machine = "a2-highgpu-1g, acceleratorType: nvidia-a1000, acceleratorCount: 1}"

    reading = importer.read_text(CONFIG.replace("n1-standard-4}", machine), name="x", region="us-central1")

    assert judged(reading) == []  # an approver decides
    assert {each.code for each in reading.findings if each.severity is Severity.ERROR} == {"unknown_value"}


def test_keys_that_people_make_up_are_read_as_what_they_mean() -> None:
    reading = importer.read_text(f"{START} --worker-pool-spec=machine-type=n1-standard-4,custom-image-uri=gcr.io/p/i")

    assert refused(reading) == ["unknown_key"]
    assert spec_of(reading)["workerPoolSpecs"][0]["containerSpec"] == {"imageUri": "gcr.io/p/i"}


def test_an_answer_as_google_s_pages_show_it_is_a_custom_job() -> None:
    spec = CONFIG.replace("\n", "\n  ")
    text = f"name: projects/p/locations/l/customJobs/1\ndisplayName: x\ntrainingTaskInputs:\n  {spec}"

    reading = importer.read_text(text, region="us-central1")

    assert reading.kind == "custom_job"
    assert judged(reading) == []
    assert codes(reading)["shown_otherwise"] == 3


def test_names_the_files_that_it_used_and_those_that_it_misses() -> None:
    text = "gcloud ai custom-jobs create --config=a.yaml\ngcloud ai custom-jobs create --config=b.yaml\n"

    reading = importer.read_text(text, files={"jobs/a.yaml": "workerPoolSpecs: []\n", "c.yaml": ""})

    assert reading.used_files == {"jobs/a.yaml"}
    assert reading.missing_files == {"b.yaml"}


def test_a_command_at_the_head_does_not_hide_what_is_wrong_below_it() -> None:
    reading = importer.read_text(f"# {START} --config=job.yaml\n{CONFIG}  bad: [unclosed")

    finding = next(each for each in reading.findings if each.severity is Severity.ERROR)
    assert finding.code == "unreadable_yaml"
    assert finding.line is not None
    assert finding.line > CONFIG.count("\n")
