"""Typed models of Vertex AI's resources, with the API's own names.

`read` parses a REST body into a resource and findings, and `rest_body` renders it again. `Submission` adds project and
region.
"""

from jobs.spec.cloud_storage import bucket_of, is_bucket, is_storage_uri
from jobs.spec.custom_job import CustomJob, CustomJobSpec, GcsDestination, Scheduling
from jobs.spec.fields import Message
from jobs.spec.findings import Finding, Severity, has_errors, quoted
from jobs.spec.output_folders import folder_key, folder_of, with_own_folder
from jobs.spec.persistent_resource import AutoscalingSpec, PersistentResource, ResourcePool
from jobs.spec.pipeline import CUSTOM_TASK, TUNING_TASK, InputDataConfig, TrainingPipeline
from jobs.spec.placeholders import Placeholder, placeholders
from jobs.spec.reading import KINDS, Job, read, rest_body
from jobs.spec.study import MetricSpec, ParameterSpec, StudySpec
from jobs.spec.submission import COLLECTIONS, Submission, find_submission, stored_submission
from jobs.spec.tuning_job import HyperparameterTuningJob, TuningTaskInputs
from jobs.spec.worker_pool import (
    ContainerSpec,
    DiskSpec,
    EncryptionSpec,
    EnvVar,
    LustreMount,
    MachineSpec,
    NfsMount,
    PscInterfaceConfig,
    PythonPackageSpec,
    ReservationAffinity,
    WorkerPoolSpec,
)

__all__ = [
    "COLLECTIONS",
    "CUSTOM_TASK",
    "KINDS",
    "TUNING_TASK",
    "AutoscalingSpec",
    "ContainerSpec",
    "CustomJob",
    "CustomJobSpec",
    "DiskSpec",
    "EncryptionSpec",
    "EnvVar",
    "Finding",
    "GcsDestination",
    "HyperparameterTuningJob",
    "InputDataConfig",
    "Job",
    "LustreMount",
    "MachineSpec",
    "Message",
    "MetricSpec",
    "NfsMount",
    "ParameterSpec",
    "PersistentResource",
    "Placeholder",
    "PscInterfaceConfig",
    "PythonPackageSpec",
    "ReservationAffinity",
    "ResourcePool",
    "Scheduling",
    "Severity",
    "StudySpec",
    "Submission",
    "TrainingPipeline",
    "TuningTaskInputs",
    "WorkerPoolSpec",
    "bucket_of",
    "find_submission",
    "folder_key",
    "folder_of",
    "has_errors",
    "is_bucket",
    "is_storage_uri",
    "placeholders",
    "quoted",
    "read",
    "rest_body",
    "stored_submission",
    "with_own_folder",
]
