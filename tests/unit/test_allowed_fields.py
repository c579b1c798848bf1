"""Tests that closed lists see every field of Google's schema that names a destination or an identity.

Source: the discovery document of aiplatform v1 in google-api-python-client. A field that Google adds is in neither list
below, so that somebody has to decide about it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import googleapiclient
import pytest

from jobs import spec
from jobs.allowed_resources import Allowed, check, check_resource

pytestmark = pytest.mark.sdk

PREFIX = "GoogleCloudAiplatformV1"
ROOTS = {
    "CustomJob": "custom_job",
    "HyperparameterTuningJob": "hyperparameter_tuning_job",
    "TrainingPipeline": "training_pipeline",
    "PersistentResource": "persistent_resource",
}
OURS = "vision-research"
CHECKED = {
    "BigQueryDestination.outputUri": "bq://of-others.set",
    "CustomJobSpec.experiment": "projects/of-others/locations/l/metadataStores/default/contexts/e",
    "CustomJobSpec.experimentRun": "projects/of-others/locations/l/metadataStores/default/contexts/e",
    "CustomJobSpec.network": "projects/1/global/networks/theirs",
    "CustomJobSpec.serviceAccount": "powerful@of-others.iam.gserviceaccount.com",
    "CustomJobSpec.tensorboard": "projects/of-others/locations/us-central1/tensorboards/1",
    "DnsPeeringConfig.targetNetwork": "theirs",
    "DnsPeeringConfig.targetProject": "of-others",
    "EncryptionSpec.kmsKeyName": "projects/of-others/locations/l/keyRings/r/cryptoKeys/k",
    "GcsDestination.outputUriPrefix": "gs://theirs/x",
    "LustreMount.instanceIp": "10.0.0.9",
    "LustreMount.mountPoint": "data",
    "LustreMount.volumeHandle": "theirs",
    "NfsMount.mountPoint": "data",
    "NfsMount.server": "10.0.0.9",
    "PersistentResource.network": "projects/1/global/networks/theirs",
    "PscInterfaceConfig.networkAttachment": "projects/of-others/regions/r/networkAttachments/a",
    "ServiceAccountSpec.serviceAccount": "powerful@of-others.iam.gserviceaccount.com",
    "TrainingPipeline.parentModel": "projects/of-others/locations/us-central1/models/1",
}
"""A value of each field that no team of these tests may use."""
MOUNTS = {"mountPoint": "data"}
BESIDE = {"LustreMount.instanceIp": MOUNTS, "LustreMount.volumeHandle": MOUNTS, "NfsMount.server": MOUNTS}
"""What a message needs beside the field."""
FREE = set(
    """ContainerSpec.args ContainerSpec.command CustomJob.labels EnvVar.name EnvVar.value HyperparameterTuningJob.labels
    Model.labels ModelContainerSpec.args ModelContainerSpec.command PersistentResource.labels ProbeExecAction.command
    PythonPackageSpec.args TrainingPipeline.labels""".split()
)
"""The person's own: a program may reach what its account can access."""
READ = set(
    """ContainerSpec.imageUri CustomJobSpec.models ExplanationMetadata.featureAttributionsSchemaUri GcsSource.uris
    GenieSource.baseModelUri InputDataConfig.annotationSchemaUri InputDataConfig.datasetId InputDataConfig.savedQueryId
    Model.artifactUri Model.metadataSchemaUri Model.pipelineJob ModelContainerSpec.imageUri
    ModelGardenSource.publicModelName ModelGardenSource.versionId PredictSchemata.instanceSchemaUri
    PredictSchemata.parametersSchemaUri PredictSchemata.predictionSchemaUri PythonPackageSpec.executorImageUri
    PythonPackageSpec.packageUris RaySpec.imageUri RaySpec.resourcePoolImages""".split()
)
"""Only read, with the rights of the account."""
WITHIN = set(
    """CustomJobSpec.persistentResourceId CustomJobSpec.reservedIpRanges CustomJobSpec.protectedArtifactLocationId
    DnsPeeringConfig.domain LustreMount.filesystem NfsMount.path PersistentResource.reservedIpRanges
    RaySpec.headNodeResourcePoolId ReservationAffinity.key ReservationAffinity.values ResourcePool.id
    TrainingPipeline.modelId TrainingPipeline.trainingTaskDefinition TrainingPipeline.trainingTaskInputs""".split()
)
"""Names within the job's own project, within a network or server that is checked, or of a task that is read."""
PLAIN = set(
    """CustomJob.displayName DiskSpec.bootDiskType Examples.nearestNeighborSearchConfig
    ExplanationMetadata.inputs ExplanationMetadata.latentSpaceSource ExplanationMetadata.outputs
    ExplanationMetadataInputMetadata.denseShapeTensorName ExplanationMetadataInputMetadata.encodedBaselines
    ExplanationMetadataInputMetadata.encodedTensorName ExplanationMetadataInputMetadata.groupName
    ExplanationMetadataInputMetadata.indexFeatureMapping ExplanationMetadataInputMetadata.indicesTensorName
    ExplanationMetadataInputMetadata.inputBaselines ExplanationMetadataInputMetadata.inputTensorName
    ExplanationMetadataInputMetadata.modality ExplanationMetadataOutputMetadata.displayNameMappingKey
    ExplanationMetadataOutputMetadata.indexDisplayNameMapping ExplanationMetadataOutputMetadata.outputTensorName
    ExplanationParameters.outputIndices FeatureNoiseSigmaNoiseSigmaForFeature.name FilterSplit.testFilter
    FilterSplit.trainingFilter FilterSplit.validationFilter HyperparameterTuningJob.displayName
    InputDataConfig.annotationsFilter MachineSpec.gpuPartitionSize MachineSpec.machineType MachineSpec.tpuTopology
    Model.defaultCheckpointId Model.description Model.displayName Model.etag Model.metadata Model.name
    Model.versionAliases Model.versionDescription ModelContainerSpec.healthRoute ModelContainerSpec.invokeRoutePrefix
    ModelContainerSpec.predictRoute PersistentResource.displayName PersistentResource.name PredefinedSplit.key
    ProbeGrpcAction.service ProbeHttpGetAction.host ProbeHttpGetAction.path ProbeHttpGetAction.scheme
    ProbeHttpHeader.name ProbeHttpHeader.value ProbeTcpSocketAction.host PythonPackageSpec.pythonModule
    StratifiedSplit.key StudySpecConvexAutomatedStoppingSpec.learningRateParameterName StudySpecMetricSpec.metricId
    StudySpecParameterSpec.parameterId StudySpecParameterSpecCategoricalValueSpec.defaultValue
    StudySpecParameterSpecCategoricalValueSpec.values
    StudySpecParameterSpecConditionalParameterSpecCategoricalValueCondition.values TimestampSplit.key
    TrainingPipeline.displayName""".split()
)
"""No name of anything in Google Cloud."""
OUTPUT = set(
    """Checkpoint.checkpointId DeployedModelRef.checkpointId DeployedModelRef.deployedModelId DeployedModelRef.endpoint
    GoogleRpcStatus.details GoogleRpcStatus.message""".split()
)
"""Only in answers."""
Step = tuple[str, bool]
"""A field, and whether it is a list."""


