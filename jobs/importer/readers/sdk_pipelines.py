"""Convert the SDK's custom training jobs (container, Python package, script) to the training pipeline that they create.

This includes Airflow operators and Kubeflow components that create such a job in one call. Source:
google-cloud-aiplatform 2.7.0, aiplatform/training_jobs.py; apache-airflow-providers-google, operators/vertex_ai;
google-cloud-pipeline-components 0.2 and 2, read 2026-11-21.
"""

from jobs.importer.nodes import Draft, Node, Notes, paths
from jobs.importer.readers.sdk_arguments import ENV, JOB, Arguments, local_package, pools_of_replicas
from jobs.importer.readers.sdk_jobs import job_spec, run_fields, tuning_job
from jobs.importer.sdk_names import OPERATORS
from jobs.spec import CUSTOM_TASK

SERVED = "model_serving_container_"
MODEL = paths("image_uri predict_route health_route command args ports", "containerSpec.", SERVED)
MODEL |= {f"{SERVED}environment_variables": "containerSpec.env"}
MODEL |= paths("instance_schema_uri parameters_schema_uri prediction_schema_uri", "predictSchemata.", "model_")
MODEL |= paths("display_name description version_aliases version_description labels", prefix="model_")
MODEL |= {"model_encryption_spec_key_name": "encryptionSpec.kmsKeyName"}
"""Arguments, with their paths in the uploaded model."""
PARTS = ("training", "validation", "test")
DATA = {f"{part}_fraction_split": f"fractionSplit.{part}Fraction" for part in PARTS}
DATA |= {f"{part}_filter_split": f"filterSplit.{part}Filter" for part in PARTS}
DATA |= {f"{kind}_split_column_name": f"{kind}Split.key" for kind in ("predefined", "timestamp")}
DATA |= {"annotation_schema_uri": "annotationSchemaUri", "bigquery_destination": "bigqueryDestination.outputUri"}
"""Arguments of run(), with their paths in the configuration of the input data."""
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
OF_WORKFLOW = frozenset(
    """task_id gcp_conn_id impersonation_chain deferrable poll_interval dag trigger_rule retries retry_delay
    do_xcom_push execution_timeout on_failure_callback on_success_callback""".split()
)
"""Arguments of the workflow, not of the job."""


def training_job(kind: str, args: Node, run: Node | None, notes: Notes) -> Draft:
    """Return the pipeline of `CustomContainerTrainingJob(**args).run(**run)` or the like, named by `kind`.

    `run` is `args` itself if one call takes the arguments of both.
    """
    given = Arguments(args)
    later = given if run is args else Arguments(run)
    project, region = given.pop_text("project"), given.pop_text("location")
    task = _task(kind, given, later, notes)
    inputs: dict[str, Node] = {"workerPoolSpecs": pools_of_replicas(later, task, args.line, notes)}
    given.move("staging_bucket", to=later)
    inputs |= job_spec(later, notes) | run_fields(later, project, region, notes)
    body = given.pop_fields(JOB)
    body["trainingTaskDefinition"] = Node(CUSTOM_TASK, args.line)
    body["trainingTaskInputs"] = Node(inputs, args.line)
    model = given.pop_fields(MODEL) | later.pop_fields(MODEL)
    if "containerSpec" in model and "imageUri" in model["containerSpec"].value:
        named = {"displayName": body["displayName"]} if "displayName" in body else {}
        body["modelToUpload"] = Node(named | model, model["containerSpec"].line)
    body |= later.pop_fields(paths("model_id parent_model"))
    if (data := _data(later, inputs.get("baseOutputDirectory"))) is not None:
        body["inputDataConfig"] = data
    later.pop("is_default_version")
    given.refuse_rest(notes, kind)
    if later is not given:
        later.refuse_rest(notes, "run()")
    return Draft("training_pipeline", Node(body, args.line), f"Python that makes a {kind}", project, region)


def job_of_operator(maker: str, args: Node, notes: Notes) -> Draft:
    """Return the job of a call that takes the arguments of a class and of its run together."""
    named = {name: node for name, node in args.value.items() if name not in OF_WORKFLOW and node.value is not None}
    given = {RENAMED.get(name, name): node for name, node in named.items()}
    both = Node({n: node for n, node in given.items() if not node.text().endswith("_UNSPECIFIED")}, args.line)
    if OPERATORS[maker] == "HyperparameterTuningJob":
        draft = tuning_job(both, both, notes)
    else:
        draft = training_job(OPERATORS[maker], both, both, notes)
        if (dataset := named.get("dataset_id")) is not None and isinstance(dataset.value, str):
            draft.body.value["inputDataConfig"].value["datasetId"] = dataset
    return draft._replace(form=f"Python that calls {maker}")


def _task(kind: str, given: Arguments, later: Arguments, notes: Notes) -> dict[str, Node]:
    image = given.pop("container_uri") or Node("${container_uri}", given.line)
    if kind == "CustomTrainingJob":
        given.move("script_path", "requirements", to=later)
        return local_package(later, image, notes)
    args = later.pop("args")
    if kind == "CustomPythonPackageTrainingJob":
        module, uris = given.pop("python_module_name"), given.pop("python_package_gcs_uri")
        listed = uris if uris is None or isinstance(uris.value, list) else Node([uris], uris.line)
        task = {"executorImageUri": image, "pythonModule": module, "packageUris": listed, "args": args}
    else:
        task = {"imageUri": image, "command": given.pop("command"), "args": args}
    return {field: node for field, node in task.items() if node is not None} | later.pop_fields(ENV)


def _data(later: Arguments, folder: Node | None) -> Node | None:
    """Return the input data. The dataset is an object of the program, so its id becomes a placeholder.

    The data is exported to BigQuery if requested, else to the job's own `folder`.
    """
    dataset, data = later.pop("dataset"), later.pop_fields(DATA)
    if dataset is None:
        return None
    if "timestampSplit" in data and (fractions := data.pop("fractionSplit", None)) is not None:
        data["timestampSplit"].value.update(fractions.value)
    if folder is not None and "bigqueryDestination" not in data:
        data["gcsDestination"] = folder
    name = Node(dataset.text() if "${" in dataset.text() else "${dataset}", dataset.line)
    return Node({"datasetId": name} | data, dataset.line)
