"""projects.locations.trainingPipelines: create, get, list, cancel, delete (PipelineService v1), for custom tasks.

`trainingTaskInputs` is a Value that holds a CustomJobSpec, or the fields of a tuning job, in whatever spelling.
"""

from dataclasses import replace

from emulator.creation import checks, study_checks
from emulator.methods.resources import answer, deleted, find, listed, parent
from emulator.protocol import documents
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, not_found, precondition, unimplemented
from emulator.state.records import Job, Model, Pipeline, Study
from emulator.world import World

CUSTOM, TUNING = "custom_task_1.0.0.yaml", "hyperparameter_tuning_task_1.0.0.yaml"
INPUTS = "training_task_inputs"


def create(world: World, call: Call) -> Document:
    """Take in a pipeline; its job starts at once."""
    call.refuse_unknown_arguments()
    parent(call)
    document = documents.read("TrainingPipeline", call.json(), at="training_pipeline")
    checks.refuse(_wrong(document))
    if "inputDataConfig" in document:
        raise unimplemented("inputDataConfig of aiplatform.projects.locations.trainingPipelines.create")
    place = {"project": call.params["project"], "location": call.params["location"]}
    pipeline = world.intake.new_pipeline(**place, document=document)
    world.pipelines.submit(pipeline, _child(world, place, document))
    return answer(call, pipeline)


def _wrong(document: Document) -> checks.Wrong:
    yield from checks.display_name(document)
    yield from checks.labels(document)
    for name, field in (("trainingTaskDefinition", "training_task_definition"), ("trainingTaskInputs", INPUTS)):
        if not document.get(name):
            yield field, checks.REQUIRED


def _child(world: World, place: dict[str, str], document: Document) -> Job | Study:
    definition, inputs = document["trainingTaskDefinition"], document["trainingTaskInputs"]
    labels = {"labels": document["labels"]} if "labels" in document else {}
    common = {"displayName": f"{document['displayName']}-custom-job", **labels}
    if definition.endswith(CUSTOM):
        spec = documents.read("CustomJobSpec", inputs, at=INPUTS)
        checks.refuse(checks.job_spec(spec, at=INPUTS))
        checks.fill_spec(spec)
        return world.intake.new_job(**place, document=common | {"jobSpec": spec})
    if definition.endswith(TUNING):
        study = documents.read("HyperparameterTuningJob", inputs, at=INPUTS)
        checks.refuse(study_checks.tuning_job(study, at=f"{INPUTS}."))
        checks.fill_spec(study["trialJobSpec"])
        return world.intake.new_study(**place, document=common | study)
    raise invalid(f"Unsupported training task definition: {definition}")


def get(world: World, call: Call) -> Document:
    """Return a pipeline."""
    call.refuse_unknown_arguments()
    return answer(call, find(world, call, Pipeline))


def list_(world: World, call: Call) -> Document:
    """Return a page of pipelines, newest first."""
    return listed(world, call, Pipeline)


def cancel(world: World, call: Call) -> Document:
    """Start to cancel a pipeline."""
    world.pipelines.cancel(find(world, call, Pipeline))
    return {}


def delete(world: World, call: Call) -> Document:
    """Delete a pipeline that has ended; its job stays."""
    pipeline = find(world, call, Pipeline)
    if not pipeline.is_finished:
        raise precondition(f"The {pipeline.message} {pipeline.name} is in state {pipeline.state}; cancel it first.")
    return deleted(world, call, pipeline)


def get_model(world: World, call: Call) -> Document:
    """Return a model that a pipeline has uploaded (ModelService v1, as far as it goes)."""
    call.refuse_unknown_arguments()
    return answer(call, _model(world, call))


def _model(world: World, call: Call) -> Model:
    """Find a model; `ID@1` and `ID@default` name its only version."""
    name, _, version = call.params["id"].partition("@")
    if version not in ("", "1", "default"):
        raise not_found(f"The Model {call.params['id']} does not exist.")
    return find(world, replace(call, params={**call.params, "id": name}), Model)


def list_models(world: World, call: Call) -> Document:
    """Return a page of models."""
    return listed(world, call, Model)


def delete_model(world: World, call: Call) -> Document:
    """Delete a model's description."""
    return deleted(world, call, _model(world, call))
