"""A submission: a job with its project and region."""

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

from jobs.spec.custom_job import CustomJob, CustomJobSpec
from jobs.spec.pipeline import TrainingPipeline
from jobs.spec.placeholders import Placeholder, placeholders
from jobs.spec.reading import Job, read, rest_body
from jobs.spec.tuning_job import HyperparameterTuningJob, TuningTaskInputs
from jobs.spec.worker_pool import ContainerSpec, PythonPackageSpec, WorkerPoolSpec

COLLECTIONS = {
    "custom_job": "customJobs",
    "hyperparameter_tuning_job": "hyperparameterTuningJobs",
    "training_pipeline": "trainingPipelines",
}
"""The REST collection of each kind of job."""
MAX_SUMMARY_LENGTH = 200
RUN_FOLDER = re.compile(r"/run-\d{4}-\d{2}-\d{2}-\d{6}(?=[/\"])")
"""Part of a path that names one run, in a JSON text."""
RESERVATION = re.compile(r"projects/[^/]+/zones/([a-z]+-[a-z]+[0-9]+)-[a-z]/reservations/")


@dataclass(frozen=True)
class Submission:
    """A job of one `kind` for a project and region. Kind: custom_job, hyperparameter_tuning_job, training_pipeline.

    `confirmed` are the values that look like placeholders and that a person confirmed as literal. It is None for a job
    that was requested already, so that nobody is asked again.
    """

    kind: str
    project: str
    region: str
    job: Job
    confirmed: frozenset[str] | None = field(default=None, compare=False)

    @cached_property
    def job_spec(self) -> CustomJobSpec:
        """The spec with pools and scheduling, whatever the kind; empty if a pipeline has no inputs."""
        job = self.job
        if isinstance(job, CustomJob):
            return job.job_spec
        if isinstance(job, HyperparameterTuningJob):
            return job.trial_job_spec
        inputs = job.training_task_inputs
        if isinstance(inputs, TuningTaskInputs):
            return inputs.trial_job_spec
        return inputs if inputs is not None else CustomJobSpec()

    @cached_property
    def spec_path(self) -> str:
        """The path of `job_spec` in the REST body, such as `jobSpec` or `trainingTaskInputs.trialJobSpec`."""
        if isinstance(self.job, CustomJob):
            return "jobSpec"
        if isinstance(self.job, HyperparameterTuningJob):
            return "trialJobSpec"
        tuning = isinstance(self.job.training_task_inputs, TuningTaskInputs)
        return "trainingTaskInputs.trialJobSpec" if tuning else "trainingTaskInputs"

    def with_job_spec(self, job_spec: CustomJobSpec) -> "Submission":
        """Return the submission with another `job_spec`."""
        return replace(self, job=self._job_with(job_spec))

    def _job_with(self, job_spec: CustomJobSpec) -> Job:
        job = self.job
        if isinstance(job, CustomJob):
            return job.but(job_spec=job_spec)
        if isinstance(job, HyperparameterTuningJob):
            return job.but(trial_job_spec=job_spec)
        inputs = job.training_task_inputs
        changed = inputs.but(trial_job_spec=job_spec) if isinstance(inputs, TuningTaskInputs) else job_spec
        return job.but(training_task_inputs=changed)

    @cached_property
    def tuning(self) -> HyperparameterTuningJob | TuningTaskInputs | None:
        """The study and its trial counts, if this is a tuning job."""
        job = self.job
        if isinstance(job, HyperparameterTuningJob):
            return job
        inputs = job.training_task_inputs if isinstance(job, TrainingPipeline) else None
        return inputs if isinstance(inputs, TuningTaskInputs) else None

    @property
    def tuning_path(self) -> str:
        """The path of the study's parent in the REST body, ending with a dot; "" for the body itself."""
        return "trainingTaskInputs." if isinstance(self.job, TrainingPipeline) else ""

    @cached_property
    def placeholders(self) -> list[Placeholder]:
        """The texts of the job that contain, or may contain, a placeholder."""
        return list(placeholders(self.job))

    @property
    def display_name(self) -> str:
        """The job's display name."""
        return self.job.display_name

    @property
    def trials(self) -> int:
        """The number of runs of the job spec: a tuning job's trials, else one."""
        return max(1, self.tuning.max_trial_count) if self.tuning is not None else 1

    @property
    def parallel_trials(self) -> int:
        """The number of trials that run at once, between one and all."""
        wanted = self.tuning.parallel_trial_count if self.tuning is not None else 1
        return max(1, min(wanted, self.trials))

    @cached_property
    def pools(self) -> list[tuple[int, WorkerPoolSpec]]:
        """The pools that are not empty, each with its index."""
        return [(i, pool) for i, pool in enumerate(self.job_spec.worker_pool_specs) if not pool.is_empty]

    @cached_property
    def containers(self) -> list[tuple[str, ContainerSpec]]:
        """The containers that the pools run, each with its path."""
        found = ((self.pool_path(at, "containerSpec"), pool.container_spec) for at, pool in self.pools)
        return [(path, spec) for path, spec in found if spec is not None]

    @cached_property
    def packages(self) -> list[tuple[str, PythonPackageSpec]]:
        """The Python packages that the pools run, each with its path."""
        found = ((self.pool_path(at, "pythonPackageSpec"), pool.python_package_spec) for at, pool in self.pools)
        return [(path, spec) for path, spec in found if spec is not None]

    @cached_property
    def programs(self) -> list[tuple[str, ContainerSpec | PythonPackageSpec]]:
        """The containers, then the packages that the pools run, each with its path."""
        return [*self.containers, *self.packages]

    def pool_path(self, index: int, name: str = "") -> str:
        """Return the path of a worker pool, or of one of its fields, in the REST body."""
        path = f"{self.spec_path}.workerPoolSpecs[{index}]"
        return f"{path}.{name}" if name else path

    def spec_field(self, name: str) -> str:
        """Return the path of a field of `job_spec` in the REST body."""
        return f"{self.spec_path}.{name}"

    @cached_property
    def digest(self) -> str:
        """A digest that is equal for jobs that differ only in display name, Trainboard's labels, project and run.

        See `jobs.spec.output_folders` for the folder of a run.
        """
        body = {name: value for name, value in rest_body(self.job).items() if name != "displayName"}
        text = RUN_FOLDER.sub("", json.dumps([self.kind, self.region, body], sort_keys=True))
        return sha256(text.encode()).hexdigest()

    @property
    def machines_summary(self) -> str:
        """The worker pools in one line, e.g. `1 × n1-standard-8 (2 × NVIDIA_TESLA_T4) + 4 × n1-standard-4`."""
        parts = []
        for _, pool in self.pools:
            machine = pool.machine_spec
            attached = machine.machine_type.startswith("n1-") and machine.accelerator
            gpus = f" ({machine.accelerator_count} × {machine.accelerator})" if attached else ""
            parts.append(f"{pool.replicas} × {machine.machine_type or 'no machine'}{gpus}")
        summary = " + ".join(parts) or "no machines"
        return summary if len(summary) <= MAX_SUMMARY_LENGTH else summary[: MAX_SUMMARY_LENGTH - 1] + "…"


def find_submission(kind: str, body: object, *, project: str, region: str) -> Submission | None:
    """Parse a submission from a stored body; None if it cannot be parsed."""
    job, _ = read(kind, body)
    return None if job is None else Submission(kind, project, region, job)


def stored_submission(row: str, kind: str, body: object, *, project: str, region: str) -> Submission:
    """Parse a submission from the stored body of `row`, such as "job 5". Raise ValueError if it cannot be parsed."""
    job, findings = read(kind, body)
    if job is None:
        raise ValueError(f"{row} holds a spec that cannot be read: {findings}")
    return Submission(kind, project, region, job)


def reserved_region(submission: Submission) -> str:
    """Return the region of the reservation that the pools name, the only one that can use it; "" if none."""
    affinities = (pool.machine_spec.reservation_affinity for _, pool in submission.pools)
    names = (name for affinity in affinities if affinity is not None for name in affinity.values)
    return next((found[1] for name in names if (found := RESERVATION.match(name[:500]))), "")
