"""Tests of texts in other languages: read if they contain a command or a document."""

import pytest

from jobs import importer
from tests.unit.importer.test_reading import codes, refused, spec_of

POOL = "machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/p/i"
COMMAND = f"gcloud ai custom-jobs create --region=us-central1 --display-name=x --worker-pool-spec={POOL}"
OBJECT = "{\n  displayName: 'x',\n  jobSpec: {workerPoolSpecs: makePools()},\n};\n"


@pytest.mark.parametrize(
    "text",
    [
        "package main\n\nfunc send() {\n\tjob := &pb.CustomJob{}\n}\n",
        "import com.acme.Train;\n\nclass A { CustomJob job; }\n",
        "using Acme.Train;\n\nvar job = new CustomJob { };\n",
        f"const job = {OBJECT}",
        'locals {\n  job = jsonencode({ workerPoolSpecs = [] })\n}\nresource "a" "b" {}\n',
        "library(train)\n\nx <- make(worker_pool_specs = TRUE, 1L)\n",
        'display_name: "x"\njob_spec {\n  worker_pool_specs {\n  }\n}\n',
    ],
)
def test_refuses_programs_in_other_languages(text: str) -> None:
    reading = importer.read_text(text)

    assert reading.submission is None
    assert refused(reading)


def test_reads_a_command_in_quotes() -> None:
    text = 'resource "null_resource" "a" {\n  provisioner "local-exec" {\n    command = "' + COMMAND
    reading = importer.read_text(text + ' --args=\\"--a b\\""\n  }\n}\n')

    assert refused(reading) == []
    assert reading.form == "a gcloud command, in quotes"
    assert spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["args"] == ["--a b"]
    assert reading.line_of("displayName") == 3


def test_reads_a_document_in_a_document() -> None:
    text = (
        'resource "google_workflows_workflow" "a" {\n  source_contents = <<-EOT\n    main:\n      steps:\n'
        "      - train:\n          call: http.post\n"
        "          args:\n            body:\n              displayName: bird\n"
        "              jobSpec:\n                workerPoolSpecs:\n"
        "                - machineSpec: {machineType: n1-standard-4}\n                  replicaCount: 1\n"
        "                  containerSpec: {imageUri: gcr.io/p/i}\n  EOT\n}\n"
    )
    reading = importer.read_text(text)

    assert refused(reading) == []
    assert reading.body["displayName"] == "bird"
    assert reading.line_of("jobSpec.workerPoolSpecs[0].replicaCount") == 13


@pytest.mark.parametrize("dash", ["\u2013", "\u2014", "\u2013-", "-\u2013"])
def test_a_dash_of_an_editor_is_refused_and_read_as_a_flag(dash: str) -> None:
    reading = importer.read_text(COMMAND.replace("--display-name", f"{dash}display-name"))

    assert refused(reading) == ["odd_dash"]
    assert reading.body["displayName"] == "x"


def test_gives_the_line_of_the_second_job_of_a_list() -> None:
    one = '{"displayName": "a", "jobSpec": {"workerPoolSpecs": [{"machineSpec": {"machineType": "n1-standard-4"}}]}}'
    reading = importer.read_text(f"[{one},\n{one}]")

    assert reading.body["displayName"] == "a"
    assert codes(reading)["further_job"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "gcloud ai-platform jobs submit training night --region=us-central1 --scale-tier=custom -- --epochs=3\n",
        "jobId: j\ntrainingInput:\n  scaleTier: CUSTOM\n  masterConfig: {imageUri: gcr.io/p/i}\n",
    ],
)
def test_converts_jobs_of_ai_platform_training(text: str) -> None:
    reading = importer.read_text(text)

    assert "converted" in codes(reading)
    assert reading.body["jobSpec"]["workerPoolSpecs"]
