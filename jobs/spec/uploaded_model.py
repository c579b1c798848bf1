"""Model: uploaded by a training pipeline when it succeeds.

`explanationSpec`, `baseModelSource` and `modelSourceInfo` describe serving. They are passed on as JSON, and Vertex AI
checks them. Source: google-cloud-aiplatform 2.7.0, types/model.py, read 2026-11-21.
"""

from typing import Annotated

from jobs.spec.fields import OUTPUT, Duration, Flag, Free, FreeObject, Int32, Int64, Message, Moment, Text
from jobs.spec.worker_pool import EncryptionSpec, EnvVar


class Port(Message):
    """A port of the serving container."""

    container_port: Int32 = 0


class ExecAction(Message):
    """A command whose exit code 0 means healthy."""

    command: tuple[Text, ...] = ()


class HttpHeader(Message):
    """A header that a probe sends."""

    name: Text = ""
    value: Text = ""


class HttpGetAction(Message):
    """A GET whose success means healthy."""

    path: Text = ""
    port: Int32 = 0
    host: Text = ""
    scheme: Text = ""
    http_headers: tuple[HttpHeader, ...] = ()


class GrpcAction(Message):
    """A gRPC health check."""

    port: Int32 = 0
    service: Text = ""


class TcpSocketAction(Message):
    """A port that must accept connections."""

    port: Int32 = 0
    host: Text = ""


class Probe(Message):
    """A health check of the serving container; times in seconds."""

    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    grpc: GrpcAction | None = None
    tcp_socket: TcpSocketAction | None = None
    period_seconds: Int32 = 0
    timeout_seconds: Int32 = 0
    failure_threshold: Int32 = 0
    success_threshold: Int32 = 0
    initial_delay_seconds: Int32 = 0


class ModelContainerSpec(Message):
    """The container that serves the model."""

    image_uri: Text = ""
    command: tuple[Text, ...] = ()
    args: tuple[Text, ...] = ()
    env: tuple[EnvVar, ...] = ()
    ports: tuple[Port, ...] = ()
    predict_route: Text = ""
    health_route: Text = ""
    invoke_route_prefix: Text = ""
    grpc_ports: tuple[Port, ...] = ()
    deployment_timeout: Duration | None = None
    shared_memory_size_mb: Int64 = 0
    startup_probe: Probe | None = None
    health_probe: Probe | None = None
    liveness_probe: Probe | None = None


class PredictSchemata(Message):
    """The addresses of the schemas of instances, parameters and predictions."""

    instance_schema_uri: Text = ""
    parameters_schema_uri: Text = ""
    prediction_schema_uri: Text = ""


class Model(Message):
    """A model to upload; without `artifact_uri` it is read from the job's AIP_MODEL_DIR."""

    name: Annotated[Text, OUTPUT] = ""
    version_id: Annotated[Text, OUTPUT] = ""
    version_aliases: tuple[Text, ...] = ()
    version_create_time: Annotated[Moment | None, OUTPUT] = None
    version_update_time: Annotated[Moment | None, OUTPUT] = None
    display_name: Text = ""
    description: Text = ""
    version_description: Text = ""
    default_checkpoint_id: Text = ""
    predict_schemata: PredictSchemata | None = None
    metadata_schema_uri: Text = ""
    metadata: Free = None
    supported_export_formats: Annotated[tuple[FreeObject, ...], OUTPUT] = ()
    training_pipeline: Annotated[Text, OUTPUT] = ""
    pipeline_job: Text = ""
    container_spec: ModelContainerSpec | None = None
    artifact_uri: Text = ""
    supported_deployment_resources_types: Annotated[tuple[Text, ...], OUTPUT] = ()
    supported_input_storage_formats: Annotated[tuple[Text, ...], OUTPUT] = ()
    supported_output_storage_formats: Annotated[tuple[Text, ...], OUTPUT] = ()
    create_time: Annotated[Moment | None, OUTPUT] = None
    update_time: Annotated[Moment | None, OUTPUT] = None
    deployed_models: Annotated[tuple[FreeObject, ...], OUTPUT] = ()
    explanation_spec: FreeObject | None = None
    etag: Text = ""
    labels: dict[Text, Text] = {}
    data_stats: Annotated[FreeObject | None, OUTPUT] = None
    encryption_spec: EncryptionSpec | None = None
    model_source_info: Annotated[FreeObject | None, OUTPUT] = None
    original_model_info: Annotated[FreeObject | None, OUTPUT] = None
    metadata_artifact: Annotated[Text, OUTPUT] = ""
    base_model_source: FreeObject | None = None
    satisfies_pzs: Annotated[Flag, OUTPUT] = False
    satisfies_pzi: Annotated[Flag, OUTPUT] = False
    checkpoints: Annotated[tuple[FreeObject, ...], OUTPUT] = ()
