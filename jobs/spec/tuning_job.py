"""HyperparameterTuningJob: many trials of one CustomJobSpec.

Source: google-cloud-aiplatform 2.7.0, types/hyperparameter_tuning_job.py, read 2026-11-21; the inputs of the tuning
task of a pipeline are the same fields (Agent Platform documentation, "Create training pipelines").
"""

from typing import Annotated

from jobs.spec.custom_job import JOB_STATES, CustomJobSpec
from jobs.spec.fields import OUTPUT, Flag, Int32, Message, Moment, Text
from jobs.spec.study import StudySpec, Trial
from jobs.spec.worker_pool import EncryptionSpec, Status


class TuningTaskInputs(Message):
    """The inputs of a training pipeline's tuning task."""

    study_spec: StudySpec = StudySpec()
    max_trial_count: Int32 = 0
    parallel_trial_count: Int32 = 0
    max_failed_trial_count: Int32 = 0
    trial_job_spec: CustomJobSpec = CustomJobSpec()


class HyperparameterTuningJob(Message):
    """Trials of one CustomJobSpec that search for the best parameters."""

    name: Annotated[Text, OUTPUT] = ""
    display_name: Text = ""
    study_spec: StudySpec = StudySpec()
    max_trial_count: Int32 = 0
    parallel_trial_count: Int32 = 0
    max_failed_trial_count: Int32 = 0
    trial_job_spec: CustomJobSpec = CustomJobSpec()
    trials: Annotated[tuple[Trial, ...], OUTPUT] = ()
    state: Annotated[str, *JOB_STATES, OUTPUT] = "JOB_STATE_UNSPECIFIED"
    create_time: Annotated[Moment | None, OUTPUT] = None
    start_time: Annotated[Moment | None, OUTPUT] = None
    end_time: Annotated[Moment | None, OUTPUT] = None
    update_time: Annotated[Moment | None, OUTPUT] = None
    error: Annotated[Status | None, OUTPUT] = None
    labels: dict[Text, Text] = {}
    encryption_spec: EncryptionSpec | None = None
    satisfies_pzs: Annotated[Flag, OUTPUT] = False
    satisfies_pzi: Annotated[Flag, OUTPUT] = False
