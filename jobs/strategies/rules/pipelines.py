"""Rules about training pipelines: the task, the data, the uploaded model."""

import re
from collections.abc import Iterator

from jobs.spec import CUSTOM_TASK, TUNING_TASK, Severity, Submission, TrainingPipeline, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.addresses import FOLDER, storage_problem
from jobs.strategies.rules.names import MAX_DISPLAY_NAME
from jobs.strategies.sources import API, PIPELINE
from jobs.texts import translatable as _

MODEL_ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}", re.ASCII)
SPLITS = ("fraction_split", "filter_split", "predefined_split", "timestamp_split", "stratified_split")
ROUNDING = 1e-9


def _pipelines(submission: Submission) -> Iterator[TrainingPipeline]:
    if isinstance(submission.job, TrainingPipeline):
        yield submission.job


@rule(Severity.ERROR, PIPELINE)
def pipeline_names_its_task(submission: Submission) -> Iterator[Problem]:
    """A pipeline names the definition of its task and gives the inputs."""
    for job in _pipelines(submission):
        wanted = TUNING_TASK if submission.tuning is not None else CUSTOM_TASK
        if not job.training_task_definition:
            yield Problem(
                "trainingTaskDefinition", _("The pipeline names no task."), _("Set %(wanted)s.", wanted=wanted)
            )
        if job.training_task_inputs is None:
            yield Problem("trainingTaskInputs", _("The pipeline has no inputs for its task."), _("Give worker pools."))


@rule(Severity.ERROR, API)
def model_id_is_valid(submission: Submission) -> Iterator[Problem]:
    """A model id has at most 63 characters: small letters, digits, _ and -, with no digit or hyphen first."""
    for job in _pipelines(submission):
        if job.model_id and not MODEL_ID.fullmatch(job.model_id):
            message = _("%(id)s is no model id.", id=quoted(job.model_id))
            yield Problem(
                "modelId", message, _("Use at most 63 lowercase letters, digits, _ and -, starting with a letter.")
            )


@rule(Severity.ERROR, API)
def data_is_split_in_one_way(submission: Submission) -> Iterator[Problem]:
    """A dataset is named, is split in at most one way and exported to at most one place."""
    for job in _pipelines(submission):
        data = job.input_data_config
        if data is None:
            continue
        if not data.dataset_id:
            yield Problem(
                "inputDataConfig.datasetId", _("No dataset is named."), _("Give its id, or remove inputDataConfig.")
            )
        if sum(getattr(data, name) is not None for name in SPLITS) > 1:
            yield Problem("inputDataConfig", _("The data is split in more than one way."), _("Keep one split."))
        if data.gcs_destination is not None and data.bigquery_destination is not None:
            yield Problem("inputDataConfig", _("The data is exported to two places."), _("Keep one destination."))


@rule(Severity.ERROR, API)
def exported_data_is_in_cloud_storage(submission: Submission) -> Iterator[Problem]:
    """Data that a pipeline exports to Cloud Storage goes to a folder there."""
    for job in _pipelines(submission):
        data = job.input_data_config
        if data is not None and data.gcs_destination is not None:
            field, prefix = "inputDataConfig.gcsDestination.outputUriPrefix", data.gcs_destination.output_uri_prefix
            yield from storage_problem(field, prefix, FOLDER)


@rule(Severity.ERROR, API)
def split_fractions_are_fractions(submission: Submission) -> Iterator[Problem]:
    """The fractions of a split are not negative and at most 1 together."""
    for job in _pipelines(submission):
        data = job.input_data_config
        splits = (
            {
                "fractionSplit": data.fraction_split,
                "timestampSplit": data.timestamp_split,
                "stratifiedSplit": data.stratified_split,
            }
            if data is not None
            else {}
        )
        for name, split in splits.items():
            if split is None:
                continue
            parts = (split.training_fraction, split.validation_fraction, split.test_fraction)
            if min(parts) < 0 or sum(parts) > 1 + ROUNDING:
                message = _(
                    "The fractions %(parts)s are not between 0 and 1, or add up to more than 1.",
                    parts=", ".join(map(str, parts)),
                )
                yield Problem(f"inputDataConfig.{name}", message, _("Let them be at least 0 and at most 1 together."))


@rule(Severity.ERROR, API)
def uploaded_model_is_named(submission: Submission) -> Iterator[Problem]:
    """A model to upload has a display name of at most 128 characters."""
    for job in _pipelines(submission):
        model = job.model_to_upload
        if model is not None and not 1 <= len(model.display_name) <= MAX_DISPLAY_NAME:
            message = _("The display name of the model is missing.")
            if model.display_name:
                message = _(
                    "The display name of the model is longer than %(limit)s characters.", limit=MAX_DISPLAY_NAME
                )
            yield Problem("modelToUpload.displayName", message, _("Name it."))


@rule(Severity.NOTE, API)
def uploaded_model_comes_from_somewhere(submission: Submission) -> Iterator[Problem]:
    """A model to upload lies in the job's output directory or at an address of its own, and names what serves it."""
    for job in _pipelines(submission):
        model = job.model_to_upload
        if model is None:
            continue
        if not model.artifact_uri and not submission.job_spec.base_output_directory.output_uri_prefix:
            yield Problem(
                submission.spec_field("baseOutputDirectory.outputUriPrefix"),
                _("A model is to be uploaded, but neither baseOutputDirectory nor artifactUri is set."),
                _("Give baseOutputDirectory and save the model to AIP_MODEL_DIR."),
            )
        if model.container_spec is None or not model.container_spec.image_uri:
            message = _("The model to upload names no serving container.")
            yield Problem("modelToUpload.containerSpec.imageUri", message, _("Give its image."))


@rule(Severity.ERROR, API)
def probes_check_in_one_way(submission: Submission) -> Iterator[Problem]:
    """A health probe of the uploaded model checks in at most one way."""
    for job in _pipelines(submission):
        container = job.model_to_upload.container_spec if job.model_to_upload is not None else None
        if container is None:
            continue
        probes = {"startupProbe": container.startup_probe, "healthProbe": container.health_probe}
        for name, probe in (probes | {"livenessProbe": container.liveness_probe}).items():
            ways = (probe.exec, probe.http_get, probe.grpc, probe.tcp_socket) if probe is not None else ()
            if sum(way is not None for way in ways) > 1:
                field = f"modelToUpload.containerSpec.{name}"
                yield Problem(
                    field,
                    _("%(name)s checks in more than one way.", name=name),
                    _("Keep one of exec, httpGet, grpc, tcpSocket."),
                )


RULES = (
    pipeline_names_its_task,
    model_id_is_valid,
    data_is_split_in_one_way,
    exported_data_is_in_cloud_storage,
    split_fractions_are_fractions,
    uploaded_model_is_named,
    uploaded_model_comes_from_somewhere,
    probes_check_in_one_way,
)
