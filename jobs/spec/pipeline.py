"""TrainingPipeline: a custom or tuning task with an optional managed dataset and uploaded model.

Source: google-cloud-aiplatform 2.7.0, types/training_pipeline.py and types/pipeline_state.py, read 2026-11-21.
"""

import re
from collections.abc import Iterable
from typing import Annotated

from jobs.spec.custom_job import CustomJobSpec, GcsDestination
from jobs.spec.fields import OUTPUT, Flag, Free, Kind, Message, Moment, Number, Text, enum
from jobs.spec.tuning_job import TuningTaskInputs
from jobs.spec.uploaded_model import Model
from jobs.spec.worker_pool import EncryptionSpec, Status

PIPELINE_STATES = enum(
    *(
        f"PIPELINE_STATE_{name}"
        for name in "UNSPECIFIED QUEUED PENDING RUNNING SUCCEEDED FAILED CANCELLING CANCELLED PAUSED".split()
    )
)
DEFINITIONS = "gs://google-cloud-aiplatform/schema/trainingjob/definition/"
TUNING_FIELDS = frozenset({"studySpec", "study_spec", "trialJobSpec", "trial_job_spec"})
CUSTOM_TASK = DEFINITIONS + "custom_task_1.0.0.yaml"
TUNING_TASK = DEFINITIONS + "hyperparameter_tuning_task_1.0.0.yaml"
TASK = re.compile(r"(custom|hyperparameter_tuning)_task_[0-9.]{1,20}\.yaml", re.ASCII)


def task_of(definition: str) -> str:
    """Return "custom" or "hyperparameter_tuning", the task that a `trainingTaskDefinition` names; "" for any other."""
    found = TASK.fullmatch(definition.rpartition("/")[2])
    return found[1] if found else ""


def is_tuning_task(definition: str, field_names: Iterable[str]) -> bool:
    """Return whether the inputs of a pipeline's task are for a tuning task.

    `trainingTaskDefinition` decides. If it names neither task, the fields of the inputs decide.
    """
    task = task_of(definition)
    return task == "hyperparameter_tuning" or (not task and not TUNING_FIELDS.isdisjoint(field_names))


TaskInputs = Annotated[CustomJobSpec | TuningTaskInputs | None, Kind("task", lambda value: value)]


class FractionSplit(Message):
    """Split the data at random; fractions of 1."""

    training_fraction: Number = 0.0
    validation_fraction: Number = 0.0
    test_fraction: Number = 0.0


class FilterSplit(Message):
    """Split the data by filters."""

    training_filter: Text = ""
    validation_filter: Text = ""
    test_filter: Text = ""


class PredefinedSplit(Message):
    """Split the data by a column that names the part."""

    key: Text = ""


class TimestampSplit(Message):
    """Split the data by time; fractions of 1."""

    training_fraction: Number = 0.0
    validation_fraction: Number = 0.0
    test_fraction: Number = 0.0
    key: Text = ""


class StratifiedSplit(Message):
    """Split the data so that each part has the same mixture; fractions of 1."""

    training_fraction: Number = 0.0
    validation_fraction: Number = 0.0
    test_fraction: Number = 0.0
    key: Text = ""


class BigQueryDestination(Message):
    """A BigQuery project, dataset or table."""

    output_uri: Text = ""


class InputDataConfig(Message):
    """A managed dataset, its split and its export destination."""

    fraction_split: FractionSplit | None = None
    filter_split: FilterSplit | None = None
    predefined_split: PredefinedSplit | None = None
    timestamp_split: TimestampSplit | None = None
    stratified_split: StratifiedSplit | None = None
    gcs_destination: GcsDestination | None = None
    bigquery_destination: BigQueryDestination | None = None
    dataset_id: Text = ""
    annotations_filter: Text = ""
    annotation_schema_uri: Text = ""
    saved_query_id: Text = ""
    persist_ml_use_assignment: Flag = False


class TrainingPipeline(Message):
    """A pipeline; Trainboard supports custom training and tuning tasks."""

    name: Annotated[Text, OUTPUT] = ""
    display_name: Text = ""
    input_data_config: InputDataConfig | None = None
    training_task_definition: Text = ""
    training_task_inputs: TaskInputs = None
    training_task_metadata: Annotated[Free, OUTPUT] = None
    model_to_upload: Model | None = None
    model_id: Text = ""
    parent_model: Text = ""
    state: Annotated[str, *PIPELINE_STATES, OUTPUT] = "PIPELINE_STATE_UNSPECIFIED"
    error: Annotated[Status | None, OUTPUT] = None
    create_time: Annotated[Moment | None, OUTPUT] = None
    start_time: Annotated[Moment | None, OUTPUT] = None
    end_time: Annotated[Moment | None, OUTPUT] = None
    update_time: Annotated[Moment | None, OUTPUT] = None
    labels: dict[Text, Text] = {}
    encryption_spec: EncryptionSpec | None = None
