"""Sweeps: variants of one job, each with its own arguments, name and output folder."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jobs.spec.custom_job import CustomJob, CustomJobSpec
from jobs.spec.submission import Submission
from jobs.spec.worker_pool import WorkerPoolSpec

MAX_SWEEP = 50
"""Jobs of one sweep. Vertex AI's limit of 60 creations a minute allows these within a minute."""
MAX_NAME_LENGTH = 128
MAX_WHOLE = 1e15
"""Integers below this are exact as doubles and written without a decimal point."""


def vary(submission: Submission, arguments: Sequence[Sequence[str]]) -> list[Submission]:
    """Return one job for each entry of `arguments`, which is appended to the arguments of every worker pool.

    Without arguments, return the job itself; with one entry, the job with these arguments. The jobs of a sweep are
    named NAME-1, NAME-2 and so on, and each writes to a subfolder of that number in the output folder.
    """
    if len(arguments) < 2:
        return [submission if not arguments else _with_arguments(submission, arguments[0])]
    return [_variant(submission, str(number), extra) for number, extra in enumerate(arguments, 1)]


def trial_job(submission: Submission, parameters: Mapping[str, float | str], *, name: str) -> Submission:
    """Return a custom job equal to one trial of a tuning job: its spec, and `--parameter=value` for each parameter.

    This is how Vertex AI passes parameters to the program (Agent Platform documentation, using-hyperparameter-tuning,
    read 2026-11-22). `name` is the end of the display name.
    """
    job = CustomJob(
        display_name=f"{submission.display_name[: MAX_NAME_LENGTH - len(name)]}{name}",
        job_spec=submission.job_spec,
        encryption_spec=submission.job.encryption_spec,
    )
    arguments = [f"--{key}={_argument(value)}" for key, value in parameters.items()]
    return _with_arguments(replace(submission, kind="custom_job", job=job), arguments)


def _argument(value: float | str) -> str:
    """Return a value as text. The API has doubles only, so 16.0 becomes the integer that a program reads."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < MAX_WHOLE
    return str(int(value)) if is_whole else str(value)


def _variant(submission: Submission, number: str, extra: Sequence[str]) -> Submission:
    varied = _with_arguments(submission, extra)
    varied = varied.with_job_spec(_with_own_folder(varied.job_spec, number))
    name = f"{submission.display_name[: MAX_NAME_LENGTH - 1 - len(number)]}-{number}"
    return replace(varied, job=varied.job.but(display_name=name))


def _with_arguments(submission: Submission, extra: Sequence[str]) -> Submission:
    pools = tuple(_pool_with_arguments(pool, extra) for pool in submission.job_spec.worker_pool_specs)
    return submission.with_job_spec(submission.job_spec.but(worker_pool_specs=pools))


def _pool_with_arguments(pool: WorkerPoolSpec, extra: Sequence[str]) -> WorkerPoolSpec:
    container, package = pool.container_spec, pool.python_package_spec
    if container is not None:
        return pool.but(container_spec=container.but(args=(*container.args, *extra)))
    if package is not None:
        return pool.but(python_package_spec=package.but(args=(*package.args, *extra)))
    return pool


def _with_own_folder(spec: CustomJobSpec, number: str) -> CustomJobSpec:
    output = spec.base_output_directory
    if output is None or not output.output_uri_prefix:
        return spec
    folder = f"{output.output_uri_prefix.rstrip('/')}/{number}"
    return spec.but(base_output_directory=output.but(output_uri_prefix=folder))
