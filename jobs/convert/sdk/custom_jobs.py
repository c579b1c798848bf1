"""The SDK's CustomJob and HyperparameterTuningJob: the request that their arguments become.

Source: google-cloud-aiplatform 2.7.0, aiplatform/jobs.py and aiplatform/hyperparameter_tuning.py, read 2026-11-21.
"""

from collections.abc import Callable

from jobs.convert.sdk.arguments import (
    Arguments,
    duration,
    encryption,
    local_package,
    pools_of_replicas,
    take,
    unknown,
)
from jobs.convert.texts.nodes import Draft, Node, Notes, node_of

RUN_FIELDS = {
    "service_account": "serviceAccount",
    "network": "network",
    "tensorboard": "tensorboard",
    "enable_web_access": "enableWebAccess",
    "enable_dashboard_access": "enableDashboardAccess",
    "psc_interface_config": "pscInterfaceConfig",
    "reserved_ip_ranges": "reservedIpRanges",
}
SCHEDULING = {
    "timeout": "timeout",
    "restart_job_on_worker_restart": "restartJobOnWorkerRestart",
    "disable_retries": "disableRetries",
    "scheduling_strategy": "strategy",
    "max_wait_duration": "maxWaitDuration",
}
CATEGORIES = {"maximize": "MAXIMIZE", "minimize": "MINIMIZE"}
SEARCH = {"random": "RANDOM_SEARCH", "grid": "GRID_SEARCH"}
SELECTION = {"best": "BEST_MEASUREMENT", "last": "LAST_MEASUREMENT"}
SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE"}
Maker = Callable[[Node, Node | None, Notes], Draft]


def custom_job(args: Node, run: Node | None, notes: Notes) -> Draft:
    """Return the job of `CustomJob(**args)` and `.run(**run)`."""
    given, later = Arguments(args), Arguments(run)
    project, region = given.place("project"), given.place("location") or given.place("region")
    spec = job_spec(given, notes)
    spec |= run_fields(later, project, region, notes)
    body = take(given, {"display_name": "displayName", "labels": "labels"}) | encryption(given)
    body["jobSpec"] = Node(spec, args.line)
    # KFP's component and W&B's launcher give what belongs to run() beside the rest.
    spec |= {name: node for name, node in run_fields(given, project, region, notes).items() if name not in spec}
    unknown(given, notes, "CustomJob")
    unknown(later, notes, "run()")
    return Draft("custom_job", Node(body, args.line), "Python that makes a CustomJob", project, region)


def job_spec(given: Arguments, notes: Notes) -> dict[str, Node]:
    """Return the fields of the job spec that the constructor sets."""
    spec = take(given, {"worker_pool_specs": "workerPoolSpecs", "persistent_resource_id": "persistentResourceId"})
    folder = given.take("base_output_dir", "base_output_directory")
    if folder is not None:
        spec["baseOutputDirectory"] = node_of({"outputUriPrefix": folder}, folder.line)
    bucket = given.take("staging_bucket")
    if bucket is not None and folder is None:
        message = "Without base_output_dir the SDK makes up a folder in the staging bucket; it is not carried."
        notes.advise("staging_bucket", bucket.line, message, "Set baseOutputDirectory to keep outputs.")
    return spec


def run_fields(later: Arguments, project: str, region: str, notes: Notes) -> dict[str, Node]:
    """Return the fields of the job spec that `run` and `submit` set."""
    spec = take(later, RUN_FIELDS | {"persistent_resource_id": "persistentResourceId"})
    scheduling: dict[str, Node] = {}
    for name, field in SCHEDULING.items():
        node = later.take(name)
        if node is not None and not (node.value in (0, False) and name != "max_wait_duration"):
            scheduling[field] = duration(node) if name in ("timeout", "max_wait_duration") else node
    if scheduling:
        spec["scheduling"] = Node(scheduling, min(node.line for node in scheduling.values()))
    experiment, run = later.take("experiment"), later.take("experiment_run")
    if experiment is not None:
        name = experiment.text()
        spec["experiment"] = Node(_context(name, project, region), experiment.line)
        if run is not None:
            whole = run.text() if "/" in run.text() else f"{name}-{run.text()}"
            spec["experimentRun"] = Node(_context(whole, project, region), run.line)
    elif run is not None:
        notes.refuse("no_experiment", run.line, "experiment_run is given without experiment.", "Give both.")
    return spec


def _context(name: str, project: str, region: str) -> str:
    if "/" in name:
        return name
    store = f"projects/{project or '${project}'}/locations/{region or '${location}'}/metadataStores/default"
    return f"{store}/contexts/{name}"


