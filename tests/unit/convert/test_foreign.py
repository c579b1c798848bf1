"""Texts of other languages: named where they make a job, read where they only carry a command or a document."""

import pytest

from jobs import convert
from tests.unit.convert.test_reading import codes, refused, spec_of

POOL = "machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/p/i"
COMMAND = f"gcloud ai custom-jobs create --region=us-central1 --display-name=x --worker-pool-spec={POOL}"
OBJECT = "{\n  displayName: 'x',\n  jobSpec: {workerPoolSpecs: makePools()},\n};\n"


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("package main\n\nfunc send() {\n\tjob := &pb.CustomJob{}\n}\n", "Go", 4),
        ("import com.acme.Train;\n\nclass A { CustomJob job; }\n", "Java", 3),
        ("using Acme.Train;\n\nvar job = new CustomJob { };\n", "C#", 3),
        (f"const job = {OBJECT}", "JavaScript", 3),
        ('locals {\n  job = jsonencode({ workerPoolSpecs = [] })\n}\nresource "a" "b" {}\n', "Terraform", 2),
        ("library(train)\n\nx <- make(worker_pool_specs = TRUE, 1L)\n", "R", 3),
        ('display_name: "x"\njob_spec {\n  worker_pool_specs {\n  }\n}\n', "protobuf's text format", 3),
    ],
)
def test_names_the_language(text: str, name: str, line: int) -> None:
    reading = convert.read_text(text)

    assert refused(reading) == ["other_language"]
    assert reading.findings[-1].message.startswith(f"This is {name},")
    assert codes(reading)["other_language"] == line


def test_reads_a_command_in_quotes() -> None:
    text = 'resource "null_resource" "a" {\n  provisioner "local-exec" {\n    command = "' + COMMAND
    reading = convert.read_text(text + ' --args=\\"--a b\\""\n  }\n}\n')

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
    reading = convert.read_text(text)

    assert refused(reading) == []
    assert reading.body["displayName"] == "bird"
    assert reading.line_of("jobSpec.workerPoolSpecs[0].replicaCount") == 13


@pytest.mark.parametrize("dash", ["\u2013", "\u2014", "\u2013-", "-\u2013"])
def test_a_dash_of_an_editor_is_said_and_read_as_a_flag(dash: str) -> None:
    reading = convert.read_text(COMMAND.replace("--display-name", f"{dash}display-name"))

    assert refused(reading) == ["odd_dash"]
    assert reading.body["displayName"] == "x"


def test_says_where_the_second_job_of_a_list_begins() -> None:
    one = '{"displayName": "a", "jobSpec": {"workerPoolSpecs": [{"machineSpec": {"machineType": "n1-standard-4"}}]}}'
    reading = convert.read_text(f"[{one},\n{one}]")

    assert reading.body["displayName"] == "a"
    assert codes(reading)["further_job"] == 2


def test_python_is_never_another_language() -> None:
    text = 'SHOWN = """\njob_spec {\n  worker_pool_specs {\n"""\n'

    assert refused(convert.read_text(text)) == ["no_job"]


def test_a_page_is_never_another_language() -> None:
    text = "# Jobs\n\n```java\nimport com.acme.Train;\nCustomJob job;\n```\n"

    assert "other_language" not in refused(convert.read_text(text))
