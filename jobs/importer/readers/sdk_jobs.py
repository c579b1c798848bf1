"""Convert arguments of the SDK's CustomJob and HyperparameterTuningJob to the request that they send.

Source: google-cloud-aiplatform 2.7.0, aiplatform/jobs.py and aiplatform/hyperparameter_tuning.py, read 2026-11-21.
"""

from jobs.importer.nodes import Draft, Node, Notes, node_of, paths
from jobs.importer.readers.sdk_arguments import JOB, Arguments, local_package, pools_of_replicas
from jobs.texts import translatable as _

FOLDER = dict.fromkeys(("base_output_dir", "base_output_directory"), "baseOutputDirectory.outputUriPrefix")
SPEC = paths("worker_pool_specs persistent_resource_id") | FOLDER
"""Arguments of the constructor, with their paths in the job spec."""
RUN = paths(
    """service_account network tensorboard enable_web_access enable_dashboard_access psc_interface_config
    reserved_ip_ranges persistent_resource_id"""
)
RUN |= paths("timeout restart_job_on_worker_restart disable_retries max_wait_duration", "scheduling.")
RUN |= {"scheduling_strategy": "scheduling.strategy"}
"""Arguments of run() and submit(), with their paths in the job spec."""
TRIALS = paths("max_trial_count parallel_trial_count max_failed_trial_count")
WORDS = {
    "goal": {"maximize": "MAXIMIZE", "minimize": "MINIMIZE"},
    "algorithm": {"random": "RANDOM_SEARCH", "grid": "GRID_SEARCH"},
    "measurementSelectionType": {"best": "BEST_MEASUREMENT", "last": "LAST_MEASUREMENT"},
    "scaleType": {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE"},
}
"""The SDK's names for the API's enum values, by field."""
RANGES = {"min": "minValue", "max": "maxValue", "values": "values"}
RANGE_KINDS = {
    f"{kind}ParameterSpec": f"{kind.lower()}ValueSpec" for kind in ("Double", "Integer", "Categorical", "Discrete")
}
PARENTS = {"integerValueSpec": "parentIntValues", "categoricalValueSpec": "parentCategoricalValues"}


def custom_job(args: Node, run: Node | None, notes: Notes) -> Draft:
    """Return the job of `CustomJob(**args)` and `.run(**run)`."""
    given, later = Arguments(args), Arguments(run)
    project, region = given.pop_text("project"), given.pop_text("location") or given.pop_text("region")
    spec = job_spec(given, notes) | run_fields(later, project, region, notes)
    body = given.pop_fields(JOB) | {"jobSpec": Node(spec, args.line)}
    # KFP's component and W&B's launcher take the arguments of run() together with the others.
    spec |= {name: node for name, node in run_fields(given, project, region, notes).items() if name not in spec}
    given.refuse_rest(notes, "CustomJob")
    later.refuse_rest(notes, "run()")
    return Draft("custom_job", Node(body, args.line), "Python that makes a CustomJob", project, region)


def local_script(args: Node, run: Node | None, notes: Notes) -> Draft:
    """Return the job of `CustomJob.from_local_script(**args)`; the package that the SDK builds is a placeholder."""
    given = Arguments(args)
    image = given.pop("container_uri") or Node("${container_uri}", args.line)
    pools = pools_of_replicas(given, local_package(given, image, notes), args.line, notes)
    rest = Node({**given.rest, "worker_pool_specs": pools}, args.line)
    return custom_job(rest, run, notes)._replace(form="Python that makes a CustomJob of a local script")


def job_spec(given: Arguments, notes: Notes) -> dict[str, Node]:
    """Return the fields of the job spec that the constructor sets."""
    spec, bucket = given.pop_fields(SPEC), given.pop("staging_bucket")
    if bucket is not None and "baseOutputDirectory" not in spec:
        message = _("Without base_output_dir the SDK creates a folder in the staging bucket; Trainboard does not.")
        notes.note("staging_bucket", bucket.line, message, _("Set baseOutputDirectory to keep outputs."))
    return spec


def run_fields(later: Arguments, project: str, region: str, notes: Notes) -> dict[str, Node]:
    """Return the fields of the job spec that `run` and `submit` set."""
    spec = later.pop_fields(RUN)
    experiment, run = later.pop("experiment"), later.pop("experiment_run")
    if experiment is not None:
        name, store = experiment.text(), f"projects/{project or '${project}'}/locations/{region or '${location}'}"
        contexts = f"{store}/metadataStores/default/contexts/"
        spec["experiment"] = Node(name if "/" in name else contexts + name, experiment.line)
        if run is not None:
            is_whole = "/" in run.text()
            spec["experimentRun"] = Node(run.text() if is_whole else f"{contexts}{name}-{run.text()}", run.line)
    elif run is not None:
        notes.error("no_experiment", run.line, _("experiment_run is given without experiment."), _("Give both."))
    return spec


def tuning_job(args: Node, run: Node | None, notes: Notes, *, is_local_script: bool = False) -> Draft:
    """Return the job of `HyperparameterTuningJob(**args)` and `.run(**run)`.

    `run` is `args` itself if one call takes the arguments of both and of the custom job.
    """
    given = Arguments(args)
    later = given if run is args else Arguments(run)
    project, region = given.pop_text("project"), given.pop_text("location")
    body = given.pop_fields(JOB)
    body |= given.pop_fields(TRIALS)
    custom = given.pop("custom_job")
    spec = job_spec(given, notes) if later is given else {}
    if custom is not None and isinstance(custom.value, dict):
        inner = (local_script if is_local_script else custom_job)(custom, None, notes)
        project, region = project or inner.project, region or inner.region
        spec = dict(inner.body.value["jobSpec"].value)
    elif custom is not None:
        message = _("The custom_job is not created in this text.")
        notes.error("unknown_job", custom.line, message, _("Give that part, too."))
    spec |= run_fields(later, project, region, notes)
    body["studySpec"] = _study(given, args.line, notes)
    body["trialJobSpec"] = Node(spec, (custom or args).line)
    given.refuse_rest(notes, "HyperparameterTuningJob")
    if later is not given:
        later.refuse_rest(notes, "run()")
    form = "Python that makes a HyperparameterTuningJob"
    return Draft("hyperparameter_tuning_job", Node(body, args.line), form, project, region)


def _study(given: Arguments, line: int, notes: Notes) -> Node:
    study: dict[str, Node] = {}
    metrics, parameters = given.pop("metric_spec"), given.pop("parameter_spec")
    if metrics is not None and isinstance(metrics.value, dict):
        goals = [
            node_of({"metricId": name, "goal": _word("goal", goal)}, goal.line) for name, goal in metrics.value.items()
        ]
        study["metrics"] = Node(goals, metrics.line)
    if parameters is not None and isinstance(parameters.value, dict):
        specs = [_parameter(name, node, notes) for name, node in parameters.value.items()]
        study["parameters"] = Node(specs, parameters.line)
    if (search := given.pop("search_algorithm")) is not None:
        study["algorithm"] = _word("algorithm", search)
    chosen = given.pop("measurement_selection") or Node("best", line)
    study["measurementSelectionType"] = _word("measurementSelectionType", chosen)
    return Node(study, line)


def _word(field: str, node: Node) -> Node:
    """Return the API's enum value for a name of the SDK, or the name itself."""
    return Node(WORDS[field].get(node.text().lower(), node.text()), node.line)


def _parameter(name: str, node: Node, notes: Notes) -> Node:
    """Return the parameter for `hpt.DoubleParameterSpec(min=, max=, scale=)` and the like."""
    entries = node.entries
    parameter: dict[str, Node] = {"parameterId": Node(name, node.line)}
    field = RANGE_KINDS.get(entries["__kind__"].text()) if "__kind__" in entries else None
    if not field:
        notes.error("unknown_parameter", node.line, _("The range of this parameter is not a literal of the SDK."))
        return Node(parameter, node.line)
    parameter[field] = Node({RANGES[key]: item for key, item in entries.items() if key in RANGES}, node.line)
    scale, children = entries.get("scale"), entries.get("conditional_parameter_spec")
    if scale is not None and scale.value not in (None, "unspecified"):
        parameter["scaleType"] = _word("scaleType", scale)
    if children is not None and isinstance(children.value, dict):
        conditions = [_condition(key, child, field, notes) for key, child in children.value.items()]
        parameter["conditionalParameterSpecs"] = Node(conditions, children.line)
    return Node(parameter, node.line)


def _condition(name: str, node: Node, parent: str, notes: Notes) -> Node:
    values = node.entries.get("parent_values") or Node([], node.line)
    condition = {PARENTS.get(parent, "parentDiscreteValues"): Node({"values": values}, node.line)}
    return Node({**condition, "parameterSpec": _parameter(name, node, notes)}, node.line)