def schemas() -> dict[str, Any]:
    path = Path(googleapiclient.__file__).parent / "discovery_cache/documents/aiplatform.v1.json"
    found: dict[str, Any] = json.loads(path.read_text())["schemas"]
    return found


def text_fields() -> Iterator[tuple[str, str, tuple[Step, ...]]]:
    """Yield (field with its message, kind of the request, way to the message) of every text that a request may have."""
    known, seen = schemas(), set()
    waiting: list[tuple[str, str, tuple[Step, ...]]] = [(PREFIX + name, kind, ()) for name, kind in ROOTS.items()]
    while waiting:
        name, kind, way = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for field, described in known[name].get("properties", {}).items():
            one, is_list = described, described.get("type") == "array"
            while one.get("type") == "array":
                one = one["items"]
            is_map = "additionalProperties" in one
            if "$ref" in one or "$ref" in one.get("additionalProperties", {}):
                next_name = one.get("$ref") or one["additionalProperties"]["$ref"]
                waiting.append((next_name, kind, (*way, (field, is_list))))
            is_text = one.get("type") == "string" and "enum" not in one and "format" not in one
            if (is_text or is_map or one.get("type") == "any") and not described.get("readOnly"):
                yield f"{name.removeprefix(PREFIX)}.{field}", kind, way


FIELDS = {field: (kind, way) for field, kind, way in text_fields()}


def test_somebody_has_decided_about_every_text_field() -> None:
    lists = (set(CHECKED), FREE, READ, WITHIN, PLAIN, OUTPUT)

    assert set().union(*lists) == set(FIELDS)
    assert sum(map(len, lists)) == len(FIELDS), "a field is in two lists"


@pytest.mark.parametrize("field", CHECKED)
def test_closed_lists_see_each_field_that_names_a_destination_or_an_identity(field: str) -> None:
    kind, way = FIELDS[field]
    inner: Any = {field.partition(".")[2]: CHECKED[field]} | BESIDE.get(field, {})
    for name, is_list in reversed(way):
        inner = {name: [inner] if is_list else inner}
    if kind == "training_pipeline":
        inner |= {"trainingTaskDefinition": spec.CUSTOM_TASK, "trainingTaskInputs": {}}
    found, findings = spec.read(kind, inner)
    assert not findings
    allowed = Allowed(frozenset({OURS}), service_accounts=frozenset({"none"}), is_closed=True)

    if kind == "persistent_resource":
        refused = check_resource(spec.rest_body(found), allowed)
    else:
        refused = check(spec.Submission(kind, OURS, "us-central1", found), allowed)

    (only,) = refused
    assert only.code.endswith("_not_allowed")
