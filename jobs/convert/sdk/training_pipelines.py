"""The SDK's custom training jobs (container, Python package, script): the training pipeline that they become.

Source: google-cloud-aiplatform 2.7.0, aiplatform/training_jobs.py, read 2026-11-21.
"""

from jobs.convert.sdk.arguments import Arguments, encryption, env_of, local_package, pools_of_replicas, take, unknown
from jobs.convert.sdk.custom_jobs import job_spec, run_fields
from jobs.convert.texts.nodes import Draft, Node, Notes, node_of
from jobs.spec import CUSTOM_TASK

SERVING = {
    "model_serving_container_image_uri": "imageUri",
    "model_serving_container_predict_route": "predictRoute",
    "model_serving_container_health_route": "healthRoute",
    "model_serving_container_command": "command",
    "model_serving_container_args": "args",
}
SCHEMAS = {
    "model_instance_schema_uri": "instanceSchemaUri",
    "model_parameters_schema_uri": "parametersSchemaUri",
    "model_prediction_schema_uri": "predictionSchemaUri",
}
MODEL = {
    "model_display_name": "displayName",
    "model_description": "description",
    "model_version_aliases": "versionAliases",
    "model_version_description": "versionDescription",
    "model_labels": "labels",
}
SPLITS = {
    "fractionSplit": ("training_fraction_split", "validation_fraction_split", "test_fraction_split"),
    "filterSplit": ("training_filter_split", "validation_filter_split", "test_filter_split"),
}


def training_job(kind: str, args: Node, run: Node | None, notes: Notes) -> Draft:
    """Return the pipeline of `CustomContainerTrainingJob(**args).run(**run)` or a sibling, named by `kind`."""
    given, later = Arguments(args), Arguments(run)
    project, region = given.place("project"), given.place("location")
    task = _task(kind, given, later, notes)
    inputs: dict[str, Node] = {"workerPoolSpecs": pools_of_replicas(later, task, args.line, notes)}
    inputs |= job_spec(later, notes) | run_fields(later, project, region, notes)
    bucket = given.take("staging_bucket")
    if bucket is not None and "baseOutputDirectory" not in inputs:
        message = "Without base_output_dir the SDK makes up a folder in the staging bucket; it is not carried."
        notes.advise("staging_bucket", bucket.line, message, "Set baseOutputDirectory to keep outputs.")
    body = take(given, {"display_name": "displayName", "labels": "labels"}) | encryption(given)
    body["trainingTaskDefinition"] = Node(CUSTOM_TASK, args.line)
    body["trainingTaskInputs"] = Node(inputs, args.line)
    if (model := _model(given, later)) is not None:
        named = {"displayName": body["displayName"]} if "displayName" in body else {}
        body["modelToUpload"] = Node(named | model.value, model.line)
    body |= take(later, {"model_id": "modelId", "parent_model": "parentModel"})
    if (data := _data(later)) is not None:
        body["inputDataConfig"] = data
    later.take("is_default_version")
    unknown(given, notes, kind)
    unknown(later, notes, "run()")
    if run is None:
        notes.advise("not_run", args.line, "run() is not called in this text; the SDK's defaults are taken for it.")
    return Draft("training_pipeline", Node(body, args.line), f"Python that makes a {kind}", project, region)


def _task(kind: str, given: Arguments, later: Arguments, notes: Notes) -> dict[str, Node]:
    image = given.take("container_uri") or Node("${container_uri}", given.line)
    if kind == "CustomTrainingJob":
        merged = Arguments(Node({**given.rest(), **later.rest()}, given.line))
        task = local_package(merged, image, notes)
        for name in ("script_path", "requirements"):
            given.take(name)
        for name in ("args", "environment_variables"):
            later.take(name)
        return task
    args, env = later.take("args"), later.take("environment_variables")
    if kind == "CustomPythonPackageTrainingJob":
        task = {"executorImageUri": image}
        module, uris = given.take("python_module_name"), given.take("python_package_gcs_uri")
        task |= {"pythonModule": module} if module is not None else {}
        if uris is not None:
            task["packageUris"] = uris if isinstance(uris.value, list) else Node([uris], uris.line)
    else:
        command = given.take("command")
        task = {"imageUri": image} | ({"command": command} if command is not None else {})
    task |= {"args": args} if args is not None else {}
    return task | ({"env": env_of(env)} if env is not None else {})


def _model(given: Arguments, later: Arguments) -> Node | None:
    container = take(given, SERVING)
    env = given.take("model_serving_container_environment_variables")
    ports = given.take("model_serving_container_ports")
    schemas = take(given, SCHEMAS)
    model = take(given, MODEL) | take(later, MODEL)
    key = given.take("model_encryption_spec_key_name")
    if "imageUri" not in container:
        return None
    line = container["imageUri"].line
    if env is not None:
        container["env"] = env_of(env)
    if ports is not None and isinstance(ports.value, list):
        container["ports"] = Node([node_of({"containerPort": port}, port.line) for port in ports.value], ports.line)
    model["containerSpec"] = Node(container, line)
    if schemas:
        model["predictSchemata"] = Node(schemas, line)
    if key is not None:
        model["encryptionSpec"] = node_of({"kmsKeyName": key}, key.line)
    return Node(model, line)


def _data(later: Arguments) -> Node | None:
    """Return the input data: the dataset itself is an object of the program, so its id stays a hole."""
    dataset = later.take("dataset")
    fields = {"annotation_schema_uri": "annotationSchemaUri"}
    data = take(later, fields)
    bigquery = later.take("bigquery_destination")
    splits: dict[str, Node] = {}
    for split, names in SPLITS.items():
        parts = take(later, {name: _camel(name.removesuffix("_split")) for name in names})
        if parts:
            splits[split] = Node(parts, next(iter(parts.values())).line)
    key, moment = later.take("predefined_split_column_name"), later.take("timestamp_split_column_name")
    if dataset is None:
        return None
    if key is not None:
        splits["predefinedSplit"] = node_of({"key": key}, key.line)
    if moment is not None:
        fractions = splits.pop("fractionSplit", Node({}, moment.line)).value
        splits["timestampSplit"] = node_of({**fractions, "key": moment}, moment.line)
    data["datasetId"] = Node(dataset.text() if "${" in dataset.text() else "${dataset}", dataset.line)
    if bigquery is not None:
        data["bigqueryDestination"] = node_of({"outputUri": bigquery}, bigquery.line)
    return Node(data | splits, dataset.line)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
