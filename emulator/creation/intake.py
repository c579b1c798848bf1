"""New records: names and ids; what is refused because of quota, a persistent resource or a story."""

import copy
from collections.abc import Callable
from typing import Any

from emulator.capacity import demand
from emulator.capacity.ledger import Ledger
from emulator.capacity.pools import Pools, matches
from emulator.lifecycle import words
from emulator.lifecycle.engine import Engine
from emulator.protocol.documents import Document
from emulator.protocol.errors import exhausted, precondition
from emulator.protocol.names import new_id, project_number
from emulator.rehearsal.scripts import Scripts
from emulator.rehearsal.stories import STORIES
from emulator.state.records import Job, Pipeline, Pool, Study
from emulator.state.store import Store


class Intake:
    """Makes records of checked documents; saves none of them."""

    def __init__(self, store: Store, ledger: Ledger, pools: Pools, scripts: Scripts) -> None:
        self._store, self._ledger, self._pools, self._scripts = store, ledger, pools, scripts

    def _place(self, project: str, location: str) -> dict[str, Any]:
        number, seq = project_number(project), self._store.next_seq()
        return {"project": number, "project_id": project, "location": location, "id": new_id(), "seq": seq}

    def new_job(self, *, project: str, location: str, document: Document, **more: Any) -> Job:
        """Return a record for a CustomJob document; ApiError 429 for quota, 400 for a persistent resource."""
        job = Job(**self._place(project, location), document=document, **more)
        document["name"] = job.name
        job.story = self._scripts.story_of(job)
        if not job.owner:
            if job.story and STORIES[job.story].grant == "refused":
                raise exhausted(words.quota([words.CPU_QUOTA]))
            self._refuse(job)
        return job

    def new_study(self, *, project: str, location: str, document: Document) -> Study:
        """Return a record for a HyperparameterTuningJob document; refuses what its trials would be refused for."""
        study = Study(**self._place(project, location), document=document)
        document["name"] = study.name
        self._refuse(Job(**self._place(project, location), document={"jobSpec": document["trialJobSpec"]}))
        return study

    def new_pipeline(self, *, project: str, location: str, document: Document) -> Pipeline:
        """Return a record for a TrainingPipeline document."""
        pipeline = Pipeline(**self._place(project, location), document=document)
        document["name"] = pipeline.name
        return pipeline

    def new_pool(self, *, project: str, location: str, document: Document, identifier: str) -> Pool:
        """Return a record for a PersistentResource document; ApiError 429 for quota."""
        pool = Pool(**self._place(project, location) | {"id": identifier}, document=document)
        document["name"] = pool.name
        over = self._ledger.over_quota(demand.of_pools(location, document["resourcePools"]))
        if over:
            raise exhausted(words.quota(over))
        return pool

    def _refuse(self, job: Job) -> None:
        if "persistentResourceId" in job.spec:
            self._refuse_on_pool(job)
            return
        over = self._ledger.over_quota(demand.of_pools(job.location, [pool for _, pool in job.pools], job.strategy))
        if over:
            raise exhausted(words.quota(over))

    def _refuse_on_pool(self, job: Job) -> None:
        """Refuse a job that its persistent resource can never run ("Run training jobs on a persistent resource")."""
        pool = self._pools.find(job)
        identifier = job.spec["persistentResourceId"]
        if pool is None:
            raise precondition(f"The PersistentResource {identifier} does not exist in {job.location}.")
        if pool.state != "RUNNING":
            raise precondition(f"The PersistentResource {pool.name} is in state {pool.state}, not RUNNING.")
        if any("reservationAffinity" in worker.get("machineSpec", {}) for _, worker in job.pools):
            raise precondition("Reservations cannot be used together with a persistent resource.")
        runtime = pool.document.get("resourceRuntimeSpec", {}).get("serviceAccountSpec", {})
        if job.spec.get("serviceAccount") and not runtime.get("enableCustomServiceAccount"):
            raise precondition(f"The PersistentResource {identifier} does not enable custom service accounts.")
        matches(job, pool)

    def launcher(self, engine: Engine) -> Callable[[Study, str, list[str]], Job]:
        """Return the function that makes and submits the custom job of a trial."""

        def launch(study: Study, trial_id: str, arguments: list[str]) -> Job:
            spec = copy.deepcopy(study.document["trialJobSpec"])
            for pool in spec["workerPoolSpecs"]:
                task = pool.get("containerSpec") or pool.get("pythonPackageSpec")
                if task is not None:
                    task["args"] = [*task.get("args", []), *arguments]
            document = {"displayName": f"{study.document['displayName'][:110]}_trial_{trial_id}", "jobSpec": spec}
            if "labels" in study.document:
                document["labels"] = dict(study.document["labels"])
            owner = {"owner": study.name, "trial": trial_id}
            job = self.new_job(project=study.project_id, location=study.location, document=document, **owner)
            engine.submit(job)
            return job

        return launch
