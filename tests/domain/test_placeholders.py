"""Tests that no entry point accepts placeholders: each is filled in or confirmed, and confirmations are recorded."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, JobEvent, Team
from tests.domain.test_jobspec import Ran

PROGRAM = """
from google.cloud import aiplatform
args = parse()
job = aiplatform.CustomJob(display_name="x", worker_pool_specs=[{
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "us-docker.pkg.dev/p/r/i:1", FIELD},
}])
job.run()
"""
SPEC = """
workerPoolSpecs:
- machineSpec: {machineType: n1-standard-4}
  replicaCount: 1
  containerSpec:
    imageUri: us-docker.pkg.dev/p/r/i:1
    FIELD
"""
UNRESOLVED = (
    '"args": ["--key=" + args.wandb_key]',
    '"args": [f"--key={get_key()}"]',
    '"args": [args.wandb_key]',
    '"command": ["python", args.script]',
    '"command": ["bash", "-c", f"python train.py --key {args.key}"]',
    '"command": ["bash", "-c", f"python train.py --key {key}"]',
    '"env": [{"name": "WANDB", "value": args.wandb_key}]',
    '"env": [{"name": "WANDB", "value": secrets.get()}]',
)
MARKS = (
    *("$NAME", "--flag=$NAME", "YOUR_KEY", "--data=your-bucket", "gs://MODEL_BUCKET/x", "DATASET_ID"),
    *("CUSTOM_CONTAINER_COMMAND", "CUSTOM_CONTAINER_ARGS", "PYTHON_PACKAGE_ARGS", "<the bucket>", "[SQUARE]"),
    *("{{ mustache }}", "gcr.io/PROJECT_ID/x", "--nfs=NFS_IP_ADDRESS", "${X}", "$(UNKNOWN)"),
)


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def refused(path: str) -> None:
    ran = Ran("submit", path, "--as", "owner")
    assert (ran.code, Job.objects.count()) == (1, 0), ran.out
    assert "placeholder" in ran.err
    assert Ran("check", path).code == 1


@pytest.mark.parametrize("field", UNRESOLVED)
def test_what_a_program_leaves_open_is_refused(tmp_path: Path, team: Team, owner: User, field: str) -> None:
    refused(written(tmp_path, "train.py", PROGRAM.replace("FIELD", field)))


@pytest.mark.parametrize("field", ["args: [{}]", "command: [{}]", "env: [{{name: A, value: {}}}]"])
@pytest.mark.parametrize("mark", MARKS)
def test_marks_are_refused_in_every_text_of_a_program(
    tmp_path: Path, team: Team, owner: User, field: str, mark: str
) -> None:
    refused(written(tmp_path, "train.yaml", SPEC.replace("FIELD", field.format(json.dumps(mark)))))


@pytest.mark.parametrize(
    "pool",
    [
        "nfsMounts: [{server: NFS_IP_ADDRESS, path: /a, mountPoint: b}]",
        'pythonPackageSpec: {executorImageUri: "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest", '
        "packageUris: ['gs://b/x.tar.gz'], pythonModule: PYTHON_MODULE}",
    ],
)
def test_marks_are_refused_in_other_fields(tmp_path: Path, team: Team, owner: User, pool: str) -> None:
    text = SPEC.replace("    FIELD\n", f"  {pool}\n")
    if "pythonPackageSpec" in pool:
        text = text.replace("  containerSpec:\n    imageUri: us-docker.pkg.dev/p/r/i:1\n", "")

    refused(written(tmp_path, "train.yaml", text))


@pytest.mark.parametrize("value", ["INFO", "SPOT", "NVIDIA_TESLA_T4", "ON_DEMAND", "ALL", "--out=$(AIP_MODEL_DIR)"])
def test_legal_values_in_capitals_are_none(tmp_path: Path, team: Team, owner: User, value: str) -> None:
    fields = f"args: ['{value}']\n    env: [{{name: MODEL_NAME, value: '{value}'}}]"

    ran = Ran("submit", written(tmp_path, "train.yaml", SPEC.replace("FIELD", fields)), "--as", "owner")

    assert ran.code == 0, ran.err


def test_what_the_container_s_shell_resolves_is_none(tmp_path: Path, team: Team, owner: User) -> None:
    script = "for i in 1 2; do echo $i $(hostname) $AIP_MODEL_DIR ${CLUSTER_SPEC} ${N:-1} $OWN; done"
    fields = f"command: [bash, -c, '{script}']\n    env: [{{name: OWN, value: a}}]"

    ran = Ran("submit", written(tmp_path, "train.yaml", SPEC.replace("FIELD", fields)), "--as", "owner")

    assert ran.code == 0, ran.err


def test_a_confirmed_value_is_taken_and_recorded(tmp_path: Path, team: Team, owner: User) -> None:
    path = written(tmp_path, "train.yaml", SPEC.replace("FIELD", "args: ['DATASET_ID', '--x=$Y']"))

    assert Ran("submit", path, "--as", "owner", "--confirm", "DATASET_ID").code == 1
    assert Ran("check", path, "--confirm", "DATASET_ID", "--confirm=--x=$Y").code == 0
    assert Ran("submit", path, "--as", "owner", "--confirm", "DATASET_ID", "--confirm=--x=$Y").code == 0

    findings = JobEvent.objects.get(kind="judged").detail["findings"]
    said = [each["message"] for each in findings if each["code"] == "confirmed_values_are_recorded"]
    assert len(said) == 2
    assert all("was confirmed as the real value" in message for message in said)


def test_a_number_cannot_be_confirmed(tmp_path: Path, team: Team, owner: User) -> None:
    path = written(
        tmp_path, "train.yaml", SPEC.replace("    FIELD\n", "").replace("replicaCount: 1", "replicaCount: $N")
    )

    assert Ran("submit", path, "--as", "owner", "--confirm", "$N").code == 1


def test_a_placeholder_of_the_place_is_replaced_by_the_command_line(tmp_path: Path, team: Team, owner: User) -> None:
    command = (
        "gcloud ai custom-jobs create --project=PROJECT_ID --region=LOCATION --display-name=x "
        "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=us-docker.pkg.dev/p/r/i:1\n"
    )
    path = written(tmp_path, "run.sh", command)

    assert Ran("check", path, "--region", "us-central1").code == 0
    assert Ran("submit", path, "--as", "owner", "--region", "us-central1", "--project", team.project).code == 0