def local_script(args: Node, run: Node | None, notes: Notes) -> Draft:
    """Return the job of `CustomJob.from_local_script(**args)`, with a hole for the package that the SDK would build."""
    given = Arguments(args)
    image = given.take("container_uri") or Node("${container_uri}", args.line)
    task = local_package(given, image, notes)
    pools = pools_of_replicas(given, task, args.line, notes)
    rest = Node({**given.rest(), "worker_pool_specs": pools}, args.line)
    return custom_job(rest, run, notes)._replace(form="Python that makes a CustomJob of a local script")


def tuning_job(args: Node, run: Node | None, notes: Notes, inner_job: Maker = custom_job) -> Draft:
    """Return the job of `HyperparameterTuningJob(**args)` and `.run(**run)`; `inner_job` reads its custom job."""
    given, later = Arguments(args), Arguments(run)
    project, region = given.place("project"), given.place("location")
    fields = {"display_name": "displayName", "labels": "labels", "max_trial_count": "maxTrialCount"}
    fields |= {"parallel_trial_count": "parallelTrialCount", "max_failed_trial_count": "maxFailedTrialCount"}
    body = take(given, fields) | encryption(given)
    custom = given.take("custom_job")
    spec: dict[str, Node] = {}
    if custom is not None and isinstance(custom.value, dict):
        inner = inner_job(custom, None, notes)
        project, region = project or inner.project, region or inner.region
        own = inner.body.value["jobSpec"]
        spec = dict(own.value)
    elif custom is not None:
        notes.refuse("unknown_job", custom.line, "The custom_job is not made in this text.", "Give that part, too.")
    spec |= run_fields(later, project, region, notes)
    body["studySpec"] = _study(given, args.line, notes)
    body["trialJobSpec"] = Node(spec, custom.line if custom is not None else args.line)
    unknown(given, notes, "HyperparameterTuningJob")
    unknown(later, notes, "run()")
    form = "Python that makes a HyperparameterTuningJob"
    return Draft("hyperparameter_tuning_job", Node(body, args.line), form, project, region)


def _study(given: Arguments, line: int, notes: Notes) -> Node:
    study: dict[str, Node] = {}
    metrics = given.take("metric_spec")
    if metrics is not None and isinstance(metrics.value, dict):
        items = [
            node_of({"metricId": name, "goal": CATEGORIES.get(goal.text().lower(), goal.text())}, goal.line)
            for name, goal in metrics.value.items()
        ]
        study["metrics"] = Node(items, metrics.line)
    parameters = given.take("parameter_spec")
    if parameters is not None and isinstance(parameters.value, dict):
        found = [_parameter(name, node, notes) for name, node in parameters.value.items()]
        study["parameters"] = Node(found, parameters.line)
    search, chosen = given.take("search_algorithm"), given.take("measurement_selection")
    if search is not None:
        study["algorithm"] = Node(SEARCH.get(search.text(), search.text()), search.line)
    word = chosen.text() if chosen is not None else "best"
    study["measurementSelectionType"] = Node(SELECTION.get(word, word), chosen.line if chosen else line)
    return Node(study, line)


def _parameter(name: str, node: Node, notes: Notes) -> Node:
    """Read what `hpt.DoubleParameterSpec(min=, max=, scale=)` and its siblings were given, see python_values."""
    entries: dict[str, Node] = node.value if isinstance(node.value, dict) else {}
    found: dict[str, Node] = {"parameterId": Node(name, node.line)}
    kind = entries["__kind__"].value if "__kind__" in entries else ""
    values = {"doubleValueSpec": "Double", "integerValueSpec": "Integer"}
    values |= {"categoricalValueSpec": "Categorical", "discreteValueSpec": "Discrete"}
    field = next((field for field, word in values.items() if kind == f"{word}ParameterSpec"), "")
    if not field:
        notes.refuse("unknown_parameter", node.line, "The range of this parameter is not a literal of the SDK.")
        return Node(found, node.line)
    names = {"min": "minValue", "max": "maxValue", "values": "values"}
    inner = {names[key]: item for key, item in entries.items() if key in names}
    found[field] = Node(inner, node.line)
    scale = entries.get("scale")
    if scale is not None and scale.value not in (None, "unspecified"):
        found["scaleType"] = Node(SCALES.get(scale.text(), scale.text()), scale.line)
    children = entries.get("conditional_parameter_spec")
    if children is not None and isinstance(children.value, dict):
        conditions = [_condition(key, child, field, notes) for key, child in children.value.items()]
        found["conditionalParameterSpecs"] = Node(conditions, children.line)
    return Node(found, node.line)


def _condition(name: str, node: Node, parent: str, notes: Notes) -> Node:
    kinds = {"integerValueSpec": "parentIntValues", "categoricalValueSpec": "parentCategoricalValues"}
    values = node.get("parent_values") or Node([], node.line)
    condition = {kinds.get(parent, "parentDiscreteValues"): Node({"values": values}, node.line)}
    return Node({**condition, "parameterSpec": _parameter(name, node, notes)}, node.line)
