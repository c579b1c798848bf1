"""Operators of Airflow and components of Kubeflow that make a training job in one call, constructor and run together.

Source: apache-airflow-providers-google, operators/vertex_ai/custom_job.py and hyperparameter_tuning_job.py;
google-cloud-pipeline-components 0.2 and 2, aiplatform and hyperparameter_tuning_job, read 2026-11-21.
"""

from jobs.convert.sdk.custom_jobs import tuning_job
from jobs.convert.sdk.makers import OPERATORS
from jobs.convert.sdk.training_pipelines import SCHEMAS, SERVING, training_job
from jobs.convert.texts.nodes import Draft, Node, Notes

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
"""Arguments that say how the workflow calls, nothing about the job."""
OF_CONSTRUCTOR = frozenset(
    (
        *"""display_name container_uri command script_path requirements python_package_gcs_uri python_module_name
        project location labels staging_bucket training_encryption_spec_key_name model_encryption_spec_key_name
        model_serving_container_environment_variables model_serving_container_ports""".split(),
        *SERVING,
        *SCHEMAS,
        "model_description",
    )
)
OF_RUN = frozenset(
    "service_account network enable_web_access tensorboard timeout restart_job_on_worker_restart".split()
)
OF_CUSTOM_JOB = frozenset({"worker_pool_specs", "base_output_dir", "staging_bucket"})


def job_of_operator(maker: str, args: Node, notes: Notes) -> Draft:
    """Return the job that a call makes which takes the arguments of a class and of its run at once."""
    given = {
        RENAMED.get(name, name): node
        for name, node in args.value.items()
        if name not in OF_WORKFLOW and node.value is not None
    }
    kind = OPERATORS[maker]
    if kind == "HyperparameterTuningJob":
        draft = _tuning(given, args.line, notes)
    else:
        first = {name: node for name, node in given.items() if name in OF_CONSTRUCTOR}
        rest = {name: node for name, node in given.items() if name not in OF_CONSTRUCTOR}
        draft = training_job(kind, Node(first, args.line), Node(rest, args.line), notes)
        dataset = args.value.get("dataset_id")
        if dataset is not None and isinstance(dataset.value, str):
            draft.body.value["inputDataConfig"].value["datasetId"] = dataset
    return draft._replace(form=f"Python that calls {maker}")


def _tuning(given: dict[str, Node], line: int, notes: Notes) -> Draft:
    custom = Node({name: node for name, node in given.items() if name in OF_CUSTOM_JOB}, line)
    run = Node({name: node for name, node in given.items() if name in OF_RUN}, line)
    rest = {name: node for name, node in given.items() if name not in OF_CUSTOM_JOB | OF_RUN}
    for name in ("search_algorithm", "measurement_selection"):
        if name in rest and rest[name].text().endswith("_UNSPECIFIED"):
            del rest[name]
    return tuning_job(Node({**rest, "custom_job": custom}, line), run, notes)
