"""Training pipelines: a custom job or a tuning job under another name, and perhaps a model at the end."""

from emulator.lifecycle import words
from emulator.lifecycle.engine import Engine
from emulator.protocol.documents import Document
from emulator.protocol.errors import precondition
from emulator.protocol.names import new_id
from emulator.protocol.timestamps import stamp
from emulator.state.records import Job, Model, Pipeline, Study
from emulator.tuning.studies import Tuning

BACKING = {"customJobs": "backingCustomJob", "hyperparameterTuningJobs": "backingHyperparameterTuningJob"}


def pipeline_state(job_state: str) -> str:
    """Return a job's state in a pipeline's words."""
    return job_state.replace("JOB_STATE", "PIPELINE_STATE")


class Pipelines:
    """Leads every pipeline: it follows its child."""

    def __init__(self, engine: Engine, tuning: Tuning) -> None:
        self._engine, self._tuning = engine, tuning

    def submit(self, pipeline: Pipeline, child: Job | Study) -> None:
        """Take a pipeline in and start its child."""
        child.owner = pipeline.name
        pipeline.child = child.name
        self._state(pipeline, "PIPELINE_STATE_PENDING")
        pipeline.document["createTime"] = pipeline.document["updateTime"]
        pipeline.document["trainingTaskMetadata"] = {BACKING[child.kind]: child.name}
        self._engine.store.add(pipeline)
        if isinstance(child, Study):
            self._tuning.submit(child)
        else:
            self._engine.submit(child)

    def cancel(self, pipeline: Pipeline) -> None:
        """Cancel the child; the pipeline follows it."""
        if pipeline.is_finished:
            text = f"The {pipeline.message} {pipeline.name} is in state {pipeline.state}"
            raise precondition(f"{text} and cannot be cancelled.")
        self._state(pipeline, "PIPELINE_STATE_CANCELLING")
        self._engine.store.save(pipeline)
        child = self._engine.store.find(pipeline.child)
        if isinstance(child, Study):
            self._tuning.cancel(child)
        elif isinstance(child, Job):
            self._engine.cancel(child)

    def follow(self, pipeline: Pipeline, child: Job | Study) -> None:
        """Take over what has become of the child."""
        if pipeline.is_finished or (pipeline.state.endswith("CANCELLING") and not child.is_finished):
            return
        self._state(pipeline, pipeline_state(child.state))
        document = pipeline.document
        if "startTime" in child.document:
            document.setdefault("startTime", child.document["startTime"])
        if child.is_finished:
            document["endTime"] = document["updateTime"]
            error = _error(child)
            if error:
                document["error"] = error
            elif "modelToUpload" in document:
                self._upload(pipeline, child)
        self._engine.store.save(pipeline)

    def resume(self, pipeline: Pipeline) -> None:
        """Catch up after the emulator was gone; one that was killed before it had its child has failed."""
        child = self._engine.store.find(pipeline.child)
        if isinstance(child, Job | Study):
            if child.is_finished:
                self.follow(pipeline, child)
        elif not pipeline.is_finished:
            pipeline.document["error"] = words.internal()["error"]
            self._state(pipeline, "PIPELINE_STATE_FAILED")
            self._engine.store.save(pipeline)

    def _upload(self, pipeline: Pipeline, child: Job | Study) -> None:
        """Keep the model's description; its artifacts are where the training code has put them."""
        now = stamp(self._engine.clock.now())
        spec = child.spec if isinstance(child, Job) else child.document["trialJobSpec"]
        prefix = spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "")
        model = Model(
            project=pipeline.project,
            project_id=pipeline.project_id,
            location=pipeline.location,
            id=pipeline.document.get("modelId") or new_id(),
            seq=self._engine.store.next_seq(),
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
        self._engine.store.add(model)
        pipeline.document["modelToUpload"] = model.document

    def _state(self, pipeline: Pipeline, state: str) -> None:
        now = self._engine.clock.now()
        if pipeline.document.get("state") != state:
            pipeline.live(now, state)
        pipeline.document["state"] = state
        pipeline.document["updateTime"] = stamp(now)


def _error(child: Job | Study) -> Document | None:
    error = (child.outcome or {}).get("error") if isinstance(child, Job) else child.document.get("error")
    return dict(error) if error else None
