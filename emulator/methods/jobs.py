"""Create customJobs, hyperparameterTuningJobs and trainingPipelines (JobService, PipelineService).

Also get and delete the models that pipelines upload (ModelService). `trainingTaskInputs` of a pipeline is a Value that
contains a CustomJobSpec, or the fields of a tuning job, with names in either spelling.
"""

from dataclasses import replace

from emulator.creation import checks, study_checks
from emulator.emulator import Emulator
from emulator.methods import resources
from emulator.protocol import documents
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found, unimplemented
from emulator.state.records import Job, Model, Study

CUSTOM, TUNING = "custom_task_1.0.0.yaml", "hyperparameter_tuning_task_1.0.0.yaml"
INPUTS = "training_task_inputs"


def create_custom_job(emulator: Emulator, call: Call) -> Document:
    """Create a job. It is queued at once."""
    document = _read(call, "CustomJob", at="custom_job")
    checks.raise_findings(checks.custom_job(document))
    checks.fill_job_spec(document["jobSpec"])
    job = emulator.factory.new_job(document, **resources.project_and_location(call))
    emulator.engine.submit(job)
    return resources.render(call, job)


def create_study(emulator: Emulator, call: Call) -> Document:
    """Create a study. Its first trials start at once."""
    document = _read(call, "HyperparameterTuningJob", at="hyperparameter_tuning_job")
    checks.raise_findings([*checks.name_and_labels(document), *study_checks.study(document)])
    checks.fill_job_spec(document["trialJobSpec"])
    study = emulator.factory.new_study(document, **resources.project_and_location(call))
    emulator.studies.submit(study)
    return resources.render(call, study)


def create_pipeline(emulator: Emulator, call: Call) -> Document:
    """Create a pipeline. Its job starts at once."""
    document = _read(call, "TrainingPipeline", at="training_pipeline")
    fields = {"trainingTaskDefinition": "training_task_definition", "trainingTaskInputs": INPUTS}
    missing = [(field, checks.REQUIRED) for name, field in fields.items() if not document.get(name)]
    checks.raise_findings([*checks.name_and_labels(document), *missing])
    if "inputDataConfig" in document:
        raise unimplemented("inputDataConfig of aiplatform.projects.locations.trainingPipelines.create")
    pipeline = emulator.factory.new_pipeline(document, **resources.project_and_location(call))
    emulator.pipelines.submit(pipeline, _child(emulator, call, document))
    return resources.render(call, pipeline)


def _read(call: Call, message: str, *, at: str) -> Document:
    call.check_arguments()
    resources.parent_name(call)
    return documents.parse(message, call.json(), at=at, version=call.version)


def _child(emulator: Emulator, call: Call, pipeline: Document) -> Job | Study:
    """Return a record for the job or study that does a pipeline's work."""
    definition, inputs = pipeline["trainingTaskDefinition"], pipeline["trainingTaskInputs"]
    labels = {"labels": pipeline["labels"]} if "labels" in pipeline else {}
    common = {"displayName": f"{pipeline['displayName']}-custom-job", **labels}
    if definition.endswith(CUSTOM):
        spec = documents.parse("CustomJobSpec", inputs, at=INPUTS, version=call.version)
        checks.raise_findings(checks.job_spec(spec, at=INPUTS))
        checks.fill_job_spec(spec)
        return emulator.factory.new_job(common | {"jobSpec": spec}, **resources.project_and_location(call))
    if definition.endswith(TUNING):
        study = documents.parse("HyperparameterTuningJob", inputs, at=INPUTS, version=call.version)
        checks.raise_findings(study_checks.study(study, at=f"{INPUTS}."))
        checks.fill_job_spec(study["trialJobSpec"])
        return emulator.factory.new_study(common | study, **resources.project_and_location(call))
    raise invalid(f"Unsupported training task definition: {definition}")


def get_study(emulator: Emulator, call: Call) -> Document:
    """Return a study with its trials. Running trials have the `webAccessUris` of their jobs."""
    shown = resources.get(emulator, call, kind=Study)
    trials = [trial | _web_access_uris(emulator, trial) for trial in shown.get("trials", [])]
    return shown | {"trials": trials} if trials else shown


def _web_access_uris(emulator: Emulator, trial: Document) -> Document:
    job = emulator.store.get(Job, trial.get("customJob", ""))
    uris = job.document.get("webAccessUris") if job is not None else None
    return {"webAccessUris": uris} if uris else {}


def get_model(emulator: Emulator, call: Call) -> Document:
    """Return a model that a pipeline has uploaded."""
    return resources.get(emulator, _without_version(call), kind=Model)


def delete_model(emulator: Emulator, call: Call) -> Document:
    """Delete a model's description."""
    return resources.delete(emulator, _without_version(call), kind=Model)


def _without_version(call: Call) -> Call:
    """Return a call with the plain id of a model. `ID@1` and `ID@default` name its only version."""
    name, _, version = call.params["id"].partition("@")
    if version not in ("", "1", "default"):
        raise not_found(f"The Model {call.params['id']} does not exist.")
    return replace(call, params={**call.params, "id": name})
