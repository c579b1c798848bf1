"""Tests of gcloud and curl commands: flags, lists, worker pools, config files, shell quoting."""

import json
from typing import Any

import pytest

from jobs import importer
from jobs.spec import Severity
from tests.unit.importer.test_reading import codes, refused, spec_of

POOL = "machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/p/i"
START = "gcloud ai custom-jobs create --region=us-central1 --display-name=x"


EVERY_FLAG = f"""#!/bin/bash
PROJECT=vision
export NAME="my job"
gcloud beta ai custom-jobs create \\
  --project="$PROJECT" --region us-central1 \\
  --display-name="$NAME" \\
  --worker-pool-spec={POOL},accelerator-type=NVIDIA_TESLA_T4 \\
  --worker-pool-spec=machine-type=n1-highmem-2,replica-count=2,container-image-uri=gcr.io/p/j \\
  --command=python,train.py --args=--a=1 --args='^;^--b=1,2;--c' \\
  --labels=team=blue,run=3 --service-account=me@p.iam --network=n \\
  --persistent-resource-id=r --enable-web-access --no-enable-dashboard-access --kms-key=projects/k --quiet --async
"""


class TestGcloud:
    def test_reads_every_flag(self) -> None:
        reading = importer.read_text(EVERY_FLAG)

        container = {"command": ["python", "train.py"], "args": ["--a=1", "--b=1,2", "--c"]}
        assert refused(reading) == []
        assert reading.submission is not None
        assert (reading.submission.project, reading.submission.region) == ("vision", "us-central1")
        assert reading.body == {
            "displayName": "my job",
            "jobSpec": {
                "persistentResourceId": "r",
                "workerPoolSpecs": [
                    {
                        "containerSpec": {"imageUri": "gcr.io/p/i", **container},
                        "machineSpec": {
                            "machineType": "n1-standard-4",
                            "acceleratorType": "NVIDIA_TESLA_T4",
                            "acceleratorCount": 1,
                        },
                        "replicaCount": "1",
                    },
                    {
                        "containerSpec": {"imageUri": "gcr.io/p/j", **container},
                        "machineSpec": {"machineType": "n1-highmem-2"},
                        "replicaCount": "2",
                    },
                ],
                "serviceAccount": "me@p.iam",
                "network": "n",
                "enableWebAccess": True,
                "enableDashboardAccess": False,
            },
            "labels": {"team": "blue", "run": "3"},
            "encryptionSpec": {"kmsKeyName": "projects/k"},
        }

    def test_reads_python_packages(self) -> None:
        pool = "machine-type=n1-standard-4,executor-image-uri=e,python-module=a.b"

        pools = spec_of(importer.read_text(f"{START} --worker-pool-spec={pool} --python-package-uris=gs://a,gs://b"))

        assert pools["workerPoolSpecs"][0]["pythonPackageSpec"] == {
            "executorImageUri": "e",
            "packageUris": ["gs://a", "gs://b"],
            "pythonModule": "a.b",
        }
        assert pools["workerPoolSpecs"][0]["replicaCount"] == "1"

    def test_leaves_a_placeholder_for_code_on_a_disk(self) -> None:
        pool = "machine-type=m,executor-image-uri=e,local-package-path=.,script=task.py"

        reading = importer.read_text(f"{START} --worker-pool-spec={pool}")

        assert tuple(reading.placeholders) == ("jobSpec.workerPoolSpecs[0].containerSpec.imageUri",)
        assert codes(reading)["local_code"] == 1
        assert refused(reading) == []

    @pytest.mark.parametrize(
        ("flags", "code", "words"),
        [
            ("--displayname=x", "unknown_flag", "--display-name"),
            ("--worker-pool-spec=machine_type=n1,container-image-uri=x", "unknown_key", "machine-type"),
            ("--worker-pool-spec=container-image-uri=x", "no_machine", "machine-type"),
            ("--worker-pool-spec=machine-type=m", "no_image", "one"),
            (
                "--worker-pool-spec=machine-type=m,container-image-uri=x,executor-image-uri=y",
                "two_images",
                "exactly one",
            ),
            ("--worker-pool-spec=machine-type=m,container-image-uri=x,accelerator-count=1", "no_accelerator", "both"),
            ("--worker-pool-spec=machine-type", "no_pair", "name=value"),
            ("--args=a", "not_carried", "config"),
            ("--config=job.yaml", "config_elsewhere", "job.yaml"),
            ("--service-account", "flag_without_value", "no value"),
        ],
    )
    def test_refuses_what_gcloud_would_refuse(self, flags: str, code: str, words: str) -> None:
        reading = importer.read_text(f"{START} \\\n  {flags}")

        found = next(finding for finding in reading.findings if finding.code == code)
        assert found.line == 2
        assert found.severity is Severity.ERROR
        assert words in found.message + found.remedy

    def test_gives_the_line_inside_a_long_word(self) -> None:
        reading = importer.read_text(
            f'{START} --worker-pool-spec="machine-type=m,\\\ncontainer-image-uri=x,\\\nreplicas=2"'
        )

        assert codes(reading)["unknown_key"] == 3

    @pytest.mark.parametrize(
        "text",
        [
            "cat > job.yaml <<EOF\nnetwork: n\nscheduling: {strategy: SPOT}\nEOF\n"
            + START
            + " --config=job.yaml --network=m",
            START + " --network=m --config=/dev/stdin <<'EOF'\nnetwork: n\nscheduling: {strategy: SPOT}\nEOF\n",
        ],
    )
    def test_reads_the_config_that_the_same_text_holds(self, text: str) -> None:
        reading = importer.read_text(text)

        assert refused(reading) == []
        assert reading.body == {"displayName": "x", "jobSpec": {"scheduling": {"strategy": "SPOT"}, "network": "m"}}
        assert reading.line_of("jobSpec.scheduling.strategy") == 3

    def test_reads_a_config_file_beside_it(self) -> None:
        files = {"job.yaml": "scheduling: {strategy: SPOT}\nbogus: 1\n"}

        reading = importer.read_text(f"{START} --config job.yaml", files=files)

        assert spec_of(reading) == {"scheduling": {"strategy": "SPOT"}, "bogus": 1}
        assert codes(reading)["unknown_field"] == 1

    def test_reads_tuning_jobs(self) -> None:
        text = "gcloud ai hp-tuning-jobs create --display-name=t --max-trial-count=9 --algorithm=grid-search --config=-"

        reading = importer.read_text(text + " <<E\nstudySpec: {metrics: []}\ntrialJobSpec: {network: n}\nE\n")

        assert reading.body == {
            "displayName": "t",
            "studySpec": {"metrics": [], "algorithm": "GRID_SEARCH"},
            "maxTrialCount": 9,
            "parallelTrialCount": 1,
            "trialJobSpec": {"network": "n"},
        }

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("--display-name='a \"b\"'", 'a "b"'),
            ('--display-name="a \\"b\\" $X"', 'a "b" ${X}'),
            ("--display-name=$'a\\nb\\u00e9\\'c'", "a\nbé'c"),
            ("--display-name=a\\ b", "a b"),
            ("--display-name=run-$(date +%s)", "run-${date +%s}"),
            ("--display-name=${N:-plain}", "plain"),
            ("--display-name <NAME>", "<NAME>"),
        ],
    )
    def test_splits_words_as_a_shell_does(self, text: str, name: str) -> None:
        reading = importer.read_text(f"$ gcloud ai custom-jobs create {text} --worker-pool-spec={POOL} # done")

        assert reading.body["displayName"] == name
        assert refused(reading) == []

    def test_finds_a_command_inside_a_substitution(self) -> None:
        reading = importer.read_text(f"set -e\nJOB=$({START} \\\n --worker-pool-spec={POOL} --format='value(name)')\n")

        assert reading.body["displayName"] == "x"
        assert reading.line_of("jobSpec.workerPoolSpecs[0]") == 3


class TestCurl:
    BODY: dict[str, Any] = {"displayName": "it's", "jobSpec": {"network": "n"}}
    URL = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/customJobs"

    @pytest.mark.parametrize("how", ["inline", "document", "file"])
    def test_reads_the_body_and_the_address(self, how: str) -> None:
        text = json.dumps(self.BODY, indent=1)
        commands = {
            "inline": f"curl -X POST -H 'A: b' \\\n {self.URL} -d \"{text.replace(chr(34), chr(92) + chr(34))}\"",
            "document": f"curl {self.URL} --data-binary @- <<'EOF'\n{text}\nEOF\n",
            "file": f'cat <<EOF > request.json\n{text}\nEOF\ncurl -d @request.json "{self.URL}"\n',
        }

        reading = importer.read_text(commands[how])

        assert reading.format == "curl"
        assert reading.body == self.BODY
        assert reading.submission is not None
        assert (reading.submission.project, reading.submission.region) == ("p", "us-central1")

    def test_names_the_file_of_a_body_that_is_elsewhere(self) -> None:
        assert refused(importer.read_text(f"curl -d @request.json {self.URL}")) == ["config_elsewhere"]
