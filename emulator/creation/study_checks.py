"""The checks of Vertex AI when a hyperparameter tuning job is created.

Sources: StudySpec in the v1 protos; "Create a hyperparameter tuning job" in Google's documentation, read 2026-08.
"""

import itertools

from emulator.creation import checks
from emulator.creation.checks import REQUIRED, Findings
from emulator.protocol.documents import Document

VALUE_SPECS = ("doubleValueSpec", "integerValueSpec", "categoricalValueSpec", "discreteValueSpec")
MAX_DISCRETE_VALUES, MIN_DISCRETE_DISTANCE = 1_000, 1e-10


def study(job: Document, *, at: str = "") -> Findings:
    """Check a HyperparameterTuningJob. `at` is its prefix in paths, such as `training_task_inputs.`"""
    trials, parallel = job.get("maxTrialCount", 0), job.get("parallelTrialCount", 0)
    failed = job.get("maxFailedTrialCount", 0)
    for name, value in (("max_trial_count", trials), ("parallel_trial_count", parallel)):
        if value <= 0:
            yield at + name, REQUIRED if not value else "The value must be positive."
    if parallel > trials > 0:
        yield f"{at}parallel_trial_count", "The parallel trial count must not exceed the max trial count."
    if failed < 0 or failed > trials:
        yield f"{at}max_failed_trial_count", "The max failed trial count must be between 0 and the max trial count."
    if "studySpec" in job:
        yield from study_spec(job["studySpec"], at=f"{at}study_spec")
    else:
        yield f"{at}study_spec", REQUIRED
    if "trialJobSpec" in job:
        yield from checks.job_spec(job["trialJobSpec"], at=f"{at}trial_job_spec")
        yield from _no_tpu(job["trialJobSpec"], at=f"{at}trial_job_spec")
    else:
        yield f"{at}trial_job_spec", REQUIRED


def _no_tpu(spec: Document, *, at: str) -> Findings:
    for index, pool in enumerate(spec.get("workerPoolSpecs", [])):
        machine = pool.get("machineSpec", {})
        if "tpuTopology" in machine or str(machine.get("acceleratorType", "")).startswith("TPU"):
            yield f"{at}.worker_pool_specs[{index}].machine_spec", "TPUs are not supported for hyperparameter tuning."


def study_spec(spec: Document, *, at: str) -> Findings:
    """Check a StudySpec: metrics and parameters."""
    for name, key in (("metrics", "metricId"), ("parameters", "parameterId")):
        entries = spec.get(name, [])
        if not entries:
            yield f"{at}.{name}", REQUIRED
        ids = [one.get(key, "") for one in entries]
        for index, identifier in enumerate(ids):
            where = f"{at}.{name}[{index}].{'metric_id' if key == 'metricId' else 'parameter_id'}"
            if not identifier:
                yield where, REQUIRED
            elif identifier.split() != [identifier]:
                yield where, f'"{identifier}" must not contain whitespace.'
            elif ids.count(identifier) > 1:
                yield where, f'"{identifier}" is used more than once.'
    is_grid = spec.get("algorithm") == "GRID_SEARCH"
    for index, parameter in enumerate(spec.get("parameters", [])):
        yield from _parameter(parameter, at=f"{at}.parameters[{index}]", is_grid=is_grid)


def _parameter(parameter: Document, *, at: str, is_grid: bool) -> Findings:
    kinds = [name for name in VALUE_SPECS if name in parameter]
    if not kinds:
        yield at, "One of the value specs must be set."
        return
    spec = parameter[kinds[0]]
    if "defaultValue" in spec:
        yield at, "Default values are not supported by hyperparameter tuning jobs."
    if kinds[0] in ("doubleValueSpec", "integerValueSpec"):
        low, high = float(spec.get("minValue", 0)), float(spec.get("maxValue", 0))
        if low >= high:
            yield at, f"The minimum value {low:g} must be less than the maximum value {high:g}."
        yield from _scale(parameter, low, at=at)
    else:
        yield from _values(parameter, spec.get("values", []), at=at)
    if is_grid and kinds[0] == "doubleValueSpec":
        yield at, "Grid search does not support parameters of type DOUBLE."
    for number, child in enumerate(parameter.get("conditionalParameterSpecs", [])):
        where = f"{at}.conditional_parameter_specs[{number}].parameter_spec"
        yield from _parameter(child.get("parameterSpec", {}), at=where, is_grid=is_grid)


def _values(parameter: Document, values: list[object], *, at: str) -> Findings:
    if not values:
        yield at, "At least one value is required."
    elif "discreteValueSpec" in parameter:
        numbers = [float(str(value)) for value in values]
        if len(numbers) > MAX_DISCRETE_VALUES:
            yield at, f"At most {MAX_DISCRETE_VALUES} values are allowed."
        if any(b - a < MIN_DISCRETE_DISTANCE for a, b in itertools.pairwise(numbers)):
            yield at, "The values must be in strictly increasing order."
        yield from _scale(parameter, numbers[0], at=at)
    elif parameter.get("scaleType"):
        yield f"{at}.scale_type", "The scale type must be unset for categorical parameters."


def _scale(parameter: Document, low: float, *, at: str) -> Findings:
    if "LOG" in str(parameter.get("scaleType", "")) and low <= 0:
        yield f"{at}.scale_type", "A logarithmic scale needs values above 0."
