"""Convert the arguments of the SDK's calls to the request that they send: most by a table, the others one by one.

The classes are custom jobs, tuning jobs, and training pipelines of an image, a package or a script; Airflow operators
and Kubeflow components take the arguments of a class and of its run together. Source: google-cloud-aiplatform 2.7.0,
aiplatform/jobs.py, training_jobs.py, hyperparameter_tuning.py and utils/worker_spec_utils.py;
apache-airflow-providers-google, operators/vertex_ai; google-cloud-pipeline-components 0.2 and 2, read 2026-11-21.
"""

import re
from collections.abc import Callable

from jobs.bounds import parse_digits
from jobs.importer.nodes import Draft, Node, Notes, env_of, node_of, paths, set_at
from jobs.importer.sdk_names import LOCAL_SCRIPT, OPERATORS, TRAINING
from jobs.spec import CUSTOM_TASK, quoted
from jobs.spec.shape import nearest
from jobs.texts import translatable as _

KEY = "encryptionSpec.kmsKeyName"
JOB = paths("display_name labels") | dict.fromkeys(
    ("encryption_spec_key_name", "training_encryption_spec_key_name"), KEY
)
JOB |= paths(
    """worker_pool_specs persistent_resource_id service_account network tensorboard enable_web_access
    enable_dashboard_access psc_interface_config reserved_ip_ranges""",
    "spec.",
)
JOB |= paths("timeout restart_job_on_worker_restart disable_retries max_wait_duration", "spec.scheduling.")
JOB |= {
    "scheduling_strategy": "spec.scheduling.strategy",
    "base_output_dir": "spec.baseOutputDirectory.outputUriPrefix",
}
"""Arguments of every kind of job, with their paths in its message; `spec` is the job spec."""
TRIALS = paths("max_trial_count parallel_trial_count max_failed_trial_count")
SERVED = "model_serving_container_"
MODEL = paths("image_uri predict_route health_route command args ports", "model.containerSpec.", SERVED)
MODEL |= {f"{SERVED}environment_variables": "model.containerSpec.env"}
MODEL |= paths("instance_schema_uri parameters_schema_uri prediction_schema_uri", "model.predictSchemata.", "model_")
MODEL |= paths("display_name description version_aliases version_description labels", "model.", "model_")
MODEL |= {"model_encryption_spec_key_name": f"model.{KEY}"}
PARTS = ("training", "validation", "test")
DATA = {f"{part}_fraction_split": f"data.fractionSplit.{part}Fraction" for part in PARTS}
DATA |= {f"{part}_filter_split": f"data.filterSplit.{part}Filter" for part in PARTS}
DATA |= {f"{kind}_split_column_name": f"data.{kind}Split.key" for kind in ("predefined", "timestamp")}
DATA |= {"annotation_schema_uri": "data.annotationSchemaUri"}
DATA |= {"bigquery_destination": "data.bigqueryDestination.outputUri"}
PIPELINE = JOB | MODEL | DATA | paths("model_id parent_model")
RENAMED = {
    "project_id": "project",
    "region": "location",
    "dataset_id": "dataset",
    "base_output_directory": "base_output_dir",
    "study_spec_metrics": "metric_spec",
    "study_spec_parameters": "parameter_spec",
    "study_spec_algorithm": "search_algorithm",
    "study_spec_measurement_selection_type": "measurement_selection",
}
"""The names of operators and components for arguments of the SDK."""
SILENT = frozenset(
    """credentials sync create_request_timeout api_endpoint enable_autolog __kind__ retry metadata is_default_version
    task_id gcp_conn_id impersonation_chain deferrable poll_interval dag trigger_rule retries retry_delay do_xcom_push
    execution_timeout on_failure_callback on_success_callback""".split()
)
"""Arguments of the call or of a workflow, not of the job."""
PACKAGE, MODULE = "${PACKAGE_URI}", "aiplatform_custom_trainer_script.task"
PREBUILT = ("docker.pkg.dev/vertex-ai/", "gcr.io/cloud-aiplatform/", "${")
WORDS = {
    "goal": {"maximize": "MAXIMIZE", "minimize": "MINIMIZE"},
    "algorithm": {"random": "RANDOM_SEARCH", "grid": "GRID_SEARCH"},
    "measurementSelectionType": {"best": "BEST_MEASUREMENT", "last": "LAST_MEASUREMENT"},
    "scaleType": {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE", "reverse_log": "UNIT_REVERSE_LOG_SCALE"},
}
"""The SDK's names for the API's enum values, by field."""
RANGES = {"min": "minValue", "max": "maxValue", "values": "values"}
RANGE_KINDS = {
    "DoubleParameterSpec": ("doubleValueSpec", ""),
    "IntegerParameterSpec": ("integerValueSpec", "parentIntValues"),
    "CategoricalParameterSpec": ("categoricalValueSpec", "parentCategoricalValues"),
    "DiscreteParameterSpec": ("discreteValueSpec", "parentDiscreteValues"),
}
"""The field of a parameter's range, and of the values for which another parameter is used."""


def _seconds(node: Node) -> Node:
    return Node(f"{node.value}s", node.line) if type(node.value) is int else node


def _ports(node: Node) -> Node:
    return node_of([{"containerPort": port} for port in node.value], node.line) if not node.is_scalar else node


CONVERSIONS: dict[str, Callable[[Node], Node]] = {
    "timeout": _seconds,
    "max_wait_duration": _seconds,
    f"{SERVED}environment_variables": env_of,
    f"{SERVED}ports": _ports,
}
"""Arguments whose values the API expects in another form."""


class Request:
    """The arguments of a class and of its run, without those that are None, and the notes about them."""

    def __init__(self, args: Node, run: Node | None, notes: Notes) -> None:
        self.later = run.entries if run is not None else {}
        both = args.entries | self.later
        self.given = {name: item for name, item in both.items() if item.value is not None}
        self.known: set[str] = set()
        self.line, self.notes = args.line, notes
        self.places = [(self.pop(*names) or Node("", 1)).text() for names in (("project",), ("location", "region"))]

    def pop(self, *names: str) -> Node | None:
        """Return the first of these arguments that was given, and record all the names as known."""
        self.known.update(names)
        return next((self.given.pop(name) for name in names if name in self.given), None)

    def fields(self, table: dict[str, str]) -> dict[str, Node]:
        """Return the fields of a message that arguments set, by `{argument: its path in the message}`.

        The SDK does not send empty text, zero and False, except a wait of zero, which means no limit.
        """
        message = Node({}, self.line)
        for name, path in table.items():
            node = self.pop(name)
            if node is not None and (node.value not in (0, False, "") or name == "max_wait_duration"):
                convert: Callable[[Node], Node] = CONVERSIONS.get(name, lambda same: same)
                set_at(message, [*path.split(".")], convert(node))
        return message.entries

    def refuse_rest(self, call: str) -> None:
        """Add an error for every argument that was not popped."""
        for name, node in self.given.items():
            if name not in SILENT:
                near = "" if self.notes.is_full else nearest(name, self.known)
                remedy = _("Did you mean `%(near)s`?", near=near) if near else _("It is not carried.")
                holder = "run()" if name in self.later else call
                message = _("%(call)s of the SDK has no argument %(name)s.", call=holder, name=quoted(name))
                self.notes.error("unknown_argument", node.line, message, remedy)


def job_of(maker: str, args: Node, run: Node | None, notes: Notes, custom_maker: str = "") -> Draft:
    """Return the job of `maker(**args)` and `.run(**run)`; `custom_maker` made its `custom_job`."""
    kind = OPERATORS.get(maker, maker)
    if maker in OPERATORS:
        named = {RENAMED.get(name, name): node for name, node in args.entries.items()}
        args = Node({n: node for n, node in named.items() if not node.text().endswith("_UNSPECIFIED")}, args.line)
    request = Request(args, run, notes)
    form = f"Python that makes a {kind if kind in (*TRAINING, 'HyperparameterTuningJob') else 'CustomJob'}"
    if maker == LOCAL_SCRIPT or maker in OPERATORS:
        form = f"{form} of a local script" if maker == LOCAL_SCRIPT else f"Python that calls {maker}"
    if kind in TRAINING:
        draft_kind, body = "training_pipeline", _pipeline(kind, request, is_operator=maker in OPERATORS)
    elif kind == "HyperparameterTuningJob":
        draft_kind, body = "hyperparameter_tuning_job", _tuning(request, custom_maker)
    else:
        pools = _pools(request, _local_package(request)) if maker == LOCAL_SCRIPT else None
        draft_kind, (body, spec) = "custom_job", _job(request, JOB)
        spec |= {"workerPoolSpecs": pools} if pools is not None else {}
        body["jobSpec"] = Node(spec, args.line)
    request.refuse_rest(kind if kind in (*TRAINING, "HyperparameterTuningJob") else "CustomJob")
    return Draft(draft_kind, Node(body, args.line), form, request.places[0], request.places[1])


def _job(request: Request, table: dict[str, str]) -> tuple[dict[str, Node], dict[str, Node]]:
    """Return the fields of a job, and those of its spec."""
    body = request.fields(table)
    spec = dict(body.pop("spec", Node({}, 1)).value)
    bucket, experiment, run = (request.pop(name) for name in ("staging_bucket", "experiment", "experiment_run"))
    if bucket is not None and "baseOutputDirectory" not in spec:
        message = _("Without base_output_dir the SDK creates a folder in the staging bucket; Trainboard does not.")
        request.notes.note("staging_bucket", bucket.line, message, _("Set baseOutputDirectory to keep outputs."))
    if experiment is not None:
        name, (project, region) = experiment.text(), request.places
        store = f"projects/{project or '${project}'}/locations/{region or '${location}'}/metadataStores/default"
        spec["experiment"] = Node(name if "/" in name else f"{store}/contexts/{name}", experiment.line)
        if run is not None:
            whole = run.text() if "/" in run.text() else f"{store}/contexts/{name}-{run.text()}"
            spec["experimentRun"] = Node(whole, run.line)
    elif run is not None:
        message = _("experiment_run is given without experiment.")
        request.notes.error("no_experiment", run.line, message, _("Give both."))
    return body, spec


def _tuning(request: Request, custom_maker: str) -> dict[str, Node]:
    custom, notes, line = request.pop("custom_job"), request.notes, request.line
    inner = None
    if custom is not None and isinstance(custom.value, dict):
        inner = job_of(custom_maker or "CustomJob", custom, None, notes)
        request.places = [own or other for own, other in zip(request.places, inner[3:5], strict=True)]
    elif custom is not None:
        message = _("The custom_job is not created in this text.")
        notes.error("unknown_job", custom.line, message, _("Give that part, too."))
    body, own = _job(request, JOB | TRIALS)
    spec = (dict(inner.body.value["jobSpec"].value) if inner is not None else {}) | own
    study: dict[str, Node] = {}
    metrics, parameters = request.pop("metric_spec"), request.pop("parameter_spec")
    if metrics is not None and isinstance(metrics.value, dict):
        goals = [{"metricId": name, "goal": _word("goal", goal)} for name, goal in metrics.value.items()]
        study["metrics"] = node_of([node_of(each, each["goal"].line) for each in goals], metrics.line)
    if parameters is not None and isinstance(parameters.value, dict):
        specs = [_parameter(name, node, notes) for name, node in parameters.value.items()]
        study["parameters"] = Node(specs, parameters.line)
    if (search := request.pop("search_algorithm")) is not None:
        study["algorithm"] = _word("algorithm", search)
    chosen = request.pop("measurement_selection") or Node("best", line)
    study["measurementSelectionType"] = _word("measurementSelectionType", chosen)
    return body | {"studySpec": Node(study, line), "trialJobSpec": Node(spec, (custom or Node(0, line)).line)}


def _word(field: str, node: Node) -> Node:
    """Return the API's enum value for a name of the SDK, or the name itself."""
    return Node(WORDS[field].get(node.text().lower(), node.text()), node.line)


def _parameter(name: str, node: Node, notes: Notes) -> Node:
    """Return the parameter for `hpt.DoubleParameterSpec(min=, max=, scale=)` and the like."""
    entries = node.entries
    parameter: dict[str, Node] = {"parameterId": Node(name, node.line)}
    kind = entries["__kind__"].text() if "__kind__" in entries else ""
    if kind not in RANGE_KINDS:
        notes.error("unknown_parameter", node.line, _("The range of this parameter is not a literal of the SDK."))
        return Node(parameter, node.line)
    field, parent = RANGE_KINDS[kind]
    parameter[field] = Node({RANGES[key]: item for key, item in entries.items() if key in RANGES}, node.line)
    scale, children = entries.get("scale"), entries.get("conditional_parameter_spec")
    if scale is not None and scale.value not in (None, "unspecified"):
        parameter["scaleType"] = _word("scaleType", scale)
    if children is not None and isinstance(children.value, dict):
        conditions = []
        for key, child in children.value.items():
            values = node_of({"values": child.entries.get("parent_values") or []}, child.line)
            condition = {parent or "parentDiscreteValues": values, "parameterSpec": _parameter(key, child, notes)}
            conditions.append(Node(condition, child.line))
        parameter["conditionalParameterSpecs"] = Node(conditions, children.line)
    return Node(parameter, node.line)


def _pipeline(kind: str, request: Request, *, is_operator: bool) -> dict[str, Node]:
    line = request.line
    pools = _pools(request, _task(kind, request))
    body, inputs = _job(request, PIPELINE)
    model, data = (dict(body.pop(name, Node({}, line)).value) for name in ("model", "data"))
    inputs = {"workerPoolSpecs": pools} | inputs
    body["trainingTaskDefinition"] = Node(CUSTOM_TASK, line)
    body["trainingTaskInputs"] = Node(inputs, line)
    if "containerSpec" in model and "imageUri" in model["containerSpec"].value:
        named = {"displayName": body["displayName"]} if "displayName" in body else {}
        body["modelToUpload"] = Node(named | model, model["containerSpec"].line)
    if (dataset := request.pop("dataset")) is not None:  # an object of the program, so its id becomes a placeholder
        if "timestampSplit" in data and (fractions := data.pop("fractionSplit", None)) is not None:
            data["timestampSplit"].value.update(fractions.value)
        if "baseOutputDirectory" in inputs and "bigqueryDestination" not in data:
            data["gcsDestination"] = inputs["baseOutputDirectory"]
        is_text = "${" in dataset.text() or (is_operator and isinstance(dataset.value, str))
        name = Node(dataset.text() if is_text else "${dataset}", dataset.line)
        body["inputDataConfig"] = Node({"datasetId": name} | data, dataset.line)
    return body


def _task(kind: str, request: Request) -> dict[str, Node]:
    """Return what the pools of a training pipeline run: an image, a package, or a package of a local script."""
    if kind == "CustomTrainingJob":
        return _local_package(request)
    task = {"args": request.pop("args")}
    image = request.pop("container_uri") or Node("${container_uri}", request.line)
    if kind == "CustomPythonPackageTrainingJob":
        module, uris = request.pop("python_module_name"), request.pop("python_package_gcs_uri")
        listed = uris if uris is None or isinstance(uris.value, list) else Node([uris], uris.line)
        task = {"executorImageUri": image, "pythonModule": module, "packageUris": listed} | task
    else:
        task = {"imageUri": image, "command": request.pop("command")} | task
    return {field: node for field, node in task.items() if node is not None} | _env(request)


def _env(request: Request) -> dict[str, Node]:
    env = request.pop("environment_variables")
    return {"env": env_of(env)} if env is not None and env.value else {}


def _local_package(request: Request) -> dict[str, Node]:
    """Return the task that the SDK creates from a local script; the uploaded package becomes a placeholder."""
    image = request.pop("container_uri") or Node("${container_uri}", request.line)
    script, args = request.pop("script_path"), request.pop("args")
    line = script.line if script is not None else image.line
    request.pop("requirements")
    message = _("The SDK packs the local script and uploads it to the staging bucket; Trainboard cannot see your disk.")
    remedy = _("Upload the package to Cloud Storage and give its gs:// address, or build an image.")
    request.notes.note("local_code", line, message, remedy)
    if any(part in image.text() for part in PREBUILT[:2]) or image.text().startswith(PREBUILT[2]):
        task = {"executorImageUri": image, "pythonModule": Node(MODULE, line), "packageUris": node_of([PACKAGE], line)}
        task |= {"args": args} if args is not None else {}
    else:
        words = [item.text() for item in args.value] if args is not None and isinstance(args.value, list) else []
        run = " ".join([f"pip3 install -q --user {PACKAGE} && python3 -m {MODULE}", *words])
        task = {"imageUri": image, "command": node_of(["sh", "-c", run], line)}
    return task | _env(request)


def _pools(request: Request, task: dict[str, Node]) -> Node:
    """Return the pools for `replica_count` machines: one chief, workers, then reduction servers."""
    line = request.line
    disk = {
        "bootDiskType": request.pop("boot_disk_type") or "pd-ssd",
        "bootDiskSizeGb": request.pop("boot_disk_size_gb") or 100,
    }
    field = "pythonPackageSpec" if "executorImageUri" in task else "containerSpec"
    count = request.pop("replica_count") or Node(1, line)
    shape = node_of({"machineSpec": _machine(request), "diskSpec": disk, field: task}, line).value
    pools = [Node({**shape, "replicaCount": Node(1, count.line)}, line)]
    number = count.value if isinstance(count.value, int) else parse_digits(count.text())
    others = re.sub(r"^\$\{([^{}]+)\}$", r"${\1 - 1}", count.text()) if number is None else number - 1
    if isinstance(others, str) or others > 0:
        pools.append(Node({**shape, "replicaCount": Node(others, count.line)}, line))
    servers, kind, image = (
        request.pop(f"reduction_server_{name}") for name in ("replica_count", "machine_type", "container_uri")
    )
    if servers is not None and servers.value:
        pools += [Node({}, line)] * (2 - len(pools))
        entries = {"machineSpec": {"machineType": kind or "n1-highcpu-16"}, "replicaCount": servers}
        pools.append(node_of({**entries, "containerSpec": {"imageUri": image or "${IMAGE}"}}, servers.line))
    return Node(pools, line)


def _machine(request: Request) -> dict[str, Node]:
    """Return the machine as the SDK sends it: accelerators only with both type and count."""
    line = request.line
    machine = {"machineType": request.pop("machine_type") or Node("n1-standard-4", line)}
    kind, count = request.pop("accelerator_type"), request.pop("accelerator_count")
    kind = None if kind is not None and kind.value in ("", "ACCELERATOR_TYPE_UNSPECIFIED") else kind
    count = None if count is not None and count.value == 0 else count
    if kind is not None and count is not None:
        machine |= {"acceleratorType": kind, "acceleratorCount": count}
    elif (half := kind or count) is not None:
        message = _("The SDK attaches accelerators only where both type and count are given; this job gets none.")
        remedy = _("Give accelerator_type and accelerator_count, or neither.")
        request.notes.note("no_accelerator", half.line, message, remedy)
    machine |= request.fields(paths("tpu_topology"))
    affinity = request.fields(paths("reservation_affinity_type"))
    named = request.fields(paths("key values", prefix="reservation_affinity_"))
    kind = affinity.get("reservationAffinityType")
    if named and (kind is None or kind.text() in ("NO_RESERVATION", "ANY_RESERVATION")):
        message = _("The SDK sends key and values of a reservation only with the type SPECIFIC_RESERVATION.")
        remedy = _("Give that type, or neither key nor values.")
        request.notes.note("no_reservation_named", next(iter(named.values())).line, message, remedy)
        named = {}
    return machine | ({"reservationAffinity": Node(affinity | named, line)} if affinity else {})
