"""The SDK calls that create a job, and names by which a program with such calls is recognised.

Source: google-cloud-aiplatform 2.7.0; Kubeflow's google-cloud-pipeline-components; Airflow's Google provider, read
2026-11-21.
"""

import json
import re
from pathlib import Path

from jobs.spec import COLLECTIONS
from jobs.texts import translatable as _

TRAINING = ("CustomContainerTrainingJob", "CustomPythonPackageTrainingJob", "CustomTrainingJob")
CREATES = {f"create_{kind}": kind for kind in COLLECTIONS}
"""Methods of the generated clients, with the kind of job, which is also the name of their argument."""
OPERATORS = {
    "CreateCustomContainerTrainingJobOperator": "CustomContainerTrainingJob",
    "CreateCustomPythonPackageTrainingJobOperator": "CustomPythonPackageTrainingJob",
    "CreateCustomTrainingJobOperator": "CustomTrainingJob",
    "CustomContainerTrainingJobRunOp": "CustomContainerTrainingJob",
    "CustomPythonPackageTrainingJobRunOp": "CustomPythonPackageTrainingJob",
    "CustomTrainingJobOp": "CustomJob",
    "CreateHyperparameterTuningJobOperator": "HyperparameterTuningJob",
    "HyperparameterTuningJobRunOp": "HyperparameterTuningJob",
}
"""Airflow operators and Kubeflow components, with the class that each of them calls and runs."""
MESSAGE_FIELDS = {
    "CustomJob": frozenset({"job_spec"}),
    "HyperparameterTuningJob": frozenset({"trial_job_spec", "study_spec"}),
}
"""Fields of the generated clients' messages, which have the same names as the SDK's classes."""
SIGNATURES_FILE = Path(__file__).with_name("sdk_signatures.json")
"""The arguments of the SDK's calls by position and by name, made by `python -m tests.support.sdk_signatures`."""
SIGNATURES: dict[str, dict[str, list[str]]] = json.loads(SIGNATURES_FILE.read_text())["calls"]
LOCAL_SCRIPT = "from_local_script"
MAKERS = frozenset({*TRAINING, *CREATES, *MESSAGE_FIELDS, LOCAL_SCRIPT, *OPERATORS})
SDK = re.compile(
    rf"\b(?:{'|'.join(sorted(MAKERS))})\s*\(|\baiplatform\b|\bworker_pool_specs?\b\s*(?::[^=\n]{{1,200}})?="
)
"""Names by which a program that uses the SDK is recognised."""
MAKES_A_JOB = re.compile(rf"\b(?:{'|'.join(sorted(MAKERS))})\s*\(")
OTHERS = (
    (_("a component of a pipeline"), re.compile(r"\bcreate_custom_training_job_(?:op_)?from_component\s*\(")),
    (_("a NAS job (neural architecture search)"), re.compile(r"(?<!def )\bcreate_nas_job\s*\(")),
    (_("an AutoML job"), re.compile(r"\bAutoML\w{1,40}TrainingJob(?:RunOp|Operator)?\s*\(")),
    (_("a batch prediction"), re.compile(r"\b(?:create_batch_prediction_job|BatchPredictionJob\.create)\s*\(")),
    (_("a pipeline of Vertex AI Pipelines"), re.compile(r"\b(?:PipelineJob|create_pipeline_job)\s*\(")),
)
"""Vertex AI jobs that run no training code of the user, and the calls that create them."""


def positions(call: str) -> list[str]:
    """Return the names of the arguments that a call takes by position, such as `CustomJob.run`."""
    return SIGNATURES.get(call, {"positions": []})["positions"]


def other_job(text: str) -> tuple[str, int] | None:
    """Return the unsupported job that a program creates, and the position of the call; None for other programs."""
    calls = ((name, pattern.search(text)) for name, pattern in OTHERS)
    return next(((name, call.start()) for name, call in calls if call is not None), None)
