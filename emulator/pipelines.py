"""Training pipelines: a custom job or a tuning job under another name, with an optional model at the end.

A pipeline is RUNNING a quarter of a second after its creation, and `startTime` is that moment, long before any machine
(recorded of AutoML pipelines 2020 and 2021; pipelines of custom tasks were not seen).
"""

from emulator.lifecycle import messages
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.runtime import check_can_cancel
from emulator.protocol.names import new_id
from emulator.state.records import Job, Model, Pipeline, Study
from emulator.tuning.studies import Studies

BEGIN_SECONDS = 0.25
BACKING = {"customJobs": "backingCustomJob", "hyperparameterTuningJobs": "backingHyperparameterTuningJob"}


class Pipelines:
    """Manages the life of every pipeline. A pipeline follows its child, the job or study that does its work."""

    def __init__(self, engine: Engine, studies: Studies) -> None:
        self._engine, self._studies = engine, studies
        self._runtime, self._store = engine.runtime, engine.runtime.store

    def submit(self, pipeline: Pipeline, child: Job | Study) -> None:
        """Start a new pipeline and its child."""
        child.owner = pipeline.name
        pipeline.child = child.name
        self._set_state(pipeline, "PIPELINE_STATE_PENDING")
        pipeline.document["createTime"] = pipeline.document["updateTime"]
        self._runtime.timers.set(pipeline, "begin", BEGIN_SECONDS)
        pipeline.document["trainingTaskMetadata"] = {BACKING[child.kind]: child.name}
        self._store.add(pipeline)
        if isinstance(child, Study):
            self._studies.submit(child)
        else:
            self._engine.submit(child)

    def begin(self, pipeline: Pipeline) -> None:
        """Let a new pipeline run."""
        if pipeline.state == "PIPELINE_STATE_PENDING":
            self._set_state(pipeline, "PIPELINE_STATE_RUNNING")
        pipeline.document["startTime"] = self._runtime.timestamp()
        self._store.save(pipeline)

    def cancel(self, pipeline: Pipeline) -> None:
        """Cancel the child. The pipeline follows it."""
        check_can_cancel(pipeline)
        self._set_state(pipeline, "PIPELINE_STATE_CANCELLING")
        self._store.save(pipeline)
        child = self._store.find(pipeline.child)
        if isinstance(child, Study):
            self._studies.cancel(child)
        elif isinstance(child, Job):
            self._engine.cancel(child)

    def follow(self, pipeline: Pipeline, child: Job | Study) -> None:
        """End a pipeline whose child has ended, in the same way."""
        if pipeline.is_finished:
            return
        self._set_state(pipeline, child.state.replace("JOB_STATE", "PIPELINE_STATE"))
        document = pipeline.document
        document["endTime"] = document["updateTime"]
        error = (child.outcome or {}).get("error") if isinstance(child, Job) else child.document.get("error")
        if error:
            document["error"] = dict(error)
        elif "modelToUpload" in document:
            self._upload_model(pipeline, child)
        self._store.save(pipeline)

    def resume(self, pipeline: Pipeline) -> None:
        """Update a pipeline after a restart of the emulator. A pipeline without a child has failed."""
        self._runtime.timers.restore(pipeline)
        child = self._store.find(pipeline.child)
        if isinstance(child, Job | Study):
            if child.is_finished:
                self.follow(pipeline, child)
        elif not pipeline.is_finished:
            pipeline.document["error"] = messages.internal()["error"]
            self._set_state(pipeline, "PIPELINE_STATE_FAILED")
            self._store.save(pipeline)

    def _upload_model(self, pipeline: Pipeline, child: Job | Study) -> None:
        """Store the model's description. Its artifacts are where the training code has written them."""
        now = self._runtime.timestamp()
        spec = child.spec if isinstance(child, Job) else child.document["trialJobSpec"]
        prefix = spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "")
        model = Model(
            project=pipeline.project,
            project_id=pipeline.project_id,
            location=pipeline.location,
            id=pipeline.document.get("modelId") or new_id(),
            seq=self._store.next_seq(),
            document={},
        )
        artifacts = {"artifactUri": f"{prefix}model"} if prefix else {}
        model.document = artifacts | pipeline.document["modelToUpload"]
        model.document |= {
            "name": model.name,
            "versionId": "1",
            "versionAliases": ["default"],
            "trainingPipeline": pipeline.name,
            "createTime": now,
            "updateTime": now,
            "versionCreateTime": now,
            "versionUpdateTime": now,
        }
        self._store.add(model)
        pipeline.document["modelToUpload"] = model.document

    def _set_state(self, pipeline: Pipeline, state: str) -> None:
        if pipeline.document.get("state") == state:
            pipeline.document["updateTime"] = self._runtime.timestamp()
        else:
            self._runtime.set_state(pipeline, state)
