"""Tests that permissions are listed for what a job really uses, each with its source."""

from typing import Any

import pytest
from hypothesis import given

from jobs.strategies import STRATEGIES, permissions_of
from jobs.strategies.permissions import AGENT, CALLER, CODE_AGENT, JOB_ACCOUNT, NEEDS
from tests.unit.strategies.cases import ANY, KMS, NET, PACKAGE, PR, RESERVED, SA, TB, C, W, Y, submission
from tests.unit.strategies.test_side_by_side import JOBS, submitted

ALWAYS = {(CALLER, "roles/aiplatform.user"), (CALLER, "roles/logging.viewer")}
OUTPUT = {(CODE_AGENT, "roles/storage.objectAdmin")}
IMAGE = {(CODE_AGENT, "roles/artifactregistry.reader")}
FOREIGN = {"jobSpec.serviceAccount": "robot@other.iam.gserviceaccount.com"}
PSC = {
    "jobSpec.pscInterfaceConfig": {
        "networkAttachment": "projects/n/regions/us-central1/networkAttachments/a",
        "dnsPeeringConfigs": [{"domain": "a.b.", "targetProject": "dns", "targetNetwork": "n"}],
    }
}


def told(kind: str = "custom_job", changes: dict[str, Any] | None = None) -> set[tuple[str, str]]:
    return {(each.who, each.role) for each in permissions_of(submission(kind, changes or {}))}


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, set()),
        ({f"{C}.imageUri": "us-docker.pkg.dev/other/r/i:1"}, IMAGE),
        (NET, {(CALLER, "roles/compute.networkUser")}),
        (PSC, {(AGENT, "roles/compute.networkAdmin"), (AGENT, "roles/dns.peer")}),
        ({"encryptionSpec.kmsKeyName": KMS}, {(AGENT, "roles/cloudkms.cryptoKeyEncrypterDecrypter")}),
        (RESERVED, {("Vertex AI", "")}),
        (ANY, {("Vertex AI", "")}),
        (PR, set()),
        ({"jobSpec.enableWebAccess": True}, {("Whoever opens the interactive shell", "roles/aiplatform.user")}),
        ({C: None, Y: PACKAGE}, {(CODE_AGENT, "roles/storage.objectViewer")}),
    ],
)
def test_a_job_needs_what_it_uses(changes: dict[str, Any], more: set[tuple[str, str]]) -> None:
    assert told(changes={k: v for k, v in changes.items() if v is not None}) >= ALWAYS | OUTPUT | more
    if not changes:
        assert told() == ALWAYS | OUTPUT


def test_a_service_account_is_who_reads_and_writes() -> None:
    own = {(CALLER, "roles/iam.serviceAccountUser"), (JOB_ACCOUNT, "roles/storage.objectAdmin")}

    assert told(changes=SA) == ALWAYS | own
    assert told(changes=FOREIGN) == ALWAYS | own | {(AGENT, "roles/iam.serviceAccountTokenCreator")}
    assert told(changes=SA | TB) >= {(JOB_ACCOUNT, "roles/aiplatform.user"), (JOB_ACCOUNT, "roles/storage.admin")}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("custom_job", "customJobs"),
        ("hyperparameter_tuning_job", "hyperparameterTuningJobs"),
        ("training_pipeline", "trainingPipelines"),
    ],
)
def test_the_permissions_are_those_of_the_kind(kind: str, name: str) -> None:
    first = permissions_of(submission(kind, {}))[0]

    verbs = ("create", "get", "list", "cancel", "delete")
    assert first.permissions == tuple(f"aiplatform.{name}.{verb}" for verb in verbs)
    assert first.where == "project p"


def test_what_is_shared_is_named_once_and_the_rest_is_counted() -> None:
    pools = {f"jobSpec.workerPoolSpecs[{at}]": {"containerSpec": {"imageUri": "gcr.io/b/i"}} for at in range(2)}
    twice = [each.where for each in permissions_of(submission("custom_job", pools)) if each.role.endswith(".reader")]
    uris = [f"gs://bucket-{at}/x" for at in range(6)]
    packed = submission("custom_job", {f"{W}.pythonPackageSpec": PACKAGE | {"packageUris": uris}})
    many = [each.where for each in permissions_of(packed) if each.role.endswith(".objectViewer")]

    assert twice == ["the repository in project b"]
    assert many == ["bucket bucket-0, bucket bucket-1, bucket bucket-2, bucket bucket-3 and 2 more"]


def test_a_strategy_takes_its_own_needs_with_it() -> None:
    reserved = submission("custom_job", RESERVED)

    assert "Vertex AI" in {each.who for each in permissions_of(reserved)}
    assert "Vertex AI" not in {each.who for each in permissions_of(STRATEGIES["spot"].apply(reserved))}


@given(JOBS)
def test_any_job_has_its_needs_with_sources(drawn: tuple[str, dict[str, Any]]) -> None:
    found = permissions_of(submitted(drawn))

    assert len(found) == len(set(found)) <= len(NEEDS)
    assert all(each.where and each.source and each.read >= "2026" for each in found)
    assert all("{" not in name for each in found for name in each.permissions)
